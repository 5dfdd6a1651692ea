"""Conversations with real models, at the pace of speech, without a sound card; on a starved machine time waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from voice_support import Table, share_heard, silence, table

from edge.clock import US
from edge.messages import Say
from edge.voice.queue import ALERT, CRITICAL
from models import Loader

KEYS = "Your keys are on the kitchen table."
STORY = [
    "Once there was a miller who had three sons and a mill by the river.",
    "The oldest of them wanted to see the mountains in the north.",
    "So he took some bread, his grey coat, and a lantern.",
    "After seven days he came to a castle made of glass.",
]


@pytest.fixture
def device(loader: Loader) -> Iterator[Table]:
    with table(loader) as made:
        made.mind.answers = {"Where are my keys?": [KEYS], "Tell me a story.": STORY}
        yield made


def test_a_question_in_one_breath_and_after_a_pause_is_answered(device: Table) -> None:
    device.tell("Hey Jarvis, where are my keys?")
    device.wait()
    assert device.said() == [KEYS]
    device.tell("Hey Jarvis.", after=0.7)
    device.tell("Where are my keys?", before=0.0)
    device.wait()
    assert device.said() == [KEYS]
    assert all("jarvis" not in q.lower() for q in device.mind.asked)
    assert share_heard("Where are my keys?", device.mind.answered_[-1]) > 0.8
    assert {"endpoint", "asr", "to_voice"} <= set(device.listener.timing.last)


def test_a_short_command_in_one_breath_with_the_wake_word_is_obeyed(device: Table) -> None:
    """It is over almost before the tone has sounded."""
    device.tell("Hey Jarvis, repeat that.")
    device.wait()
    assert device.said() == ["I have not said anything yet."]


def test_what_is_not_for_the_device_is_left_alone(device: Table) -> None:
    device.tell("Where are my keys? I must have left them in the car.")
    device.wait()
    assert device.listener.timing.turns == 0
    device.tell("Hey Jarvis, I like green apples.")  # nothing it could do about that
    device.wait()
    assert device.listener.timing.turns == 1
    assert device.mind.asked == []
    assert device.voice.last is None


def test_stop_silences_it_and_a_murmur_only_for_a_moment(device: Table) -> None:
    device.tell("Hey Jarvis, tell me a story.")
    device.until(lambda: device.voice.speaking is not None)
    device.tell("Stop.", before=1.5)
    device.wait()
    assert device.voice.health()["spoken"] < len(STORY)
    device.tell("Hey Jarvis, tell me a story.")
    device.until(lambda: device.voice.speaking is not None)
    device.tell("The bus was late again.", before=1.5, after=0.2)  # said to somebody else
    assert device.voice.speaking is None
    device.wait(60)
    assert device.said()[-1] == STORY[-1]


@pytest.mark.slow
def test_forgetting_asks_back_and_hears_the_answer(device: Table) -> None:
    device.tell("Hey Jarvis, forget the last ten minutes.")
    device.until(lambda: device.listener.health()["turn"] == "reply")
    device.tell("Yes.", before=0.4)
    device.wait()
    assert device.mind.confirmed == [True]
    assert device.said() == ["It is forgotten."]
    device.tell("Hey Jarvis, forget the last ten minutes.")
    device.until(lambda: device.listener.health()["turn"] == "reply")
    device.until(lambda: device.mind.confirmed == [True, False])  # silence is no consent


def test_an_alert_waits_for_the_question_and_danger_does_not(device: Table) -> None:
    device.tell("Hey Jarvis.", after=0.3)
    device.bus.publish([Say("The stove is still on.", ALERT, "a1"), Say("Watch out, a car!", CRITICAL, "a2")])
    device.until(lambda: device.voice.last is not None)
    assert device.voice.last.source == "a2"
    assert device.listener.health()["turn"] == "wake"
    device.tell("Where are my keys?", before=0.0)
    device.wait()
    assert device.said() == [KEYS, "The stove is still on."]
    assert device.voice.health()["dropped"] == {}


def test_a_question_cuts_into_an_alert_which_then_goes_on(device: Table) -> None:
    text = "You have not had any water since nine. The bottle stands on your desk. It is half full."
    device.bus.publish([Say(text, ALERT, "a1"), Say("The window is open.", ALERT, "a2")])
    device.play(silence(1.0))
    device.tell("Hey Jarvis, where are my keys?", before=0.0)
    device.wait(60)
    said = device.said()
    assert said[-2:] == ["It is half full.", "The window is open."]
    assert said.count(KEYS) == said.count("The window is open.") == 1, (said, device.mind.asked)
    assert said.index(KEYS) < len(said) - 2


@pytest.mark.slow
def test_repeat_louder_and_help(device: Table) -> None:
    device.tell("Hey Jarvis, where are my keys?")
    device.wait()
    device.tell("Hey Jarvis, please say that again.")
    device.wait()
    assert device.said() == [KEYS]
    before = device.voice.gain
    device.tell("Hey Jarvis, speak up, please.")
    device.wait()
    assert device.voice.gain > before


@pytest.mark.slow
def test_a_tap_is_as_good_as_the_wake_word(device: Table) -> None:
    device.listener.tap()
    device.tell("Where are my keys?")
    device.wait()
    assert device.said() == [KEYS]


def test_the_microphone_stops_in_mid_utterance(device: Table) -> None:
    pcm = device.mouth("Hey Jarvis, where are my keys?")
    device.play(np.concatenate([silence(0.3), pcm[: int(len(pcm) * 0.75)]]))
    device.clock.limit = None  # time goes on
    never = threading.Event()
    for _ in range(2000):
        never.wait(0.05)
        if device.listener.health()["turn"] is None and device.quiet():  # what it made of the half may be answered
            break
    assert device.listener.health()["turn"] is None
    device.tell("Hey Jarvis, where are my keys?", before=1.0)  # it is back
    device.wait()
    assert device.said() == [KEYS]


@pytest.mark.parametrize("turns", [pytest.param(100, marks=pytest.mark.slow), 4])
def test_turns_in_a_row_keep_the_microphone_and_the_memory(turns: int, device: Table) -> None:
    """Taps instead of wake words, short answers: after each the ears are open, and nothing grows."""
    device.mind.answers = {"Where are my keys?": ["Here."]}
    sizes = []
    for n in range(turns):
        device.listener.tap()
        device.tell("Where are my keys?", after=0.8)
        device.wait()
        assert device.voice.health()["spoken"] == n + 1
        health = device.listener.health()
        assert (health["state"], health["turn"], health["turns"]) == ("ok", None, n + 1)
        sizes.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4096 // 1_000_000)
    if turns > 50:
        assert max(sizes[-10:]) - max(sizes[10:20]) < 20, sizes


def test_without_a_model_it_says_so_and_nothing_else_stops(loader: Loader) -> None:
    from models.errors import ModelMissingError

    def missing() -> list:
        raise ModelMissingError("There is no wake-word file x.tflite; correct voice.wake_words.")

    made = Table(loader)
    made.listener._hearing._wake = missing
    stop = threading.Event()
    thread = threading.Thread(target=made.listener.run, args=(stop,))
    thread.start()
    try:
        made.until(lambda: made.listener.health()["state"] == "down")
        made.play(silence(0.3))
        assert "wake-word file" in str(made.listener.health()["detail"])
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()
    assert made.clock.mono() > US
