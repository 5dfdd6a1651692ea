"""The committed sample: it plays, it is small, and what its truth says can be read and heard in it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from tools.make_sample import truth as truth_of_the_story

FOLDER = Path(__file__).resolve().parents[2] / "tools" / "sample"
MEGABYTE = 1_000_000
SPEAKERS = {"wearer", "other"}
READ_AT = ["OVEN ON 180 C", "MEETING", "UNTIL SUNDAY"]  # a lit panel, paper on cork, print on brick
CHANGED = 0.5  # mean gray levels: the coder's own noise in a resting picture stays far below


@dataclass
class Film:
    """What one pass over the file gives."""

    duration: float
    creation_time: str
    changed_seconds: int = 0
    loudness: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    pictures: dict[float, NDArray[np.uint8]] = field(default_factory=dict)


@pytest.fixture(scope="module")
def truth() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((FOLDER / "truth.json").read_text(encoding="utf-8"))
    return document


def reading_times(truth: dict[str, Any]) -> dict[float, list[str]]:
    """A moment in the middle of each view that is read back: its texts."""
    chosen: dict[float, list[str]] = {}
    for words in READ_AT:
        view = min(
            (v for v in truth["views"] if words in v["texts"]), key=lambda v: len(v["texts"])
        )  # the closest look
        chosen[float(round((view["start"] + view["end"]) / 2))] = view["texts"]
    return chosen


@pytest.fixture(scope="module")
def film(truth: dict[str, Any]) -> Film:
    left, top, right, bottom = truth["clock_area"]
    wanted = set(reading_times(truth))
    with av.open(str(FOLDER / truth["file"])) as container:
        seen = Film(container.duration / av.time_base, container.metadata["creation_time"])
        container.streams.video[0].thread_type = "AUTO"
        before: NDArray[np.int16] | None = None
        for frame in container.decode(video=0):
            if frame.time != int(frame.time):
                continue
            gray = frame.to_ndarray(format="gray").astype(np.int16)
            gray[top:bottom, left:right] = 0
            if before is not None:
                seen.changed_seconds += bool(np.abs(gray - before).mean() > CHANGED)
            before = gray
            if frame.time in wanted:
                seen.pictures[frame.time] = frame.to_ndarray(format="bgr24")
    with av.open(str(FOLDER / truth["file"])) as container:
        rate = container.streams.audio[0].rate
        sound = np.concatenate([block.to_ndarray()[0] for block in container.decode(audio=0)])
    tenth = rate // 10
    blocks = sound[: len(sound) // tenth * tenth].reshape(-1, tenth)
    seen.loudness = np.sqrt((blocks**2).mean(axis=1))
    return seen


def test_the_file_is_small_and_as_long_as_it_says(film: Film, truth: dict[str, Any]) -> None:
    assert (FOLDER / truth["file"]).stat().st_size <= 6 * MEGABYTE
    assert 480 <= film.duration <= 720
    assert film.duration == pytest.approx(truth["duration_s"], abs=0.5)


def test_the_truth_is_what_the_tool_would_write_today(truth: dict[str, Any]) -> None:
    assert json.loads(json.dumps(truth_of_the_story([row["end"] for row in truth["speech"]]))) == truth


def test_its_start_is_in_the_container_and_agrees_in_both_zones(film: Film, truth: dict[str, Any]) -> None:
    utc = datetime.fromisoformat(truth["start_utc"].replace("Z", "+00:00"))
    local = datetime.fromisoformat(truth["start_local"])
    assert datetime.fromisoformat(film.creation_time.replace("Z", "+00:00")) == utc == local
    assert local.utcoffset() == timedelta(seconds=truth["utc_offset_s"])


def test_at_most_ninety_seconds_show_something_new(film: Film) -> None:
    assert 30 <= film.changed_seconds <= 90


def test_scenes_follow_each_other_without_gap_and_one_returns(truth: dict[str, Any]) -> None:
    scenes = truth["scenes"]
    assert scenes[0]["start"] == 0
    assert scenes[-1]["end"] == truth["duration_s"]
    assert [s["end"] for s in scenes[:-1]] == [s["start"] for s in scenes[1:]]
    first, again = (s for s in scenes if s["name"] == truth["return"]["to"])
    assert again["start"] - first["end"] >= 180
    assert all(s["objects"] and s["about"] for s in scenes)


def test_every_span_of_the_truth_lies_in_the_recording(truth: dict[str, Any]) -> None:
    spans = [(row["start"], row["end"]) for key in ("scenes", "views", "texts", "speech") for row in truth[key]]
    spans += [tuple(q["evidence"]) for q in truth["questions"]]
    spans += [(alert["not_before"], alert["not_after"]) for alert in truth["alerts"]]
    assert len(spans) > 80
    assert all(0 <= start < end <= truth["duration_s"] for start, end in spans)


def test_the_intention_is_spoken_and_ripe_when_the_wearer_leaves(truth: dict[str, Any]) -> None:
    intention = truth["intention"]
    said = next(row for row in truth["speech"] if row["text"] == intention["quote"])
    assert said["speaker"] == "wearer"
    assert said["start"] == intention["said_at"]
    reminder = next(alert for alert in truth["alerts"] if alert["type"] == "task_reminder")
    assert reminder["must"]
    assert reminder["not_before"] >= said["start"] + 300
    assert reminder["best_from"] in {scene["start"] for scene in truth["scenes"]}


def test_each_sentence_is_heard_where_it_says_and_silence_elsewhere(film: Film, truth: dict[str, Any]) -> None:
    assert {row["speaker"] for row in truth["speech"]} == SPEAKERS
    spoken = np.zeros(len(film.loudness), bool)
    level: dict[str, list[float]] = {speaker: [] for speaker in SPEAKERS}
    for row in truth["speech"]:
        heard = slice(int(row["start"] * 10), int(row["end"] * 10) + 1)
        spoken[max(heard.start - 2, 0) : heard.stop + 2] = True
        level[row["speaker"]].append(float(film.loudness[heard].mean()))
    assert min(level["wearer"]) > 2 * max(level["other"])
    assert min(level["other"]) > 0.004
    assert float(film.loudness[~spoken].max()) < 0.002


def test_signs_and_clock_are_read_back_from_the_film(film: Film, truth: dict[str, Any]) -> None:
    from rapidocr import RapidOCR

    reader = RapidOCR(params={"Global.log_level": "error"})
    start = datetime.fromisoformat(truth["start_local"])
    for t, texts in reading_times(truth).items():
        result = reader(film.pictures[t], use_cls=False)
        read = " ".join(result.txts).upper().split()
        missing = [word for text in texts for word in text.split() if word not in read]
        assert not missing, f"at {t:.0f} s {missing} were not among {read}"
        shown = (start + timedelta(seconds=t)).strftime("%H:%M:%S")
        assert shown in " ".join(read), f"the clock at {t:.0f} s should read {shown}: {read}"
