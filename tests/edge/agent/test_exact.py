"""Exact questions: times, counts, days, order, places, words, each in more than one phrasing."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("When did I last open the fridge?", "2025-07-02T07:45:00.000+02:00"),
        ("When was the last time I opened the refrigerator?", "2025-07-02T07:45:00.000+02:00"),
        ("What time did I first open the fridge yesterday?", "2025-07-01T08:05:30.000+02:00"),
        ("When did I last shut the window?", "never"),
        ("How many times did I open the fridge today?", 2),
        ("How often have I opened the fridge?", 3),
        ("How many times did I wash, rinse or wipe the bowl on 1 July 2025?", 2),
        ("Did I feed the dog yesterday morning?", "yes"),
        ("Have I fed the dog today?", "no"),
        ("Did I turn on the stove?", "yes"),
        ("Did I turn off the hob?", "no"),
        ("Did I pour the milk?", "yes"),
        ("On which days did I make porridge?", ["2025-07-01", "2025-07-02"]),
        ("Which days did I not feed the dog?", ["2025-07-02"]),
        ("On how many days did I open the fridge?", 2),
        ("How many days ago did I last feed the dog?", 1),
        ('At what time do I usually start "Make porridge"?', "07:48"),
        ("When did I start fixing the printer?", "2025-07-01T18:00:10.000+02:00"),
        ("Where did I put the red mug?", "in the dishwasher"),
        ("Where is my red mug?", "in the dishwasher"),
        ("Where did I first put the red mug?", "next to the sink"),
        ("Where did I put the leash yesterday?", "on the hook"),
        ('What did I do right after "Open the paper tray"?', "Load 20 sheets"),
        ('Which activity did I start right before "Make porridge" yesterday?', "Walk the dog"),
        ('How many seconds did I spend on "Open the paper tray"?', 60),
        ("Did I stir the porridge before I rinsed the bowl?", "yes"),
        ("Which did I do first: rinse the bowl, or feed the dog?", "feed the dog"),
        ('When did Noor tell me: "Could you water the ferns on Thursday?"?', "2025-07-01T08:10:00.000+02:00"),
        (
            'What did I answer when Noor asked "Could you water the ferns on Thursday?"?',
            "Sure, I will bring my own can.",
        ),
        ("What did the printer say?", "PAPER JAM"),
        ("How many times did I open the fridge in the recording that began at 07:30 on Wednesday 2 July 2025?", 2),
        ("While I was fixing the printer, how many times did I turn off the printer?", 1),
    ],
)
def test_value(wearer, question: str, value: object) -> None:
    assert wearer.ask(question).value == value


def test_evidence_points_at_the_window_that_shows_it(wearer) -> None:
    answer = wearer.ask("When did I last open the fridge?").to_json()
    first = answer["evidence"][0]
    assert first["kind"] == "window"
    assert first["id"].startswith("w")
    assert first["t_start"] == "2025-07-02T07:45:00.000+02:00"
    assert "fridge" in first["text"]
    assert answer["policy"] == "rules"
