"""Danger in single frames: what comes closer, what a sign says, and that nothing is done twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from edge.clock import US
from edge.config import Perception
from edge.messages import Frame, RawWindow
from edge.perception.light import LightPerception
from edge.perception.things import DETECTOR_SCORE
from edge.perception.watch import FrameWatch, Look, looming
from edge.proactive.hazards import warning
from edge.proactive.signs import sign
from models import DETECTOR, OCR, Loader, LoadOptions, Registry
from models.roles import Detection
from tools import road_paint as paint


def car(width: float, *, x: float = 480.0, label: str = "car", height: float = 0.8) -> Detection:
    return Detection(label, 0.6, (x - width / 2, 250, x + width / 2, 250 + height * width))


def look(t_s: float, *vehicles: Detection) -> Look:
    return Look(round(t_s * US), 960, 540, vehicles)


def test_only_what_comes_straight_and_fast_is_told() -> None:
    near = look(1.0, car(220))
    assert looming(look(0.5, car(120)), near) == ["a car is coming straight at the wearer"]
    assert looming(look(0.5, car(200)), near) == [], "hardly nearer"
    assert looming(look(-5.0, car(120)), near) == [], "too long ago to tell a speed"
    assert looming(look(0.5), near) == [], "it was not there before: a turn of the head"
    assert looming(look(0.5, car(120, label="bus")), near) == []
    assert looming(look(0.5, car(40)), look(1.0, car(90))) == [], "far away"
    assert looming(look(0.5, car(120, x=90)), look(1.0, car(220, x=110))) == [], "beside the way"


def test_every_vehicle_that_is_told_of_is_a_hazard() -> None:
    for label in ("car", "bus", "truck", "motorcycle", "bicycle", "train"):
        (told,) = looming(look(0.5, car(120, label=label)), look(1.0, car(220, label=label)))
        hazard = warning(told)
        assert hazard is not None and hazard.name == "traffic", told


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (("CAUTION", "WET FLOOR"), "slippery floor"),
        (("Danger", "High voltage"), "electricity"),
        (("CAUTION HOT SURFACE",), "burn"),
        (("Mind your head",), "overhead"),
        (("DANGER", "KEEP OUT"), "forbidden"),
        (("WET WIPES", "FLOOR CLEANER"), None),
        (("HOT DRINKS",), None),
        (("EXIT", "Platform 4"), None),
        ((), None),
    ],
)
def test_a_sign_warns_of_what_it_names(lines: tuple[str, ...], name: str | None) -> None:
    found = sign(lines)
    assert (found.name if found else None) == name


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> LightPerception:
    folder: Path = tmp_path_factory.mktemp("models")
    loader = Loader(Registry(folder / "m", folder / "c"), LoadOptions(threads=1, detector_min_score=DETECTOR_SCORE))
    return LightPerception(loader.load(DETECTOR).model, Perception(speech=False), ocr=loader.load(OCR).model)


def test_a_car_that_comes_closer_is_seen_by_the_real_detector(light: LightPerception) -> None:
    now = [0]
    watch = FrameWatch(light, mono=lambda: now[0])
    told: list[str] = []
    for n, width in enumerate((110, 110, 110, 200)):
        now[0] = n * US // 2
        told += watch.quick(Frame(now[0], 0, paint.road_with_car(width), n))
    assert told == ["a car is coming straight at the wearer"]
    assert watch.looks == 2, "what does not change is not looked at again"
    watch.every_s = 0.0
    now[0] += 60 * US
    assert watch.quick(Frame(now[0], 0, paint.road(), 9)) == [], "switched off"


def test_a_sign_is_read_at_once_and_its_window_does_not_read_it_again(light: LightPerception) -> None:
    frame = Frame(7 * US, 0, paint.sign("DANGER", "HIGH VOLTAGE"), 1)
    watch = FrameWatch(light, mono=lambda: 0)
    lines = watch.read(frame)
    found = sign(lines)
    assert found is not None and found.name == "electricity"
    assert watch.whole(frame)
    assert watch.read(Frame(8 * US, 0, frame.image, 2)) == (), "the same picture again"
    before = dict(light._glanced)
    assert frame.t in before
    window = light.step(RawWindow("r", 7 * US, 12 * US, 0, (frame,), None))[0].window
    assert "text" not in light.health.ms and "objects" not in light.health.ms, "nothing was done twice"
    assert any("VOLTAGE" in x.text.upper() for x in window.texts)
    plain = LightPerception(light.detector, Perception(speech=False), ocr=light._ocr)
    again = plain.step(RawWindow("r", 7 * US, 12 * US, 0, (frame,), None))[0].window
    assert again == window, "a glance changes nothing of what is stored"
