from __future__ import annotations

import os
import subprocess

import pytest

pytestmark = pytest.mark.realtime


def names(kind: str) -> list[str]:
    said = subprocess.run(["pactl", "list", "short", kind], capture_output=True, text=True, check=True, timeout=120)
    return sorted(line.split("\t")[1] for line in said.stdout.splitlines())


@pytest.mark.audio
def test_the_sinks_come_go_and_come_back(virtual_audio: object) -> None:
    sinks, sources = ["micfeed", "speaker"], ["mic", "micfeed.monitor", "speaker.monitor"]
    try:
        for _ in range(2):  # a second start adds nothing
            assert virtual_audio("start")["PULSE_SERVER"] == os.environ["PULSE_SERVER"]  # type: ignore[operator]
            assert (names("sinks"), names("sources")) == (sinks, sources)
        assert virtual_audio("env")["PULSE_SERVER"] == os.environ["PULSE_SERVER"]  # type: ignore[operator]
        virtual_audio("unplug")  # type: ignore[operator]
        assert "speaker" not in names("sinks")
        virtual_audio("replug")  # type: ignore[operator]
        assert names("sinks") == sinks
        virtual_audio("unplug-mic")  # type: ignore[operator]
        assert "mic" not in names("sources")
        virtual_audio("replug-mic")  # type: ignore[operator]
        assert names("sources") == sources
        virtual_audio("stop")  # type: ignore[operator]
        virtual_audio("stop")  # type: ignore[operator]  # stopped already: no harm
        with pytest.raises(subprocess.CalledProcessError):
            virtual_audio("status")  # type: ignore[operator]
    finally:
        virtual_audio("start")  # type: ignore[operator]
    virtual_audio("status")  # type: ignore[operator]
