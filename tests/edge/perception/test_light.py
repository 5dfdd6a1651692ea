"""Light perception as a whole: rows, restarts, failures, keyframes, and the recorded films where they are at hand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import cv2
import numpy as np
import pytest

from edge.config import Perception
from edge.errors import ConfigError
from edge.perception.faces import FaceBlur
from edge.perception.light import LightPerception
from edge.perception.things import DETECTOR_SCORE
from models.errors import OutputError
from storage.keyframes import KeyframeFolder

MEDIA = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "media"


@pytest.fixture
def folder(tmp_path):
    return KeyframeFolder(tmp_path / "m.db.keyframes")


@pytest.fixture
def light(detector, settings, folder, world):
    return LightPerception(detector, settings, ocr=world.ListOCR(), keyframes=folder)


def day(world, windows=8):
    """Windows in which cups and books come, move and go in two rooms, some of them blurred or still."""
    rng = np.random.default_rng(4)
    found = []
    for n in range(windows):
        base = world.room(1 + n // 3)
        images = []
        for i in range(6):
            image = world.paint(base, "cup", int(rng.integers(0, 270)), 60) if rng.random() < 0.6 else base
            image = world.paint(image, "book", 10, 10) if (n + i) % 4 else image
            images.append(cv2.GaussianBlur(image, (0, 0), 12) if rng.random() < 0.1 else image)
        found.append(world.window([base] * 6 if n == 5 else images, n * 30.0))
    return found


def test_a_window_says_what_was_seen(light, world):
    ocr_pages = [["EXIT"], ["EXIT"]]
    light._ocr.pages = ocr_pages
    room, cup = world.room(), world.paint(world.room(), "cup", 270, 70)
    (observation,) = light.step(world.window([room, cup, cup]))
    window = observation.window
    assert [c.text for c in window.captions] == [
        'Nothing recognised; the picture is mostly gray; text reads "EXIT".',
        'A red cup on the right; text reads "EXIT".',
        "A red cup on the right.",
    ]
    assert [c.t for c in window.captions] == [world.T0 + i * 5 * world.US for i in range(3)]
    assert [(e.name, e.count, e.attributes, e.location) for e in window.entities] == [("cup", 1, ("red",), "right")]
    assert [(e.subject, e.action, e.object) for e in window.events] == [
        ("text", "seen", "EXIT"),
        ("cup", "appears", ""),
    ]
    assert [x.text for x in window.texts] == ["EXIT"]
    assert (window.made_by, window.frames, window.recording) == ("light", 3, "r")
    assert window.description.startswith("In view: a red cup on the right.")


def test_a_still_scene_is_still_seen_and_costs_one_look(light, detector, world):
    scene = world.paint(world.room(), "cup", 100, 60)
    first = light.step(world.window([scene] * 6))[0].window
    looks = detector.looks
    second = light.step(world.window([scene] * 6, 30))[0].window
    assert len(first.captions) == len(second.captions) == 6
    assert {c.text for c in second.captions} == {"A red cup in the centre."}
    assert second.events == ()
    assert looks == 4  # straight, mirrored, closer, and the keyframe
    assert (light.health.frames, light.health.perceived, light.health.keyframes) == (12, 2, 2)


def test_a_run_that_stops_after_any_window_goes_on_with_equal_rows(detector, settings, tmp_path, world):
    raws = day(world, 7)
    whole = LightPerception(detector, settings, keyframes=KeyframeFolder(tmp_path / "a"))
    wanted = [whole.step(raw)[0].window for raw in raws]
    assert any(e.action == "leaves" for w in wanted for e in w.events)
    assert any(len(w.keyframes) > 1 for w in wanted)
    for stop in (1, 3, 5, 6):
        again = LightPerception(detector, settings, keyframes=KeyframeFolder(tmp_path / "a"))
        again.prime(wanted[:stop])
        assert [again.step(raw)[0].window for raw in raws[stop:]] == wanted[stop:], stop


def test_every_item_lies_in_its_window_and_keyframes_are_on_the_disk(light, folder, world):
    for raw in day(world):
        window = light.step(raw)[0].window
        assert window.keyframes
        assert all(k.look is not None and len(k.look[1]) % 4 == 0 for k in window.keyframes), "each with its embedding"
        for item in (*window.captions, *window.events, *window.texts, *window.keyframes):
            assert window.t_start <= item.t <= window.t_end
        for keyframe in window.keyframes:
            image = cv2.imdecode(np.frombuffer(folder.read(keyframe), np.uint8), cv2.IMREAD_COLOR)
            assert image.shape[:2] == (keyframe.height, keyframe.width)


def test_keyframes_are_no_larger_than_asked(detector, folder, world):
    light = LightPerception(detector, Perception(keyframe_side_px=160), keyframes=folder)
    (keyframe,) = light.step(world.window([world.room()]))[0].window.keyframes
    assert (keyframe.width, keyframe.height) == (160, 90)


def test_a_window_of_sound_alone(detector, settings, world):
    pcm = np.zeros(16_000 * 10, np.float32)
    pcm[16_000:32_000] = 0.3 * np.sin(np.arange(16_000) / 10)
    light = LightPerception(detector, settings, asr=world.ListASR([("good morning", 0.9)]), vad=world.LoudVAD())
    window = light.step(world.window([], sound=pcm, length_s=10))[0].window
    assert [(u.speaker, u.text) for u in window.speech] == [("wearer", "good morning")]
    assert (window.frames, window.captions, window.description, window.scene) == (0, (), "", "")


def test_speech_can_be_switched_off(detector, world):
    light = LightPerception(detector, Perception(speech=False), asr=world.ListASR([]), vad=world.LoudVAD())
    assert light.step(world.window([world.room()], sound=np.ones(16_000, np.float32)))[0].window.speech == ()
    assert "speech" not in light.health.fell_back


def test_a_broken_detector_costs_the_objects_alone_and_says_so(light, detector, world):
    scene = world.paint(world.room(), "cup", 100, 60)
    light.step(world.window([scene]))
    detector.broken = True
    light._ocr.pages = [["EXIT"]]
    window = light.step(world.window([scene, scene], 30))[0].window
    assert [x.text for x in window.texts] == ["EXIT"]
    assert window.captions[0].text == 'No detector looked; the picture is mostly gray; text reads "EXIT".'
    assert [e.action for e in window.events] == ["seen"]
    assert len(window.keyframes) == 1
    assert light.health.fell_back["objects"] == "The paint has run out."
    detector.broken = False
    window = light.step(world.window([scene], 60))[0].window
    assert "objects" not in light.health.fell_back
    assert [e.action for e in window.events] == []


def test_a_broken_reader_or_listener_costs_its_part_alone(detector, settings, world):
    class Broken:
        id = "broken"

        def read(self, frame):
            raise OutputError("The reader is tired.")

        def transcribe(self, pcm):
            raise OutputError("The listener is deaf.")

        def close(self) -> None:
            pass

    light = LightPerception(detector, settings, ocr=Broken(), asr=Broken(), vad=world.LoudVAD())
    scene = world.paint(world.room(), "cup", 100, 60)
    window = light.step(world.window([scene], sound=np.ones(16_000, np.float32)))[0].window
    assert [e.name for e in window.entities] == ["cup"]
    assert light.health.fell_back == {"text": "The reader is tired.", "speech": "The listener is deaf."}


def test_missing_models_are_told_from_the_start(detector, settings):
    assert set(LightPerception(detector, settings).health.fell_back) == {"text", "speech"}


def test_a_forgotten_keyframe_does_not_stop_a_restart(detector, settings, folder, world):
    light = LightPerception(detector, settings, keyframes=folder)
    window = light.step(world.window([world.room()]))[0].window
    folder.remove(window.keyframes[0].file)
    again = LightPerception(detector, settings, keyframes=folder)
    again.prime([window])
    assert "not there any more" in again.health.fell_back["keyframes"]
    assert again.step(world.window([world.room()], 30))[0].window.keyframes
    assert "keyframes" not in again.health.fell_back, "a frame was kept again"


def test_stages_are_timed_by_the_clock_that_is_given(detector, settings, world):
    ticks = iter(range(0, 10**9, 1000))
    light = LightPerception(detector, settings, ocr=world.ListOCR(), mono=lambda: next(ticks))
    light.step(world.window([world.room()]))
    assert light.health.ms == {"gate": 1.0, "objects": 1.0, "text": 1.0, "keyframes": 1.0}


def test_faces_are_blurred_or_the_setting_is_refused(detector, folder, world):
    try:
        FaceBlur()
    except ConfigError as error:
        assert "blur_faces" in str(error)
        with pytest.raises(ConfigError):
            LightPerception(detector, Perception(blur_faces=True), keyframes=folder)
        return
    light = LightPerception(detector, Perception(blur_faces=True), keyframes=folder)
    assert light.step(world.window([world.room()]))[0].window.keyframes


# --- the real models, on recorded films -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Light perception on the real models."""
    from models.loader import ASR, DETECTOR, OCR, VAD, Loader, LoadOptions
    from models.registry import Registry

    home = tmp_path_factory.mktemp("models")
    settings = Perception()
    options = LoadOptions(detector_min_score=DETECTOR_SCORE, ocr_side_px=settings.text_side_px)
    loader = Loader(Registry(home, home), options)
    yield LightPerception(
        loader.load(DETECTOR).model,
        settings,
        ocr=loader.load(OCR).model,
        asr=loader.load(ASR).model,
        vad=loader.load(VAD).model,
    )
    loader.close()


def recorded(name: str) -> Path:
    if not MEDIA.is_dir():
        pytest.skip("the recorded test data (../shared/data/media) is not at hand")
    return MEDIA / name


def test_street_signs_are_read(real, world):
    truth = {e["file"]: e["ocr"] for e in json.loads(recorded("media.json").read_text()) if e["kind"] == "image/ocr"}
    wanted = found = 0
    for name in (f"opencv_scenetext0{i}.jpg" for i in (1, 2, 3, 4)):
        window = real.step(world.window([cv2.imread(str(recorded(name)))]))[0].window
        got = re.findall(r"\w+", " ".join(x.text for x in window.texts).lower())
        words = re.findall(r"\w+", " ".join(truth[name]).lower())
        wanted += len(words)
        found += sum(w in got for w in words)
    assert found >= 0.8 * wanted


def test_a_running_clock_is_read_at_its_time(real, world):
    film = cv2.VideoCapture(str(recorded("egolife_clock.mp4")))
    images = []
    for second in (0, 5, 10, 15):
        film.set(cv2.CAP_PROP_POS_FRAMES, second * 30)
        images.append(film.read()[1])
    film.release()
    window = real.step(world.window(images))[0].window
    rows = [((x.t - world.T0) // world.US, x.text) for x in window.texts]
    right = [text for second, text in rows if text.startswith(f"13;20;{second:02d}") or not text[0].isdigit()]
    assert len(right) >= 0.8 * len(rows) > 0
    assert "April 16,2024" in right


def test_the_wearers_own_arms_are_no_persons(real, world):
    film = cv2.VideoCapture(str(recorded("epicwall_r1c1.mp4")))
    images = []
    for second in (1, 3, 5, 7):
        film.set(cv2.CAP_PROP_POS_FRAMES, second * 15)
        images.append(film.read()[1])
    film.release()
    window = real.step(world.window(images, step_s=2, length_s=10))[0].window
    assert "hand" in {e.name for e in window.entities}
    assert "person" not in {e.name for e in window.entities}
