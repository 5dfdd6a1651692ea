"""From the sound of a window to what was said and, by loudness, whether the wearer said it.

The wearer's mouth is a hand's breadth from the microphone, everybody else's an arm's length or more: of two clearly
different levels the louder is the wearer's.  Where there is one level only, it is the wearer's when it stands far
enough above the room.  Levels are compared inside one window, so a restart between windows changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edge.clock import US
from edge.messages import Pcm, Sound
from edge.perception.gate import otsu
from models.roles import ASR, SPEECH_RATE, VAD
from storage.records import Utterance

WEARER, OTHER = "wearer", "other"
JOIN_S = 1.0  # a shorter pause does not end an utterance if the voice stays as loud: a sentence is heard whole
SAME_VOICE_DB = 6.0  # two spans that differ by more in loudness are not joined
LONGEST_S = 25.0  # of one utterance: whisper hears 30 s at most
OVER_S = 0.4  # of silence at the end: what was being said is over
PAD_S = 0.15  # heard before and after a span, against clipped consonants
CONFIDENT = 0.4  # least confidence of a segment
TWO_LEVELS_DB = 7.0  # between the means of two levels that are two speakers; one voice varies by five or six
ABOVE_ROOM_DB = 15.0  # of a lone level, for the wearer
FRAME_S = 0.03  # of the level measurement
SILENT_DB = -90.0  # below anything a microphone gives
NOISES = re.compile(r"\[[^\]]*\]|\([^)]*\)|\*[^*]*\*|[♪♫]+")


@dataclass(frozen=True, slots=True)
class Heard:
    """One span of speech: seconds from the start of the sound, its level in dB of full scale, its text."""

    start_s: float
    end_s: float
    level_db: float
    text: str


def hear(
    sound: Sound, vad: VAD, asr: ASR, t_start: int, t_end: int, *, bystanders: bool = True
) -> tuple[Utterance, ...]:
    """What was said in the sound, in order; times are cut to the window.  Raises what the models raise.

    Without `bystanders` only the wearer's words are returned, so that nobody else's go any further.
    """
    return hear_whole(sound, vad, asr, t_start, t_end, bystanders=bystanders)[0]


def hear_whole(
    sound: Sound, vad: VAD, asr: ASR, t_start: int, t_end: int, *, bystanders: bool = True, goes_on: bool = False
) -> tuple[tuple[Utterance, ...], Sound | None]:
    """As `hear`; with `goes_on` a sentence that is still being said at the end is left out, and its sound returned.

    It belongs to the window in which it ends: put before the next window's sound it is heard whole.
    """
    spans = join(_loudness(sound.pcm, vad.speech_spans(sound.pcm)))
    held = _unfinished(spans, sound) if goes_on else None
    heard = []
    for start, end, loud in spans if held is None else spans[:-1]:
        text = words_of(asr, _cut(sound.pcm, start - PAD_S, end + PAD_S))
        if text:
            heard.append(Heard(start, end, loud, text))
    speakers = who(heard, room_level(sound.pcm))
    said = tuple(
        Utterance(min(max(sound.t + round(h.start_s * US), t_start), t_end), speaker, h.text)
        for h, speaker in zip(heard, speakers, strict=True)
        if bystanders or speaker == WEARER
    )
    return said, held


def unfinished(sound: Sound, vad: VAD) -> Sound | None:
    """The sound of a sentence that is still being said at the end, if one is.  Raises what the model raises."""
    return _unfinished(join(_loudness(sound.pcm, vad.speech_spans(sound.pcm))), sound)


def _unfinished(spans: Sequence[tuple[float, float, float]], sound: Sound) -> Sound | None:
    length = len(sound.pcm) / SPEECH_RATE
    if not spans or spans[-1][1] < length - OVER_S or length - spans[-1][0] > LONGEST_S:
        return None
    start = max(0, round((spans[-1][0] - 2 * PAD_S) * SPEECH_RATE))
    return Sound(sound.t + start * US // SPEECH_RATE, sound.offset_s, sound.pcm[start:])


def join(spans: Iterable[tuple[float, float, float]]) -> list[tuple[float, float, float]]:
    """Spans (start, end, level) with the short pauses between them closed, none made longer than LONGEST_S.

    Whisper costs the same for one second as for thirty, and understands a sentence better than its pieces.
    """
    joined: list[tuple[float, float, float]] = []
    for start, end, loud in spans:
        if joined:
            first, last, before = joined[-1]
            near = start - last <= JOIN_S and end - first <= LONGEST_S
            if near and abs(loud - before) <= SAME_VOICE_DB:
                share = (end - start) / (end - start + last - first)
                joined[-1] = (first, end, before + share * (loud - before))
                continue
        joined.append((start, end, loud))
    return joined


def words_of(asr: ASR, pcm: Pcm) -> str:
    """The text of a span; "" where nobody said anything that was understood."""
    parts = []
    for segment in asr.transcribe(pcm):
        text = " ".join(NOISES.sub(" ", segment.text).split())
        if segment.confidence >= CONFIDENT and any(c.isalnum() for c in text):
            parts.append(text)
    return " ".join(parts)


def who(heard: Sequence[Heard], room_db: float) -> list[str]:
    """Wearer or other for each span."""
    if not heard:
        return []
    levels = [h.level_db for h in heard]
    split = otsu(levels)
    loud = [x for x in levels if x > split]
    soft = [x for x in levels if x <= split]
    if loud and soft and float(np.mean(loud)) - float(np.mean(soft)) >= TWO_LEVELS_DB:
        return [WEARER if x > split else OTHER for x in levels]
    speaker = WEARER if float(np.mean(levels)) - room_db >= ABOVE_ROOM_DB else OTHER
    return [speaker] * len(heard)


def level(pcm: Pcm) -> float:
    """Loudness in dB of full scale: the root mean square of the louder half, so that pauses do not count."""
    frames = _frame_levels(pcm)
    return float(np.mean(np.sort(frames)[len(frames) // 2 :])) if frames.size else SILENT_DB


def room_level(pcm: Pcm) -> float:
    """Loudness of the room in dB of full scale: what one stretch in ten falls below."""
    frames = _frame_levels(pcm)
    return float(np.quantile(frames, 0.1)) if frames.size else SILENT_DB


def _frame_levels(pcm: Pcm) -> npt.NDArray[np.float64]:
    size = round(FRAME_S * SPEECH_RATE)
    count = len(pcm) // size
    power = np.square(pcm[: count * size].reshape(count, size), dtype=np.float64).mean(axis=1)
    levels: npt.NDArray[np.float64] = np.maximum(10 * np.log10(np.maximum(power, 1e-12)), SILENT_DB)
    return levels


def _loudness(pcm: Pcm, spans: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float, float]]:
    return ((start, end, level(_cut(pcm, start, end))) for start, end in spans)


def _cut(pcm: Pcm, start_s: float, end_s: float) -> Pcm:
    return pcm[max(0, round(start_s * SPEECH_RATE)) : max(0, round(end_s * SPEECH_RATE))]
