"""Retention: pictures thin out with age, budgets of age and space bind, the disk never fills, and nothing goes in silence.

Three tiers (VAM, table 5): within an hour every picture a second apart stays as it is; within a day one every 20 s, at
768 px; later one every 120 s, at 512 px.  The first and the last picture of all and of each episode stay in every tier,
and what the owner pinned stays as it is.  Ages are counted from the memory's own newest moment, so that a device that
lay in a drawer does not wake up to lose a day; budgets in days go by the wall clock, and only while it can be trusted.
What is made from a window outlives it: pruning takes its items, words and pictures, never the window's place.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import cv2
import numpy as np

from edge.clock import US
from edge.config import Retention as Settings
from storage import Store
from storage.errors import StorageError
from storage.keyframes import KeyframeFolder
from storage.records import Keyframe
from storage.retention import Held

Tier: TypeAlias = Literal["recent", "day", "long"]
Room: TypeAlias = Callable[[Path], tuple[int, int]]  # folder -> (size of the disk, free), bytes

HOUR_US, DAY_US = 3600 * US, 86_400 * US
SAFE_US = DAY_US  # windows of the newest day are never pruned, whatever the budgets say
BATCH = 200  # pictures or windows changed in one transaction: capture waits no longer than that takes
MOST_BATCHES = 50  # of one pass
STEADY_US = HOUR_US  # how long the clock must have gone evenly before days are counted by it
JUMP_US = 300 * US  # a difference between wall and monotonic clock beyond this is a jump


@dataclass(frozen=True, slots=True)
class Row:
    """One tier: pictures up to that age keep `gap_us` from each other and are at most `side` pixels, at `quality`."""

    name: Tier
    until_us: int
    gap_us: int
    side: int = 0
    quality: int = 0


def tiers(settings: Settings) -> tuple[Row, ...]:
    """The table of tiers, youngest first."""
    s = settings
    return (
        Row("recent", round(s.recent_h * 3600) * US, round(s.recent_gap_s * US)),
        Row("day", round(s.day_h * 3600) * US, round(s.day_gap_s * US), s.day_side_px, s.day_quality),
        Row("long", 2**62, round(s.long_gap_s * US), s.long_side_px, s.long_quality),
    )


def tier_of(age_us: int, table: Sequence[Row]) -> Row:
    """The tier of a picture of that age; one from the future counts as new."""
    return next(row for row in table if age_us <= row.until_us)


def thinned(frames: Sequence[Held], now: int, table: Sequence[Row]) -> list[Held]:
    """Those of the pictures (in time order) that a tier has no room for.

    A picture stays when it is far enough from the last one that stayed, by the gap of its own tier.
    """
    if not frames:
        return []
    gone: list[Held] = []
    before: int | None = None
    for place, held in enumerate(frames):
        safe = held.pinned or held.linked or place in (0, len(frames) - 1)
        gap = tier_of(now - held.keyframe.t, table).gap_us
        if safe or before is None or held.keyframe.t - before >= gap:
            before = held.keyframe.t
        else:
            gone.append(held)
    return gone


class Trust:
    """Whether the wall clock may be believed: it is, once it has gone as evenly as the monotonic one for an hour."""

    def __init__(self) -> None:
        self._seen: tuple[int, int] | None = None
        self._since = 0

    def step(self, now: int, mono: int) -> bool:
        """Look at both clocks (microseconds); true when days may be counted."""
        if self._seen is None or abs((now - self._seen[0]) - (mono - self._seen[1])) > JUMP_US:
            self._since = mono
        self._seen = (now, mono)
        return mono - self._since >= STEADY_US


@dataclass(slots=True)
class Pass:
    """What one pass did: pictures removed and made smaller, windows pruned, bytes freed, and why."""

    removed: int = 0
    smaller: int = 0
    windows: int = 0
    freed: int = 0
    why: list[str] = field(default_factory=list)
    short: str = ""

    @property
    def anything(self) -> bool:
        """Whether anything was done."""
        return bool(self.removed or self.smaller or self.windows)

    def told(self) -> str:
        """In words."""
        parts = [
            f"{self.removed} pictures removed" if self.removed else "",
            f"{self.smaller} made smaller" if self.smaller else "",
            f"{self.windows} windows pruned" if self.windows else "",
        ]
        what = ", ".join(p for p in parts if p) or "nothing to do"
        return f"{what}, {self.freed / 1e6:.1f} MB freed" + (f" ({'; '.join(self.why)})" if self.why else "")


class Retention:
    """Keeps one memory within its budgets.  `room` tells how large a disk is and how much of it is free."""

    def __init__(self, store: Store, frames: KeyframeFolder, settings: Settings, room: Room | None = None) -> None:
        self._store, self._frames, self._settings = store, frames, settings
        self._room = room or _disk
        self._table = tiers(settings)

    def step(self, now: int, *, trusted: bool = True, tiered: bool = True) -> Pass:
        """One pass: tiers, then age, then space, then the head-room of the disk.

        Raises StorageError when something cannot be written; what was done until then is done.
        """
        done = Pass()
        with self._store.holdings() as holdings:
            newest = holdings.newest()
        if newest is None:
            return done
        if tiered and self._settings.tiers:
            self._tiers(newest, done)
        if trusted:
            self._old(now, newest, done)
        self._budgets(newest, done)
        self._headroom(newest, done)
        return done

    def short_of_room(self) -> int:
        """How many bytes are missing for the head-room; 0 when there is enough."""
        folder = self._folder()
        if folder is None:
            return 0
        size, free = self._room(folder)
        wanted = min(round(size * self._settings.headroom_percent / 100), round(self._settings.headroom_mb * 1e6))
        return max(0, wanted - free)

    def _tiers(self, now: int, done: Pass) -> None:
        """What has come to its last tier stays as it is, so a pass reads no further back than it must."""
        with self._store.holdings() as holdings:
            oldest = holdings.unsettled(self._table[-1].name)
            if oldest is None:
                return
            held = holdings.keyframes(oldest - max(row.gap_us for row in self._table))
        gone = thinned(held, now, self._table)
        self._drop(gone, done)
        left = {h.keyframe.id for h in gone}
        for start in range(0, len(held), BATCH):
            part = [h for h in held[start : start + BATCH] if h.keyframe.id not in left and not h.pinned]
            self._compress([h for h in part if self._wants(h, now)], now, done)

    def _wants(self, held: Held, now: int) -> bool:
        row = tier_of(now - held.keyframe.t, self._table)
        return row.side > 0 and held.tier != row.name

    def _compress(self, part: Sequence[Held], now: int, done: Pass) -> None:
        """Write smaller files first, then the rows that name them, then remove the larger: a kill leaves all readable."""
        made: list[tuple[Held, Row, Keyframe | None]] = []
        for held in part:
            row = tier_of(now - held.keyframe.t, self._table)
            try:
                jpeg = self._frames.read(held.keyframe)
            except StorageError:  # gone or damaged: there is nothing to make smaller
                made.append((held, row, None))
                continue
            small = smaller(jpeg, row.side, row.quality)
            made.append((held, row, None if small is None else self._frames.save(held.keyframe.t, *small)))
        if not made:
            return
        with self._store.transaction() as tx:
            files = [tx.retention.compressed(h.keyframe.id, row.name, new) for h, row, new in made]
        for (held, _, new), file in zip(made, files, strict=True):
            if new is not None:
                done.smaller += 1
                done.freed += held.keyframe.size - new.size
            if file is not None:
                self._frames.remove(file)

    def _old(self, now: int, newest: int, done: Pass) -> None:
        s = self._settings
        if s.keyframe_days:
            before = now - round(s.keyframe_days * 86_400) * US
            with self._store.holdings() as holdings:
                old = [h for h in holdings.keyframes(None, before) if not h.pinned]
            if self._drop(old, done):
                done.why.append(f"pictures older than {s.keyframe_days:g} days")
        if s.trace_days:
            before = min(now - round(s.trace_days * 86_400) * US, newest - SAFE_US)
            why = f"older than {s.trace_days:g} days"
            if self._prune(before, now, why, done, lambda: True):
                done.why.append(f"windows {why}")

    def _budgets(self, newest: int, done: Pass) -> None:
        s = self._settings
        if s.keyframe_gb:
            with self._store.holdings() as holdings:
                over = holdings.keyframe_bytes() - round(s.keyframe_gb * 1e9)
                old = _oldest(holdings.keyframes(), over)
            if self._drop(old, done):
                done.why.append(f"pictures beyond {s.keyframe_gb:g} GB")
        if s.trace_gb:
            most = round(s.trace_gb * 1e9)

            def over_budget() -> bool:
                with self._store.holdings() as holdings:
                    return holdings.trace_bytes() > most

            why = f"beyond {s.trace_gb:g} GB"
            if over_budget() and self._prune(newest - SAFE_US, newest, why, done, over_budget):
                done.why.append(f"windows {why}")

    def _headroom(self, newest: int, done: Pass) -> None:
        """Before the disk is full: the oldest pictures go first, then the oldest windows, whose pages are used again."""
        missing = self.short_of_room()
        if not missing:
            return
        with self._store.holdings() as holdings:
            old = _oldest(holdings.keyframes(None, newest - HOUR_US), missing)
        freed = done.freed
        if self._drop(old, done):
            done.why.append("the disk is nearly full: oldest pictures")
        missing -= done.freed - freed

        def still_short() -> bool:
            with self._store.holdings() as holdings:
                return holdings.free_bytes() < missing

        if (
            missing > 0
            and still_short()
            and self._prune(newest - SAFE_US, newest, "the disk was nearly full", done, still_short)
        ):
            done.why.append("the disk is nearly full: oldest windows")
        if missing > 0 and still_short():
            done.short = f"{missing / 1e6:.0f} MB are missing and nothing more may go: free some space"

    def _drop(self, gone: Sequence[Held], done: Pass) -> int:
        for start in range(0, len(gone), BATCH):
            part = gone[start : start + BATCH]
            with self._store.transaction() as tx:
                files = tx.retention.drop_keyframes(h.keyframe.id for h in part)
            for file in files:
                self._frames.remove(file)
            done.removed += len(part)
            done.freed += sum(h.keyframe.size for h in part)
        return len(gone)

    def _prune(self, before: int, now: int, why: str, done: Pass, more: Callable[[], bool]) -> int:
        count = 0
        for _ in range(MOST_BATCHES):
            if not more():
                break
            with self._store.transaction() as tx:
                old = tx.retention.old_windows(before, BATCH)
                files = tx.retention.prune(old, now, why)
            for file in files:
                self._frames.remove(file)
            count += len(old)
            if len(old) < BATCH:
                break
        done.windows += count
        return count

    def _folder(self) -> Path | None:
        return None if self._store.path is None else self._store.path.parent


def smaller(jpeg: bytes, side: int, quality: int) -> tuple[bytes, int, int] | None:
    """A picture with its longer side at most `side` pixels, at that JPEG quality, with its width and height.

    None when it cannot be read, or would not become smaller.
    """
    image = cv2.imdecode(np.frombuffer(jpeg, dtype=np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        return None
    height, width = image.shape[:2]
    scale = side / max(height, width)
    if scale < 1:
        width, height = max(1, round(width * scale)), max(1, round(height * scale))
        image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    written, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    made = data.tobytes() if written else b""
    return (made, width, height) if made and len(made) < len(jpeg) else None


def _oldest(held: Sequence[Held], size: int) -> list[Held]:
    """The oldest pictures that may go and are together that large, bytes."""
    found: list[Held] = []
    for h in held:
        if size <= 0:
            break
        if not h.pinned:
            found.append(h)
            size -= h.keyframe.size
    return found


def _disk(folder: Path) -> tuple[int, int]:
    usage = shutil.disk_usage(folder)
    return usage.total, usage.free
