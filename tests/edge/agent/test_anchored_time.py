"""Times told by what happened: the clock time it stands for is taken, and said."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("question", "value", "says"),
    [
        ("How many times did I open the fridge since I made porridge?", 2, "taking you made porridge as today at 07:31"),
        ("How often did I open the fridge after I poured the milk?", 1, "today at 07:36"),
        ("How often did I open the fridge before I poured the milk?", 1, "today at 07:36"),
        ("When did I last open the fridge before I poured the milk?", "2025-07-02T07:32:00.000+02:00", "today at 07:36"),
        ("Did I wash the bowl since I fed the dog?", "yes", "yesterday at 08:02"),
        ("How many times did I open the fridge yesterday after I fed the dog?", 1, "yesterday at 08:02"),
        ("How often did I open the fridge today before lunch?", 2, "taking lunch as 12:30, since I did not see it"),
        ("How often did I open the fridge yesterday after dinner?", 0, "taking dinner as 19:00"),
        ("Did I turn off the printer yesterday after dinner?", "no", "19:00"),
        ("Did I turn off the printer yesterday before dinner?", "yes", "19:00"),
        ("How many times did I open the fridge since I came home?", 3, "yesterday at 08:01"),
    ],
)  # fmt: skip
def test_anchors_become_clock_times(wearer, question: str, value: object, says: str) -> None:
    answer = wearer.ask(question)
    assert answer.value == value, answer.answer
    assert says in answer.answer


@pytest.mark.parametrize(
    "question",
    [
        "What did I do before I rinsed the bowl?", "What did I do right after I rinsed the bowl?", "Did I rinse the bowl before I wiped the bowl?",
        "How often did I open the fridge since I flew to Mars?", "When did I last open the fridge?", "What happened before the revolution?",
    ],
)  # fmt: skip
def test_what_is_no_such_time_is_left_alone(wearer, question: str) -> None:
    assert "taking" not in wearer.ask(question).answer


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("How often did I open the fridge since 22:30?", "taking since 22:30 as yesterday's"),
        ("Did I feed the dog in December?", "taking in December as December 2024"),
        ("Did I feed the dog on the 25th?", "taking on the 25th as 25 June"),
        ("Did I feed the dog on 5 August?", "taking on 5 August as August 2024"),
    ],
)
def test_what_may_mean_two_times_is_said(wearer, question: str, says: str) -> None:
    assert says in wearer.ask(question).answer


@pytest.mark.parametrize(
    "question",
    [
        "How often did I open the fridge since 7:30?", "Did I feed the dog in July?", "Did I feed the dog on 1 July 2025 at 08:02?",
        "Did I feed the dog yesterday before 22:30?", "Did I feed the dog on Tuesday at 08:02?", "Did I feed the dog today?",
    ],
)  # fmt: skip
def test_what_is_clear_is_not_talked_about(wearer, question: str) -> None:
    assert "taking" not in wearer.ask(question).answer
