"""The trace format: what is written is read back, what breaks it is refused, a torn end is mended."""

from __future__ import annotations

import json
import random
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storage_support import US, window

from edge.clock import parse_time
from edge.config import Config
from edge.errors import InputError, TraceError
from edge.recorder import Recorder, _Line, check_trace, default_frames, read_trace, to_line
from edge.replay import replay
from storage import EmbeddingSpace, Store
from storage.records import (
    Caption,
    Device,
    Entity,
    Event,
    Gap,
    Keyframe,
    SeenText,
    Utterance,
    Window,
)

SPACE = EmbeddingSpace("wordllama-256", 256)
T = parse_time("2026-03-02T09:00:00+01:00")[0]

FULL = Window(
    "day 1", T, T + 30 * US, 3600,
    captions=(Caption(T, "open “fridge”"), Caption(T + 1, '一 🚀\n\\ " \u2028')),
    description="making tea",
    entities=(Entity("cup", 2, ("blue", "small"), "table"), Entity("door")),
    events=(Event(T + 5 * US, "wearer", "open", "fridge"),),
    texts=(SeenText(T + 123_456, "EXIT"),),
    speech=(Utterance(T + 30 * US, "Ana", "I have to go."),),
    scene="kitchen",
    made_by="light",
    frames=9,
    profile="clip",
    keyframes=(Keyframe(T + US, "020514/1.jpg", "0" * 64, 640, 480, 12_345),),
    gaps=(Gap("day 1", T + US, T + 2 * US, "camera unplugged"),),
    device=Device(battery=0, charging=False, worn=True, mode="saver"),
)  # fmt: skip


def back_and_forth(windows: list[Window], path: Path, interval: float = 5.0) -> list[Window]:
    recorder = Recorder(path, interval)
    for w in windows:
        recorder.write(w)
    recorder.close()
    return list(read_trace(path, interval))


def test_every_key_survives(tmp_path: Path) -> None:
    assert back_and_forth([FULL], tmp_path / "t.jsonl") == [FULL]
    line = json.loads((tmp_path / "t.jsonl").read_text(encoding="utf-8"))
    assert set(line) == set(_Line.model_fields), "the example holds every key of the format"
    assert stat.S_IMODE((tmp_path / "t.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "part",
    [{"device": Device()}, {"device": None}, {"frames": default_frames(0, 30 * US, 5.0)}, {"made_by": "vlm"}, {"scene": ""},
     {"offset_s": -12_600}, {"offset_s": 0}, {"offset_s": 50_400}, {"entities": ()}, {"t_end": T + 60 * US + 1}],
)  # fmt: skip
def test_each_key_by_itself_survives(part: dict[str, Any], tmp_path: Path) -> None:
    assert back_and_forth([replace(FULL, **part)], tmp_path / "t.jsonl") == [replace(FULL, **part)]


def test_optional_keys_stand_only_where_they_say_something(tmp_path: Path) -> None:
    plain = Window("r", T, T + 30 * US, 3600, frames=6)
    assert set(to_line(plain, 5.0)) == {
        "recording", "t_start", "t_end", "captions", "description", "entities", "events", "ocr", "speech",
    }  # fmt: skip
    assert back_and_forth([plain], tmp_path / "t.jsonl") == [plain]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), offset=st.sampled_from([0, 3600, -12_600, 45_900, -36_000]))
def test_any_window_survives(seed: int, offset: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    rng = random.Random(seed)
    made = [window(rng, "r", T + n * 60 * US + rng.randint(0, 999), rng.randint(1, 59), offset) for n in range(3)]
    in_order = [
        replace(w, texts=tuple(sorted(w.texts, key=lambda x: x.t)), speech=tuple(sorted(w.speech, key=lambda x: x.t)))
        for w in made
    ]
    assert back_and_forth(in_order, tmp_path_factory.mktemp("t") / "t.jsonl") == in_order


def test_a_recording_goes_on_after_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    windows = [Window("r", T + n * 30 * US, T + (n + 1) * 30 * US, 0, description=f"n{n}", frames=6) for n in range(6)]
    back_and_forth(windows[:4], path)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for torn in range(0, len(lines[3]), 7):
        path.write_bytes(b"".join(lines[:3]) + lines[3][:torn])
        assert back_and_forth(windows, path) == windows
    path.write_bytes(lines[0][:9])
    assert back_and_forth(windows, path) == windows


@pytest.mark.parametrize(
    "content", [b"dear diary", b"dear diary\n", b"{}\n", b'{"a": 1}', b"\xff\xfe\x00", b"[1]\n[2]\n", b'\n\n"x']
)
def test_another_file_is_not_written_into(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is not a recording"):
        Recorder(path, 5.0)
    assert path.read_bytes() == content


@pytest.mark.parametrize("place", ["", "none/t.jsonl", "x" * 300])
def test_a_recording_that_cannot_be_written_is_told(tmp_path: Path, place: str) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        Recorder(tmp_path / place, 5.0)


def test_frames_are_counted_from_the_duration() -> None:
    assert [default_frames(0, s * US, 5.0) for s in (1, 12, 13, 30, 31)] == [1, 2, 3, 6, 6]


def test_a_line_of_a_byte_order_mark_and_blank_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("\ufeff" + json.dumps(to_line(FULL, 5.0)) + "\r\n\n  \n", encoding="utf-8")
    assert list(read_trace(path, 5.0)) == [FULL]


def test_a_profile_belongs_to_a_whole_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    second = replace(
        FULL, t_start=FULL.t_end, t_end=FULL.t_end + US, captions=(), events=(), texts=(), speech=(), profile="wear"
    )
    back_and_forth([FULL], path)
    assert check_trace(path).profile == "clip"
    back_and_forth([FULL, second], path)
    with pytest.raises(TraceError, match=r"line 2: the profile changes"):
        check_trace(path)


def test_a_replay_that_ended_inside_a_window_goes_on_with_its_rest(
    day: Callable[..., Path], embed: Any, tmp_path: Path
) -> None:
    trace = day(5, 12)
    rows = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    start, end = (parse_time(rows[6][key])[0] for key in ("t_start", "t_end"))
    middle = (start + end) // 2
    with Store.open(None, space=SPACE) as store:
        replay(trace, store, embed, Config(), until=middle)
        report = replay(trace, store, embed, Config(), record=tmp_path / "copy.jsonl")
        assert (report.skipped, report.totals.windows) == (6, 6)
        with store.snapshot() as snapshot:
            windows = snapshot.trace.windows()
            assert [(w.t_start, w.t_end) for w in windows[6:8]] == [(start, middle), (middle, end)]
            kinds = ("caption", "event", "text", "speech")
            items = sorted((i.kind, i.t, i.text) for i in snapshot.trace.items(kinds))
        assert store.integrity() == []
    with Store.open(None, space=SPACE) as whole:
        replay(trace, whole, embed, Config())
        with whole.snapshot() as snapshot:
            assert items == sorted((i.kind, i.t, i.text) for i in snapshot.trace.items(kinds)), (
                "nothing twice, nothing lost"
            )


def test_a_line_is_in_the_file_when_write_returns(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    recorder = Recorder(path, 5.0)
    recorder.write(FULL)
    assert list(read_trace(path, 5.0)) == [FULL]
    recorder.close()
