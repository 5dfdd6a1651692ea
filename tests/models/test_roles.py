"""Every row of the backend table fills the roles it claims, and the fakes do it without any engine."""

from __future__ import annotations

import sys
from typing import get_args

import numpy as np
import pytest

import models
from models import errors, roles
from models.backends.fake import FakeLanguage, fill
from models.errors import InputError, ModelCancelledError, UnknownModelError
from models.loader import BACKENDS
from models.manifest import RoleName, load_manifest
from models.roles import CallOptions, Message, Usage

PROTOCOLS = {
    "detector": roles.Detector,
    "ocr": roles.OCR,
    "image_embedding": roles.ImageEmbedding,
    "asr": roles.ASR,
    "vad": roles.VAD,
    "wake_word": roles.WakeWord,
    "speaker_embedding": roles.SpeakerEmbedding,
    "tts": roles.TTS,
    "text_embedding": roles.TextEmbedding,
    "language": roles.Language,
    "vision_language": roles.VisionLanguage,
}
FAKES = [i for i, b in BACKENDS.items() if i.startswith(("fake-", "hash-"))]


def key(name: str) -> models.RoleKey:
    return next(r for r in models.ROLES if r.name == name)


def test_the_table_and_the_manifest_know_each_other() -> None:
    assert set(PROTOCOLS) == set(get_args(RoleName)) == {r.name for r in models.ROLES}
    listed = {e.id: e for e in load_manifest()}
    assert {i for i, b in BACKENDS.items() if b.has_files} == set(listed)
    for entry in listed.values():
        assert entry.role in BACKENDS[entry.id].roles
        if entry.default:
            assert key(entry.role).order[0] == entry.id
    for role in models.ROLES:
        for model_id in role.order:
            assert role.name in BACKENDS[model_id].roles


@pytest.mark.parametrize("model_id", BACKENDS)
def test_a_backend_fills_its_roles(loader: models.Loader, model_id: str) -> None:
    for role in BACKENDS[model_id].roles:
        try:
            loaded = loader.load(key(role), model_id)
        except errors.ModelMissingError as error:
            pytest.skip(str(error))
        assert isinstance(loaded.model, PROTOCOLS[role])
        assert loaded.model.id == loaded.id == model_id


def test_every_role_has_a_fake() -> None:
    assert {role for i in FAKES for role in BACKENDS[i].roles} == set(PROTOCOLS)


def test_fakes_need_no_engine(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    for engine in (
        "onnxruntime",
        "rapidocr",
        "faster_whisper",
        "tokenizers",
        "cv2",
        "ai_edge_litert",
        "pymicro_features",
    ):
        monkeypatch.setitem(sys.modules, engine, None)
    one = models.Loader(models.Registry(tmp_path, tmp_path))
    for model_id in FAKES:
        for role in BACKENDS[model_id].roles:
            one.load(key(role), model_id).model.close()
    with pytest.raises(errors.EngineMissingError):
        one.load(models.DETECTOR)


def test_a_wrong_name_lists_the_right_ones(loader: models.Loader) -> None:
    with pytest.raises(UnknownModelError, match=r"choose of .*nanodet"):
        loader.load(models.DETECTOR, "whisper-base")
    with pytest.raises(UnknownModelError, match="role language"):
        loader.load(models.LANGUAGE)


def test_unload_closes_for_all_roles(tmp_path) -> None:
    one = models.Loader(models.Registry(tmp_path, tmp_path))
    detector = one.load(models.DETECTOR).model
    one.load(models.IMAGE_EMBEDDING)
    one.unload("nanodet-g-416")
    one.unload("nanodet-g-416")
    assert {s.model_id for s in one.status()} == {None}
    with pytest.raises(errors.LoadError, match="closed"):
        detector.detect(np.zeros((8, 8, 3), np.uint8))
    assert one.load(models.DETECTOR).model is not detector
    one.close()


def test_error_codes_are_unique_and_drawn() -> None:
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.ModelError)]
    assert len({c.code for c in classes}) == len(classes)
    for c in classes:
        assert c.__name__ in str(errors.__doc__)
        assert c.code in str(errors.__doc__)


SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 5},
        "count": {"type": "integer", "minimum": 2, "maximum": 4},
        "kind": {"enum": ["a", "b"]},
        "items": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/Item"}},
        "maybe": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "extra": {"type": "string"},
    },
    "required": ["name", "count", "kind", "items", "maybe"],
    "$defs": {"Item": {"type": "object", "properties": {"t": {"type": "number"}}, "required": ["t"]}},
}


def test_fake_language_fills_a_schema_and_accounts() -> None:
    cost: list[Usage] = []
    fake = FakeLanguage()
    given = fake.complete([Message("user", "hi")], SCHEMA, CallOptions(meter=cost.append))
    assert set(given) == set(SCHEMA["required"])
    assert len(given["name"]) <= 5
    assert 2 <= given["count"] <= 4
    assert given["kind"] in {"a", "b"}
    assert [set(i) for i in given["items"]] == [{"t"}, {"t"}]
    assert isinstance(given["maybe"], bool)
    assert given == fake.complete([Message("user", "hi")], SCHEMA)
    assert len(cost) == 1
    text = fake.complete([Message("user", "hi")])
    assert "".join(fake.stream([Message("user", "hi")])) == text
    with pytest.raises(ModelCancelledError):
        fake.complete([], None, CallOptions(cancelled=lambda: True))
    with pytest.raises(InputError):
        fill({"type": "string"}, "x")


def test_fake_vision_depends_on_the_frames() -> None:
    fake = FakeLanguage()
    frame = np.zeros((2, 2, 3), np.uint8)
    answers = {fake.describe([f], "what?", SCHEMA)["name"] for f in (b"one", b"two", b"three", b"four", frame)}
    assert len(answers) >= 3


def test_fake_ears_follow_loudness(loader: models.Loader) -> None:
    tone = (np.sin(np.arange(8192) / 5) * 0.5).astype(np.float32)
    silence = np.zeros(8192, np.float32)
    sound = np.concatenate([silence, tone, silence, tone, silence])
    spans = loader.load(models.VAD, "fake-vad").model.speech_spans(sound)
    assert spans == ((0.512, 1.024), (1.536, 2.048))
    segments = loader.load(models.ASR, "fake-asr").model.transcribe(sound)
    assert [(s.start_s, s.end_s) for s in segments] == list(spans)
    assert segments[0].text == segments[1].text
    wake = loader.load(models.WAKE_WORD, "fake-wake-word").model
    pcm = (sound * 32767).astype(np.int16)
    assert [h for i in range(0, len(pcm), 1000) if (h := wake.feed(pcm[i : i + 1000]))] == ["Hey Grove"] * 2
    voice = loader.load(models.SPEAKER_EMBEDDING, "fake-speaker-32").model
    high = (np.sin(np.arange(8192)) * 0.5).astype(np.float32)
    same, other = (float(voice.embed_voice(tone) @ voice.embed_voice(x)) for x in (tone * 0.5, high))
    assert same > 0.99
    assert other < 0.9
    assert not voice.embed_voice(silence).any()


def test_fake_eyes_follow_the_frame(loader: models.Loader) -> None:
    frame = np.random.default_rng(1).integers(0, 255, (6, 8, 3), np.uint8).repeat(8, axis=0).repeat(8, axis=1)
    detector = loader.load(models.DETECTOR, "fake-detector").model
    first = detector.detect(frame)
    assert first.detections == detector.detect(frame.copy()).detections
    for d in first.detections:
        assert 0 <= d.box[0] < d.box[2] <= 64
        assert 0 <= d.box[1] < d.box[3] <= 48
    reader = loader.load(models.OCR, "fake-ocr").model
    assert reader.read(frame) == reader.read(frame.copy())
    assert reader.read(np.full((8, 8, 3), 7, np.uint8)) == ()
    embed = loader.load(models.IMAGE_EMBEDDING, "fake-thumbnail-108").model.embed_images
    a, b, c = embed([frame, np.clip(frame.astype(int) + 10, 0, 255).astype(np.uint8), 255 - frame])
    assert a @ b > 0.9
    assert a @ c < 0
