from __future__ import annotations

import pytest

from edge.voice.barge import repeats

SAID = "You opened the fridge four times this morning, the last time at ten past eleven."


@pytest.mark.parametrize(
    ("heard", "own"),
    [
        ("The fridge four times this", True),
        ("the last time at ten past eleven.", True),
        ("Stop.", False),
        ("The fridge.", False),
        ("When was the last time?", False),
        ("", False),
    ],
)
def test_its_own_words_are_known_and_a_persons_are_not_taken_for_them(heard: str, own: bool) -> None:
    assert repeats(heard, SAID) is own
