"""What makes a new episode, by rules: what comes in that had been away, held against what is usual here."""

from __future__ import annotations

import random

import numpy as np
import pytest

from edge.clock import US
from edge.config import Growth
from edge.memory.segmenter import HISTORY, Anchors, Segmenter, anchors_of
from storage.records import Caption, Entity, Event, SeenText, Utterance, Window

ZERO = np.zeros(4, dtype=np.float32)


def window(n: int, things: str, *, said: str = "", made_by: str = "given", **more: object) -> Window:
    """The n-th window of 30 s, in which the wearer uses each of these things."""
    t = n * 30 * US
    events = tuple(Event(t, "wearer", "use", x) for x in things.split())
    speech = (Utterance(t, "instructor", said),) if said else ()
    return Window("r", t, t + 30 * US, 0, events=events, speech=speech, frames=6, made_by=made_by, **more)  # type: ignore[arg-type]


def cuts(days: list[str], said: dict[int, str] | None = None) -> list[int]:
    """The windows before which a change cuts."""
    segmenter, unit, found = Segmenter(Growth()), [], []
    for n, things in enumerate(days):
        arriving = window(n, things, said=(said or {}).get(n, ""))
        anchors = anchors_of(arriving, ZERO)
        cut = segmenter.before(unit, arriving, anchors)
        if cut:
            unit = []
            if cut == "change":
                found.append(n)
        unit.append((arriving, anchors))
        if segmenter.after(unit):
            unit = []
        segmenter.note(anchors)
    return found


def test_what_stays_never_cuts_and_what_comes_anew_does() -> None:
    soup = ["pot spoon soup onion", "spoon pot", "soup pot salt", "spoon soup"] * 2
    assert cuts(soup * 2) == []
    assert cuts([*soup, "hammer nail plank saw", "plank saw"]) == [8]


def test_a_thing_counts_by_how_long_it_was_away() -> None:
    segmenter = Segmenter(Growth())
    back = []
    for n in range(40):
        cup = anchors_of(window(n, "cup"), ZERO)
        back.append(segmenter.turnover(cup)[0])
        segmenter.note(cup if n == 0 else anchors_of(window(n, "pen"), ZERO))
    assert back[0] == 2.0  # the cup and its use
    assert 0 < back[3] < back[6] < back[12] < back[30]
    assert back[30] == pytest.approx(1.0, abs=0.01)  # as good as never seen; its use was never away


def test_too_little_known_and_too_short_a_unit_go_on() -> None:
    assert cuts(["cup", "pen"]) == []  # three new words are nothing yet
    assert cuts(["cup spoon", "hammer nail plank saw file"]) == []  # one window is less than what is compared


def test_an_announcement_counts() -> None:
    calm = [
        "leg screw tray",
        "screw",
        "tray leg",
        "bolt tray",
        "leg screw",
        "washer leg",
        "tray screw",
        "tray",
        "screw",
    ]
    quiet = Segmenter(Growth())
    for n, things in enumerate(calm):
        quiet.note(anchors_of(window(n, things), ZERO))
    plain = quiet.turnover(anchors_of(window(9, "lamp tray", said="Like this?"), ZERO))
    told = quiet.turnover(anchors_of(window(9, "lamp tray", said="Okay, now let's do the next one."), ZERO))
    assert told[0] > plain[0] and told[1] == plain[1]


def test_light_windows_are_known_by_things_not_by_their_sentences() -> None:
    seen = Window(
        "r", 0, 30 * US, 0, made_by="light", scene="kitchen", captions=(Caption(0, "A cup and a bowl are in view."),),
        entities=(Entity("cup"), Entity("bowl")), events=(Event(0, "cup", "appear", "cup"),),
        texts=(SeenText(0, "12:30"), SeenText(0, "Fire exit")), description="Two things.",
    )  # fmt: skip
    assert anchors_of(seen, ZERO).things == {"thing:cup", "thing:bowl", "thing:fire", "thing:exit", "place:kitchen"}


def test_what_is_said_is_no_anchor_but_who_speaks_is() -> None:
    heard = Window("r", 0, 30 * US, 0, speech=(Utterance(0, "other", "Look at the birds"), Utterance(0, "Anna", "Yes")))
    assert anchors_of(heard, ZERO).things == {"who:Anna"}


def test_the_same_in_other_words_is_no_change() -> None:
    vector = np.array([1, 0, 0, 0], dtype=np.float32)
    segmenter, unit = Segmenter(Growth()), []
    for n in range(4):
        arriving = window(n, "pot spoon soup onion")
        anchors = anchors_of(arriving, vector)
        unit.append((arriving, anchors))
        segmenter.note(anchors)
    new = window(4, "kettle ladle stew shallot")
    assert segmenter.before(unit, new, anchors_of(new, vector)) is None
    assert segmenter.before(unit, new, anchors_of(new, vector[::-1].copy())) == "change"


def test_priming_with_enough_gives_exactly_the_state_of_the_whole_stream() -> None:
    rng = random.Random(5)
    words = [f"thing{chr(97 + n)}" for n in range(24)]
    stream: list[Anchors] = []
    for n in range(400):
        here = "" if rng.random() < 0.3 else " ".join(rng.sample(words[(n // 25) % 12 :][:12], 4))
        stream.append(anchors_of(window(n, here), ZERO))
    whole = Segmenter(Growth())
    for anchors in stream[:-1]:
        whole.note(anchors)
    count = HISTORY
    primed = Segmenter(Growth())
    while not primed.prime(stream[:-1][-count:]):
        count += 10
    assert count < 200
    assert primed.threshold == whole.threshold
    assert primed.turnover(stream[-1]) == whole.turnover(stream[-1])
    assert not Segmenter(Growth()).prime(stream[:50])


def test_what_it_remembers_of_a_long_stream_is_bounded() -> None:
    segmenter = Segmenter(Growth())
    for n in range(1500):
        things = " ".join(
            f"x{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}{chr(97 + k)}" for k in range(20)
        )
        segmenter.note(anchors_of(window(n, things), ZERO))
    assert len(segmenter._seen) < 6000


def test_an_act_that_closes_makes_what_comes_next_count_more() -> None:
    def turned(act: str) -> float:
        segmenter = Segmenter(Growth())
        for n in range(3):
            segmenter.note(anchors_of(window(n, "mug"), ZERO))
        last = Window("r", 90 * US, 120 * US, 0, events=(Event(90 * US, "wearer", act, "mug"),))
        segmenter.note(anchors_of(last, ZERO))
        return segmenter.turnover(anchors_of(window(4, "book page"), ZERO))[0]

    assert turned("wash") > turned("hold") > 0
