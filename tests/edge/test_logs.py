from __future__ import annotations

import io
import json
import logging
import os
import stat
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from edge import logs
from edge.clock import ReplayClock, parse_time
from edge.errors import AudioError, ConfigError
from edge.logs import Log, Private

START, _ = parse_time("2026-03-02T09:00:00Z")


def arm(folder: Path, level: str = "info", max_mb: float = 1.0, files: int = 2) -> tuple[logs.Logs, ReplayClock]:
    clock = ReplayClock(START)
    return logs.setup(folder, level, max_mb, files, clock), clock


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / logs.NAME).read_text(encoding="utf-8").splitlines()]


def test_an_event_is_one_json_line_with_the_clocks_time(tmp_path: Path) -> None:
    armed, clock = arm(tmp_path)
    Log("voice").info("spoken", source="answer", seconds=1.5)
    clock.set(START + 2_000_000)
    Log("voice").warning("speaker_lost", device="Glasses\nSpeaker")
    armed.close()
    assert lines(tmp_path) == [
        {
            "t": "2026-03-02T09:00:00.000Z",
            "level": "info",
            "log": "voice",
            "event": "spoken",
            "source": "answer",
            "seconds": 1.5,
        },
        {
            "t": "2026-03-02T09:00:02.000Z",
            "level": "warning",
            "log": "voice",
            "event": "speaker_lost",
            "device": "Glasses\nSpeaker",
        },
    ]


@pytest.mark.parametrize("level", ["info", "debug"])
def test_private_text_is_kept_in_debug_lines_alone(tmp_path: Path, level: str) -> None:
    armed, _ = arm(tmp_path, level)
    Log("voice").info("spoken", text=Private("the keys are in the drawer"))
    Log("voice").debug("spoken_text", text=Private("the keys are in the drawer"))
    armed.close()
    content = (tmp_path / logs.NAME).read_text()
    assert "(26 characters)" in content
    assert content.count("drawer") == (1 if level == "debug" else 0)


def test_foreign_exceptions_keep_their_type_but_not_their_message(tmp_path: Path) -> None:
    armed, _ = arm(tmp_path)
    for error in (
        ValueError("she said secret-word"),
        AudioError("No speaker: plug one in."),
        OSError(28, "No space left"),
    ):
        try:
            raise error
        except (ValueError, AudioError, OSError) as caught:
            Log("voice").error("failed", cause=caught)
    armed.close()
    first, second, third = (line["error"] for line in lines(tmp_path))
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert isinstance(third, dict)
    assert first["type"] == "ValueError"
    assert "sentence" not in first
    assert "test_logs.py" in first["at"][-1]
    assert (second["code"], second["sentence"]) == ("device.audio", "No speaker: plug one in.")
    assert "No space left" in third["sentence"]
    assert "secret-word" not in (tmp_path / logs.NAME).read_text()


def test_foreign_chatter_stays_out_but_warnings_come_in(tmp_path: Path) -> None:
    armed, _ = arm(tmp_path)
    logging.getLogger("somelib").info("loaded %s", "everything")
    logging.getLogger("somelib").warning("odd %s", "thing")
    logging.getLogger("models.fetch").info("fetched %d bytes", 12)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("an old call", UserWarning, stacklevel=1)
    armed.close()
    assert [(line["log"], line["event"]) for line in lines(tmp_path)] == [
        ("somelib", "message"),
        ("models.fetch", "message"),
        ("py.warnings", "warning"),
    ]
    assert lines(tmp_path)[1]["text"] == "fetched 12 bytes"


def test_rotation_keeps_the_size_the_count_and_the_mode(tmp_path: Path) -> None:
    (tmp_path / logs.NAME).touch(mode=0o644)
    armed, _ = arm(tmp_path, max_mb=0.002, files=2)
    for number in range(200):
        Log("memory").info("window", number=number)
    armed.close()
    found = sorted(tmp_path.iterdir())
    assert [path.name for path in found] == [logs.NAME, logs.NAME + ".1", logs.NAME + ".2"]
    for path in found:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.stat().st_size <= 2_000
    assert json.loads((tmp_path / logs.NAME).read_text().splitlines()[-1])["number"] == 199


def test_a_folder_that_cannot_be_used_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / logs.NAME).mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        arm(tmp_path)


def test_a_full_disk_loses_lines_and_counts_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    armed, _ = arm(tmp_path)
    assert armed._file is not None
    armed._file.release_stream()
    armed._file.stream = io.TextIOWrapper(open("/dev/full", "ab", buffering=0), "utf-8", write_through=True)  # noqa: SIM115
    Log("memory").info("window", number=1)
    Log("memory").info("window", number=2)
    assert armed.lost == 2
    assert capsys.readouterr().err.count("cannot be written") == 1
    armed.close()


def test_erase_drops_private_lines_of_the_span_in_every_file(tmp_path: Path) -> None:
    armed, clock = arm(tmp_path, "debug", max_mb=0.001, files=9)
    for minute in range(10):
        clock.set(START + minute * 60_000_000)
        Log("voice").info("spoken", minute=minute)
        Log("voice").debug("spoken_text", text=Private(f"secret {minute}"))
    dropped = armed.erase(START + 3 * 60_000_000, START + 6 * 60_000_000)
    Log("voice").info("after")
    armed.close()
    everything = "".join(path.read_text() for path in sorted(tmp_path.iterdir()))
    assert dropped == 4
    assert [minute for minute in range(10) if f"secret {minute}" in everything] == [0, 1, 2, 7, 8, 9]
    assert everything.count('"spoken"') == 10
    assert '"after"' in everything
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in tmp_path.iterdir())


def test_erase_drops_a_line_cut_by_a_crash(tmp_path: Path) -> None:
    armed, _ = arm(tmp_path, "debug")
    Log("voice").info("spoken")
    armed.close()
    with open(tmp_path / logs.NAME, "a") as file:
        file.write('{"t": "2026-03-02T09:00:00.000Z", "level": "deb')
    assert logs.erase(tmp_path) == 1
    assert [line["event"] for line in lines(tmp_path)] == ["spoken"]


def test_uncaught_errors_of_threads_are_logged_and_still_shown(tmp_path: Path) -> None:
    shown: list[str] = []
    before, threading.excepthook = threading.excepthook, lambda args: shown.append(args.exc_type.__name__)
    armed, _ = arm(tmp_path)
    thread = threading.Thread(target=lambda: {}["gone"], name="worker")
    thread.start()
    thread.join()
    armed.close()
    threading.excepthook = before
    assert shown == ["KeyError"]
    assert lines(tmp_path)[-1]["event"] == "uncaught"
    assert lines(tmp_path)[-1]["thread"] == "worker"


def test_an_uncaught_error_of_the_process_is_logged_and_shown(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from edge import logs; from edge.clock import SystemClock\n"
        "logs.setup(Path(sys.argv[1]), 'info', 1, 1, SystemClock())\n"
        "raise RuntimeError('what was said')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": "."},
    )
    assert done.returncode == 1
    assert "RuntimeError: what was said" in done.stderr
    (line,) = lines(tmp_path)
    assert line["event"] == "uncaught"
    assert "what was said" not in json.dumps(line)


def test_close_takes_everything_back(tmp_path: Path) -> None:
    root, ours = logging.getLogger(), logging.getLogger("edge")
    before = (list(root.handlers), root.level, ours.level, sys.excepthook, threading.excepthook)
    armed, _ = arm(tmp_path, "debug")
    armed.close()
    armed.close()
    assert (list(root.handlers), root.level, ours.level, sys.excepthook, threading.excepthook) == before


def test_the_console_line_is_for_people() -> None:
    out = io.StringIO()
    clock = ReplayClock(START, offset_s=3600)
    armed = logs.setup(None, "info", 1, 1, clock, console=out)
    Log("voice").info("spoken", source="alert", text=Private("mind the stove"))
    Log("voice").warning("speaker_lost", cause=AudioError("No speaker: plug one in."))
    armed.close()
    assert armed.path is None
    assert out.getvalue().splitlines() == [
        "10:00:00 voice: spoken source=alert text=(14 characters)",
        "10:00:00 WARNING voice: speaker_lost (No speaker: plug one in.)",
    ]
