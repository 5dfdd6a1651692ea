"""Make models/weights/voice_ge2e.onnx from the weights inside the Python package Resemblyzer (Apache-2.0).

    pip download --no-deps resemblyzer==0.1.4
    python tools/convert_voice.py --wheel Resemblyzer-0.1.4-py3-none-any.whl

The speaker encoder of generalised end-to-end loss (Wan et al., arXiv 1710.10467): 40 mel bands by 160 frames through
three LSTM layers and a linear one to 256 numbers. Torch is not needed: its old file format is a few pickles followed by
raw arrays, read here with an unpickler that knows no class but the ones for tensors. Weights are stored as 16-bit floats.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import io
import json
import pickle
import struct
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OUTPUT = Path(__file__).resolve().parent.parent / "models" / "weights" / "voice_ge2e.onnx"
INSIDE = "resemblyzer/pretrained.pt"
MAGIC = 0x1950A86A20F9469CFC6C
HIDDEN, BANDS, FRAMES, LAYERS = 256, 40, 160, 3


class _Tensors(pickle.Unpickler):
    """Understands tensors as (storage key, offset, shape, stride) and refuses everything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if module == "torch._utils" and name in {"_rebuild_tensor", "_rebuild_tensor_v2"}:
            return lambda storage, offset, shape, stride, *_: (storage, offset, shape, stride)
        if module == "torch" and name in {"FloatStorage", "LongStorage"}:
            return name
        raise pickle.UnpicklingError(f"{module}.{name} does not belong into a file of weights")

    def persistent_load(self, reference: Any) -> str:
        return str(reference[2])


def read_torch(stream: BinaryIO) -> dict[str, NDArray[np.float32]]:
    """Weights by name from a file of torch's format before 1.6."""
    if _Tensors(stream).load() != MAGIC:
        raise SystemExit("this is not a torch file of the old format")
    _Tensors(stream).load()  # protocol version
    _Tensors(stream).load()  # sizes of C types
    state = _Tensors(stream).load()["model_state"]
    storages: dict[str, NDArray[np.float32]] = {}
    wanted = {key for key, *_ in state.values()}
    for key in _Tensors(stream).load():
        (count,) = struct.unpack("<q", stream.read(8))
        if key not in wanted:  # the optimiser's, behind the model's
            break
        storages[key] = np.frombuffer(stream.read(4 * count), "<f4")
    missing = wanted - storages.keys()
    if missing:
        raise SystemExit(f"the file ends before {len(missing)} of its arrays")
    return {
        name: np.lib.stride_tricks.as_strided(storages[key][offset:], shape, [4 * s for s in stride]).copy()
        for name, (key, offset, shape, stride) in state.items()
    }


def iofc(gates: NDArray[np.float32]) -> NDArray[np.float32]:
    """Torch keeps the gates as input, forget, cell, output; ONNX as input, output, forget, cell."""
    i, f, c, o = np.split(gates, 4)
    return np.concatenate([i, o, f, c])


def convert(weights: dict[str, NDArray[np.float32]]) -> onnx.ModelProto:
    nodes, constants = [], []

    def constant(name: str, array: NDArray[np.float32]) -> str:
        constants.append(numpy_helper.from_array(np.ascontiguousarray(array.astype(np.float16)), f"{name}_half"))
        nodes.append(helper.make_node("Cast", [f"{name}_half"], [name], to=TensorProto.FLOAT))
        return name

    nodes.append(helper.make_node("Transpose", ["mels"], ["x0"], perm=[1, 0, 2]))
    for k in range(LAYERS):
        w = constant(f"w{k}", iofc(weights[f"lstm.weight_ih_l{k}"])[None])
        r = constant(f"r{k}", iofc(weights[f"lstm.weight_hh_l{k}"])[None])
        biases = [iofc(weights[f"lstm.bias_{part}_l{k}"]) for part in ("ih", "hh")]
        b = constant(f"b{k}", np.concatenate(biases)[None])
        nodes.append(helper.make_node("LSTM", [f"x{k}", w, r, b], [f"y{k}", f"h{k}"], hidden_size=HIDDEN))
        constants.append(numpy_helper.from_array(np.array([1], np.int64), f"axis{k}"))
        nodes.append(helper.make_node("Squeeze", [f"y{k}", f"axis{k}"], [f"x{k + 1}"]))
    constants.append(numpy_helper.from_array(np.array([0], np.int64), "layer"))
    nodes.append(helper.make_node("Squeeze", [f"h{LAYERS - 1}", "layer"], ["last"]))
    linear = [constant("lw", weights["linear.weight"]), constant("lb", weights["linear.bias"])]
    nodes.append(helper.make_node("Gemm", ["last", *linear], ["raw"], transB=1))
    nodes.append(helper.make_node("Relu", ["raw"], ["voice"]))
    graph = helper.make_graph(
        nodes,
        "voice_ge2e",
        [helper.make_tensor_value_info("mels", TensorProto.FLOAT, ["n", FRAMES, BANDS])],
        [helper.make_tensor_value_info("voice", TensorProto.FLOAT, ["n", 256])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    model.producer_name = "grove-edge tools/convert_voice.py"
    onnx.checker.check_model(model, full_check=True)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--wheel", type=Path, required=True, help="the wheel of Resemblyzer 0.1.4")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    args = parser.parse_args()
    with zipfile.ZipFile(args.wheel) as archive:
        weights = read_torch(io.BytesIO(archive.read(INSIDE)))
    args.output.write_bytes(convert(weights).SerializeToString(deterministic=True))
    digest = hashlib.sha256(args.output.read_bytes()).hexdigest()
    print(json.dumps({"output": str(args.output), "bytes": args.output.stat().st_size, "sha256": digest}))


if __name__ == "__main__":
    main()
