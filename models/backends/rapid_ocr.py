"""Text in the frame by PP-OCRv6 small through RapidOCR (Apache-2.0).

The detector runs on the frame reduced to `side_len` on its longer side: at 480 a 640x480 frame costs about a quarter of
the full size and street signs still read. Text direction is not classified: worn cameras are upright. Lines below
`min_score` are dropped; textures read as single glyphs score up to 0.84.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.backends.frames import check_frame
from models.backends.heap import give_back
from models.errors import EngineMissingError, LoadError, OutputError
from models.roles import Frame, TextLine


class RapidOcr:
    """An OCR; callers from several threads take turns, so that a question need not wait for a whole window."""

    id = "pp-ocrv6-small"

    def __init__(
        self, files: Mapping[str, Path], *, side_len: int = 480, min_score: float = 0.9, threads: int = 2
    ) -> None:
        """`files` holds PP-OCRv6_det_small.onnx and PP-OCRv6_rec_small.onnx."""
        try:
            from rapidocr import RapidOCR
        except ImportError as error:
            raise EngineMissingError("rapidocr is not installed; run `pip install rapidocr==3.10.0`.") from error
        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        settings = {
            "Global.log_level": "error",
            "Global.use_cls": False,
            "Global.text_score": min_score,
            "Det.model_path": str(files["PP-OCRv6_det_small.onnx"]),
            "Det.limit_side_len": side_len,
            "Det.limit_type": "max",
            "Rec.rec_batch_num": 1,  # lines in one batch are padded to the widest: as fast alone, at half the peak memory
            "Rec.model_path": str(files["PP-OCRv6_rec_small.onnx"]),
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
        try:
            self._engine: Any = RapidOCR(params=settings)
        except Exception as error:  # rapidocr raises its own, omegaconf's and onnxruntime's errors
            raise LoadError(f"RapidOCR cannot load its models: {error}") from error
        self._min_score = min_score
        self._turn = threading.Lock()

    def read(self, frame: Frame) -> tuple[TextLine, ...]:
        """Lines of score >= min_score, top to bottom. Raises InputError, OutputError."""
        check_frame(frame)
        if self._engine is None:
            raise LoadError("The text reader was closed.")
        try:
            with self._turn:
                result = self._engine(frame, use_det=True, use_cls=False, use_rec=True)
        except Exception as error:
            raise OutputError(f"RapidOCR failed on a frame of shape {frame.shape}: {error}") from error
        finally:
            give_back()
        if result is None or result.boxes is None or not result.txts:
            return ()
        lines = [
            TextLine(text.strip(), float(score), _upright(box))
            for text, score, box in zip(result.txts, result.scores, result.boxes, strict=True)
            if score >= self._min_score and text.strip()
        ]
        return tuple(sorted(lines, key=lambda line: (line.box[1], line.box[0])))

    def close(self) -> None:
        self._engine = None


def _upright(corners: Any) -> tuple[float, float, float, float]:
    xs, ys = [float(x) for x, _ in corners], [float(y) for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)
