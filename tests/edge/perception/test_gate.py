"""The gate: blurred frames, repeats, small changes, and thresholds that look back only."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from skimage.metrics import structural_similarity

from edge.perception.gate import (
    DEDUP_DISTANCE,
    EVENT_DISTANCE,
    FrameGate,
    KeyframeGate,
    compare,
    distance,
    otsu,
    sharpness,
    ssim_map,
    thumbnail,
)

GATE = FrameGate(20.0, 20.0, 0.92)


def sources(frames):
    return [v.source for v in GATE.judge(frames)]


def test_a_still_scene_is_perceived_once(world):
    assert sources([world.room()] * 6) == [0] * 6


def test_camera_noise_is_no_change(world):
    rng = np.random.default_rng(0)
    frames = [
        np.clip(world.room().astype(int) + rng.normal(0, 4, (180, 320, 3)), 0, 255).astype(np.uint8) for _ in range(4)
    ]
    assert sources(frames) == [0] * 4


def test_a_cup_put_on_the_table_is_seen_though_the_picture_hardly_changes(world):
    empty, cup = world.room(), world.paint(world.room(), "cup", 200, 100, 24, 24)
    measured = compare(thumbnail(cup), thumbnail(empty))
    assert measured.change < 20 <= measured.block_change
    assert sources([empty, empty, cup, cup, empty]) == [0, 0, 2, 2, 4]


def test_another_room_is_seen(world):
    assert sources([world.room(1), world.room(2), world.room(2)]) == [0, 1, 1]


def test_light_alone_changes_nothing(world):
    bright = np.clip(world.room().astype(int) + 24, 0, 255).astype(np.uint8)
    assert compare(thumbnail(bright), thumbnail(world.room())).block_change >= 20
    assert sources([world.room(), bright]) == [0, 0]


def test_a_blurred_frame_says_nothing(world):
    blurred = cv2.GaussianBlur(world.room(2), (0, 0), 12)
    assert sharpness(blurred) < 20 <= sharpness(world.room())
    assert sources([blurred, world.room(), blurred]) == [None, 1, None]


def test_of_blurred_frames_alone_the_sharpest_is_taken(world):
    frames = [cv2.GaussianBlur(world.room(), (0, 0), s) for s in (20, 12, 16)]
    assert sources(frames) == [None, 1, None]


def test_no_frames_no_verdicts():
    assert GATE.judge([]) == []


def test_a_change_of_picture_size_is_a_change(world):
    assert sources([world.room(), world.room()[:90]]) == [0, 1]


def test_what_comes_later_changes_no_verdict(world):
    rng = np.random.default_rng(5)
    frames = [world.paint(world.room(int(rng.integers(3))), "cup", int(rng.integers(260)), 60) for _ in range(12)]
    whole = sources(frames)
    assert all(sources(frames[:n]) == whole[:n] for n in range(1, 13))


def test_ssim_is_that_of_the_reference_implementation(world):
    a, b = thumbnail(world.room(1)), thumbnail(world.paint(world.room(1), "book", 30, 30, 90, 90))
    wanted = structural_similarity(a, b, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255)
    inner = ssim_map(a, b)[5:-5, 5:-5]
    assert float(inner.mean()) == pytest.approx(wanted, abs=2e-3)


def unit(*values: float) -> np.ndarray:
    v = np.array(values, np.float32)
    return v / np.linalg.norm(v)


def test_the_first_view_is_always_kept_and_then_vams_fallback_holds():
    gate = KeyframeGate()
    assert gate.is_new(unit(1, 0))
    gate.add(unit(1, 0))
    assert gate.threshold() == pytest.approx(DEDUP_DISTANCE)
    assert not gate.is_new(unit(0.95, np.sqrt(1 - 0.95**2)))
    assert gate.is_new(unit(0.85, np.sqrt(1 - 0.85**2)))


def test_with_history_the_threshold_lies_between_like_and_unlike_views():
    gate = KeyframeGate()
    for angle in (0.0, 0.5, 1.0, 0.05, 0.55, 1.05):  # three places, seen twice
        gate.add(unit(np.cos(angle), np.sin(angle)))
    assert DEDUP_DISTANCE <= gate.threshold() <= EVENT_DISTANCE
    assert gate.threshold() > DEDUP_DISTANCE


def test_a_restart_with_the_same_keyframes_decides_the_same():
    rng = np.random.default_rng(2)
    vectors = [unit(*rng.normal(size=8)) for _ in range(30)]
    lived, primed = KeyframeGate(), KeyframeGate()
    for v in vectors:
        lived.add(v)
    primed.reset(vectors)
    assert lived.threshold() == primed.threshold()


def test_otsu_splits_between_two_heaps_and_survives_poor_input():
    assert 0.2 < otsu([0.1, 0.12, 0.11, 0.9, 0.95]) < 0.9
    assert otsu([]) == 0.0
    assert otsu([0.3]) == pytest.approx(0.3)
    assert distance(np.zeros(3, np.float32), unit(1, 0, 0)) == 1.0
