"""Retention: which pictures stay, in which size; budgets and head-room; what is pinned and what is made stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from edge import keeping
from edge.agent.answer import ask
from edge.clock import US
from edge.config import Config
from edge.config import Retention as Settings
from edge.memory.retention import HOUR_US, STEADY_US, Retention, Row, Trust, smaller, thinned, tier_of, tiers
from edge.proactive.why import ground
from storage import EmbeddingSpace, Store
from storage.keyframes import KeyframeFolder, folder_of
from storage.records import Caption, Entity, Episode, Keyframe, Moment, Window
from storage.retention import Held

SPACE = EmbeddingSpace("made-4", 4)
NOW = 1_780_000_000 * US
VECTOR = np.ones(4, dtype=np.float32)
PLENTY = (10**12, 10**11)


def jpeg(seed: int, width: int = 1280, height: int = 720) -> bytes:
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 255, (height // 40, width // 40, 3), dtype=np.uint8)
    image = cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)
    return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()


def filled(path: Path, ages_s: list[int], *, episode: tuple[int, ...] = (0, 1, 2)) -> Store:
    """A memory with one window of 20 s and one picture for each age; every three windows make an episode."""
    store, frames = Store.open(path, space=SPACE, own=True), KeyframeFolder(folder_of(path))
    with store.transaction() as tx:
        windows: list[Window] = []
        for n, age in enumerate(sorted(ages_s, reverse=True)):
            t = NOW - age * US
            shot = frames.save(t, jpeg(n), 1280, 720)
            window = Window(
                "r", t - 10 * US, t + 10 * US, 0, captions=(Caption(t, f"the wearer waters plant number {n}"),),
                entities=(Entity("plant"),), description="gardening", keyframes=(shot,),
            )  # fmt: skip
            windows.append(tx.snapshot().trace.window(tx.trace.add(window, VECTOR)))
        for start in range(0, len(windows) - 2, 3):
            first, last = windows[start], windows[start + 2]
            e = Episode("r", first.t_start, last.t_end, 0, "watering plants", "The wearer watered plants.", ("plant",),
                        "watering", "garden", first.id, last.id, "change", last.t_end)  # fmt: skip
            number = tx.episodes.add(e, VECTOR)
            tx.moments.add(
                Moment(number, first.id, first.t_start, 0, "Waters a plant.", (), "core", 0.8, "", "", last.t_end),
                VECTOR,
            )
    del episode
    return store


def held(store: Store) -> list[Held]:
    with store.holdings() as holdings:
        return holdings.keyframes()


def keeper(store: Store, settings: Settings, room: Any = lambda _: PLENTY) -> Retention:
    assert store.path is not None
    return Retention(store, KeyframeFolder(folder_of(store.path)), settings, room)


def loose(t: int, *, linked: bool = False, pinned: bool = False) -> Held:
    return Held(Keyframe(t, f"000000/{t}.jpg", "0" * 64, 64, 48, 100, 1, 1), "", linked, pinned)


@pytest.mark.parametrize(
    ("age_s", "name"),
    [(-50, "recent"), (0, "recent"), (3600, "recent"), (3601, "day"), (86_400, "day"), (90_000, "long")],
)
def test_the_tier_of_an_age(age_s: int, name: str) -> None:
    assert tier_of(age_s * US, tiers(Settings())).name == name


def test_the_defaults_are_those_of_the_paper() -> None:
    assert tiers(Settings()) == (
        Row("recent", HOUR_US, US),
        Row("day", 24 * HOUR_US, 20 * US, 768, 70),
        Row("long", 2**62, 120 * US, 512, 45),
    )


def test_thinning_keeps_gaps_first_last_linked_and_pinned() -> None:
    table = tiers(Settings())
    old = NOW - 2 * 86_400 * US
    frames = [loose(old + s * US) for s in range(0, 600, 10)]
    gone = thinned(frames, NOW, table)
    kept = [f for f in frames if f not in gone]
    times = [(f.keyframe.t - old) // US for f in kept]
    assert times == [0, 120, 240, 360, 480, 590], "every 120 s, and the last of all"
    frames[7], frames[8] = loose(old + 70 * US, linked=True), loose(old + 80 * US, pinned=True)
    kept_now = [f for f in frames if f not in thinned(frames, NOW, table)]
    assert frames[7] in kept_now and frames[8] in kept_now
    assert thinned([], NOW, table) == []


def test_tiers_thin_out_and_compress_and_do_nothing_twice(tmp_path: Path) -> None:
    ages = [2 * 86_400 - n * 30 for n in range(12)] + [7200 - n * 5 for n in range(12)] + [60, 50, 40]
    store = filled(tmp_path / "m.db", ages)
    before = held(store)
    done = keeper(store, Settings()).step(NOW)
    after = held(store)
    assert done.removed == len(before) - len(after) > 0 and done.smaller > 0 and done.freed > 0
    for h in after:
        age = NOW - h.keyframe.t
        side = max(h.keyframe.width, h.keyframe.height)
        assert side <= (512 if age > 24 * HOUR_US else 768 if age > HOUR_US + 60 * US else 1280)
        frames = KeyframeFolder(folder_of(tmp_path / "m.db"))
        image = cv2.imdecode(np.frombuffer(frames.read(h.keyframe), np.uint8), cv2.IMREAD_COLOR)
        assert image.shape[:2] == (h.keyframe.height, h.keyframe.width)
    linked = {h.keyframe.id for h in before if h.linked}
    assert linked <= {h.keyframe.id for h in after}
    assert sorted(h.keyframe.file for h in after) == KeyframeFolder(folder_of(tmp_path / "m.db")).files()
    again = keeper(store, Settings()).step(NOW)
    assert not again.anything, "the table of tiers is where the pictures are now"
    with store.holdings() as holdings:
        oldest = holdings.unsettled("long")
        assert oldest is not None and NOW - oldest <= 24 * HOUR_US, "what is in its last tier is not looked at again"
    assert store.integrity() == []
    store.close()


def test_what_is_pinned_stays_as_it_is(tmp_path: Path) -> None:
    store = filled(tmp_path / "m.db", [3 * 86_400 - n * 25 for n in range(9)] + [60])
    with store.transaction() as tx:
        tx.retention.pin("e2", NOW)
        tx.retention.pin("k2", NOW)
    before = {h.keyframe.id: h.keyframe for h in held(store)}
    settings = Settings(trace_days=1, keyframe_days=1)
    keeper(store, settings).step(NOW + 10 * 86_400 * US)
    left = {h.keyframe.id: h.keyframe for h in held(store)}
    assert left == {n: k for n, k in before.items() if n in (2, 4, 5, 6)}
    with store.snapshot() as snapshot:
        assert [w.id for w in snapshot.trace.windows() if w.captions] == [4, 5, 6, 10], "and the newest day is safe"
    with store.transaction() as tx:
        tx.retention.unpin("e2", NOW)
        assert tx.retention.pins() == ["k2"]
    store.close()


def test_a_pruned_window_leaves_what_was_made_from_it(tmp_path: Path) -> None:
    store = filled(tmp_path / "m.db", [9 * 86_400 - n * 20 for n in range(6)] + [30, 20, 10])
    done = keeper(store, Settings(trace_days=7)).step(NOW)
    assert done.windows == 6 and done.why == ["windows older than 7 days"]
    with store.snapshot() as snapshot:
        windows = snapshot.trace.windows()
        assert len(windows) == 9
        assert [bool(w.captions) for w in windows] == [False] * 6 + [True] * 3
        assert len(snapshot.episodes.between()) == 3 and len(snapshot.moments.between()) == 3
        assert snapshot.search("episode", "watering") and snapshot.search("moment", "waters")
        pruned = snapshot.retention.pruned([w.id for w in windows])
        assert sorted(pruned) == [1, 2, 3, 4, 5, 6] and pruned[1].why == "older than 7 days"
        behind = snapshot.retention.behind
        assert behind("w1") == behind("m1") == behind("e1") and behind("e1") is not None
        assert behind("w7") is behind("e3") is behind("k1") is behind("w99") is None
        assert ground(snapshot, "w1").text == "pruned: older than 7 days"
        answer = ask(snapshot, "summarize 19 May 2026", now=NOW, offset_s=0)
        assert answer.evidence and {e.get("pruned") for e in answer.evidence} == {"older than 7 days"}, answer
        with store.snapshot(windows[1].t_end) as earlier:
            assert sorted(earlier.retention.pruned([w.id for w in windows])) == [1, 2]
        assert not snapshot.trace.vectors([1]) and snapshot.trace.vectors([9])
    assert store.integrity() == []
    assert not keeper(store, Settings(trace_days=7)).step(NOW).anything
    store.close()


def test_days_are_not_counted_by_a_clock_that_jumped() -> None:
    trust, mono = Trust(), 0
    assert not trust.step(NOW, mono)
    for _ in range(12):
        mono += 600 * US
        last = trust.step(NOW + mono, mono)
    assert last
    mono += 600 * US
    assert not trust.step(NOW + mono + 3 * 365 * 86_400 * US, mono), "three years ahead"
    mono += 600 * US
    assert not trust.step(NOW + mono, mono), "and back"
    mono += STEADY_US
    assert trust.step(NOW + mono, mono)


def test_an_untrusted_clock_prunes_nothing_by_age(tmp_path: Path) -> None:
    store = filled(tmp_path / "m.db", [9 * 86_400 - n * 20 for n in range(6)])
    later = NOW + 3 * 365 * 86_400 * US
    done = keeper(store, Settings(trace_days=7, keyframe_days=7, tiers=False)).step(later, trusted=False)
    assert not done.anything
    store.close()


def test_budgets_of_space(tmp_path: Path) -> None:
    store = filled(tmp_path / "m.db", [4 * 86_400 - n * 4 * 3600 for n in range(12)])
    size = sum(h.keyframe.size for h in held(store))
    done = keeper(store, Settings(tiers=False, keyframe_gb=size / 2e9)).step(NOW)
    assert done.removed and sum(h.keyframe.size for h in held(store)) <= size / 2
    assert [h.keyframe.t for h in held(store)] == sorted(h.keyframe.t for h in held(store))[-len(held(store)) :]
    done = keeper(store, Settings(tiers=False, trace_gb=1e-6)).step(NOW)
    assert done.windows and done.why == ["windows beyond 1e-06 GB"]
    store.close()


def test_the_disk_never_fills(tmp_path: Path) -> None:
    store = filled(tmp_path / "m.db", [4 * 86_400 - n * 4 * 3600 for n in range(12)])
    free = [3_000_000]

    def room(_: Path) -> tuple[int, int]:
        on_disk = sum(f.stat().st_size for f in folder_of(tmp_path / "m.db").rglob("*.jpg"))
        return 100_000_000, free[0] - on_disk + start

    start = sum(f.stat().st_size for f in folder_of(tmp_path / "m.db").rglob("*.jpg"))
    settings = Settings(tiers=False)  # 5 % of 100 MB are 5 MB: 2 MB are missing
    watcher = keeper(store, settings, room)
    assert watcher.short_of_room() == 2_000_000
    done = watcher.step(NOW)
    assert done.removed and "nearly full" in done.why[0]
    assert watcher.short_of_room() == 0 or done.short
    free[0] = -start
    done = watcher.step(NOW)
    assert "MB are missing" in done.short, "and it is said when nothing more may go"
    with store.snapshot() as snapshot:
        assert len(snapshot.episodes.between()) == 4
    store.close()


def test_head_room_is_the_smaller_of_the_two(tmp_path: Path) -> None:
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        assert keeper(store, Settings(), lambda _: (10**12, 400_000_000)).short_of_room() == 100_000_000
        assert keeper(store, Settings(), lambda _: (10**9, 10_000_000)).short_of_room() == 40_000_000
        assert not keeper(store, Settings()).step(NOW).anything


def test_pictures_that_would_not_shrink_stay(tmp_path: Path) -> None:
    assert smaller(b"no picture", 512, 45) is None
    tiny = jpeg(1, 80, 60)
    small = smaller(tiny, 512, 45)
    assert small is None or len(small[0]) < len(tiny)
    made = smaller(jpeg(2), 512, 45)
    assert made is not None and made[1:] == (512, 288)


def test_the_command_and_its_health_event(tmp_path: Path) -> None:
    filled(tmp_path / "m.db", [3 * 86_400 - n * 10 for n in range(12)] + [10]).close()
    done = keeping.prune(tmp_path / "m.db", Config())
    assert done.anything
    with Store.open(tmp_path / "m.db") as store, store.snapshot() as snapshot:
        event = snapshot.health.recent(1)[0]
        assert (event.part, event.state) == ("retention", "pruned") and "pictures removed" in event.detail


def test_a_picture_forgotten_while_it_is_made_smaller_leaves_no_file(tmp_path: Path) -> None:
    store = filled(tmp_path / "m.db", [3 * 86_400, 60])
    frames = KeyframeFolder(folder_of(tmp_path / "m.db"))
    small = frames.save(NOW, jpeg(9, 64, 48), 64, 48)
    with store.transaction() as tx:
        tx.retention.drop_keyframes([1])
        assert tx.retention.compressed(1, "long", small) == small.file
    store.close()
