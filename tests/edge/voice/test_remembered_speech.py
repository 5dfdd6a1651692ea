"""What is remembered of what was said: whole sentences, and nothing that the device said itself.  With real models."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from voice_support import RATE, Mouth, silence, table, write_wav

from edge.bus import Bus
from edge.capture.audio import FileSound
from edge.capture.recorded import RecordedCapture
from edge.capture.sound_only import SoundOnly
from edge.capture.windows import WindowMaker
from edge.clock import US, SystemClock
from edge.config import Growth, Memory, Perception
from edge.messages import Observation, RawWindow, Say, Sound
from edge.perception.light import LightPerception
from edge.perception.speech import hear
from edge.voice.own_marks import OwnMarks, TimedVoice
from edge.voice.queue import ALERT
from models import ASR, VAD, Loader
from storage.records import Window

START = (1_772_438_400_000_000, 3600)
FIRST, SECOND = "Please call Doctor Brown about the meeting.", "The blue umbrella belongs to my sister Anna."


@pytest.fixture(scope="module")
def light(loader: Loader) -> LightPerception:
    asr, vad = loader.load(ASR, "whisper-tiny.en").model, loader.load(VAD).model
    return LightPerception(object(), Perception(), asr=asr, vad=vad)  # type: ignore[arg-type]


def clip() -> Growth:
    return Memory().growth("clip")  # windows of ten seconds


def raw_windows(path: Path, begin: int | None = None) -> list[RawWindow]:
    """As the program reads a sound file, from a place on where an earlier run came so far."""
    source, bus, stop = SoundOnly(path, start=START), Bus(), threading.Event()
    source.open(stop)
    raw = bus.subscribe("raw_windows")
    maker = WindowMaker("r", clip(), start=begin or START[0], offset_s=3600)
    capture = RecordedCapture(source, FileSound(path, *START), maker, bus, SystemClock())
    capture.run(stop)
    capture.close()
    return [w for _ in range(raw.backlog()) if isinstance(w := raw.get(0), RawWindow)]


def perceived(light: LightPerception, raws: list[RawWindow]) -> list[Window]:
    light.prime([])
    return [o.window for raw in raws for o in light.step(raw) if isinstance(o, Observation)]


def test_a_sentence_across_the_end_of_a_window_is_heard_whole_also_by_the_next_run(
    light: LightPerception, loader: Loader, tmp_path: Path
) -> None:
    say = Mouth(loader)
    pcm = silence(30.0)
    for text, second in ((FIRST, 8.8), (SECOND, 17.9)):
        said = say(text)
        pcm[int(second * RATE) : int(second * RATE) + len(said)] += said
    pcm += np.random.default_rng(1).normal(size=len(pcm)).astype(np.float32) * np.float32(0.0005)
    path = write_wav(tmp_path / "day.wav", pcm)
    raws = raw_windows(path)
    windows = perceived(light, raws)
    assert [w.t_start - START[0] for w in windows] == [0, 10 * US, 20 * US]
    assert [len(w.speech) for w in windows] == [0, 1, 1]
    for window, words in zip(windows[1:], (("brown", "meeting"), ("blue umbrella", "anna")), strict=True):
        assert all(word in window.speech[0].text.lower() for word in words), window.speech
        assert window.t_start <= window.speech[0].t < window.t_end  # its own sentence, never the future
    for n in (1, 2):  # killed after n windows, and begun again
        again = perceived(light, raw_windows(path, begin=windows[n - 1].t_end))
        assert [[u.text for u in w.speech] for w in again] == [[u.text for u in w.speech] for w in windows[n:]]


def test_a_sentence_that_the_end_of_the_recording_or_a_pause_cuts_off_is_kept(
    light: LightPerception, loader: Loader, tmp_path: Path
) -> None:
    said = Mouth(loader)(FIRST)
    path = write_wav(tmp_path / "cut.wav", np.concatenate([silence(8.8), said])[: 10 * RATE])
    (window,) = perceived(light, raw_windows(path))
    assert "brown" in window.speech[0].text.lower()
    light.prime([])
    first, second = raw_windows(write_wav(tmp_path / "two.wav", np.concatenate([silence(8.8), said, silence(1)])))[:2]
    assert first.goes_on
    light.step(first)
    later = RawWindow("r", second.t_start + 60 * US, second.t_end + 60 * US, 3600, (), None)  # it was paused meanwhile
    (told,) = light.step(later)
    assert "brown" in told.window.speech[0].text.lower()
    assert told.window.speech[0].t == later.t_start
    light.step(first)
    light.prime([])  # that stretch was forgotten
    assert light.step(second)[0].window.speech == () or "brown" not in light._recent[-1].speech[0].text.lower()


SECRET = "The hidden treasure is a pineapple."


@pytest.mark.realtime
@pytest.mark.slow  # what is recognised over its own voice differs with the load of the machine
def test_the_devices_own_voice_is_not_remembered_and_those_around_are(loader: Loader) -> None:
    with table(loader, leak=0.5) as device:
        vad, asr = loader.load(VAD).model, loader.load(ASR, "whisper-tiny.en").model
        device.taken = pieces = []
        device.play(silence(0.5))
        device.bus.publish(Say(SECRET, ALERT, "a1"))
        device.until(lambda: device.voice.speaking is not None)
        device.wait()
        device.play(silence(1.5))
        device.play(np.concatenate([device.mouth(SECOND, 0.15), silence(1.0)]))
    sound = Sound(pieces[0].t, 0, np.concatenate([p.pcm for p in pieces]))
    end = sound.t + len(sound.pcm) * US // RATE
    raw = " ".join(u.text for u in hear(sound, vad, asr, sound.t, end)).lower()
    assert "pineapple" in raw, "the microphone hears it"
    left = " ".join(u.text for u in hear(device.marks.clean(sound), vad, asr, sound.t, end)).lower()
    assert "pineapple" not in left
    assert "treasure" not in left
    assert "umbrella" in left


def test_who_speaks_over_the_device_is_kept_as_far_as_it_is_told_apart() -> None:
    marks, step = OwnMarks(TimedVoice(), SystemClock()), np.ones(512, np.float32)
    length = 512 * US // RATE
    told = [  # talking, placed, foreign, settled: what is left of each step
        (False, False, False, False, 1.0),
        (True, False, False, False, 0.0),  # it was its own, as the next but one shows
        (True, False, True, False, 0.0),
        (True, True, False, False, 0.0),
        (True, True, True, False, 0.0),
        (True, True, True, True, 0.5),
        (True, True, False, True, 0.0),
        (False, True, False, True, 1.0),
        (True, False, False, True, 1.0),  # this time the microphone does not hear it
        (False, False, False, True, 1.0),
    ]
    for n, (talking, placed, foreign, settled, _) in enumerate(told):
        echo = SimpleNamespace(talking=talking, placed=placed, foreign=foreign, sure=settled)
        marks.note(START[0] + n * length, step * np.float32(0.5), echo)  # type: ignore[arg-type]
    left = marks.clean(Sound(START[0], 3600, np.ones(512 * len(told), np.float32)))
    assert [float(np.median(left.pcm[n * 512 : n * 512 + 512])) for n in range(len(told))] == [x[4] for x in told]
    part = marks.clean(Sound(START[0] + 5 * length + length // 2, 3600, np.ones(512, np.float32)))
    assert part.pcm[100] == pytest.approx(0.5)
    assert part.pcm[400] == 0.0
    elsewhere = Sound(START[0] + 100 * length, 3600, step)
    assert marks.clean(elsewhere) is elsewhere


def test_without_ears_what_is_heard_while_it_speaks_is_left_out() -> None:
    clock = SystemClock()
    own, now, wall = TimedVoice(), clock.mono(), clock.now()
    marks = OwnMarks(own, clock)
    for n in range(10):
        own.add(np.ones(RATE // 10, np.float32), now + n * US // 10)
    own.cut(now + US // 2)
    own.add(np.ones(RATE // 10, np.float32), now + 10 * US)
    assert [end - start for start, end in own.spans()] == pytest.approx([RATE // 2, RATE // 10], abs=2)
    left = marks.clean(Sound(wall - 5 * US, 0, np.ones(20 * RATE, np.float32))).pcm
    loud = [bool(left[int(second * RATE)]) for second in (4.9, 5.2, 6.5, 7.0, 14.9, 15.2, 16.6)]
    assert loud == [True, False, False, True, True, False, True]
