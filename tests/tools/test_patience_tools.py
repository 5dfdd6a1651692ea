"""The tools that measure patience: counting alerts, modelling hours of wear, thinning a day to what a mode perceives."""

from __future__ import annotations

import pytest

from edge.clock import US
from edge.power import MODES, Mode
from storage.records import Caption, Entity, Event, SeenText, Utterance, Window
from tools.bench_nagging import LEVELS, Told, faults, most_in_an_hour
from tools.energy_model import COMPONENTS, DAY, WATTS, draw, hours
from tools.mode_recall import thinned
from tools.road_paint import road_with_car, sign, tag_of, tagged
from tools.sim_battery import KEPT, discharge, ratios

T0 = 1_772_438_400 * US


def test_the_busiest_hour_is_found_wherever_it_begins() -> None:
    minutes = [0, 30, 59, 61, 62, 63, 120, 300]
    assert most_in_an_hour([m * 60 * US for m in minutes]) == 5
    assert most_in_an_hour([0, 3600 * US]) == 1
    assert most_in_an_hour([]) == 0


def told(*delivered: int, most: int = 1, hours_: float = 10.0) -> dict[str, Told]:
    return {level: Told(hours_, n, most) for level, n in zip(LEVELS, delivered, strict=True)}


def test_nagging_is_noticed_and_patience_too() -> None:
    assert faults({"a": told(1, 2, 3, 4), "b": told(2, 2, 2, 2)}, 2.0, 6) == []
    assert any("alerts an hour" in f for f in faults({"a": told(1, 2, 30, 40)}, 2.0, 6))
    assert any("in one hour" in f for f in faults({"a": told(1, 2, 3, 4, most=7)}, 2.0, 6))
    assert any("hears more than" in f for f in faults({"a": told(1, 3, 2, 4)}, 2.0, 6))
    assert any("does not hear more" in f for f in faults({"a": told(1, 2, 3, 3)}, 2.0, 6))


def test_balanced_and_saver_last_as_promised_by_the_table() -> None:
    found = ratios()
    assert found["balanced"] >= 1.6
    assert found["saver"] >= 3.0
    assert [found[m] for m in ("performance", "balanced", "saver", "critical")] == sorted(
        found[m] for m in ("performance", "balanced", "saver", "critical")
    )
    assert all(c.source and c.watts > 0 for c in COMPONENTS)


@pytest.mark.parametrize("mode", list(MODES))
def test_no_component_draws_less_than_nothing_and_more_watts_are_fewer_hours(mode: Mode) -> None:
    for hour in DAY:
        assert all(v >= 0 for v in draw(mode, hour).values())
    for name in WATTS:
        assert hours(mode, {**WATTS, name: WATTS[name] * 1.3}) <= hours(mode)


def test_a_day_runs_through_the_modes_as_the_battery_falls() -> None:
    passed = [mode for _, _, mode in discharge(None)]
    assert list(dict.fromkeys(passed))[:3] == ["balanced", "saver", "critical"]
    levels = [percent for _, percent, _ in discharge(None)]
    assert levels == sorted(levels, reverse=True)


def minute(start: int = 0) -> Window:
    at = [T0 + (start + s) * US for s in range(0, 60, 5)]
    return Window(
        "day", at[0], at[0] + 60 * US, 0,
        captions=tuple(Caption(t, f"takes cup number{n} from the shelf") for n, t in enumerate(at)),
        events=tuple(Event(t, "wearer", "take", f"cup number{n}") for n, t in enumerate(at)),
        entities=(Entity("cup", 1, (), None), Entity("whisk", 1, (), None)),
        texts=tuple(SeenText(t, f"line {n}") for n, t in enumerate(at)),
        speech=(Utterance(at[0], "wearer", "hello there"),),
        frames=12,
    )  # fmt: skip


def test_a_thinned_day_holds_less_in_each_mode_and_nothing_new() -> None:
    whole = minute()
    full = thinned(whole, "performance", 5.0)
    assert (full.captions, full.events, full.speech) == (whole.captions, whole.events, whole.speech)
    assert {e.name for e in full.entities} == {"cup"}, "a whisk that no caption shows is not seen"
    counts: list[tuple[int, int, int]] = []
    for mode in KEPT:
        less = thinned(whole, mode, 5.0)
        counts.append((len(less.captions), len(less.texts), len(less.speech)))
        assert {c.t for c in less.captions} <= {c.t for c in whole.captions}
        assert set(less.texts) <= set(whole.texts)
        if not MODES[mode].vlm:
            assert all(e.action == "hand near" for e in less.events), "light perception knows no acts"
    assert counts == sorted(counts, reverse=True)
    assert counts[-1][2] == 0, "critical does not listen"


def test_a_painted_danger_can_be_told_apart_after_jpeg() -> None:
    import cv2

    for number, picture in ((1, sign("DANGER", "HIGH VOLTAGE")), (682, road_with_car(200)), (1023, road_with_car(110))):
        ok, data = cv2.imencode(".jpg", tagged(picture, number), [cv2.IMWRITE_JPEG_QUALITY, 80])
        assert ok and tag_of(cv2.imdecode(data, cv2.IMREAD_COLOR)) == number
