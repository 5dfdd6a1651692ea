"""Erasure in the store: every table is named, what went is found when it is still there, and only then."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from storage_support import SPACE, US, grow, vector

from storage import Store, erase_all
from storage.cipher import Secret
from storage.erase import Deleted, Marks, unnamed
from storage.erase_bytes import Scrubbed, files_of, prove, scrub
from storage.erase_finish import NO_ROOM, finish, tidy
from storage.erase_jobs import Job, sought
from storage.erase_read import read, read_database
from storage.erase_rules import EXEMPT, FOLLOWS
from storage.erase_search import Needles
from storage.errors import StorageError, StoreUnwritable
from storage.health import HealthEvent
from storage.keyframes import KeyframeFolder

ROOT = Path(__file__).resolve().parents[2]


def erase(store: Store, windows: set[int], episodes: dict[int, bool]) -> Needles:
    """Take whole windows and the episodes that stood on them, as somebody would who writes nothing anew."""
    with store.transaction() as tx:
        patterns = tx.erase.patterns_of(episodes)
        tx.erase.mark(Marks(windows=dict.fromkeys(windows, True), episodes=episodes, patterns=patterns))
        tx.erase.delete()
        tx.erase.clean()
        return tx.erase.needles


def emptied(store: Store) -> Job:
    """Everything taken away, the bytes still to be scrubbed."""
    with store.emptying() as tx:
        number = tx.erase.ask(5 * US, "all", {"kind": "all"})
        tx.erase.rows_gone(number, tx.erase.delete_all())
    return store.erasures()[0]


def test_every_table_follows_or_is_exempt_with_a_reason(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db", space=SPACE) as store, store.exclusive() as db:
        assert unnamed(db) == []
        db.execute("CREATE TABLE diary(id INTEGER PRIMARY KEY, text TEXT)")
        assert unnamed(db) == ["diary"]
        tables = {r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert {rule.table for rule in FOLLOWS} | set(EXEMPT) <= tables, "and none is named that is not there"
        for rule in FOLLOWS:
            columns = {r[1] for r in db.execute(f"PRAGMA table_info({rule.table})")}
            assert set(rule.texts) <= columns, rule.table
    assert not {rule.table for rule in FOLLOWS} & set(EXEMPT)
    assert all(e.why for e in EXEMPT.values())


def test_texts_of_a_table_are_searched_or_it_holds_none() -> None:
    """A column of words that is not named would not be looked for."""
    silent = {
        "recording": {"name", "profile"},  # the id of a session
        "window": {"made_by", "device"},  # who perceived it; battery and wear
        "item": {"kind"}, "keyframe": {"file", "sha256"}, "pruned": {"why"},
        "episode": {"cut", "made_by"}, "moment": {"role", "category", "made_by"},
        "pattern_version": {"kind", "made_by"}, "edge": {"role"}, "intention_version": {"state"},
        "service": {"type", "evidence", "expert", "made_by"}, "decision": {"decision"}, "feedback": {"kind"},
        "view": {"made_by"}, "correction": {"ref", "kind"}, "correction_version": {"state"},
        "correction_effect": {"ref", "kind"}, "relation": {"type"}, "node": {"kind"}, "fact_support": {"ref"},
        "fact": {"kind", "made_by"}, "fact_version": {"state"}, "keyframe_look": {"model"}, "keyframe_tier": {"tier"},
        "standing": {"kind"}, "wish": {"kind"}, "standing_event": {"kind"}, "pin": {"ref"},
    }  # fmt: skip
    with Store.open(None) as store, store.exclusive() as db:
        for rule in FOLLOWS:
            words = {r[1] for r in db.execute(f"PRAGMA table_info({rule.table})") if r[2] == "TEXT"}
            assert words - set(rule.texts) == silent.get(rule.table, set()) & words, rule.table


@pytest.mark.parametrize("seed", range(6))
def test_rows_go_with_what_they_rest_on(tmp_path: Path, seed: int) -> None:
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        grow(store, seed, 60)
        rng = random.Random(seed)
        with store.snapshot() as snapshot:
            episodes = rng.sample([e.id for e in snapshot.episodes.between()], 3)
            windows = {
                w.id
                for e in snapshot.episodes.many(episodes).values()
                for w in snapshot.trace.span(e.first_window, e.last_window)
                if w.recording == e.recording
            }
            touched = {e.id for w in windows if (e := snapshot.episodes.of_window(w)) is not None}
        erase(store, windows, dict.fromkeys(touched, True))
        assert store.integrity() == []
        with store.snapshot() as snapshot:
            assert not {w.id for w in snapshot.trace.windows()} & windows
            assert not set(snapshot.episodes.many(sorted(touched)))
            for service in snapshot.services.between():
                assert not {f"w{w}" for w in windows} & set(service.evidence)
            for intention in snapshot.intentions.all():
                assert intention.window_id not in windows
                assert intention.evidence[-1] not in {f"w{w}" for w in windows}
            for moment in snapshot.moments.between():
                assert moment.episode_id not in touched
            assert all(
                d.service_id in {s.id for s in snapshot.services.between()} for d in snapshot.services.decisions()
            )
        grow(store, seed + 100, 10, ("three", "four"))
        assert store.integrity() == []


def test_remains_are_found_and_scrubbing_removes_them(tmp_path: Path) -> None:
    """With deletion that only forgets where things are, the proof fails; after scrubbing it holds."""
    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE) as store:
        with store.exclusive() as db:
            db.execute("PRAGMA secure_delete = OFF")
        grow(store, 1, 40)
        with store.transaction() as tx:
            rare = tx.snapshot().trace.windows()[-1]
            made = Needles()
            for n in range(50):
                text = f"a rare sentence {n} about {random.Random(n).random()} zebras"
                made.add_text(text)
                tx._db.execute(
                    "INSERT INTO item(window_id, kind, t, text, subject, action, object, speaker) "
                    "VALUES (?, 'caption', ?, ?, '', '', '', '')",
                    (rare.id, rare.t_start, text),
                )
        with store.transaction() as tx:
            tx._db.execute("DELETE FROM item WHERE text LIKE '%zebras'")
        with store.exclusive() as db:
            assert prove(db, made, path).found
            done = scrub(db, path, whole=True)
            assert done.vacuumed and not done.waiting and done.wal_bytes == 0
            proof = prove(db, made, path)
        assert proof.found == [] and proof.texts == 50 and proof.files >= 1
        assert store.integrity() == []


def test_a_large_file_is_written_anew_only_where_something_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.erase_finish.LARGE", 0)
    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE) as store:
        grow(store, 5, 50)
        with store.snapshot() as snapshot:
            episode = snapshot.episodes.between()[2]
            windows = {w.id for w in snapshot.trace.span(episode.first_window, episode.last_window)}
            touched = {e.id for w in windows if (e := snapshot.episodes.of_window(w)) is not None}
        with store.transaction() as tx:
            number = tx.erase.ask(5 * US, "range", {})
        needles = erase(store, windows, dict.fromkeys(touched, True))
        with store.transaction() as tx:
            tx.erase.needles = needles
            tx.erase.rows_gone(number, Deleted())
        end = finish(store, store.erasures()[0], None)
        assert end.done and end.proof.found == []
        assert end.proof.vectors > 0 and not end.scrubbed.vacuumed
        assert store.erasures() == [], "it is proved"
        assert (tidy(store), tidy(store)) == (1, 0), "and written anew in a quiet hour, once"
        assert store.integrity() == []


def test_without_room_to_write_anew_it_waits_or_is_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(db: Any, path: Path | None, *, whole: bool) -> Scrubbed:
        if whole:
            raise StoreUnwritable("No space left.")
        return scrub(db, path, whole=False)

    monkeypatch.setattr("storage.erase_finish.scrub", no_room)
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        grow(store, 6, 30)
        with store.snapshot() as snapshot:
            windows = {w.id for w in snapshot.trace.windows()}
            touched = {e.id for w in windows if (e := snapshot.episodes.of_window(w)) is not None}
        with store.transaction() as tx:
            number = tx.erase.ask(4 * US, "range", {})
        needles = erase(store, windows, dict.fromkeys(touched, True))
        with store.transaction() as tx:
            tx.erase.needles = needles
            tx.erase.rows_gone(number, Deleted())
        end = finish(store, store.erasures()[0], None)
        assert end.done and end.proof.found == [] and store.erasures() == [], "what was deleted row by row is zeros"
        with pytest.raises(StoreUnwritable):
            tidy(store)
        grow(store, 7, 30, ("three", "four"))
        job = emptied(store)
        end = finish(store, job, None)
        assert not end.done and end.scrubbed.waiting == NO_ROOM and store.erasures() == [job]
        assert end.proof.found, "tables that were dropped are still there to the byte"
        monkeypatch.undo()
        assert finish(store, job, None).done and store.erasures() == []


def test_it_waits_for_readers_and_is_finished_later(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE) as store:
        grow(store, 2, 30)
        job = emptied(store)
        assert job.request == {} and job.removed["window"] == 30
        with store.exclusive() as db:
            db.execute("PRAGMA busy_timeout = 50")
        with Store.open(path, read_only=True) as other, other.snapshot() as snapshot:
            assert snapshot.trace.count() == 0
            end = finish(store, job, KeyframeFolder(tmp_path / "frames"))
            assert not end.done and end.scrubbed.waiting
        assert finish(store, job, None).done
        assert store.erasures() == []


def test_whoever_finishes_it_looks_for_the_same(tmp_path: Path) -> None:
    """Killed after the rows went: the next process has nothing of what was asked for, and proves it all the same."""
    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE) as store:
        grow(store, 3, 40)
        with store.snapshot() as snapshot:
            texts = {i.text for w in snapshot.trace.windows() for i in (*w.captions, *w.speech) if len(i.text) > 12}
        job = emptied(store)
        wanted = Needles.unpacked(sought(store._writer, job.id))
        assert wanted.texts > 100 and wanted.vectors > 40
    with Store.open(path) as store:
        (again,) = store.erasures()
        with store.exclusive() as db:
            assert prove(db, wanted, path).found, "not written anew yet"
        end = finish(store, again, None)
        assert end.done and end.proof.found == []
        assert (end.proof.texts, end.proof.vectors, end.proof.pieces) == (wanted.texts, wanted.vectors, len(wanted))
        assert store._writer.execute("SELECT sought FROM erasure").fetchall() == [(None,)]
        assert not any(text.encode() in file.read_bytes() for file in files_of(path) if file.exists() for text in texts)


@pytest.mark.parametrize("key", [None, Secret.of("a secret of the owner")])
def test_the_pages_of_an_open_memory_are_read(tmp_path: Path, key: Secret | None) -> None:
    """What is there is found in the file and in its log, encrypted or not."""
    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE, key=key) as store:
        grow(store, 1, 20)
        needles = Needles()
        needles.add_text("I have to call the plumber")
        store._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        found = needles.search(read_database(path, store.page_key()))
        assert b"have to call the plumber"[:20] in {p[:20] for p in found} | {p[2:22] for p in found}
        assert bool(needles.search(read_database(path, None))) == (key is None)
        with store.transaction() as tx:
            tx.health.add(HealthEvent(1, "a", "b", "something that stands in the log alone"))
        late = Needles()
        late.add_text("something that stands in the log alone")
        assert late.search(read_database(path.with_name("m.db-wal"), store.page_key()))
        assert not late.search(read_database(path, store.page_key()))


def test_a_backup_made_meanwhile_does_not_hold_what_is_being_erased(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        grow(store, 3, 40)
        job = emptied(store)
        wanted = Needles.unpacked(sought(store._writer, job.id))
        store.backup(tmp_path / "copy.db")
        with store.exclusive() as db:
            assert prove(db, wanted, tmp_path / "m.db").found
    with Store.open(tmp_path / "copy.db") as copy:
        with copy.exclusive() as db:
            assert prove(db, wanted, tmp_path / "copy.db").found == []
        assert finish(copy, copy.erasures()[0], None).done and copy.integrity() == []


def test_looking_through_an_open_memory_keeps_its_locks(tmp_path: Path) -> None:
    """Another process that comes and goes must not take the log away: what is written then would be lost."""
    path = tmp_path / "m.db"
    come_and_go = (
        "import sys; from pathlib import Path; from storage import Store\n"
        "with Store.open(Path(sys.argv[1]), read_only=True) as s, s.snapshot() as m: print(m.trace.count())"
    )
    with Store.open(path, space=SPACE) as store:
        grow(store, 1, 20)
        with store.exclusive() as db:
            assert prove(db, Needles(), path).files >= 3
        subprocess.run([sys.executable, "-c", come_and_go, path], check=True, cwd=ROOT)
        grow(store, 2, 20, ("three", "four"))
        told = subprocess.run([sys.executable, "-c", come_and_go, path], check=True, cwd=ROOT, capture_output=True)
        assert told.stdout.split() == [b"40"]


def test_needles_are_kept_in_a_disguise() -> None:
    needles = Needles()
    needles.add_text("Ada puts the blue envelope under the third flower pot.")
    needles.add_vector(np.arange(64, dtype="<f4").tobytes())
    needles.left_out = 3
    blob = needles.packed()
    assert not needles.inside(blob) and blob != needles.packed()
    again = Needles.unpacked(blob)
    assert again.pieces() == needles.pieces() and (again.texts, again.vectors, again.left_out) == (1, 1, 3)
    assert again.holds_vector(again.pieces()) and Needles.unpacked(Needles().packed()).pieces() == set()


@pytest.mark.parametrize("sample", [10_000, 7])
def test_emptied_it_is_like_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: int) -> None:
    """Its schema, and what it does from then on; another process that has read it does not mix old and new."""
    monkeypatch.setattr(erase_all, "SAMPLE", sample)
    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE) as store, Store.open(path, read_only=True) as other:
        before = sorted(store.schema())
        grow(store, 8, 70)
        for reader in (store, other):
            with reader.snapshot() as snapshot:
                assert snapshot.search("item", "red door")
        job = emptied(store)
        end = finish(store, job, None)
        assert end.done and end.proof.found == [] and (end.proof.left_out > 0) == (sample == 7)
        assert job.removed["item"] > 70 and end.proof.texts > 7
        assert sorted(store.schema()) == before and store.integrity() == []
        for name in ("foreign_keys", "secure_delete"):
            assert store._writer.execute(f"PRAGMA {name}").fetchone() == (1,)
        for reader in (store, other):
            with reader.snapshot() as snapshot:
                assert snapshot.search("item", "red door") == [] and snapshot.trace.count() == 0
        grow(store, 9, 40)
        with Store.open(tmp_path / "n.db", space=SPACE) as fresh:
            grow(fresh, 9, 40)
            assert list(store.dump()) == list(fresh.dump())
            with fresh.snapshot() as a, store.snapshot() as b, other.snapshot() as c:
                hits = a.search("item", "red door")
                assert hits and hits == b.search("item", "red door") == c.search("item", "red door")
        assert store.integrity() == []


def test_a_needle_is_found_wherever_it_lies(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    needles = Needles()
    text = "Ada puts the blue envelope under the third flower pot."
    needles.add_text(text)
    needles.add_text("tiny")  # too short to say anything
    noise = rng.integers(0, 256, 9 << 20, dtype=np.uint8).tobytes()
    path = tmp_path / "file"
    for place in (0, 1, 7, (8 << 20) - 20, (8 << 20) - 5, (8 << 20) + 3):
        path.write_bytes(noise[:place] + text.encode() + noise[place:])
        found = needles.search(read(path))
        assert len(found) == len(needles) and all(place <= at < place + len(text) for at in found.values())
    path.write_bytes(noise + text[8:48].encode())
    assert needles.search(read(path)), "a remainder is found too"
    path.write_bytes(noise)
    assert needles.search(read(path)) == needles.search(read(tmp_path / "nothing")) == {}


def test_what_stays_says_nothing() -> None:
    needles = Needles()
    needles.add_text("Seen once, first on 2026-03-01 at 22:30. Of late: watering the tall tomatoes")
    before = len(needles)
    needles.drop(["Seen once, first on 2026-03-01 at 22:30. Of late: dusting"])
    assert 0 < len(needles) < before
    assert needles.inside(b"xx Of late: watering the tall tomatoes yy")
    assert not needles.inside(b"Seen once, first on 2026-03-01 at")
    data = np.arange(16, dtype="<f4") * 0.37
    needles.add_vector(data.tobytes())
    assert needles.inside(b"abc" + data.tobytes())
    needles.drop([data.tobytes()])
    assert not needles.inside(b"abc" + data.tobytes())


def test_a_closed_memory_erases_nothing(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "m.db", space=SPACE)
    store.close()
    with pytest.raises(StorageError), store.exclusive():
        pass
    assert vector(random.Random(0)).shape == (SPACE.dim,)
