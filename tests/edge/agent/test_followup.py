"""Follow-ups: what a question leaves unsaid comes from the one before, for a few minutes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from edge.agent.answer import ask

OFFSET_S = 7200
EVENING = round(datetime(2025, 7, 2, 21, tzinfo=timezone(timedelta(seconds=OFFSET_S))).timestamp()) * 1_000_000


def talk(wearer, *questions: str, pause_s: int = 20):
    """The answers to questions asked one after the other."""
    now, previous, answers = EVENING, None, []
    for question in questions:
        with wearer.store.snapshot(now) as snapshot:
            answers.append(ask(snapshot, question, now=now, offset_s=OFFSET_S, owner="Ada", previous=previous))
        previous, now = answers[-1].query, now + pause_s * 1_000_000
    return answers


@pytest.mark.parametrize(
    ("first", "then", "value"),
    [
        ("How many times did I open the fridge today?", "And yesterday?", 1),
        ("How many times did I open the fridge today?", "And the day before?", 1),
        ("Did I feed the dog today?", "What about yesterday?", "yes"),
        ("When did I last open the fridge?", "And the front door?", "2025-07-01T08:01:00.000+02:00"),
        ("When did I last open the fridge?", "What about the front door yesterday?", "2025-07-01T08:01:00.000+02:00"),
        ("When did I last open the fridge?", "And the first time?", "2025-07-01T08:05:30.000+02:00"),
        ("When did I last open the fridge?", "And how often?", 3),
        ("Where did I put the leash?", "And the red mug?", "in the dishwasher"),
        ("When did I last rinse the bowl?", "And when did I wipe it?", "2025-07-01T08:09:00.000+02:00"),
        ("Did I feed the dog yesterday?", "And on which days?", ["2025-07-01"]),
    ],
)
def test_follows(wearer, first: str, then: str, value: object) -> None:
    assert talk(wearer, first, then)[1].value == value


def test_follows_a_follow_up(wearer) -> None:
    answers = talk(
        wearer, "How many times did I open the fridge?", "And today?", "And the day before?", "And the front door?"
    )
    assert [a.value for a in answers] == [3, 2, 1, 1]


def test_a_whole_question_follows_nothing(wearer) -> None:
    assert talk(wearer, "When did I last feed the dog?", "Where did I put the red mug?")[1].value == "in the dishwasher"
    assert (
        talk(wearer, "When did I last feed the dog?", "And when did I last open the fridge?")[1].value
        == "2025-07-02T07:45:00.000+02:00"
    )


def test_what_was_asked_long_ago_is_forgotten(wearer) -> None:
    assert talk(wearer, "How many times did I open the fridge today?", "And yesterday?", pause_s=400)[1].value != 1


def test_nothing_from_the_future_is_followed(wearer) -> None:
    first = talk(wearer, "How many times did I open the fridge today?")[0]
    later = replace(first.query, asked=EVENING + 1_800_000_000)
    with wearer.store.snapshot(EVENING) as snapshot:
        assert ask(snapshot, "And yesterday?", now=EVENING, offset_s=OFFSET_S, previous=later).value != 1
