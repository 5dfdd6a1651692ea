"""The search index against brute force: whatever was written, taken back, erased or rewritten, and whoever looks when."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from storage_support import BASE, DIM, SPACE, US, grow, vector

from storage import Snapshot, Store, bm25, dense, index, index_segments, search_where
from storage.bm25 import K1, B
from storage.errors import BadRecord
from storage.index_codes import apart, codes, hamming, lean, spread, squeeze
from storage.index_segments import Words, amiss
from storage.index_strata import GROUNDS
from storage.index_text import counted, occurrences, terms
from storage.records import Caption, Entity, Episode, Moment, Utterance, Window
from storage.search_where import Where

NAMES = ["red", "blue", "cup", "lamp", "door", "tap", "café", "washing", "東京タワー", "the"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of a few rows, so that a short history has all kinds of them and of plans, and every row is a candidate."""
    for name, value in (("SEAL", 8), ("STEP", 2), ("SPAN", 64), ("_PACKED_MOST", 16)):
        monkeypatch.setattr(index_segments, name, value)
    monkeypatch.setattr(index, "PIECE", 4)
    for name in ("WIDE", "FINE"):
        monkeypatch.setattr(dense, name, (1000, 1000, 1))
    monkeypatch.setattr(dense, "MANY", 30)
    monkeypatch.setattr(dense, "FEW", 20)
    monkeypatch.setattr(bm25, "_ALL", 12)
    monkeypatch.setattr(bm25, "_CHUNK", 5)


def said(rng: random.Random) -> str:
    return " ".join(rng.choices(NAMES, k=rng.randint(1, 9)))


class Life:
    """A store of moments with a plain list beside it: (id, t, known, text, vector)."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store, self.rng, self.clock = store, random.Random(seed), BASE
        self.rows: list[tuple[int, int, int, str, Any]] = []

    def live(self, count: int, *, fail: bool = False) -> None:
        """So many moments in one transaction; `fail` searches for them and then takes everything back."""
        rng, made = self.rng, []
        try:
            with self.store.transaction() as tx:
                end = self.clock + 30 * US
                w = tx.trace.add(Window("r", self.clock, end, 0, (Caption(self.clock, said(rng)),)), vector(rng))
                e = tx.episodes.add(
                    Episode("r", self.clock, end, 0, "", "", (), "", "", w, w, "cap", end), np.zeros(DIM, np.float32)
                )
                for _ in range(count):
                    text, t, v = said(rng), rng.randint(self.clock, end), vector(rng)
                    if rng.random() < 0.1:
                        v = np.zeros(DIM, np.float32)
                    known = end + rng.choice([0, 60, 600]) * US
                    m = tx.moments.add(Moment(e, w, t, 0, text, (), "core", 0.5, "", "", known), v)
                    made.append((m, t, known, text, v))
                if fail:
                    assert tx.snapshot().search("moment", "cup lamp door red blue", vector(rng), k=50)
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            return
        self.clock = end
        self.rows += made

    def forget(self, ids: set[int]) -> None:
        """Delete moments as an erasure does."""
        with self.store.transaction() as tx:
            for i in ids:
                tx._db.execute("DELETE FROM moment_vec WHERE rowid = ?", (i,))
                tx._db.execute("DELETE FROM moment WHERE id = ?", (i,))
        self.rows = [r for r in self.rows if r[0] not in ids]

    def rewrite(self, i: int, text: str) -> None:
        """Change a text in place, as a better description of an episode does."""
        with self.store.transaction() as tx:
            tx._db.execute("UPDATE moment SET text = ? WHERE id = ?", (text, i))
        self.rows = [(*r[:3], text, r[4]) if r[0] == i else r for r in self.rows]

    def check(self, snapshot: Snapshot, rows: list[Any], until: int, start: int | None, end: int | None) -> None:
        """Both rankings of one search are those of brute force over the rows known then."""
        known = [r for r in rows if r[2] <= until]
        inside = [r for r in known if (start is None or r[1] >= start) and (end is None or r[1] < end)]
        query = " ".join(self.rng.sample(NAMES[:-1], 3))
        bags = {r[0]: counted(r[3]) for r in known}
        scores: dict[int, float] = {}
        for term in terms(query):
            df = sum(term in bag for bag in bags.values())
            for i, _, _, text, _ in inside:
                n = bags[i].get(term, 0)
                if n:
                    norm = K1 * ((1 - B) + B * len(text) / GROUNDS["moment"].typical)
                    idf = math.log(1 + (len(known) - df + 0.5) / (df + 0.5))
                    scores[i] = scores.get(i, 0.0) + idf * n * (K1 + 1) / (n + norm)
        hits = snapshot.search("moment", query, k=8, start=start, end=end)
        assert [scores[h.id] for h in hits] == pytest.approx(sorted(scores.values(), reverse=True)[:8], rel=1e-5)
        asked = vector(self.rng)
        far = {r[0]: float(np.linalg.norm(r[4] - asked)) for r in inside if r[4].any()}
        hits = snapshot.search("moment", "", asked, k=8, start=start, end=end)
        assert [far[h.id] for h in hits] == pytest.approx(sorted(far.values())[:8], abs=0.02)


@pytest.mark.usefixtures("small")
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_is_found_is_what_brute_force_finds(seed: int) -> None:
    rng = random.Random(seed)
    with Store.open(None, space=SPACE) as store:
        life = Life(store, seed)
        for _ in range(rng.randint(3, 14)):
            act = rng.random()
            if act < 0.6 or not life.rows:
                life.live(rng.choice([1, 3, 7, 20, 70]))
            elif act < 0.7:
                life.live(9, fail=True)
            elif act < 0.9:
                first = rng.choice(life.rows)[0]
                life.forget({r[0] for r in life.rows if first <= r[0] < first + rng.choice([1, 5, 40])})
            else:
                life.rewrite(rng.choice(life.rows)[0], said(rng))
            until = life.clock + rng.choice([-500, 0, 700]) * US
            span = sorted(rng.randint(BASE, life.clock) for _ in range(2))
            with store.snapshot(until) as snapshot:
                life.check(snapshot, life.rows, until, None, None)
                life.check(snapshot, life.rows, until, rng.choice([None, span[0]]), span[1])
        assert store.integrity() == []


@pytest.mark.usefixtures("small")
def test_a_snapshot_that_stays_open_sees_what_it_saw(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        life = Life(store, 5)
        for _ in range(6):
            life.live(11)
        rows, end = list(life.rows), life.clock + 700 * US
        with store.snapshot() as old:
            life.check(old, rows, end, None, None)
            life.live(5)
            with store.snapshot() as new:
                life.check(new, life.rows, end + 700 * US, None, None)
            life.check(old, rows, end, None, None)
            life.live(90)
            life.forget({r[0] for r in life.rows[10:40]})
            with store.snapshot() as new:
                life.check(new, life.rows, life.clock + 700 * US, None, None)
            life.check(old, rows, end, None, None)
    with Store.open(tmp_path / "m.db", read_only=True) as again, again.snapshot() as snapshot:
        life.check(snapshot, life.rows, life.clock + 700 * US, None, None)


@pytest.mark.usefixtures("small")
def test_rows_that_go_take_their_words_and_codes_with_them(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        life = Life(store, 2)
        life.live(40)
        life.clock += 1
        with store.transaction() as tx:
            w = tx.trace.add(Window("r", life.clock, life.clock + US, 0), np.zeros(DIM, np.float32))
            for text in ("a xylophone", *["red cup"] * 60):
                known = life.clock + US
                tx.moments.add(Moment(1, w, life.clock, 0, text, (), "core", 0.5, "", "", known), vector(life.rng))
        db = store._writer

        def held() -> tuple[int, int, int]:
            packed = db.execute("SELECT data FROM segment_column WHERE name = 'words'").fetchall()
            of_term = db.execute("SELECT count(*) FROM posting WHERE term = 'xylophon'").fetchone()[0]
            near = db.execute("SELECT count(*) FROM moment_near WHERE id = 41").fetchone()[0]
            return of_term, sum(b"xylophon" in p[0] for p in packed), near

        assert sum(held()[:2]) == 1, "it is in the index"
        assert held()[2] == 1
        life.forget({41})
        assert held() == (0, 0, 0)
        assert amiss(db) == []
        with store.snapshot() as snapshot:
            assert snapshot.search("moment", "xylophone") == []
            assert len(snapshot.search("moment", "red cup", k=200)) > 60


@pytest.mark.usefixtures("small")
def test_every_stratum_is_searched_alike_in_segments_and_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    query = vector(random.Random(9))

    def told(store: Store) -> list[Any]:
        with store.snapshot() as snapshot:
            strata: Any = list(GROUNDS)
            return [snapshot.search(s, "washing the cup, a red door", v, k=200) for s in strata for v in (None, query)]

    with Store.open(None, space=SPACE) as store:
        grow(store, 4, 120)
        in_segments = told(store)
        assert store._writer.execute("SELECT count(DISTINCT stratum) FROM segment").fetchone()[0] >= 6
    monkeypatch.setattr(index_segments, "SEAL", 10**6)
    with Store.open(None, space=SPACE) as store:
        grow(store, 4, 120)
        assert store._writer.execute("SELECT count(*) FROM segment").fetchone()[0] == 0
        assert told(store) == in_segments


def test_common_words_are_looked_up_only_where_rarer_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is skipped changes nothing: many rows, and a floor that common words cannot lift a row above."""
    monkeypatch.setattr(bm25, "_ALL", 0)
    rng = random.Random(3)
    with Store.open(None, space=SPACE) as store:
        with store.transaction() as tx:
            t = BASE
            w = tx.trace.add(Window("r", t, t + US, 0), np.zeros(DIM, np.float32))
            e = tx.episodes.add(
                Episode("r", t, t + US, 0, "", "", (), "", "", w, w, "cap", t), np.zeros(DIM, np.float32)
            )
            texts = []
            for n in range(6000):
                words = [
                    "the cup",
                    rng.choice(["door", "lamp", "table"]),
                    *(["kettle"] * (n % 40 == 0)),
                    "x" * rng.randint(1, 30),
                ]
                rng.shuffle(words)
                texts.append(" ".join(words))
                tx.moments.add(Moment(e, w, t, 0, texts[-1], (), "core", 0.5, "", "", t), np.zeros(DIM, np.float32))
        bags = [counted(x) for x in texts]
        scores = [0.0] * len(texts)
        for term in terms("cup door kettle"):
            df = sum(term in b for b in bags)
            for i, bag in enumerate(bags):
                if term in bag:
                    norm = K1 * ((1 - B) + B * len(texts[i]) / GROUNDS["moment"].typical)
                    scores[i] += (
                        math.log(1 + (len(texts) - df + 0.5) / (df + 0.5)) * bag[term] * (K1 + 1) / (bag[term] + norm)
                    )
        with store.snapshot() as snapshot:
            hits = snapshot.search("moment", "cup door kettle", k=20)
        assert [scores[h.id - 1] for h in hits] == pytest.approx(sorted(scores, reverse=True)[:20], rel=1e-5)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("東京タワーを見た", "東京"), ("東京タワーを見た", "タワー"), ("我把钥匙放在桌子上", "钥匙"), ("我把钥匙放在桌子上", "桌"),
        ("열쇠를 책상 위에 두었다", "책상"), ("วางกุญแจไว้บนโต๊ะ", "กุญแจ"), ("il a bu un café crème", "CAFE"), ("Straße", "straße"),
        ("ouvre la fene\u0302tre", "fenêtre"), ("фонарь возле двери", "двери"), ("ärger über öl", "uber"), ("the cups were washed", "washing cup"),
    ],
)  # fmt: skip
def test_words_of_any_script_are_found(text: str, query: str) -> None:
    assert set(terms(query)) <= set(counted(text))


def test_coarse_vectors_keep_the_order_of_near_and_far() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((400, 256)).astype(np.float32)
    query = (vectors[7] + 0.4 * rng.standard_normal(256)).astype(np.float32)
    restored = spread(squeeze(vectors))
    assert np.abs(restored - vectors).max() < np.abs(vectors).max() / 120
    exact = ((vectors - query) ** 2).sum(axis=1) - query @ query
    assert apart(squeeze(vectors), query) == pytest.approx(exact, abs=2)
    columns = codes(vectors)
    assert columns.shape == (4, 400)
    far = hamming(columns, codes(query[None])[:, 0])
    assert far[7] == far.min() < 90
    assert lean(columns, query).argmax() == 7
    opposite = codes(np.stack([vectors[0], -vectors[0]]))
    assert hamming(opposite, opposite[:, 0])[1] == 256, "all bits differ: more than a byte can count"


def test_many_texts_are_cut_as_each_alone() -> None:
    rng = random.Random(4)
    some = [
        "the red Cups",
        "washing, WASHED; washes",
        "café",
        "東京タワー",
        "a\x1eb",
        "",
        "x" * 80,
        "don't 2nd 2 2",
        "Straße",
    ]
    texts = ["  ".join(rng.choices(some, k=rng.randint(0, 4))) for _ in range(200)]
    names, held, rows, often = occurrences(texts)
    bags: list[dict[str, int]] = [{} for _ in texts]
    for term, row, n in zip(held.tolist(), rows.tolist(), often.tolist(), strict=True):
        bags[row][names[term]] = n
    assert bags == [counted(t) for t in texts]


def test_words_survive_packing() -> None:
    words = Words.of(["red cup red", "", "blue cup", "cup " * 300, "東京"])
    again = Words.unpacked(words.packed())
    assert {t: tuple(map(list, again.get(t) or ())) for t in again.terms} == {
        "blue": ([2], [1]), "cup": ([0, 2, 3], [1, 1, 255]), "red": ([0], [2]), "東": ([4], [1]), "京": ([4], [1]), "東京": ([4], [1]),
    }  # fmt: skip
    assert Words.unpacked(Words.of(["", ""]).packed()).get("cup") is None
    assert Words.of([]).terms == {}
    both = Words.merged([(0, words), (5, Words.of(["green cup"]))])
    held = both.get("cup")
    assert held is not None
    assert held[0].tolist() == [0, 2, 3, 5]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("most", [20_000, 3])
def test_filters_leave_only_what_fits(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Both ways to the rows that fit: by a name's index, and by reading the rankings deeper."""
    monkeypatch.setattr(search_where, "FEW", most)
    rng = random.Random(8)
    with Store.open(None, space=SPACE) as store:
        with store.transaction() as tx:
            for n in range(60):
                t = BASE + n * 30 * US
                who, place = ("Ana", "sink") if n % 6 == 0 else ("other", "hall")
                things = (Entity("rare vase"),) if n % 20 == 5 else (Entity("cup"),)
                w = tx.trace.add(
                    Window("r", t, t + 30 * US, 0, (Caption(t, "cup on the table"),), "a cup", things,
                           speech=(Utterance(t, who, "mind the cup"),), scene=place), vector(rng),
                )  # fmt: skip
                known = t + 30 * US
                e = tx.episodes.add(
                    Episode("r", t, known, 0, "cup", "", (), "", place, w, w, "cap", known), vector(rng)
                )
                for _ in range(3):
                    tx.moments.add(Moment(e, w, t, 0, "washed the cup", (), "core", 0.5, "", place, known), vector(rng))
        with store.snapshot() as snapshot:
            windows = {w.id: w for w in snapshot.trace.windows()}

            def owner(stratum: Any, row: int) -> Window:
                if stratum == "window":
                    return windows[row]
                if stratum == "item":
                    return windows[snapshot.trace.items_by_id([row])[row].window_id]
                return windows[row if stratum == "episode" else snapshot.moments.get(row).window_id]

            strata: Any = ("item", "window", "moment", "episode")
            for stratum in strata:
                for where, count, right in (
                    (Where(entity="rare vase"), 3, lambda w: w.entities[0].name == "rare vase"),
                    (Where(person="Ana"), 10, lambda w: w.speech[0].speaker == "Ana"),
                    (Where(place="sink"), 10, lambda w: w.scene == "sink"),
                    (Where(entity="cup", person="other", place="hall"), 47, lambda w: w.scene == "hall"),
                    (Where(entity="nobody"), 0, lambda w: False),
                ):
                    hits = snapshot.search(stratum, "cup", vector(rng), k=300, where=where)
                    found = {owner(stratum, h.id).id for h in hits}
                    assert len(found) == count, (stratum, where)
                    assert all(right(windows[i]) for i in found)
                    assert [h.bm25_rank for h in hits if h.bm25_rank] != [] or not count
            with pytest.raises(BadRecord):
                snapshot.search("pattern", "cup", where=Where(place="sink"))


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("sizes", [(3, 9, 17, 30), (75, 3)])
def test_segments_stay_few_whatever_the_size_of_transactions(sizes: tuple[int, ...]) -> None:
    with Store.open(None, space=SPACE) as store:
        life = Life(store, 6)
        for n in range(60 if max(sizes) < 64 else 24):
            life.live(sizes[n % len(sizes)])
        rows = store._writer.execute("SELECT packed, rows FROM segment WHERE stratum = 3").fetchall()
        whole = [r for packed, r in rows if not packed]
        assert sum(whole) > len(life.rows) - 64 - 8
        assert min(whole) > 64 // 2
        assert len(rows) - len(whole) < 10
        assert store.integrity() == []
