"""Text embedding by all-MiniLM-L6-v2 in int8 (Apache-2.0): a small transformer, mean over its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from models.backends.onnx_session import Session
from models.errors import EngineMissingError, LoadError
from models.roles import Vector

LONGEST = 256  # tokens, as the model was trained
BATCH = 16


class MiniLM:
    """A TextEmbedding of 384 dimensions. May be called from several threads."""

    id = "minilm-l6-int8"
    dim = 384

    def __init__(self, model: Path, tokenizer: Path, *, threads: int = 2) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise EngineMissingError("tokenizers is not installed; run `pip install tokenizers`.") from error
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # tokenizers raises a bare Exception
            raise LoadError(f"{tokenizer.name} is not a tokenizer: {error}") from error
        self._tokenizer.enable_truncation(LONGEST)
        self._tokenizer.enable_padding()
        self._session = Session(model, threads=threads, gpu=False)

    def embed(self, texts: Sequence[str]) -> Vector:
        """Shape (n, 384); a zero row for empty text."""
        rows = np.zeros((len(texts), self.dim), np.float32)
        # Texts of like length together, so that little is computed for padding.
        order = sorted((i for i, t in enumerate(texts) if t.strip()), key=lambda i: len(texts[i]))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            encoded = self._tokenizer.encode_batch([texts[i].strip() for i in chosen])
            ids = np.array([e.ids for e in encoded], np.int64)
            mask = np.array([e.attention_mask for e in encoded], np.int64)
            feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            output = self._session.run({k: v for k, v in feeds.items() if k in self._session.inputs})
            rows[chosen] = _pool(next(iter(output.values())), mask)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Vector = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
        return unit

    def close(self) -> None:
        self._session.close()


def _pool(output: Any, mask: Any) -> Any:
    if output.ndim == 2:  # pooled inside the graph
        return output
    return (output * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
