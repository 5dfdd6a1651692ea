"""Calls across the strata: anchored time, summaries, the aligned readout, looking again."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import edge.retrieval
from edge.clock import parse_time
from edge.config import Config
from edge.engines import Engines
from edge.errors import InputError
from edge.replay import replay
from edge.retrieval import Eyes, Skills, Zone, call
from edge.retrieval.anchors import REACH_US, ordinal
from edge.retrieval.looking import MOST
from edge.retrieval.readout import EPISODIC, SEMANTIC, family_of
from models.errors import OutputError
from models.roles import Detection, DetectorResult, TextLine
from storage import EmbeddingSpace, Store
from storage.keyframes import KeyframeFolder
from storage.records import Event, Window

US = 1_000_000
DAY = 86_400 * US


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory, embed: Any) -> Iterator[Store]:
    """A made-up evening that went through the real growth, with views, graph and facts."""
    from conftest import make_day, write_trace

    start = datetime(2026, 3, 1, 18, tzinfo=timezone(timedelta(hours=1)))
    folder = tmp_path_factory.mktemp("lived")
    trace = write_trace(folder / "made.trace.jsonl", make_day(random.Random(7), "made", start, 160))
    engines = Engines(Config())
    model = engines.text_embedding()
    with Store.open(folder / "m.db", space=EmbeddingSpace(model.id, model.dim)) as store:
        replay(trace, store, embed, Config(memory={"profile": "wear"}))
        yield store
    engines.close()


@pytest.fixture
def doors() -> Iterator[Store]:
    """Five openings of a door on two days; the third and fourth within a minute."""
    with Store.open(None, space=EmbeddingSpace("test", 8)) as store:
        with store.transaction() as tx:
            for minute in (60, 120, 180, 180.5, DAY / US / 60 + 10):
                t = round(minute * 60 * US)
                made = Window("home", t, t + 30 * US, 0, events=(Event(t + US, "wearer", "open", "front door"),))
                tx.trace.add(made, np.zeros(8, dtype=np.float32))
        yield store


def test_public_names_are_there() -> None:
    assert all(getattr(edge.retrieval, name) is not None for name in edge.retrieval.__all__)
    with pytest.raises(AttributeError):
        edge.retrieval.nothing  # noqa: B018


# -- anchors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number", "rest"),
    [
        ("the third time I opened the door", 3, "opened the door"),
        ("the 12th time that I left", 12, "left"),
        ("second to last time I slept", -2, "slept"),
        ("the last time we ate", -1, "ate"),
        ("the visitor came", 0, "the visitor came"),
    ],
)
def test_ordinals(text: str, number: int, rest: str) -> None:
    assert ordinal(text) == (number, rest)


def test_anchor_counts_occurrences(doors: Store) -> None:
    with doors.snapshot() as snapshot:
        skills = Skills(snapshot)
        third = skills.anchor("open front door", "after", 3, 600)
        assert third is not None
        assert (third.number, third.total) == (3, 4)
        assert third.evidence.t_start == 180 * 60 * US + US
        assert third.end - third.start == 600 * US
        last = skills.anchor("open front door", "before", -1)
        assert last is not None
        assert last.evidence.t_start > DAY
        assert last.end == last.evidence.t_start
        assert skills.anchor("open front door", number=9) is None
        assert skills.anchor("feed elephant") is None
        far = skills.anchor("open front door", "before", 1, 10**9)
        assert far is not None
        assert far.end - far.start == REACH_US


def test_counts_state_their_rule(doors: Store) -> None:
    with doors.snapshot() as snapshot:
        skills = Skills(snapshot)
        assert skills.count_events("open", "door").n == 5
        apart = skills.count_events("open", "door", apart_s=60)
        assert apart.n == 4
        assert "60 s" in apart.rule


# -- summaries and readout -----------------------------------------------------------------------------------------------


def test_a_summary_covers_its_stretch(lived: Store) -> None:
    with lived.snapshot() as snapshot:
        skills = Skills(snapshot)
        windows = snapshot.trace.windows()
        whole = skills.summarize(windows[0].t_start, windows[-1].t_end, 6)
        assert 0 < len(whole.lines) <= 6
        assert whole.text
        assert whole.recorded_s == round(sum(w.t_end - w.t_start for w in windows) / US)
        assert whole == skills.summarize(windows[0].t_start, windows[-1].t_end, 6)
        starts = [e.t_start for e in whole.lines]
        assert starts == sorted(starts)
        assert skills.summarize(0, US).text == "Nothing was recorded."


def test_a_summary_knows_nothing_of_later(lived: Store) -> None:
    with lived.snapshot() as whole:
        windows = whole.trace.windows()
    cutoff = windows[60].t_end
    with lived.snapshot(cutoff) as snapshot:
        found = Skills(snapshot).summarize(windows[0].t_start, windows[-1].t_end)
        assert found.lines
        assert all(e.t_end <= cutoff for e in found.lines)


def test_readout_is_aligned_and_bounded(lived: Store, embed: Any) -> None:
    with lived.snapshot() as snapshot:
        found = Skills(snapshot, embed).readout("who watered the tomatoes?")
    assert found.family == "owner"
    assert 0 < len(found.anchors) <= EPISODIC
    assert len(found.facts) <= SEMANTIC
    names = {name for a in found.anchors for name, _ in a.shares}
    assert "window" in names
    assert any(n.startswith("view") for n in names)
    assert any("tomatoes" in a.evidence.text or dict(a.shares) for a in found.anchors)
    assert len({a.evidence.id for a in found.anchors}) == len(found.anchors)


def test_readout_before_anything(embed: Any) -> None:
    with Store.open(None, space=EmbeddingSpace("test", 256)) as store, store.snapshot() as snapshot:
        found = Skills(snapshot, embed).readout("who was there?")
    assert (found.anchors, found.facts) == ((), ())


def test_readout_keeps_to_its_time(lived: Store, embed: Any) -> None:
    with lived.snapshot() as snapshot:
        windows = snapshot.trace.windows()
        low, high = windows[20].t_start, windows[50].t_end
        found = Skills(snapshot, embed).readout("open the fridge", low, high)
        assert all(a.evidence.t_end > low and a.evidence.t_start < high for a in found.anchors)
    cutoff = windows[40].t_end
    with lived.snapshot(cutoff) as snapshot:
        found = Skills(snapshot, embed).readout("open the fridge")
        assert all(a.evidence.t_end <= cutoff for a in found.anchors)


@pytest.mark.parametrize(
    ("question", "family"),
    [
        ("Who opened the window?", "owner"),
        ("Where did the blue cup come from?", "source"),
        ("Who was with me at lunch?", "participants"),
        ("What did I want to buy?", "plan"),
        ("When did I last call Ana?", "temporal"),
        ("What do I usually drink?", "habit"),
        ("What colour is the car?", "attribute"),
    ],
)
def test_families(question: str, family: str) -> None:
    assert family_of(question) == family


# -- looking again -------------------------------------------------------------------------------------------------------


class Sees:
    """A detector that finds a cup, and an image embedding of mean colours."""

    id, embedding_dim, dim = "sees", 3, 3

    def detect(self, frame: Any) -> DetectorResult:
        height, width = frame.shape[:2]
        box = (width * 0.2, height * 0.2, width * 0.8, height * 0.8)
        return DetectorResult((Detection("cup", 0.9, box),), self.embed_images([frame])[0])

    def embed_images(self, frames: Any) -> Any:
        rows = np.stack([np.asarray(f, np.float32).mean(axis=(0, 1)) - 100 for f in frames])
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)

    def read(self, frame: Any) -> tuple[TextLine, ...]:
        del frame
        return (TextLine("TEA", 0.99, (5.0, 5.0, 50.0, 20.0)),)

    def close(self) -> None:
        """Nothing is held."""


COLOURS = [(250, 20, 20), (20, 250, 20), (20, 20, 250)]


def plain(colour: tuple[int, int, int]) -> Any:
    return np.full((120, 160, 3), colour, np.uint8)


@pytest.fixture
def album(tmp_path: Path) -> Iterator[tuple[Store, KeyframeFolder]]:
    """Thirty frames of three colours in turn, a minute apart."""
    folder = KeyframeFolder(tmp_path / "m.db.keyframes")
    with Store.open(tmp_path / "m.db", space=EmbeddingSpace("test", 8)) as store:
        with store.transaction() as tx:
            for n in range(30):
                t = n * 60 * US
                jpeg = cv2.imencode(".jpg", plain(COLOURS[n % 3]))[1].tobytes()
                kept = folder.save(t + US, jpeg, 160, 120)
                tx.trace.add(Window("home", t, t + 30 * US, 0, keyframes=(kept,)), np.zeros(8, dtype=np.float32))
        yield store, folder


def eyes(folder: KeyframeFolder, **more: Any) -> Eyes:
    made = Sees()
    return Eyes(folder, Config().perception, detector=lambda: made, ocr=lambda: made, images=lambda: made, **more)


def test_sixteen_frames_at_most_are_opened_again(album: tuple[Store, KeyframeFolder]) -> None:
    store, folder = album
    with store.snapshot() as snapshot:
        found = Skills(snapshot, eyes=eyes(folder)).look("which cup?", 0, DAY, 99)
        assert len(found) == MOST
        assert [e.t_start for e in found] == sorted(e.t_start for e in found)
        assert all("cup" in e.text and "TEA" in e.text for e in found)
        assert found[0].id.startswith("k")
        few = Skills(snapshot, eyes=eyes(folder)).look("which cup?", 0, 5 * 60 * US)
        assert len(few) == 5
        assert len(Skills(snapshot).look("which cup?", 0, DAY, 3)) == 3  # without eyes: which frames there are


def test_the_vision_model_looks_where_there_is_one(album: tuple[Store, KeyframeFolder]) -> None:
    class Looks:
        id = "vlm"
        works = True

        def describe(self, frames: Any, prompt: str, schema: Any, options: Any) -> dict[str, Any]:
            del schema, options
            if not self.works:
                raise OutputError("no")
            assert "how full?" in prompt
            return {"frames": ["half full"] * len(frames)}

        def close(self) -> None:
            """Nothing is held."""

    store, folder = album
    model = Looks()
    with store.snapshot() as snapshot:
        skills = Skills(snapshot, eyes=eyes(folder, vision=lambda: model))
        assert {e.text for e in skills.look("how full?", 0, DAY, 6)} == {"half full"}
        model.works = False
        assert all("cup" in e.text for e in skills.look("how full?", 0, DAY, 6))


def test_frames_that_are_gone_are_passed_over(album: tuple[Store, KeyframeFolder]) -> None:
    store, folder = album
    for name in folder.files()[::2]:
        folder.remove(name)
    with store.snapshot() as snapshot:
        assert len(Skills(snapshot, eyes=eyes(folder)).look("x", 0, DAY)) == 8


def test_a_picture_finds_those_that_look_like_it(album: tuple[Store, KeyframeFolder]) -> None:
    store, folder = album
    with store.snapshot() as snapshot:
        frames = snapshot.trace.keyframes()
        unindexed = Skills(snapshot, eyes=eyes(folder)).look_alike(plain(COLOURS[1]), k=5)
    green = {f"k{f.id}" for n, f in enumerate(frames) if n % 3 == 1}
    assert {e.id for e in unindexed} <= green
    assert unindexed[0].score > 0.99
    with store.transaction() as tx:
        for n, frame in enumerate(frames):
            tx.looks.put(frame.id, "sees", Sees().embed_images([plain(COLOURS[n % 3])])[0])
    with store.snapshot() as snapshot:
        stored = Skills(snapshot, eyes=eyes(folder)).look_alike(plain(COLOURS[1]), k=5)
        assert {e.id for e in stored} <= green
        early = Skills(snapshot, eyes=eyes(folder)).look_alike(plain(COLOURS[1]), end=10 * 60 * US)
        assert all(e.t_start < 10 * 60 * US for e in early)
        assert Skills(snapshot).look_alike(plain(COLOURS[1])) == []


# -- as tools --------------------------------------------------------------------------------------------------------------


def test_tools_take_times_as_people_write_them(lived: Store) -> None:
    now, offset_s = parse_time("2026-03-01T23:00:00+01:00")
    with lived.snapshot() as snapshot:
        skills, zone = Skills(snapshot), Zone(now, offset_s)
        by_phrase = call(skills, "moments_in_range", {"start": "this evening", "end": "this evening"}, zone)
        by_iso = call(
            skills, "moments_in_range", {"start": "2026-03-01T17:00:00+01:00", "end": "2026-03-02T00:00:00+01:00"}
        )
        assert by_phrase == by_iso
        assert by_phrase
        json.dumps(call(skills, "anchor", {"query": "open fridge", "side": "after", "number": 1}))
        json.dumps(call(skills, "readout", {"query": "fridge"}))
        for wrong in ({"start": "soon", "end": 5}, {"start": 1.5, "end": 5}, {"start": True, "end": 5}):
            with pytest.raises(InputError, match="time"):
                call(skills, "moments_in_range", wrong, zone)
        with pytest.raises(InputError, match="one of before"):
            call(skills, "anchor", {"query": "x", "side": "beside"})
