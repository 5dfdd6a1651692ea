"""Settings: the defaults are the paper's, the file and the environment override, nothing wrong passes in silence."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from edge import config
from edge.config import Config, Growth, load, parse, private_dir
from edge.errors import ConfigError


def write(text: str) -> Path:
    path = config.config_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_constants_are_groves() -> None:
    memory = Config().memory
    assert memory.growth("wear") == Growth(
        window_s=30, frame_interval_s=5, cap_s=600, gap_s=60, min_frames=5, anchors=3
    )
    assert memory.growth("clip") == Growth(
        window_s=10, frame_interval_s=2, cap_s=120, gap_s=60, min_frames=5, anchors=3
    )
    assert (memory.moment_ceiling, memory.pattern_batch, memory.resynthesis, memory.reestimate) == (200, 10, 5, 3)
    assert memory.synchronous == "full", "a commit survives a power cut unless its owner says otherwise"


def test_without_a_file_there_are_defaults() -> None:
    assert load() == Config()


def test_the_file_overrides_and_leaves_the_rest() -> None:
    write("[memory]\nprofile = 'clip'\n[memory.wear]\ncap_s = 300\n[owner]\nname = 'Zoë'\n")
    found = load()
    assert (found.memory.profile, found.owner.name) == ("clip", "Zoë")
    assert found.memory.wear == Growth(cap_s=300)
    assert found.memory.clip == Config().memory.clip
    assert found.capture == Config().capture


def test_the_environment_overrides_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write("[memory]\nprofile = 'clip'\nmoment_ceiling = 50\n[owner]\nname = 'Ana'\nconsent = true\n")
    monkeypatch.setenv("GROVE_EDGE_MEMORY__MOMENT_CEILING", "60")
    monkeypatch.setenv("GROVE_EDGE_MEMORY__WEAR__GAP_S", "45")
    monkeypatch.setenv("GROVE_EDGE_OWNER_NAME", "Bea")
    monkeypatch.setenv("GROVE_EDGE_OWNER_ZONE", "Europe/Zurich")
    found = load()
    assert (found.memory.profile, found.memory.moment_ceiling, found.memory.wear.gap_s) == ("clip", 60, 45)
    assert (found.owner.name, found.owner.zone, found.owner.consent) == ("Bea", "Europe/Zurich", True)


def test_a_file_may_lie_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[owner]\nname = 'Ana'\n")
    assert load(path).owner.name == "Ana"
    monkeypatch.setenv("GROVE_EDGE_CONFIG", str(path))
    assert load().owner.name == "Ana"
    path.unlink()
    for find in (load, lambda: load(path)):
        with pytest.raises(ConfigError, match="There is no settings file"):
            find()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[memory]\nwindow = 3\n", "memory.window"),
        ("[memory.wear]\nwindow = 3\n", "memory.wear.window"),
        ("[memory.wear]\nwindow_s = -1\n", "memory.wear.window_s"),
        ("[memory.wear]\nwindow_s = nan\n", "memory.wear.window_s"),
        ("[memory.wear]\ncap_s = inf\n", "memory.wear.cap_s"),
        ("[alerts]\nfrequency = 'often'\n", "alerts.frequency"),
        ("[alerts.quiet]\nend = '7:00'\n", "alerts.quiet.end"),
        ("[alerts.quiet]\nweekdays = 'mon funday'\n", "alerts.quiet.weekdays"),
        ("[owner]\nzone = 'Mars/North'\n", "owner.zone"),
        ("[nope]\na = 1\n", "no section nope"),
    ],
)
def test_a_wrong_setting_is_named(text: str, told: str) -> None:
    path = write(text)
    with pytest.raises(ConfigError, match=told) as caught:
        load()
    assert str(path) in str(caught.value)
    with pytest.raises(ConfigError, match=told):
        parse(text, path)


@pytest.mark.parametrize("variable", ["GROVE_EDGE_MEMORY", "GROVE_EDGE_PROFILE", "GROVE_EDGE_", "GROVE_EDGE_NOPE__X"])
def test_a_variable_that_names_nothing_is_refused(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")
    with pytest.raises(ConfigError, match=variable):
        load()


def test_settings_do_not_change_under_a_run() -> None:
    with pytest.raises(Exception, match="frozen"):
        Config().memory.profile = "clip"  # type: ignore[misc]


def sections(model: type[BaseModel], name: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, field in model.model_fields.items():
        where = f"{name}.{key}".lstrip(".")
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found += sections(field.annotation, where)
        else:
            found.append((where, field))
    return found


UNITS = {"s": "second", "px": "pixel", "mb": "mb|megabyte"}


@pytest.mark.parametrize(("name", "field"), sections(Config), ids=lambda x: x if isinstance(x, str) else "")
def test_every_key_is_described_with_its_unit(name: str, field: Any) -> None:
    assert field.description, "docs/settings.md is made from it"
    assert field.description.endswith(".")
    suffix = name.rsplit("_", 1)[-1]
    assert re.search(UNITS.get(suffix, ""), field.description.lower())


def test_folders_are_the_users_own_and_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, find in (
        ("XDG_CONFIG_HOME", lambda: config.config_path().parent),
        ("XDG_DATA_HOME", config.data_dir),
        ("XDG_STATE_HOME", config.state_dir),
        ("XDG_CACHE_HOME", config.cache_dir),
    ):
        monkeypatch.setenv(variable, str(tmp_path / variable))
        assert find() == tmp_path / variable / "grove-edge"
        monkeypatch.setenv(variable, "not/absolute")
        assert find().is_absolute()
        assert Path.home() in find().parents
    old = os.umask(0)
    try:
        made = private_dir(tmp_path / "a" / "b")
    finally:
        os.umask(old)
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be made"):
        private_dir(tmp_path / "file" / "x")


def test_the_socket_lies_in_the_runtime_folder_else_in_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert config.runtime_dir() == tmp_path / "grove-edge"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "gone"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert config.runtime_dir() == tmp_path / "state" / "grove-edge" / "run"
