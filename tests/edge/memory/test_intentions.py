"""What counts as an intention, and what shows that it is done."""

from __future__ import annotations

import pytest

from edge.clock import US
from edge.memory import intentions
from storage.records import Caption, Event, Intention, Utterance, Window

WEARER = frozenset({"wearer", "ann"})


def window(text: str = "", speaker: str = "wearer", *, deed: tuple[str, str] | None = None, t: int = 0) -> Window:
    speech = (Utterance(t * US, speaker, text),) if text else ()
    events = (Event((t + 5) * US, "wearer", *deed),) if deed else ()
    return Window("r", t * US, (t + 30) * US, 0, speech=speech, events=events, id=1)


@pytest.mark.parametrize(
    ("said", "what", "due"),
    [
        ("I have to call the plumber.", "call the plumber", ""),
        ("Oh, remind me to buy milk tomorrow morning!", "buy milk", "tomorrow morning"),
        ("Don't let me forget to lock the back door before we leave.", "lock the back door", "before we leave"),
        ("I've got to return the library books on Friday", "return the library books", "on Friday"),
        ("I must take my pills at noon, but first some tea.", "take my pills", "at noon"),
        ("I need to charge the bike because the battery is low.", "charge the bike", ""),
        ("I promised to phone Maria.", "phone Maria", ""),
        ("I'll call the plumber tomorrow.", "call the plumber", "tomorrow"),
        ("I'm going to post the letter after lunch.", "post the letter", "after lunch"),
        ("We have to pay the rent.", "pay the rent", ""),
    ],
)
def test_a_stated_obligation_is_an_intention(said: str, what: str, due: str) -> None:
    (found,) = intentions.heard(window(said), WEARER)
    assert (found.what, found.due, found.quote, found.state) == (what, due, said, "open")


@pytest.mark.parametrize(
    "said",
    [
        "I have to say, this soup is good.",
        "I have to admit you were right.",
        "I wanted to show you this.",
        "Do I have a stain on my shirt?",
        "You have to see that film.",
        "He needs to call the plumber.",
        "I have two keys.",
        "I will think about it.",
        "I'll see.",
        "I'll take the red one.",
        "I want to visit the cliffs.",
        "",
    ],
)
def test_a_figure_of_speech_is_none(said: str) -> None:
    assert intentions.heard(window(said), WEARER) == []


def test_only_the_wearer_states_the_wearers_intentions() -> None:
    assert intentions.heard(window("I have to call the plumber.", "other"), WEARER) == []
    assert intentions.heard(window("I have to call the plumber.", "Ann"), WEARER)


def stated(said: str) -> Intention:
    return intentions.heard(window(said), WEARER)[0]


def test_the_act_with_its_object_shows_it_done() -> None:
    wish = stated("I have to water the tomatoes.")
    assert intentions.resolved(window(deed=("water", "tomatoes"), t=60), [wish], WEARER) == [(wish, "done")]
    assert intentions.resolved(window(deed=("water", "lawn"), t=60), [wish], WEARER) == []
    assert intentions.resolved(window(deed=("cut", "tomatoes"), t=60), [wish], WEARER) == []


def test_a_caption_shows_it_done_as_well() -> None:
    wish = stated("remind me to lock the back door")
    seen = Window("r", 60 * US, 90 * US, 0, captions=(Caption(70 * US, "the wearer locks the back door"),), id=2)
    assert intentions.resolved(seen, [wish], WEARER) == [(wish, "done")]


def test_what_happened_before_it_was_said_does_not_count() -> None:
    wish = stated("I have to water the tomatoes.")
    early = Window("r", 0, 30 * US, 0, events=(Event(0, "wearer", "water", "tomatoes"),), id=1)
    assert intentions.resolved(early, [wish], WEARER) == []


def test_the_wearer_can_drop_it() -> None:
    wish = stated("I need to post the letter.")
    assert intentions.resolved(window("I don't have to post the letter.", t=60), [wish], WEARER) == [(wish, "dropped")]
    assert intentions.resolved(window("Never mind.", t=60), [wish], WEARER) == [(wish, "dropped")]
