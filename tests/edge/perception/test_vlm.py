"""A vision-language model describes windows; light perception is the window whenever the model cannot be."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from edge.clock import SystemClock
from edge.config import Llm
from edge.perception import vlm_prompts
from edge.perception.light import LightPerception
from edge.perception.vlm import VlmPerception
from edge.perception.vlm_prompts import prompt_for, schema_for
from edge.perception.vlm_trace import window_of
from models.backends.llama_model import LlamaModel
from models.backends.llama_settings import LlamaSettings
from models.child.supervisor import Limits
from models.errors import ModelDownError, ModelTimeoutError, OutputError
from models.grammar import grammar_of
from models.schema import problems_of
from storage.records import Caption, Entity, Event, SeenText, Window

mono = SystemClock().mono
NO_ENGINE = any(importlib.util.find_spec(m) is None for m in ("llama_cpp", "gguf"))
needs_llama = pytest.mark.skipif(NO_ENGINE, reason="llama-cpp-python and gguf are not installed: see tools/llama.sh")


class Teller:
    """A VisionLanguage that says what it was told, or fails as it was told."""

    id = "teller"

    def __init__(self, *says: Any) -> None:
        self.says, self.calls = list(says), []

    def describe(self, frames, prompt, schema, options):
        self.calls.append((frames, prompt, schema, options))
        said = self.says.pop(0)
        if isinstance(said, Exception):
            raise said
        return said(list(schema["properties"]["captions"]["properties"])) if callable(said) else said

    def close(self) -> None:
        pass


def trace(times: list[str], **more: Any) -> dict[str, Any]:
    return {
        "captions": {t: f"A room at {t}." for t in times}, "description": "A room.", "scene": "room", "entities": [],
        "events": [], "text": [], **more,
    }  # fmt: skip


@pytest.fixture
def perceive(detector, settings, world):
    """perceive(teller, **settings) -> the stage."""

    def build(vision: Any, *, ocr=None, behind=None, exact=True, **llm: Any) -> VlmPerception:
        light = LightPerception(detector, replace_speech(settings), ocr=ocr, mono=mono)
        return VlmPerception(light, vision, Llm(**llm), mono=mono, exact_times=exact, behind=behind)

    return build


def replace_speech(settings):
    return settings.model_copy(update={"speech": False})


def rooms(world, count: int = 3):
    return [world.paint(world.room(i), "cup", 40, 60) for i in range(count)]


def test_a_window_says_what_the_model_saw_and_who_made_it(perceive, world) -> None:
    def said(times):
        return trace(
            times,
            entities=[
                {"name": "Red Cup", "count": 2, "attributes": ["ceramic"], "location": "table"},
                {"name": "wearer", "count": 1, "attributes": [], "location": ""},
            ],
            events=[
                {"t": times[1], "subject": "I", "action": "Picks up", "object": "cup"},
                {"t": times[0], "subject": "dog", "action": "runs", "object": ""},
            ],
            text=[{"t": times[0], "text": "Exit"}, {"t": times[2], "text": "Push"}],
        )

    teller = Teller(said)
    stage = perceive(teller, ocr=world.ListOCR([["EXIT"]]))
    (seen,) = stage.step(world.window(rooms(world)))
    window = seen.window
    assert window.made_by == "vlm"
    assert [c.text for c in window.captions] == ["A room at 09:00:00.", "A room at 09:00:05.", "A room at 09:00:10."]
    assert window.description == "A room."
    assert window.entities == (Entity("red cup", 2, ("ceramic",), "table"),)  # the detector's cup is the same
    acts = [(e.t - world.T0, e.subject, e.action, e.object) for e in window.events]
    assert (5 * world.US, "wearer", "picks up", "cup") in acts
    assert (0, "dog", "runs", "") in acts
    assert (0, "text", "seen", "EXIT") in acts
    assert [x.text for x in window.texts] == ["EXIT", "Push"]  # the reader's wording wins
    (frames, prompt, schema, options) = teller.calls[0]
    assert len(frames) == 3
    assert "Frame 2 is of 09:00:05." in prompt
    assert '"EXIT"' in prompt
    assert 0 < options.timeout_s <= 24
    assert "09:00:29" in schema["properties"]["events"]["items"]["properties"]["t"]["enum"]
    assert "09:00:30" not in schema["properties"]["events"]["items"]["properties"]["t"]["enum"]
    assert "vision" not in stage.health.fell_back


def test_strays_in_time_and_form_are_rejected_and_counted(perceive, world) -> None:
    def said(times):
        told = trace(
            times,
            entities=[{"name": "cup", "count": 0}, {"name": " ", "count": 1}, {"name": "cup", "count": 1}],
            events=[
                {"t": "08:59:59", "subject": "wearer", "action": "sits", "object": ""},
                {"t": "23:00:00", "subject": "wearer", "action": "eats", "object": ""},
                {"t": "nine", "subject": "wearer", "action": "eats", "object": ""},
                {"t": times[0], "subject": "wearer", "action": "", "object": ""},
                {"t": times[0], "subject": "wearer", "action": "opens", "object": "door"},
            ],
            text=[{"t": "09:00:01", "text": "between frames"}, {"t": times[0], "text": "ok"}],
        )
        told["captions"]["10:00:00"] = "Later."
        return told

    stage = perceive(Teller(said), exact=False)
    (seen,) = stage.step(world.window(rooms(world)))
    assert stage.vision.rejected_times == 5  # three events, one line, one caption
    assert stage.vision.rejected_form == 3
    assert [(e.action, e.object) for e in seen.window.events if e.subject == "wearer"] == [("opens", "door")]
    assert all(seen.window.t_start <= x.t < seen.window.t_end for x in (*seen.window.events, *seen.window.captions))


@pytest.mark.parametrize(
    "failure",
    [ModelDownError("It is gone."), ModelTimeoutError("Too slow."), OutputError("Nonsense."), {"captions": {}}],
)
def test_light_perception_stands_in_and_the_window_says_so(perceive, world, failure) -> None:
    stage = perceive(Teller(failure, trace))
    window = world.window(rooms(world))
    (seen,) = stage.step(window)
    light = LightPerception(world.PaintDetector(), stage._settings, mono=mono)
    assert seen == light.step(window)[0]
    assert seen.window.made_by == "light"
    assert stage.health.fell_back["vision"]
    (seen,) = stage.step(world.window(rooms(world), 30.0))
    assert seen.window.made_by == "vlm"
    assert "vision" not in stage.health.fell_back


def test_a_model_that_is_always_too_slow_is_left_alone(perceive, world) -> None:
    teller = Teller(*[ModelTimeoutError("Too slow.")] * 9)
    stage = perceive(teller)
    for i in range(6):
        assert stage.step(world.window(rooms(world), 30.0 * i))[0].window.made_by == "light"
    assert len(teller.calls) == 3
    assert stage.vision.stood_in == {"model.timeout": 3, "model.down": 3}


def test_windows_that_wait_are_not_described(perceive, world) -> None:
    waiting = [True]
    stage = perceive(Teller(trace), behind=lambda: waiting[0])
    assert stage.step(world.window(rooms(world)))[0].window.made_by == "light"
    waiting[0] = False
    assert stage.step(world.window(rooms(world), 30.0))[0].window.made_by == "vlm"
    assert stage.vision.stood_in == {"behind": 1}


def test_a_power_mode_rests_the_model_and_its_memory_is_given_back_once(perceive, world) -> None:
    teller, saver, unloaded = Teller(trace, trace), [False], []
    stage = perceive(teller)
    stage.rest_when(lambda: saver[0], lambda: unloaded.append(True))
    made = []
    for i, resting in enumerate((False, True, True, False)):
        saver[0] = resting
        made.append(stage.step(world.window(rooms(world), 30.0 * i))[0].window.made_by)
    assert made == ["vlm", "light", "light", "vlm"]
    assert unloaded == [True]
    assert stage.vision.stood_in == {"resting": 2}
    assert "vision" not in stage.health.fell_back


def test_a_share_of_the_windows_is_described_evenly_and_the_rest_is_light(perceive, world) -> None:
    teller = Teller(*[trace] * 9)
    stage = perceive(teller)
    stage.describe_some(lambda: 0.33)
    made = [stage.step(world.window(rooms(world), 30.0 * i))[0].window.made_by for i in range(7)]
    assert made == ["vlm", "light", "light", "vlm", "light", "light", "vlm"]
    assert stage.vision.stood_in == {"spared": 4}
    assert len(teller.calls) == 3


def test_a_window_without_a_usable_frame_asks_nobody(perceive, world) -> None:
    teller = Teller()
    (seen,) = perceive(teller).step(world.window([]))
    assert seen.window.made_by == "light"
    assert not teller.calls


def test_repeats_inherit_and_only_some_frames_are_sent(perceive, world) -> None:
    still, other = world.room(1), world.room(2)
    teller = Teller(trace)
    stage = perceive(teller, vision_frames=2)
    images = [still, still, other, world.room(3), world.room(4), world.room(5)]
    (seen,) = stage.step(world.window(images, step_s=4))
    assert len(teller.calls[0][0]) == 2
    captions = seen.window.captions
    assert [c.t for c in captions] == sorted(c.t for c in captions)
    assert len({c.t for c in captions}) == len(captions) >= 5
    assert {c.text for c in captions} == {"A room at 09:00:00.", "A room at 09:00:20."}


def test_light_events_after_described_windows_do_not_speak_of_the_models_words(perceive, world) -> None:
    """The model's "sofa" is no name of the detector's: it must not be said to have left."""

    def sofa(times):
        return trace(times, entities=[{"name": "sofa", "count": 1, "attributes": [], "location": ""}])

    stage = perceive(Teller(sofa, ModelDownError("gone")))
    described = stage.step(world.window([world.room(1)] * 3))[0].window
    (seen,) = stage.step(world.window([world.room(1)] * 3, 30.0))
    assert not [e for e in seen.window.events if e.action == "leaves"]
    fresh = perceive(Teller(ModelDownError("gone")))
    fresh.prime([replace(described, id=1)])
    assert fresh.step(world.window([world.room(1)] * 3, 30.0)) == [seen]


@pytest.mark.parametrize("domain", ["daily", "procedure", "third-person"])
def test_each_domain_has_its_prompt_and_the_schema_can_be_enforced(domain) -> None:
    times = ["09:00:00", "09:00:05"]
    prompt = prompt_for(domain, times, ["EXIT"], ["wearer: where are my keys"])
    assert "Frame 2 is of 09:00:05" in prompt
    assert "EXIT" in prompt
    assert "keys" in prompt
    assert ("wearer" in prompt_for(domain, times, [], [])) == (domain != "third-person")
    for exact in (True, False):
        schema = schema_for(times, times, exact=exact)
        assert "root ::=" in grammar_of(schema)
        assert not problems_of(trace(times), schema)
    assert problems_of(trace(times[:1]), schema)


def test_a_trace_without_captions_is_no_trace(world) -> None:
    light = Window(
        "r",
        0,
        30 * world.US,
        0,
        captions=(Caption(0, "x"),),
        texts=(SeenText(0, "A1"),),
        events=(Event(0, "a", "b", ""),),
    )
    for said in ({}, {"captions": {}, "description": "x"}, {"captions": {"09:00:00": "x"}, "description": " "}):
        with pytest.raises(OutputError):
            window_of(said, light, {"09:00:00": 0}, {"09:00:00": 0})


# --- with a real child process --------------------------------------------------------------------------------------


@pytest.fixture
def tiny(tmp_path_factory, monkeypatch) -> Iterator[LlamaModel]:
    from tools.tiny_models import make

    for name, most in (
        ("CAPTION", 16),
        ("DESCRIPTION", 24),
        ("ENTITIES", 2),
        ("EVENTS", 2),
        ("LINES", 2),
        ("LOOKS", 1),
    ):
        monkeypatch.setattr(vlm_prompts, f"{name}_MAX", most)  # noise goes on to the longest that is allowed
    files = make(tmp_path_factory.mktemp("tiny"), "qwen3vl")
    settings = LlamaSettings(context=8192, batch=256, threads=1, image_side_px=96)
    limits = Limits(ping_s=0.2, pings=4, memory_mb=600, look_s=0.02)
    model = LlamaModel(files.model, files.mmproj, mono=mono, settings=settings, limits=limits)
    yield model
    model.close()


PATIENT = {"vision_timeout_s": 60.0, "vision_tokens": 4000, "vision_frames": 2}


@needs_llama
def test_three_windows_give_three_traces_each_of_its_own_pictures(perceive, world, tiny) -> None:
    stage = perceive(tiny, **PATIENT)
    made = []
    for i in range(3):
        images = [world.paint(world.room(10 * i + k), "cup", 40 + 30 * k, 60) for k in range(2)]
        made.append(stage.step(world.window(images, 30.0 * i))[0].window)
    again = perceive(tiny, **PATIENT)
    images = [world.paint(world.room(k), "cup", 40 + 30 * k, 60) for k in range(2)]
    repeat = again.step(world.window(images))[0].window
    assert [w.made_by for w in made] == ["vlm"] * 3
    assert len({(*(c.text for c in w.captions), w.description, *(e.name for e in w.entities)) for w in made}) == 3
    assert repeat == made[0]
    for window in made:
        assert all(window.t_start <= x.t < window.t_end for x in (*window.captions, *window.events, *window.texts))
    assert stage.vision.rejected_times == 0  # the grammar leaves no other time


@needs_llama
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGSTOP])
def test_a_child_that_dies_or_hangs_costs_one_window_its_words(perceive, world, tiny, number) -> None:
    stage = perceive(tiny, **PATIENT)
    tiny.warm(60)
    pid = tiny.process.pid
    assert pid is not None
    asked, real = threading.Event(), tiny.describe

    def describe(*given):  # the signal comes in the middle of the call
        if not asked.is_set():
            asked.set()
            threading.Timer(0.1, os.kill, (pid, number)).start()
        return real(*given)

    tiny.describe = describe
    first = stage.step(world.window(rooms(world)))[0].window
    second = stage.step(world.window(rooms(world), 30.0))[0].window
    assert (first.made_by, second.made_by) == ("light", "vlm")
    assert first.captions
    assert stage.vision.stood_in == {"model.down": 1}
