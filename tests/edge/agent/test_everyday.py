"""Everyday wordings: activities called otherwise than by their names, few words, comparisons, what was told."""

from __future__ import annotations

import pytest

from edge.agent.answer import ask


@pytest.mark.parametrize(
    ("question", "value"),
    [
        # an activity by other words than its name
        ("When did I last shower?", "2025-07-02T07:20:00.000+02:00"),
        ("hey, when was my last shower?", "2025-07-02T07:20:00.000+02:00"),
        ("last shower?", "2025-07-02T07:20:00.000+02:00"),
        ("last time I showered?", "2025-07-02T07:20:00.000+02:00"),
        ("first shower of the day - when?", "2025-07-02T07:05:00.000+02:00"),
        ("How many showers did I take yesterday?", 1),
        ("How many times have I done laundry so far?", 1),
        ("When did I do the laundry last?", "2025-07-01T07:30:00.000+02:00"),
        ("When did I start making the soup yesterday?", "2025-07-01T18:30:00.000+02:00"),
        ("When did I leave the house yesterday?", "2025-07-01T08:00:00.000+02:00"),
        ("When did I get back home?", "2025-07-01T08:20:00.000+02:00"),
        ("When did I wake up yesterday?", "2025-07-01T07:10:00.000+02:00"),
        ("How many meals did I cook today?", 2),
        ("What did I cook today?", ["Lentil Soup", "Omelette"]),
        ("What did I cook for dinner yesterday?", ["Lentil Soup"]),
        ("What dish did I make before the omelette?", "Lentil Soup"),
        # how long: all of a time that was named, an activity's own end
        ("How long did I cook today?", 840),
        ("How long did I shower today?", 540),
        ("How many minutes did I shower today?", 9),
        ("How long was I out of the house yesterday?", 1200),
        ("How long did I wash the knife?", None),
        # comparing
        ("On which day did I shower most?", "2025-07-02"),
        ("How many times a day do I shower?", 1.5),
        ("Did I shower more today or yesterday?", "today"),
        ("Did I shower less today than yesterday?", "no"),
        ("What do I cook most often?", "Lentil Soup"),
        # use is whatever was done with a thing
        ("When did I last use the knife?", "2025-07-02T07:30:00.000+02:00"),
        ("Was the fridge used today?", "yes"),
        ("Fridge, when did I last open it?", "2025-07-02T07:32:00.000+02:00"),
        ("When did the fridge first open?", "2025-07-01T07:45:00.000+02:00"),
        ("How many times have I opened the fridge since I came home?", 1),
        # denied
        ("I didn't shower today, did I?", "yes"),
        ("Which days did I have no shower?", []),
        ("On which days did I do no laundry?", ["2025-07-02"]),
        # told
        ("Did Noor mention a bakery?", "yes"),
        ("Did Noor mention the dentist?", "no"),
        ("What did Noor say about her trip to Japan?", None),
        ("When did I last talk to Noor?", "2025-07-01T08:25:00.000+02:00"),
        ("When did I go to the harbour festival?", "2025-06-28"),
        ("When did Noor tell me about her bakery?", "2025-07-01T08:25:00.000+02:00"),
        ("number of times the fridge was opened today?", 1),
        ("Did I open the cellar, sorry, did I open the fridge today?", "yes"),
        ("How many times did I open the fridge between 7 and 8 this morning?", 1),
        ("How many times did I open the fridge before noon today?", 1),
        ("How long did the bath take?", None),
        ("What task followed the omelette?", None),
        ("What did I eat for dinner yesterday?", ["Lentil Soup"]),
        ("total time spent on the soup today", 300),
        ("How long does my shower usually take?", 300),
        ("How many minutes did I shower on average?", 5),
        ("Did I skip the shower today?", "no"),
        ("Did I forget to do the laundry today?", "yes"),
        ("When was the second time I showered today?", "2025-07-02T07:20:00.000+02:00"),
        ("When was the third time I showered today?", None),
        ("Have I made lentil soup before?", "yes"),
        ("How many things did I cook today?", 2),
        ("what was for dinner yesterday?", ["Lentil Soup"]),
        ("tell me everything I cooked today", ["Lentil Soup", "Omelette"]),
        ("usual time I shower?", "07:10"),
        ("days without laundry?", ["2025-07-02"]),
        ("Did I enjoy my shower?", None),
        ("shower?", "2025-07-02T07:20:00.000+02:00"),
        ("How often did I open the fridge or the cellar today?", 1),
        ("Did I shower and did I do the laundry today?", "yes"),
    ],
)
def test_an_everyday_question_is_answered_exactly(household, question: str, value: object) -> None:
    answer = household.ask(question)
    assert answer.value == value, answer.answer


@pytest.mark.parametrize(
    "question",
    [
        "When did I NOT shower?",
        "How many times did I never shower?",
        "How often did I shower yesterday today?",
        "How many times did I shower tomorrow?",
        "When will I shower next?",
        "How many times did I shower on the 40th of July?",
        "Did I have enough sleep?",
        "When did she leave?",
        "Who showered?",
        "Why did I shower?",
        "When did I wash the knife and open the fridge?",
        "keys?",
        "Did he come home?",
    ],
)
def test_what_cannot_be_told_is_not_made_up(household, question: str) -> None:
    answer = household.ask(question)
    assert answer.value is None, answer.answer
    assert answer.confidence <= 0.5


def test_what_was_said_about_a_thing_is_said_in_its_words(household) -> None:
    assert "rye bread there" in household.ask("What did Noor say about rye bread?").answer


@pytest.mark.parametrize(
    ("first", "then", "value"),
    [
        ("What did I cook for dinner yesterday?", "and for lunch?", None),
        ("How many times did I open the fridge?", "and close it?", 0),
        ("Did I take a shower today?", "and yesterday?", "yes"),
    ],
)
def test_a_follow_up_keeps_the_rest(household, first: str, then: str, value: object) -> None:
    now = 1_751_482_800_000_000
    with household.store.snapshot(now) as snapshot:
        before = ask(snapshot, first, now=now, offset_s=7200, owner="Ada")
        after = ask(snapshot, then, now=now + 9, offset_s=7200, owner="Ada", previous=before.query)
    assert after.value == value, after.answer
