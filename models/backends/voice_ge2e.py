"""Who speaks, as 256 numbers: the speaker encoder of Wan et al. (arXiv 1710.10467) with Resemblyzer's weights (Apache-2.0).

The sound goes in as mel power (25 ms windows every 10 ms, 40 bands of the Slaney scale), cut into stretches of 1.6 s
that overlap by half; the voice is the mean over the stretches. Two utterances of one person score 0.75-0.95 by dot
product, of two persons mostly below 0.7: a hint, never proof of identity.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.backends.frames import check_speech
from models.backends.onnx_session import Session
from models.roles import SPEECH_RATE, Vector

WINDOW, HOP, BANDS = 400, 160, 40
STRETCH = 160  # frames
STEP = 77  # frames between the starts of two stretches
SHORTEST_S = 0.6
QUIET = 0.0316  # root mean square of -30 dBFS, up to which quiet sound is raised
BATCH = 32


class VoiceGe2e:
    """A SpeakerEmbedding. May be called from several threads."""

    id = "voice-ge2e"
    dim = 256

    def __init__(self, path: Path, *, threads: int = 2) -> None:
        self._session = Session(path, threads=threads, gpu=False)

    def embed_voice(self, pcm: NDArray[np.float32]) -> Vector:
        """Shape (256,), of length 1; zero for silence and for less than 0.6 s. Cut pauses out first. Raises InputError."""
        check_speech(pcm)
        level = float(np.sqrt(np.mean(np.square(pcm)))) if pcm.size else 0.0
        if pcm.size < SHORTEST_S * SPEECH_RATE or level == 0:
            return np.zeros(self.dim, np.float32)
        stretches = _stretches(_mel_power(pcm * max(1.0, QUIET / level)))
        parts = [stretches[i : i + BATCH] for i in range(0, len(stretches), BATCH)]
        voices = np.concatenate([self._session.run({"mels": part})["voice"] for part in parts])
        norms = np.linalg.norm(voices, axis=1, keepdims=True)
        mean = np.divide(voices, norms, out=np.zeros_like(voices), where=norms > 0).mean(axis=0)
        length = float(np.linalg.norm(mean))
        voice: Vector = (mean / length if length > 0 else mean).astype(np.float32)
        return voice

    def close(self) -> None:
        self._session.close()


def _stretches(mels: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cut (frames, 40) into (n, 160, 40); the last one, if mostly there, is filled up with silence."""
    starts = list(range(0, max(1, len(mels) - STRETCH + STEP + 1), STEP))
    if len(starts) > 1 and len(mels) - starts[-1] < 0.75 * STRETCH:
        starts.pop()
    cut = np.zeros((len(starts), STRETCH, BANDS), np.float32)
    for row, start in zip(cut, starts, strict=True):
        piece = mels[start : start + STRETCH]
        row[: len(piece)] = piece
    return cut


def _mel_power(pcm: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mel power of shape (1 + n // 160, 40); frames are centred, with silence before the first and after the last."""
    padded = np.pad(pcm, WINDOW // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    power = np.abs(np.fft.rfft(frames * hann, axis=1)) ** 2
    return (power @ _FILTERS).astype(np.float32)


def _filters() -> NDArray[np.float64]:
    """Triangles on Slaney's mel scale (linear to 1 kHz, then logarithmic), each of unit area: shape (201, 40)."""
    bins = np.arange(WINDOW // 2 + 1) * SPEECH_RATE / WINDOW
    top = 15 + 27 * np.log(SPEECH_RATE / 2 / 1000) / np.log(6.4)
    mel = np.linspace(0, top, BANDS + 2)
    edges = np.where(mel < 15, mel * 200 / 3, 1000 * 6.4 ** ((mel - 15) / 27))
    low, centre, high = edges[:-2], edges[1:-1], edges[2:]
    rising = (bins[:, None] - low) / (centre - low)
    falling = (high - bins[:, None]) / (high - centre)
    triangles: NDArray[np.float64] = np.maximum(0, np.minimum(rising, falling)) * 2 / (high - low)
    return triangles


_FILTERS = _filters()
