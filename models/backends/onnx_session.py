"""One way to open an ONNX file: the best execution provider offered here, a set number of threads, plain errors.

onnxruntime-gpu offers TensorRT and CUDA, the plain package only the CPU; what was chosen is in `Session.provider`.
A GPU provider that fails to start (no driver, wrong CUDA) makes onnxruntime fall back by itself, and `provider` says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import EngineMissingError, LoadError, ModelMissingError, OutputError

PREFERENCE = ("CUDAExecutionProvider", "CPUExecutionProvider")
TENSORRT = "TensorrtExecutionProvider"  # builds an engine for minutes on first use: only on request


def available_providers() -> tuple[str, ...]:
    """Execution providers of the installed onnxruntime, in its own order of preference."""
    return tuple(_engine().get_available_providers())


class Session:
    """An open ONNX graph. `run` may be called from several threads."""

    def __init__(self, path: Path, *, threads: int = 2, gpu: bool = True, tensorrt_cache: Path | None = None) -> None:
        """Open `path` on the best provider. `tensorrt_cache` asks for TensorRT and says where its engines are kept.

        Raises EngineMissingError, ModelMissingError, LoadError.
        """
        ort = _engine()
        if not path.is_file():
            raise ModelMissingError(f"{path} is not there; run `grove-edge models verify` to see what is missing.")
        offered = ort.get_available_providers()
        wanted: list[Any] = [p for p in PREFERENCE if p in offered and (gpu or p == "CPUExecutionProvider")]
        if gpu and tensorrt_cache is not None and TENSORRT in offered:
            cache = {
                "trt_engine_cache_enable": True,
                "trt_engine_cache_path": str(tensorrt_cache),
                "trt_fp16_enable": True,
            }
            wanted.insert(0, (TENSORRT, cache))
        options = ort.SessionOptions()
        options.intra_op_num_threads = max(1, threads)
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # the arena keeps the peak of the largest input for ever
        options.log_severity_level = 3
        # Spinning threads burn a core between frames; a wearable would rather wait a little for a wake-up.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session: Any = ort.InferenceSession(str(path), options, providers=wanted)
        except Exception as error:  # onnxruntime has no public base class for what it raises here
            raise LoadError(f"onnxruntime cannot open {path.name}: {_first_line(error)}") from error
        self.path = path
        self.provider = str(self._session.get_providers()[0]).removesuffix("ExecutionProvider")
        self.inputs = tuple(i.name for i in self._session.get_inputs())
        self.outputs = tuple(o.name for o in self._session.get_outputs())

    def run(self, feeds: Mapping[str, NDArray[Any]], outputs: Sequence[str] | None = None) -> dict[str, NDArray[Any]]:
        """Run the graph once and give the outputs by name. Raises OutputError."""
        if self._session is None:
            raise LoadError(f"{self.path.name} was closed.")
        names = list(outputs or self.outputs)
        try:
            values = self._session.run(names, dict(feeds))
        except Exception as error:
            raise OutputError(f"{self.path.name} failed on its input: {_first_line(error)}") from error
        return {name: np.asarray(value) for name, value in zip(names, values, strict=True)}

    def close(self) -> None:
        self._session = None


def _engine() -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise EngineMissingError("onnxruntime is not installed; run `pip install onnxruntime`.") from error
    return onnxruntime


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
