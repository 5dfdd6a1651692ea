"""When somebody has finished speaking."""

from __future__ import annotations

import pytest

from edge.voice.endpoint import STEP_S, Endpoint, Event, Patience, needed


def heard(ear: Endpoint, *spans: tuple[float, float]) -> list[tuple[float, Event]]:
    """(seconds, event) for spans of (seconds, chance of speech)."""
    found = []
    for seconds, chance in spans:
        events = [(ear.step(chance), round(ear.length_s, 1)) for _ in range(round(seconds / STEP_S))]
        found += [(at, event) for event, at in events if event is not None]
    return found


def test_a_sentence_begins_pauses_and_ends() -> None:
    ear = Endpoint(Patience())
    events = heard(ear, (0.5, 0.0), (1.0, 0.9), (0.7, 0.1))
    assert [e for _, e in events] == ["began", "paused"]
    assert heard(ear, (0.3, 0.1))[0][1] == "ended"
    assert ear.silent_s == pytest.approx(0.99, abs=0.05)


def test_a_pause_within_a_sentence_does_not_end_it() -> None:
    events = heard(Endpoint(Patience()), (1.0, 0.9), (0.6, 0.1), (1.0, 0.9), (0.6, 0.1))
    assert [e for _, e in events] == ["began", "paused", "resumed", "paused"]


def test_a_whole_question_needs_less_silence_than_one_that_goes_on() -> None:
    patience = Patience()
    assert needed("Where are my keys?", patience, whole=True) == 0.5
    assert needed("I was thinking", patience, whole=False) == 0.8
    for text in ("Remind me to", "Where is the", "First I did, ", "So...", ""):
        assert needed(text, patience, whole=True) == 2.0
    ear = Endpoint(patience)
    ear.need_s = needed("Where is the", patience, whole=True)
    assert [e for _, e in heard(ear, (1.0, 0.9), (1.8, 0.0))] == ["began", "paused"]


def test_a_click_is_no_speech_and_silence_is_not_waited_for_for_ever() -> None:
    ear = Endpoint(Patience(first_s=2.0))
    events = heard(ear, (0.3, 0.0), (0.1, 0.9), (2.0, 0.0))
    assert {e for _, e in events} == {"nothing"}
    assert events[0][0] == pytest.approx(2.0, abs=0.1)


def test_the_tail_of_the_wake_word_is_no_question() -> None:
    ear = Endpoint(Patience(), deaf_s=0.1)
    assert heard(ear, (0.16, 0.9), (1.0, 0.0)) == []
    assert [e for _, e in heard(ear, (0.5, 0.9))] == ["began"]


def test_words_that_were_none_are_waited_for_again() -> None:
    ear = Endpoint(Patience())
    heard(ear, (0.4, 0.9), (0.4, 0.0))
    ear.wait_again()
    assert [e for _, e in heard(ear, (0.5, 0.0), (0.5, 0.9))] == ["began"]


def test_nobody_holds_the_floor_for_ever() -> None:
    events = heard(Endpoint(Patience(longest_s=4.0)), (6.0, 0.9))
    assert events[-1][1] == "ended"
    assert next(t for t, e in events if e == "ended") == pytest.approx(4.0, abs=0.1)


def test_between_on_and_off_speech_goes_on_but_does_not_begin() -> None:
    assert heard(Endpoint(Patience()), (2.0, 0.4)) == []
    assert [e for _, e in heard(Endpoint(Patience()), (0.5, 0.9), (2.0, 0.4))] == ["began"]
