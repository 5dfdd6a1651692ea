"""grove-edge models: what is here, what a profile needs, what cannot be had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edge.cli import main
from models.manifest import load_manifest, load_profiles


def test_list_tells_all_of_every_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "list", "--json"]) == 0
    rows = {r["id"]: r for r in json.loads(capsys.readouterr().out)}
    assert set(rows) == {e.id for e in load_manifest()}
    assert rows["nanodet-g-416"]["state"] == "verified"
    assert rows["nanodet-g-416"]["default"] is True
    large = rows["qwen3-4b"]
    assert (large["state"], large["role"], large["licence"]) == ("absent", "language", "Apache-2.0")
    assert "models pull qwen3-4b" in large["problem"]
    assert large["expected"]
    assert "orin-16gb" in large["profiles"]


def test_the_profiles_are_those_that_are_promised() -> None:
    profiles = {p.name: p.models for p in load_profiles()}
    assert set(profiles) == {"light", "starter", "orin-8gb", "orin-16gb", "pi5", "x86"}
    roles = {e.id: e.role for e in load_manifest()}
    for name, models in profiles.items():
        kinds = {roles[m] for m in models}
        assert {"detector", "ocr", "asr", "vad", "wake_word", "tts", "text_embedding", "speaker_embedding"} <= kinds
        assert ("language" in kinds or "vision_language" in kinds) == (name != "light")
    assert set(profiles["light"]) < set(profiles["starter"])


def test_pulling_a_profile_that_is_here_fetches_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("something was fetched")

    monkeypatch.setattr("models.fetch.download", never)
    assert main(["models", "pull", "--profile", "light", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {r["id"] for r in rows} == {m for p in load_profiles() if p.name == "light" for m in p.models}
    assert all(Path(f).is_file() for r in rows for f in r["files"])


@pytest.mark.parametrize(("given", "told"), [((), "Name the models"), (("--profile", "moon"), "no profile moon")])
def test_pulling_nothing_or_an_unknown_profile_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], given: tuple[str, ...], told: str
) -> None:
    assert main(["models", "pull", *given]) == 2
    assert told in capsys.readouterr().err
