"""Whether a conversation may run before what can wait, as `doctor` tells it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from edge.config import Config
from edge.doctor import _priority


def test_what_the_system_does_not_grant_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    before = os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)
    (found,) = _priority(Config(), Path())
    assert found.part == "priority"
    assert (os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0)) == before
    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(os, "setpriority", refuse)
    (found,) = _priority(Config(), Path())
    assert (found.state, "real time" in found.what, "nice value" in found.what) == ("ok", True, True)
    assert "install.md" in found.do
    assert list(_priority(Config(voice={"listen": False}), Path())) == []  # type: ignore[arg-type]
