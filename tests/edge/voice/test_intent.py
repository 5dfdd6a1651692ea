"""What a spoken sentence wants."""

from __future__ import annotations

import pytest

from edge.voice.intent import normal, understand, without_wake


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Stop.", "stop"), ("Never mind.", "stop"), ("Be quiet!", "stop"), ("Okay, stop talking.", "stop"),
        ("Repeat that, please.", "repeat"), ("What did you say?", "repeat"), ("Pardon?", "repeat"),
        ("Louder!", "louder"), ("Can you speak up?", "louder"), ("Turn it down.", "quieter"), ("Too loud.", "quieter"),
        ("What can you do?", "help"), ("Help.", "help"), ("Resume recording.", "resume"),
        ("Why did you say that?", "why"), ("How do you know that?", "why"), ("Don't tell me that again.", "mute_this"),
        ("Remind me to call Anna at five.", "remind"), ("Don't let me forget the milk.", "remind"),
        ("Tell me when I open the fridge.", "remind"), ("Let me know as soon as Anna comes.", "remind"),
        ("Tell me when I last opened the fridge.", "question"),
        ("Leave me alone.", "snooze"), ("Not now.", "snooze"),
        ("Yes, please.", "yes"), ("No, thanks.", "no"), ("Forget that.", "forget"),
        ("Where are my keys?", "question"), ("where did i put my keys", "question"), ("And yesterday?", "question"),
        ("Why was the door open?", "question"), ("What did I say to Tom?", "question"), ("Tell me what I ate.", "question"),
        ("I put my keys on the table.", "none"), ("The weather is nice.", "none"), ("Stop by the shop.", "none"),
        ("We should help them.", "none"), ("", "none"),
    ],
)  # fmt: skip
def test_commands_questions_and_what_is_neither(said: str, kind: str) -> None:
    assert understand(said).kind == kind


@pytest.mark.parametrize(
    ("said", "kind", "seconds"),
    [
        ("Pause recording for an hour.", "pause", 3600), ("Pause for half an hour.", "pause", 1800),
        ("Pause for twenty-five minutes.", "pause", 1500), ("Pause recording.", "pause", None),
        ("Don't record me for 10 minutes.", "pause", 600),
        ("Forget the last ten minutes.", "forget", 600), ("Delete everything from the last hour.", "forget", 3600),
        ("Forget the last couple of days.", "forget", 172_800), ("Forget the last minute.", "forget", 60),
        ("Snooze for 2 hours.", "snooze", 7200), ("Be quiet for 10 minutes.", "snooze", 600),
        ("Forget the last 99999 days.", "forget", 366 * 86_400),
    ],
)  # fmt: skip
def test_lengths_of_time(said: str, kind: str, seconds: float | None) -> None:
    intent = understand(said)
    assert (intent.kind, intent.seconds) == (kind, seconds)


@pytest.mark.parametrize(
    ("said", "rest"),
    [
        ("Hey Jarvis, where are my keys?", "Where are my keys?"),
        ("Hey Travis where are my keys", "Where are my keys"),
        ("Hey, Jarvis. Where are they?", "Where are they?"),
        ("Jarvis, stop.", "Stop."),
        ("Hey Jarvis.", ""),
        ("Where are my keys?", "Where are my keys?"),
    ],
)
def test_the_wake_word_is_taken_off(said: str, rest: str) -> None:
    assert without_wake(said, "Hey Jarvis") == rest


def test_two_ways_to_write_a_sentence_are_one() -> None:
    assert normal("When did I, last, water the TOMATOES?") == normal("when did i last water the tomatoes")
    assert normal("It was 2.5 metres.") == "it was 2.5 metres"
