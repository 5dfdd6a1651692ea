"""When something will be: phrases as they were said, read from the day they were said on."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from edge.agent.appointments import read
from edge.retrieval.zone import Zone

SAID = Zone(round(datetime(2025, 10, 7, 9, 0, tzinfo=timezone.utc).timestamp()) * 1_000_000, 0)  # a Tuesday, 09:00


@pytest.mark.parametrize(
    ("sentence", "phrase", "day", "clock"),
    [
        ("We meet on Friday at 10 o'clock.", "on Friday at 10 o'clock", "2025-10-10", "10:00"),
        ("We meet on Tuesday.", "on Tuesday", "2025-10-14", None),
        ("The concert was on Tuesday.", "on Tuesday", "2025-09-30", None),
        ("The concert was on Sunday.", "on Sunday", "2025-10-05", None),
        ("My bus leaves at half past nine.", "at half past nine", None, "09:30"),
        ("My bus leaves at quarter to eight.", "at quarter to eight", None, "19:45"),
        ("It begins at 3 this afternoon.", "at 3 this afternoon", "2025-10-07", "15:00"),
        ("Dinner is tomorrow at seven in the evening.", "tomorrow at seven in the evening", "2025-10-08", "19:00"),
        ("The exam is on Thursday at two.", "on Thursday at two", "2025-10-09", "14:00"),
        ("LAUNCH AT 15:03", "AT 15:03", None, "15:03"),
        ("FAIR 14 MARCH", "14 MARCH", "2026-03-14", None),
        ("The fair is on December 3rd at 9 am.", "on December 3rd at 9 am", "2025-12-03", "09:00"),
        ("The tyres come in two weeks.", "in two weeks", "2025-10-21", None),
    ],
)
def test_read(sentence: str, phrase: str, day: str | None, clock: str | None) -> None:
    found = read(sentence, SAID)
    assert found is not None
    assert found.phrase == phrase
    assert (found.day and found.day.isoformat()) == day
    assert (None if found.minute is None else f"{found.minute // 60:02d}:{found.minute % 60:02d}") == clock


@pytest.mark.parametrize("sentence", ["I have two cats.", "Room 4 is upstairs.", "He looked at 3 birds.", ""])
def test_no_time_is_made_up(sentence: str) -> None:
    assert read(sentence, SAID) is None
