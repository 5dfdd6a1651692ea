"""Moments by rules: what is distinct, whose time they bear, and how density follows what happened."""

from __future__ import annotations

from edge.memory import moments
from storage.records import Caption, Entity, Event, Moment, Utterance, Window

US = 1_000_000
MIN = 60 * US


def window(n: int, *captions: tuple[float, str], description: str = "", **more: object) -> Window:
    """The n-th half minute; times are seconds after its start."""
    start = n * 30 * US
    said = tuple(Caption(start + round(t * US), text) for t, text in captions)
    return Window("r", start, start + 30 * US, 0, captions=said, description=description, id=n + 1, **more)  # type: ignore[arg-type]


def told(*windows: Window) -> list[tuple[float, str]]:
    return [(m.t / US, m.text) for m in found(*windows)]


def found(*windows: Window) -> list[Moment]:
    return moments.extract(windows, "", 0, 200)


def test_a_caption_under_a_label_bears_its_own_time() -> None:
    seen = window(0, (20, "opens the fridge"), description="prepare breakfast: opens the fridge")
    assert told(seen) == [(20, "Prepare breakfast: opens the fridge.")], "not the time at which the window begins"


def test_that_something_ended_is_told_beside_that_it_began() -> None:
    assert told(window(0, (3, "Peel the onion"), (25, "finished: Peel the onion"))) == [
        (3, "Peel the onion."), (25, "Finished: Peel the onion."),
    ]  # fmt: skip


def test_what_is_done_again_is_told_again_where_little_happens() -> None:
    calm = [window(n, (10, "opens the tap")) for n in range(3)]
    assert [t for t, _ in told(*calm)] == [10, 40, 70]
    bounced = window(0, (10, "opens the tap"), (12, "opens the tap"))
    assert len(told(bounced)) == 1, "within five seconds it is one act"
    words = "apple bread carrot dough egg flour garlic honey ice jam kale lemon".split()
    full = window(0, *((2 * n, f"takes {word}") for n, word in enumerate(words)), (29, "takes apple"))
    assert len(told(full)) == 9, "half as many again as are asked for, and no repeat among them"
    assert [text for _, text in told(full)].count("Takes apple.") <= 1


def test_what_goes_on_is_told_as_such_once_in_a_while_and_as_context() -> None:
    stir = "Stir the sauce slowly"
    going = [window(0, (5, stir), description=stir)] + [window(n, description=stir) for n in range(1, 5)]
    assert told(*going) == [(5, f"{stir}."), (60, f"Still: {stir}."), (90, f"Still: {stir}."), (120, f"Still: {stir}.")]
    assert {m.role for m in found(*going)[1:]} == {"context"}


def test_an_event_and_the_caption_that_tells_it_are_one_thing_among_enough() -> None:
    act = Event(10 * US, "wearer", "open", "front door")
    other = [(2 * n, f"takes the {word}") for n, word in enumerate("cup plate fork knife".split())]
    seen = window(0, *other, (10, "opens the front door"), events=(act,))
    assert [text for t, text in told(seen) if t == 10] == ["Opens the front door."]
    assert len(told(window(0, (10, "opens the front door"), events=(act,)))) == 2, "of so few each is told apart"


def test_who_said_what_and_what_was_in_view() -> None:
    seen = window(
        0, speech=(Utterance(4 * US, "Anna", "The blue box is mine"),), entities=(Entity("box", 2, ("blue",), "on the shelf"),)
    )  # fmt: skip
    assert told(seen) == [(0, "2 blue boxes on the shelf in view."), (4, 'Anna said: "The blue box is mine".')]
