"""Face blur: no promise without a detector, and what is found becomes unrecognisable and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

from edge.errors import ConfigError
from edge.perception import faces
from edge.perception.faces import FaceBlur


def test_without_a_face_detector_the_setting_is_refused(monkeypatch, tmp_path):
    monkeypatch.delattr(faces.cv2, "CascadeClassifier", raising=False)
    with pytest.raises(ConfigError, match="blur_faces = false"):
        FaceBlur(tmp_path / "no such model.onnx")


def test_a_found_face_is_left_in_patches_and_the_rest_untouched(monkeypatch):
    blur = FaceBlur.__new__(FaceBlur)
    monkeypatch.setattr(FaceBlur, "find", lambda self, frame: [(40.0, 40.0, 100.0, 100.0)])
    frame = np.random.default_rng(1).integers(0, 255, (180, 320, 3)).astype(np.uint8)
    before = frame.copy()
    result = blur.blur(frame)
    assert (frame == before).all()
    outside = np.ones(frame.shape, bool)
    outside[40:100, 40:100] = False
    assert (result[outside] == frame[outside]).all()
    assert result[40:100, 40:100].std() < 0.3 * frame[40:100, 40:100].std()


def test_boxes_are_grown_scaled_back_and_cut_at_the_edge(monkeypatch):
    blur = FaceBlur.__new__(FaceBlur)
    blur._yunet = object()
    monkeypatch.setattr(FaceBlur, "_by_yunet", lambda self, small: [(0.0, 0.0, 100.0, 100.0)])
    (box,) = blur.find(np.zeros((720, 1280, 3), np.uint8))
    assert box == (0.0, 0.0, 250.0, 250.0)
