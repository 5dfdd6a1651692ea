"""Forgetting: nothing of what went is left in any row, file or earlier state, and nothing else is missing."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import threading
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import make_day, write_trace

from edge import forgetting
from edge.clock import US, ReplayClock
from edge.config import Config
from edge.errors import InputError, UsageError
from edge.memory import forget
from edge.memory.forget import Wish
from edge.pipeline import Pipeline
from edge.recorder import read_trace
from edge.replay import replay
from storage import EmbeddingSpace, Store
from storage.cipher import Secret
from storage.keyframes import KeyframeFolder, folder_of
from storage.records import Keyframe, Window

DIM = 32
SPACE = EmbeddingSpace("words-32", DIM)
START = datetime(2026, 3, 1, 22, 30, tzinfo=timezone(timedelta(hours=1)))
KEYS = [None, Secret(b"correct horse battery staple", is_key=False)]


def embed(texts: list[str]) -> Any:
    """Bags of words: alike where the words are, and quick."""
    rows = np.zeros((len(texts), DIM), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in text.lower().split():
            row[zlib.crc32(word.strip(".,:;").encode()) % DIM] += 1 + zlib.crc32(word.encode()) % 7 / 9
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths, lengths, 1.0)


def grown(folder: Path, windows: int = 90, seed: int = 1, key: Secret | None = None) -> Store:
    """A memory of one made-up day, every third window with a picture, of a cat now and then."""
    store = Store.open(folder / "m.db", space=SPACE, own=True, key=key)
    frames, rng = KeyframeFolder(folder_of(folder / "m.db"), key), random.Random(seed)
    trace = write_trace(folder / "day.jsonl", make_day(rng, "made", START, windows))
    pipeline = Pipeline(store, embed, Config(), ReplayClock())
    for n, window in enumerate(read_trace(trace, 5.0)):
        pictures: tuple[Keyframe, ...] = ()
        if n % 3 == 0:
            pictures = (frames.save(window.t_start + US, b"\xff\xd8" + rng.randbytes(400), 64, 48),)
        pipeline.step(with_cat(window, n, pictures))
    pipeline.end()
    return store


def with_cat(window: Window, n: int, pictures: tuple[Keyframe, ...]) -> Window:
    from dataclasses import replace

    from storage.records import Caption, Entity

    if n % 11 == 4:
        seen = Caption(window.t_start + 2 * US, f"Mizzi the cat sits on shelf number {n}")
        window = replace(
            window,
            captions=(seen, *window.captions),
            entities=(*window.entities, Entity("cat", 1, ("ginger",), "shelf")),
        )
    return replace(window, keyframes=pictures)


def texts_of(store: Store, *, inside: tuple[int, int] | None = None) -> set[str]:
    """Every text of the memory, or of what was perceived inside a stretch."""
    with store.snapshot() as snapshot:
        windows = snapshot.trace.windows(*(inside or (None, None)))
    found: set[str] = set()
    for w in windows:
        dated = [*w.captions, *w.texts, *w.speech]
        found |= {x.text for x in dated if inside is None or inside[0] <= x.t < inside[1]}
    return found


def files_under(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()


def whole(store: Store) -> bool:
    return store.integrity() == []


@pytest.mark.parametrize("key", KEYS, ids=["plain", "encrypted"])
def test_a_stretch_is_gone_to_the_byte(tmp_path: Path, key: Secret | None) -> None:
    store = grown(tmp_path, key=key)
    with store.snapshot() as snapshot:
        windows = snapshot.trace.windows()
        pictures = {k.file for w in windows[30:60] for k in w.keyframes}
    start, end = windows[30].t_start + 7 * US, windows[60].t_start + 11 * US
    before = list(store.dump(windows[30].t_start))
    gone = texts_of(store, inside=(start, end))
    (tmp_path / "day.jsonl").unlink()  # the source; forgetting does not know of it

    report = forgetting.forget_now(store, Wish("range", start, end), embed, Config())

    assert report["done"]
    assert report["looked_for"]["found"] == []
    assert report["looked_for"]["pieces"] > 50
    assert whole(store)
    kept = texts_of(store)
    with store.snapshot() as snapshot:
        left = snapshot.trace.windows()
        assert not [x for w in left for x in (*w.captions, *w.events, *w.texts, *w.speech) if start <= x.t < end]
        assert {w.id for w in left} == {w.id for w in windows if w.t_end <= start or w.t_start >= end} | {
            w.id for w in left if w.id in (windows[30].id, windows[60].id)
        }
        assert not [e for e in snapshot.episodes.between() if e.t_start < end and e.t_end > start and e.t_start > start]
        assert not snapshot.moments.between(start, end)
    assert list(store.dump(windows[30].t_start)) == before, "what was known before is what it was"
    everything = "\n".join(store.dump())
    lost = [t for t in gone - kept if t not in everything]
    assert lost
    store.close()
    for path, data in files_under(tmp_path):
        assert path.name not in {Path(p).name for p in pictures} or any(path.name in w for w in everything.split())
        for text in lost:
            assert text.encode() not in data, f"{text!r} in {path}"


def test_what_stays_is_as_it_was(tmp_path: Path) -> None:
    store = grown(tmp_path)
    with store.snapshot() as snapshot:
        windows = snapshot.trace.windows()
    start, end = windows[20].t_start, windows[40].t_end
    rows = {
        line for line in store.dump() if json.loads(line)["table"] in ("window", "item", "entity", "keyframe", "gap")
    }
    forgetting.forget_now(store, Wish("range", start, end), embed, Config())
    left = {
        line for line in store.dump() if json.loads(line)["table"] in ("window", "item", "entity", "keyframe", "gap")
    }
    assert left < rows
    with store.snapshot() as snapshot:
        touched = {e.id for e in snapshot.episodes.between()}
        assert touched
        for pattern in snapshot.patterns.all():
            edges = snapshot.patterns.edges(pattern.id)
            assert pattern.recurrence == len(edges)
            assert {e.episode_id for e in edges} <= touched
        for episode in snapshot.episodes.between():
            assert snapshot.trace.span(episode.first_window, episode.last_window)
            assert snapshot.search("episode", episode.subject)
        for window in snapshot.trace.windows():
            told = {v.scale_s for v in snapshot.views.of_window(window.id)}
            assert told == {180, 600, 3600}, "every stretch that had a view has one again"
        for fact in snapshot.facts.all(state=None):
            assert fact.support == len(snapshot.facts.support(fact.id)) > 0
        assert snapshot.graph.count()[1] > 0
    store.close()


@pytest.mark.parametrize("kind", ["entity", "person"])
def test_a_name_is_gone_from_everything(tmp_path: Path, kind: Any) -> None:
    store = grown(tmp_path)
    name = "cats" if kind == "entity" else "mizzi"
    with store.snapshot() as snapshot:
        count = snapshot.trace.count()
    report = forgetting.forget_now(store, Wish(kind, name=name), embed, Config())
    assert report["done"] and report["concerned"]["windows_cut"] == 8
    told = "\n".join(store.dump()).lower()
    assert "mizzi" not in told
    if kind == "entity":
        assert '"cat"' not in told and "the cat " not in told
    with store.snapshot() as snapshot:
        assert snapshot.trace.count() == count, "the windows stay, with what else was in them"
        assert snapshot.search("item", "fridge")
        for stratum in ("item", "window", "moment", "episode", "pattern"):
            assert not snapshot.search(stratum, "mizzi")  # type: ignore[arg-type]
    assert whole(store)
    store.close()
    (tmp_path / "day.jsonl").unlink()
    assert not [p for p, data in files_under(tmp_path) if b"mizzi" in data.lower()]


def test_everything_goes_and_the_memory_grows_on(tmp_path: Path) -> None:
    store = grown(tmp_path, windows=40)
    report = forgetting.forget_now(store, Wish("all"), embed, Config())
    assert report["done"] and report["keyframes"] > 0
    assert list(store.dump()) == []
    assert not [p for p in (tmp_path / "m.db.keyframes").rglob("*") if p.is_file()]
    assert replay(tmp_path / "day.jsonl", store, embed, Config()).totals.windows == 40
    assert whole(store)
    store.close()


def test_an_intention_is_open_again_when_its_being_done_is_forgotten(tmp_path: Path) -> None:
    rows = make_day(random.Random(3), "made", START, 12)
    for row in rows:
        row.update(speech=[], events=[], captions=[], ocr=[], entities=[], description="sitting")

    def say(n: int, text: str) -> None:
        rows[n]["speech"] = [{"t": rows[n]["t_start"], "speaker": "wearer", "text": text}]

    say(2, "I have to water the tomatoes tonight.")
    rows[8]["events"] = [{"t": rows[8]["t_start"], "subject": "wearer", "action": "water", "object": "tomatoes"}]
    store = Store.open(tmp_path / "m.db", space=SPACE, own=True)
    replay(write_trace(tmp_path / "t.jsonl", rows), store, embed, Config())
    with store.snapshot() as snapshot:
        assert [i.state for i in snapshot.intentions.all()] == ["done"]
        late = snapshot.trace.windows()[8]
    forgetting.forget_now(store, Wish("range", late.t_start, late.t_end), embed, Config())
    with store.snapshot() as snapshot:
        assert [i.state for i in snapshot.intentions.all()] == ["open"]
        said = snapshot.trace.windows()[2]
    forgetting.forget_now(store, Wish("range", said.t_start, said.t_end), embed, Config())
    with store.snapshot() as snapshot:
        assert snapshot.intentions.all() == []
    store.close()


def test_forgetting_between_two_windows_and_growing_on(tmp_path: Path) -> None:
    """A running memory forgets its newest stretch, open unit and all, and goes on as one that never saw it."""
    trace = write_trace(tmp_path / "day.jsonl", make_day(random.Random(5), "made", START, 60))
    windows = list(read_trace(trace, 5.0))
    with Store.open(tmp_path / "a.db", space=SPACE, own=True) as store:
        pipeline = Pipeline(store, embed, Config(), ReplayClock())
        for window in windows[:40]:
            pipeline.step(window)
        pipeline.settled()
        wish = Wish("range", windows[25].t_start, windows[39].t_end + 1)
        report = pipeline.renewed(lambda: forgetting.forget_now(store, wish, embed, Config()))
        assert report["concerned"]["windows"] == 15
        for window in windows[40:]:
            pipeline.step(window)
        pipeline.end()
        assert whole(store)
        with store.snapshot() as snapshot:
            assert [w.t_start for w in snapshot.trace.windows()] == [w.t_start for w in (*windows[:25], *windows[40:])]
            assert not [e for e in snapshot.episodes.between() if windows[25].t_start < e.t_start < windows[39].t_start]


@pytest.mark.parametrize("kills", [6, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_any_moment_it_is_finished_at_the_next_start(tmp_path: Path, kills: int) -> None:
    grown(tmp_path, windows=60).close()
    with Store.open(tmp_path / "m.db") as store, store.snapshot() as snapshot:
        windows = snapshot.trace.windows()
    start, end = windows[10].t_start, windows[30].t_end
    rng, unfinished = random.Random(0), 0
    for number in range(kills + 100):
        if number >= kills and unfinished >= kills // 6:
            break
        folder = tmp_path / f"try{number}"
        shutil.copytree(tmp_path / "m.db.keyframes", folder / "m.db.keyframes")
        shutil.copy(tmp_path / "m.db", folder / "m.db")
        child = os.fork()
        if child == 0:  # pragma: no cover - the one that is killed
            with Store.open(folder / "m.db", own=True) as store:
                forgetting.forget_now(store, Wish("range", start, end), embed, Config())
            os._exit(0)
        log, wait = folder / "m.db-wal", rng.uniform(0.0, 0.35) if number else 0.0
        if number >= kills:  # on a busy machine all fell before the work or behind it: strike as soon as it writes
            wait = rng.uniform(0.0, 0.1)
            while (
                not (log.exists() and log.stat().st_size)
                and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
            ):
                threading.Event().wait(0.002)
        threading.Event().wait(wait)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with Store.open(folder / "m.db", own=True) as store:
            asked = store.erasures()
            unfinished += bool(asked)
            reports = forgetting.resume(store, embed, Config())
            assert all(r["done"] for r in reports)
            assert whole(store)
            assert store.erasures() == []
            with store.snapshot() as snapshot:
                inside = snapshot.trace.windows(start, end)
                outside = [w.id for w in snapshot.trace.windows() if w.t_end <= start or w.t_start >= end]
                pictures = {k.file for k in snapshot.trace.keyframes()}
            assert len(outside) == len(windows) - 21
            assert len(inside) in ((0,) if asked else (0, 21)), "asked for and acknowledged means done"
            assert {*KeyframeFolder(folder_of(folder / "m.db")).files()} == pictures
        shutil.rmtree(folder)
    assert unfinished >= kills // 6, "the kills must fall into the work"


def references(store: Store) -> set[str]:
    """Everything that a row of the memory cites and that is not there."""
    rows = [json.loads(line) for line in store.dump()]
    letters = {
        "window": "w",
        "episode": "e",
        "moment": "m",
        "intention": "i",
        "service": "a",
        "pattern": "p",
        "item": "o",
    }
    there = {f"{letters[r['table']]}{r['id']}" for r in rows if r["table"] in letters}
    cited = {ref.split("#")[0] for r in rows if r.get("evidence") for ref in str(r["evidence"]).split("\n")}
    cited |= {r["ref"] for r in rows if r["table"] == "fact_support"}
    return {c for c in cited if c[:1] in letters.values() and c[1:].isdigit()} - there


@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_wished_the_memory_stays_whole(tmp_path: Path, seed: int) -> None:
    """Several wishes in a row over two recordings: nothing dangles, nothing of it is told, counts are those of the rows."""
    rng = random.Random(seed)
    store = Store.open(tmp_path / "m.db", space=SPACE, own=True)
    for number, name in enumerate(("one", "two")):
        rows = make_day(random.Random(seed + number), name, START + timedelta(hours=30 * number), 40)
        replay(write_trace(tmp_path / f"{name}.jsonl", rows), store, embed, Config())
    assert references(store) == set()
    for _ in range(4):
        with store.snapshot() as snapshot:
            windows = snapshot.trace.windows()
        low = rng.choice(windows).t_start + rng.choice([0, 0, 7 * US, -40 * US])
        wish = rng.choice([
            Wish("range", low, low + rng.choice([1, 11, 30, 95, 900, 7200]) * US),
            Wish("entity", name=rng.choice(["bowl", "tomatoes", "letter", "nothing at all"])),
            Wish("person", name="wearer"),
        ])  # fmt: skip
        touched = [w.t_start for w in windows if wish.kind == "range" and wish.cut(w) is not w]
        earlier = list(store.dump(min(touched))) if touched else []
        report = forgetting.forget_now(store, wish, embed, Config())
        assert report["done"], wish
        assert not touched or list(store.dump(min(touched))) == earlier, "what was known before is what it was"
        assert whole(store), wish
        assert references(store) == set(), wish
        with store.snapshot() as snapshot:
            for w in snapshot.trace.windows():
                assert wish.cut(w) == w, "what is left is what the wish leaves"
            for e in snapshot.episodes.between():
                inside = [w for w in snapshot.trace.span(e.first_window, e.last_window) if w.recording == e.recording]
                assert inside and (e.t_start, e.t_end) == (inside[0].t_start, inside[-1].t_end)
            for p in snapshot.patterns.all():
                edges = snapshot.patterns.edges(p.id)
                chain = snapshot.patterns.versions(p.id)
                assert p.recurrence == len(edges) == len({e.episode_id for e in edges})
                assert [v.version for v in chain] == list(range(1, len(chain) + 1))
                assert [v.known for v in chain] == sorted(v.known for v in chain)
            for fact in snapshot.facts.all(state=None):
                assert fact.support == len(snapshot.facts.support(fact.id)) > 0
    rows = make_day(random.Random(seed + 9), "three", START + timedelta(hours=90), 12)
    replay(write_trace(tmp_path / "three.jsonl", rows), store, embed, Config())
    assert whole(store) and references(store) == set()
    store.close()


def test_recordings_beside_the_memory_are_rewritten(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "day.jsonl", make_day(random.Random(7), "made", START, 30))
    windows = list(read_trace(trace, 5.0))
    with Store.open(tmp_path / "m.db", space=SPACE, own=True) as store:
        replay(trace, store, embed, Config(), record=tmp_path / "copy.jsonl")
        wish = Wish("range", windows[5].t_start, windows[20].t_start + 9 * US)
        report = forgetting.forget_now(store, wish, embed, Config())
    left = list(read_trace(tmp_path / "copy.jsonl", 5.0))
    assert report["recordings"] == {str((tmp_path / "copy.jsonl").resolve()): 16}
    stays = [w for w in map(wish.cut, windows) if w is not None]
    assert [(w.t_start, w.captions, w.speech) for w in left] == [(w.t_start, w.captions, w.speech) for w in stays]


@pytest.mark.parametrize(
    ("kind", "name", "text", "named"),
    [
        ("entity", "keys", "a key on the table", True),
        ("entity", "key", "The KEYS' ring", True),
        ("entity", "cup", "a cupboard", False),
        ("entity", "red door", "the Red Doors of the barn", True),
        ("entity", "red door", "a door, red", False),
        ("person", "Ana", "Ana\u2019s brother", True),
        ("person", "Ana", "a banana", False),
        ("person", "Louis", "Louise waves", False),
        ("person", "Zoë", "that was zoë", True),
    ],
)
def test_names_are_words(kind: Any, name: str, text: str, named: bool) -> None:
    assert Wish(kind, name=name).names(text) is named


def test_a_wish_must_say_something() -> None:
    with pytest.raises(UsageError):
        Wish("range", 5, 5)
    with pytest.raises(InputError):
        Wish("entity", name=" - ")
    with pytest.raises(UsageError):
        Wish.from_json({"kind": "some"})
    wish = Wish("range", 1, 2)
    assert Wish.from_json(wish.to_json()) == wish
    assert forget.last(600, 1_000 * US).start == 400 * US


@pytest.mark.parametrize("key", KEYS, ids=["plain", "encrypted"])
def test_recorded_days_are_forgotten_to_the_byte(
    recorded: Path, tmp_path: Path, embed: Callable[[list[str]], Any], key: Secret | None
) -> None:
    """Three recordings, real sentences, the real embedding; then every byte of the folder is searched."""
    traces = [recorded / "open" / p for p in ("holo/holo-z011.trace.jsonl", "cc4d/cc4d-person1.trace.jsonl",
                                              "hdepic/hdepic-P01.trace.jsonl")]  # fmt: skip
    store = Store.open(tmp_path / "m.db", space=EmbeddingSpace("real", embed(["a"]).shape[1]), own=True, key=key)
    wishes = []
    for trace in traces:
        windows = []
        for window in read_trace(trace, 5.0):
            windows.append(window)
            if len(windows) == 40:
                break
        short = tmp_path / trace.name
        short.write_text("".join(trace.read_text(encoding="utf-8").splitlines(keepends=True)[:40]), encoding="utf-8")
        replay(short, store, embed, Config())
        short.unlink()
        third = len(windows) // 3
        wishes.append(Wish("range", windows[third].t_start + 3 * US, windows[2 * third].t_start + 5 * US))
    gone: set[str] = set()
    for wish in wishes:
        gone |= texts_of(store, inside=(wish.start, wish.end))
        report = forgetting.forget_now(store, wish, embed, Config())
        assert report["done"] and report["looked_for"]["found"] == []
    assert whole(store)
    everything = "\n".join(json.dumps(json.loads(line), ensure_ascii=False) for line in store.dump())
    lost = {t for t in gone if json.dumps(t, ensure_ascii=False)[1:-1] not in everything}
    store.close()
    assert len(lost) > 60
    found = [(t, p) for p, data in files_under(tmp_path) for t in lost if t.encode() in data]
    assert found == []
