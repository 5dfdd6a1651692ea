"""The table of alerts, swept: every row can be said, felt, and cools down."""

from __future__ import annotations

import itertools

import pytest

from edge.proactive.alerts import PATIENCE, SERVICES, SPEAKABLE_S, TABLE, alert, speak, spoken_s

TEN = {
    "safety", "tool_use", "next_step_guidance", "error_recovery", "resource_reminder", "memory_recall", "task_reminder",
    "habit_coaching", "memory_link_contextual", "routine_optimization",
}  # fmt: skip


def test_the_ten_services_and_the_device_have_one_row_each():
    types = [row.type for row in TABLE]
    assert len(types) == len(set(types))
    assert set(SERVICES) == TEN
    assert {"battery_20", "battery_10", "battery_5", "link_lost", "camera_lost", "storage_low"} <= set(types)


@pytest.mark.parametrize("row", TABLE, ids=lambda r: r.type)
def test_every_row_is_whole(row):
    text = speak(row.type, **dict(row.sample))
    assert text == row.template.format(**dict(row.sample)), "the sample fits without being shortened"
    for variant, template in row.variants:
        assert speak(row.type, variant=variant, **dict(row.sample))[1:] == template.format(**dict(row.sample))[1:]
    assert spoken_s(text) <= SPEAKABLE_S
    assert text[0].isupper() and text[-1] in ".!?" and "{" not in text
    assert 0 <= row.priority <= 5
    assert row.cooldown_s > 0 and row.staleness_s > 0 and row.merge_s >= 0
    assert row.rearm_s >= row.merge_s
    assert row.critical == (row.type == "safety")
    assert (row.haptic, row.sound) != ("none", "none") or row.priority <= 1


@pytest.mark.parametrize("row", TABLE, ids=lambda r: r.type)
def test_long_slots_are_shortened_to_four_seconds(row):
    long = "the very long and winding story of a wearer who never came to the end of a sentence about the dentist"
    for variant in ("", *dict(row.variants)):
        text = speak(row.type, variant=variant, **{name: long for name, _ in row.sample})
        assert spoken_s(text) <= SPEAKABLE_S
    assert not text.rstrip(".").endswith((" the", " a", " of", " to", " about", " and"))


def test_only_acute_danger_is_critical_and_comes_first():
    assert max(TABLE, key=lambda r: r.priority).type == "safety"
    assert [r.type for r in TABLE if r.priority == 5] == ["safety"]


def test_more_patience_allows_more():
    levels = [PATIENCE[f] for f in ("minimal", "low", "normal", "high")]
    for less, more in itertools.pairwise(levels):
        assert less.min_priority >= more.min_priority
        assert less.gap_s > more.gap_s
        assert less.daily < more.daily
        for hours in (1, 2, 4, 12):
            assert _allowed(less, hours) <= _allowed(more, hours)
    normal = PATIENCE["normal"]
    assert _allowed(normal, 1) <= 6, "never more than six in any hour"
    assert _allowed(normal, 4) <= 8, "at most two an hour on average"


def _allowed(patience, hours):
    most = patience.daily
    for seconds, count in patience.spans:
        most = min(most, count * -(-hours * 3600 // seconds))
    return most


def test_a_type_without_a_row_is_a_slip():
    with pytest.raises(LookupError):
        alert("horoscope")
