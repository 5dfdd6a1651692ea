"""Sample arithmetic for the voice: rates, levels, blocks.  Pure; sound is mono int16 of shape (n,)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import gcd

import numpy as np
from numpy.typing import NDArray

Pcm16 = NDArray[np.int16]

_ZEROS = 12  # zero crossings of the filter on each side: 24 taps and more, past -60 dB with the window below


def resample(pcm: Pcm16, source_hz: int, target_hz: int) -> Pcm16:
    """Change the rate by band-limited interpolation (Hann-windowed sinc); one sentence at a time, edges are silent."""
    if source_hz == target_hz or not len(pcm):
        return pcm
    step = gcd(source_hz, target_hz)
    up, down = target_hz // step, source_hz // step
    taps, reach = _bank(up, down)
    count = -(-len(pcm) * up // down)
    padded = np.concatenate([np.zeros(reach, np.float32), pcm.astype(np.float32), np.zeros(reach + 1, np.float32)])
    out = np.empty(count, np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach)
    for begin in range(0, count, 65_536):  # in blocks, so that a long sentence does not cost a hundred megabytes
        at = np.arange(begin, min(begin + 65_536, count)) * down
        out[begin : begin + len(at)] = np.einsum("ij,ij->i", windows[at // up + 1], taps[at % up])
    return _to_pcm(out)


@lru_cache(maxsize=8)
def _bank(up: int, down: int) -> tuple[NDArray[np.float32], int]:
    """One filter per phase, shape (up, 2 * reach), each of gain 1; the pass band ends at the lower Nyquist rate."""
    width = max(1.0, down / up)
    reach = int(np.ceil(_ZEROS * width))
    offsets = np.arange(2 * reach)[None, :] - (reach - 1) - (np.arange(up) / up)[:, None]
    window = np.cos(np.clip(offsets / (2 * (reach + 1)), -0.5, 0.5) * np.pi) ** 2
    bank = np.sinc(offsets / width) * window
    return (bank / bank.sum(axis=1, keepdims=True)).astype(np.float32), reach


def blocks(pcm: Pcm16, size: int) -> Iterator[Pcm16]:
    """Cut into blocks of `size` samples; the last may be shorter."""
    for begin in range(0, len(pcm), size):
        yield pcm[begin : begin + size]


def scale(pcm: Pcm16, gain: float) -> Pcm16:
    """Louder or softer, clipped."""
    if gain == 1.0:
        return pcm
    return _to_pcm(pcm.astype(np.float32) * np.float32(gain))


def level_db(pcm: Pcm16) -> float:
    """RMS level in dB below full scale; -120 for silence."""
    if not len(pcm):
        return -120.0
    rms = float(np.sqrt(np.mean(np.square(pcm.astype(np.float64) / 32_768))))
    return max(-120.0, 20 * float(np.log10(max(rms, 1e-6))))


def to_int16(pcm: NDArray[np.float32]) -> Pcm16:
    """Samples in -1..1 as 16-bit numbers, clipped."""
    return _to_pcm(pcm * np.float32(32_767))


def to_float(pcm: Pcm16) -> NDArray[np.float32]:
    """16-bit samples as -1..1."""
    samples: NDArray[np.float32] = pcm.astype(np.float32) / np.float32(32_768)
    return samples


def _to_pcm(samples: NDArray[np.float32]) -> Pcm16:
    rounded: NDArray[np.float32] = np.clip(np.rint(samples), -32_768, 32_767)
    return rounded.astype(np.int16)
