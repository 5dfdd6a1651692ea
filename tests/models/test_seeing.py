"""Detector, scene vector and OCR on real engines."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

import models
from models.errors import InputError, LoadError, ModelMissingError
from models.roles import Detector, Frame, ImageEmbedding


def photograph(name: str) -> Frame:
    data = pytest.importorskip("skimage.data", reason="scikit-image brings the photographs")
    return cv2.imread(str(Path(data.__file__).parent / name)).astype(np.uint8)


def drawn(*lines: str, size: tuple[int, int] = (360, 640)) -> Frame:
    frame = np.full((*size, 3), 235, np.uint8)
    for number, line in enumerate(lines):
        cv2.putText(frame, line, (30, 80 + 90 * number), cv2.FONT_HERSHEY_SIMPLEX, 1.6, (20, 20, 20), 3)
    return frame


@pytest.fixture(scope="module")
def detector(loader: models.Loader) -> Detector:
    return loader.load(models.DETECTOR).model


@pytest.mark.parametrize(("name", "label"), [("astronaut.png", "person"), ("chelsea.png", "cat")])
def test_what_a_photograph_shows(detector: Detector, name: str, label: str) -> None:
    frame = photograph(name)
    height, width = frame.shape[:2]
    found = detector.detect(frame).detections
    assert found[0].label == label
    assert [d.score for d in found] == sorted((d.score for d in found), reverse=True)
    for d in found:
        x0, y0, x1, y1 = d.box
        assert 0 <= x0 < x1 <= width
        assert 0 <= y0 < y1 <= height
        assert 0.4 <= d.score <= 1


def test_the_box_is_where_the_object_is(detector: Detector) -> None:
    cat = photograph("chelsea.png")
    canvas = np.zeros((600, 1200, 3), np.uint8)
    canvas[150:450, 700:1151] = cat
    boxes = [d.box for d in detector.detect(canvas).detections if d.label == "cat"]
    assert boxes
    x0, y0, x1, y1 = boxes[0]
    assert 700 <= (x0 + x1) / 2 <= 1151
    assert 150 <= (y0 + y1) / 2 <= 450


def test_scene_vector_tells_places_apart(detector: Detector) -> None:
    cat, coffee = photograph("chelsea.png"), photograph("coffee.png")
    dim_cat = (cat[10:, 10:] * 0.8).astype(np.uint8)
    a, b, c = (detector.detect(f).embedding for f in (cat, dim_cat, coffee))
    assert a.shape == (detector.embedding_dim,)
    assert a.dtype == np.float32
    assert np.linalg.norm(a) == pytest.approx(1, abs=1e-5)
    assert a @ b > 0.9
    assert a @ c < 0.6


def test_one_network_serves_two_roles(loader: models.Loader, detector: Detector) -> None:
    embedder = loader.load(models.IMAGE_EMBEDDING).model
    assert embedder is detector
    assert isinstance(embedder, ImageEmbedding)
    frames = [drawn("a"), photograph("coffee.png")]
    rows = embedder.embed_images(frames)
    assert rows.shape == (2, embedder.dim)
    assert np.allclose(rows[1], detector.detect(frames[1]).embedding)
    assert embedder.embed_images([]).shape == (0, embedder.dim)


@pytest.mark.parametrize(
    "frame",
    [
        np.zeros((4, 4), np.uint8),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((4, 4, 3), np.float32),
        np.zeros((0, 4, 3), np.uint8),
    ],
)
@pytest.mark.parametrize("role", [models.DETECTOR, models.OCR])
def test_what_is_no_frame_is_refused(loader: models.Loader, role: models.RoleKey, frame: np.ndarray) -> None:
    model = loader.load(role).model
    with pytest.raises(InputError, match=r"(?i)frame"):
        (model.detect if role is models.DETECTOR else model.read)(frame)


@pytest.mark.parametrize("shape", [(1, 1, 3), (3, 2000, 3), (2000, 3, 3), (417, 415, 3)])
def test_odd_frames_are_seen_through(detector: Detector, shape: tuple[int, int, int]) -> None:
    result = detector.detect(np.full(shape, 90, np.uint8))
    assert np.isfinite(result.embedding).all()


def test_text_is_read_in_order(loader: models.Loader) -> None:
    lines = loader.load(models.OCR).model.read(drawn("PLATFORM 9", "Mind the gap", "18:45"))
    assert [line.text for line in lines] == ["PLATFORM 9", "Mind the gap", "18:45"]
    for line, centre in zip(lines, (65, 155, 245), strict=True):
        assert line.score >= 0.9
        assert line.box[1] < centre < line.box[3]


def test_no_text_where_there_is_none(loader: models.Loader) -> None:
    reader = loader.load(models.OCR).model
    assert reader.read(np.full((360, 640, 3), 90, np.uint8)) == ()
    assert reader.read(np.random.default_rng(0).integers(0, 255, (360, 640, 3), np.uint8)) == ()


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    from models.backends.onnx_session import Session

    with pytest.raises(ModelMissingError):
        Session(tmp_path / "none.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"not a graph")
    with pytest.raises(LoadError, match=r"bad\.onnx"):
        Session(tmp_path / "bad.onnx")


def test_provider_is_said(loader: models.Loader) -> None:
    from models.backends.onnx_session import available_providers

    provider = loader.load(models.DETECTOR).model.provider
    assert f"{provider}ExecutionProvider" in available_providers()
