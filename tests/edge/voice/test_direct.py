from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from edge.voice.direct import Direct
from edge.voice.pcm import resample, to_float, to_int16

RATE = 16_000
BLOCK = 256
LOUD = 1e-6
FIRST = 2048


def talk(seconds: float, seed: int) -> np.ndarray:
    """Something like a voice: coloured noise in syllables, dark ones and bright ones."""
    rng = np.random.default_rng(seed)
    count = int(seconds * RATE)
    noise = rng.normal(size=count)
    dark, bright = (np.convolve(noise, shape, "same") for shape in (np.hanning(15) / 6, [0.3, -0.4, 0.2]))
    loud, kind = (np.repeat(rng.random(count // 1600 + 1), 1600)[:count] for _ in range(2))
    return (0.12 * np.where(kind > 0.25, dark, bright) * (0.15 + loud)).astype(np.float32)


SAID, PERSON = talk(6, 1), talk(6, 2)


def said(place: int, count: int) -> np.ndarray:
    at = np.arange(place, place + count)
    return np.where((at >= 0) & (at < len(SAID)), SAID[np.clip(at, 0, len(SAID) - 1)], 0).astype(np.float32)


def played(delay: Callable[[np.ndarray], np.ndarray], count: int = 7 * RATE // 2) -> np.ndarray:
    """What was said, each sample as late as `delay` has it."""
    at = np.arange(count)
    wanted = at - delay(at)
    whole = np.floor(wanted).astype(int)
    taps = np.arange(-15, 17)
    near = said(-2000, len(SAID) + 4000)[whole[:, None] + taps + 2000]
    offsets = taps - (wanted - whole)[:, None]
    return np.asarray((near * np.sinc(offsets) * np.cos(offsets * np.pi / 34) ** 2).sum(axis=1), np.float32)


def listen(heard: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each step of 16 ms, whether the way was trusted, and whether somebody was taken to speak."""
    direct, found = Direct(said, -1600, 14_400), []
    for end in range(FIRST, len(heard), BLOCK):
        direct.step(heard[:end], end, BLOCK, LOUD)
        found.append((direct.trusted, direct.held > 0))
    trusted, held = np.array(found).T
    return trusted, held


def steps(start_s: float, end_s: float) -> slice:
    return slice(*(int((s * RATE - FIRST) / BLOCK) for s in (start_s, end_s)))


def jumps(at: np.ndarray) -> np.ndarray:
    """Every third of a second it is up to 100 ms later or earlier."""
    return 1500 + np.random.default_rng(3).integers(-800, 800, 20)[at // 5333]


WAYS = {
    "as it is": lambda at: np.full(len(at), 500),
    "between two samples": lambda at: np.full(len(at), 500.37),
    "stretched": lambda at: 700 + 0.004 * at,
    "a clock that is off": lambda at: 700 - 0.0002 * at,
    "with jumps": jumps,
    "stretched with jumps": lambda at: jumps(at) - 0.003 * at,
}


@pytest.mark.parametrize("way", WAYS)
def test_the_device_alone_is_nobody_whatever_a_sound_server_does_and_a_person_is_noticed(way: str) -> None:
    heard = played(WAYS[way]) * np.float32(0.3)
    begun = int(np.flatnonzero(np.abs(PERSON) > 0.1)[0])
    heard[5 * RATE // 2 :] += 0.4 * PERSON[begun : begun + RATE]
    trusted, held = listen(heard)
    assert trusted[steps(2, 2.5)].all()
    assert not held[steps(1, 2.5)].any()
    assert held[steps(2.5, 2.8)].argmax() <= 8, "within a tenth of a second"
    assert held[steps(2.7, 3.5)].mean() > 0.7


def test_what_is_left_is_the_person() -> None:
    heard = played(WAYS["stretched"])
    heard[5 * RATE // 2 :] += PERSON[:RATE]
    direct, left = Direct(said, -1600, 14_400), []
    for end in range(FIRST, len(heard), BLOCK):
        rest = direct.step(heard[:end], end, BLOCK, LOUD)
        left.append(np.zeros(BLOCK) if rest is None else rest)
    rest = np.concatenate(left)  # from FIRST - BLOCK on
    alone = rest[3 * RATE // 2 : 2 * RATE]
    assert np.mean(np.square(alone)) < 0.02 * np.mean(np.square(heard[3 * RATE // 2 : 2 * RATE]))
    over = rest[5 * RATE // 2 - FIRST + BLOCK :]
    assert np.corrcoef(over, PERSON[:RATE][: len(over)])[0, 1] > 0.8


def test_a_room_with_echoes_is_not_judged() -> None:
    heard = played(WAYS["as it is"])
    rng = np.random.default_rng(4)
    tail = rng.normal(size=4000) * np.exp(-np.arange(4000) / 900) * 0.04
    heard = heard + np.convolve(heard, tail)[: len(heard)].astype(np.float32)
    trusted, _ = listen(heard)
    assert not trusted.any()


def test_a_sound_server_that_resamples_badly_is_explained_where_it_can_be() -> None:
    """What folds down into the uppermost band is in no copy of what was said."""
    loud = to_int16(np.clip(played(WAYS["as it is"]) * 3, -1, 1))
    back = to_float(resample(resample(loud, RATE, 8000), 8000, RATE))
    heard = played(WAYS["as it is"]) * 3
    heard[RATE:] += (heard[RATE:] - back[RATE : len(heard)]) * np.float32(-0.5)
    trusted, held = listen(heard.astype(np.float32))
    assert not held.any()
    assert trusted[-1]
