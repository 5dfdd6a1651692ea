"""Boards of lines that come and go together, and the clocks among them."""

from __future__ import annotations

import pytest

from edge.agent.boards import Frame, boards, clock_like, running
from storage.records import Item


def frames(*lines: tuple[str, ...]) -> list[Frame]:
    return [Frame(n, row, Item(n, n, "text", n, 0, row[0] if row else "")) for n, row in enumerate(lines)]


@pytest.mark.parametrize(
    ("line", "is_clock"),
    [
        ("13;20;00;12", True),
        ("2026-03-02 09:00:00", True),
        ("April 16,2024", True),
        ("Tue 7:05 pm", True),
        ("08.11", True),
        ("LAUNCH AT 15:03", False),
        ("OPEN DAY 14 MARCH", False),
        ("ROOM 4", False),
        ("12", False),
        ("EXIT", False),
    ],
)
def test_clock_like(line: str, is_clock: bool) -> None:
    assert clock_like(line) is is_clock


def test_a_counter_that_changes_in_every_frame_is_no_sign() -> None:
    shown = frames(*[("NO ENTRY", f"Lap {n}") for n in range(6)])
    assert running(shown) == {"Lap 0"}
    assert [b.text for b in boards(shown)] == ["NO ENTRY"]


def test_a_figure_that_stands_is_a_sign() -> None:
    assert [b.text for b in boards(frames(*[("PLATFORM 9",)] * 6))] == ["PLATFORM 9"]


def test_lines_that_come_and_go_together_are_one_board() -> None:
    shown = frames(("MIND", "THE GAP"), ("MIND", "TICKETS", "THE GAP"), ("TICKETS",), ("TICKETS",))
    assert [b.text for b in boards(shown)] == ["TICKETS", "MIND THE GAP"]


def test_a_reading_cut_short_is_the_same_line() -> None:
    assert [b.text for b in boards(frames(("GATE 22",), ("GATE",), ("GATE",)))] == ["GATE 22"]
