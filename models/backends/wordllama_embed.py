"""Text embedding by WordLlama's static word vectors (MIT): look up each token's vector and average.

Read straight from the package's two files: the weights stay 16-bit and memory-mapped, half of what the package's own
class holds, and neither its downloader nor its compiled helpers are loaded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.errors import EngineMissingError, LoadError
from models.roles import Vector

BATCH = 64


class WordLlama:
    """A TextEmbedding of 256 dimensions. May be called from several threads."""

    id = "wordllama-256"

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        """`weights` is l2_supercat_256.safetensors, `tokenizer` l2_supercat_tokenizer_config.json."""
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise EngineMissingError("tokenizers is not installed; run `pip install tokenizers`.") from error
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # tokenizers raises a bare Exception
            raise LoadError(f"{tokenizer.name} is not a tokenizer: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._table = _matrix(weights)
        self.dim = int(self._table.shape[1])

    def embed(self, texts: Sequence[str]) -> Vector:
        """Shape (n, 256); a zero row for text without a letter, digit or sign."""
        rows = np.zeros((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), BATCH):
            chunk = [t.strip() for t in texts[start : start + BATCH]]
            encoded = self._tokenizer.encode_batch(chunk, add_special_tokens=False)
            for offset, encoding in enumerate(encoded):
                if encoding.ids:
                    ids = np.minimum(np.array(encoding.ids), len(self._table) - 1)
                    rows[start + offset] = self._table[ids].astype(np.float32).mean(axis=0)
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Vector = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
        return unit

    def close(self) -> None:
        """The table is mapped read-only and shared; it goes with the object."""


def _matrix(path: Path) -> NDArray[np.float16]:
    """Map the one matrix of a safetensors file: 8 bytes header length, JSON header, then the data."""
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(length))
        (entry,) = (v for k, v in header.items() if k != "__metadata__")
        if entry["dtype"] != "F16" or len(entry["shape"]) != 2:
            raise LoadError(f"{path.name} holds {entry['dtype']} {entry['shape']}, not a 16-bit matrix.")
        begin, _ = entry["data_offsets"]
        return np.memmap(path, np.float16, "r", 8 + length + begin, tuple(entry["shape"]))
    except (OSError, ValueError, KeyError) as error:
        raise LoadError(f"{path.name} is not a word-vector file: {error}") from error
