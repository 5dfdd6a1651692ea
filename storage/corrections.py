"""The owner's corrections: evidence above perception, each a chain of states.  All their SQL is here.

Nothing perceived is overwritten: what a correction does to a row (`Effect`) is laid over it when it is read, from the
time the correction was given, and no longer once it is undone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias

from storage import vectors
from storage.connect import Connection
from storage.context_records import Correction, CorrectionState, Effect
from storage.errors import NotFound
from storage.records import Caption, Entity, Episode, Event, Item, ItemKind, Moment, SeenEntity, Us, Window
from storage.vectors import Vector

OWNER_ITEMS = 2**40  # ids of doings that the owner added begin here
_CORRECTION = (
    "SELECT c.ref, c.text, c.kind, c.t, c.offset_s, c.known, c.subject, c.action, c.object, c.window_id, v.state, "
    "v.version, c.id FROM correction c JOIN correction_version v ON v.correction_id = c.id "
)
_NEWEST = (
    "c.known <= ? AND v.known <= ? AND NOT EXISTS (SELECT 1 FROM correction_version n WHERE "
    "n.correction_id = v.correction_id AND n.known <= ? AND n.version > v.version)"
)


@dataclass(frozen=True, slots=True)
class Amendments:
    """The corrections in force at one time, ready to be laid over rows."""

    effects: dict[str, tuple[Effect, ...]] = field(default_factory=dict)
    added: tuple[Item, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.effects or self.added)

    def text(self, ref: str, text: str) -> str:
        """A text of a row as the owner would have it."""
        for effect in self.effects.get(ref, ()):
            if effect.kind == "replace":
                text = replaced(text, effect.old, effect.new)
            elif effect.kind == "note":
                text = f"{text.rstrip()} (The owner says: {effect.new})" if effect.new not in text else text
        return text

    def speaker(self, ref: str, speaker: str) -> str:
        """Who spoke, by the name the owner gives."""
        for effect in self.effects.get(ref, ()):
            if effect.kind == "replace" and effect.old == speaker:
                return effect.new
        return speaker

    def denied(self, ref: str) -> bool:
        """Whether the owner says that it was not so."""
        return any(e.kind == "deny" for e in self.effects.get(ref, ()))

    def items(self, found: Iterable[Item]) -> list[Item]:
        """Items as the owner would have them; what was not so is left out."""
        return [self._item(i) for i in found if not self.denied(f"o{i.id}")]

    def moments(self, found: Iterable[Moment]) -> list[Moment]:
        """Moments as the owner would have them."""
        return [replace(m, text=self.text(f"m{m.id}", m.text)) for m in found if not self.denied(f"m{m.id}")]

    def episodes(self, found: Iterable[Episode]) -> list[Episode]:
        """Episodes as the owner would have them."""
        return [self._episode(e) if f"e{e.id}" in self.effects else e for e in found]

    def entities(self, found: Iterable[SeenEntity]) -> list[SeenEntity]:
        """Things seen under the names the owner gives them."""
        return [replace(e, name=self._name(e.window_id, e.name)) for e in found]

    def window(self, window: Window) -> Window:
        """A window as the owner would have it: its items, its things, its description."""
        ref = f"w{window.id}"
        return replace(
            window,
            captions=tuple(
                Caption(c.t, self.text(f"o{c.id}", c.text), c.id)
                for c in window.captions
                if not self.denied(f"o{c.id}")
            ),
            events=tuple(
                Event(e.t, e.subject, e.action, self.text(f"o{e.id}", e.object), e.id)
                for e in window.events
                if not self.denied(f"o{e.id}")
            )
            + tuple(Event(i.t, i.subject, i.action, i.object, i.id) for i in self.added if i.window_id == window.id),
            entities=tuple(
                Entity(self._name(window.id, e.name), e.count, e.attributes, e.location) for e in window.entities
            ),
            description=self.text(ref, window.description) if ref in self.effects else window.description,
        )

    def doings(
        self, kinds: Sequence[ItemKind], start: Us | None, end: Us | None, action: str | None = None
    ) -> list[Item]:
        """Doings the owner added with start <= t < end."""
        if "event" not in kinds:
            return []
        return [
            i
            for i in self.added
            if (start is None or i.t >= start) and (end is None or i.t < end) and (action is None or i.action == action)
        ]

    def _item(self, item: Item) -> Item:
        ref = f"o{item.id}"
        if ref not in self.effects:
            return item
        speaker = self.speaker(ref, item.speaker) if item.speaker else ""
        if speaker != item.speaker:
            return replace(item, speaker=speaker)
        return replace(item, text=self.text(ref, item.text), object=self.text(ref, item.object) if item.object else "")

    def _episode(self, episode: Episode) -> Episode:
        ref = f"e{episode.id}"
        notes = [e.new for e in self.effects[ref] if e.kind == "note"]
        told = "".join(f" The owner says: {n.rstrip('.')}." for n in notes)
        swapped = Amendments({ref: tuple(e for e in self.effects[ref] if e.kind == "replace")})
        return replace(
            episode,
            subject=swapped.text(ref, episode.subject),
            summary=swapped.text(ref, episode.summary) + told,
            description=swapped.text(ref, episode.description) + told,
        )

    def _name(self, window_id: int, name: str) -> str:
        for effect in self.effects.get(f"w{window_id}", ()):
            if effect.kind == "replace" and effect.old.casefold() == name.casefold():
                return effect.new
        return name


NOTHING = Amendments()
Amend: TypeAlias = Callable[[], Amendments]


def unamended() -> Amendments:
    """No correction at all."""
    return NOTHING


class CorrectionReader:
    """Reads of corrections as known at `until`."""

    def __init__(self, db: Connection, until: Us) -> None:
        self._db, self._until = db, until
        self._amendments: Amendments | None = None

    def get(self, correction_id: int) -> Correction:
        """One correction, in force or undone.  Raises NotFound."""
        found = self._rows("c.id = ? AND ", (correction_id,))
        if not found:
            raise NotFound(f"There is no correction c{correction_id} at that time.")
        return found[0]

    def all(self, state: CorrectionState | None = "active") -> list[Correction]:
        """Corrections in one state (any when it is None), in the order they were given."""
        return [c for c in self._rows("", ()) if state in (None, c.state)]

    def of(self, ref: str) -> list[Correction]:
        """The corrections in force that bear on a row ("m3", "e4", "w12", "o77"), oldest first."""
        own = {row[0] for row in self._db.execute("SELECT correction_id FROM correction_effect WHERE ref = ?", (ref,))}
        return [c for c in self.all() if c.ref == ref or c.id in own]

    def amendments(self) -> Amendments:
        """The corrections in force, ready to be laid over rows; read once."""
        if self._amendments is None:
            self._amendments = self._made()
        return self._amendments

    def vectors(self, ids: list[int]) -> dict[int, Vector]:
        """Embeddings of corrections, shape (dim,) each."""
        return vectors.get(self._db, "correction_vec", ids, "correction.known", self._until)

    def _made(self) -> Amendments:
        if self._db.execute("SELECT 1 FROM correction LIMIT 1").fetchone() is None:
            return NOTHING
        effects: dict[str, list[Effect]] = {}
        added = []
        for correction in self.all():
            for effect in correction.effects:
                effects.setdefault(effect.ref, []).append(effect)
            if correction.kind == "add":
                added.append(_item(correction))
        return Amendments({ref: tuple(own) for ref, own in effects.items()}, tuple(sorted(added, key=lambda i: i.t)))

    def _rows(self, where: str, values: tuple[object, ...]) -> list[Correction]:
        rows = self._db.execute(
            f"{_CORRECTION}WHERE {where}{_NEWEST} ORDER BY c.id", (*values, self._until, self._until, self._until)
        ).fetchall()
        effects: dict[int, list[Effect]] = {}
        for row in rows:
            effects[row[12]] = [
                Effect(*e)
                for e in self._db.execute(
                    "SELECT ref, kind, old, new FROM correction_effect WHERE correction_id = ? ORDER BY ref, kind, old",
                    (row[12],),
                )
            ]
        return [Correction(*row[:10], tuple(effects[row[12]]), *row[10:]) for row in rows]  # type: ignore[call-arg]


class CorrectionWriter:
    """Writes of corrections, inside one transaction of the store."""

    def __init__(self, db: Connection, dim: int) -> None:
        self._db, self._dim = db, dim

    def add(self, correction: Correction, vector: Vector) -> int:
        """Store a correction with its effects; returns its id."""
        c = correction
        row = self._db.execute(
            "INSERT INTO correction(ref, text, kind, t, offset_s, subject, action, object, window_id, known) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (c.ref, c.text, c.kind, c.t, c.offset_s, c.subject, c.action, c.object, c.window_id, c.known),
        ).lastrowid
        self._db.executemany(
            "INSERT OR IGNORE INTO correction_effect(correction_id, ref, kind, old, new) VALUES (?, ?, ?, ?, ?)",
            [(row, e.ref, e.kind, e.old, e.new) for e in c.effects],
        )
        vectors.put(self._db, "correction_vec", int(row), vector, self._dim)
        self.move(int(row), "active", c.known)
        return int(row)

    def move(self, correction_id: int, state: CorrectionState, known: Us) -> None:
        """Append a state to the chain."""
        self._db.execute(
            "INSERT INTO correction_version(correction_id, version, state, known) VALUES "
            "(?, 1 + (SELECT count(*) FROM correction_version WHERE correction_id = ?), ?, ?)",
            (correction_id, correction_id, state, known),
        )


@lru_cache(maxsize=256)
def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)


def replaced(text: str, old: str, new: str) -> str:
    """A text with whole words replaced; where the new words stand already, nothing is."""
    if not old or new.casefold() in text.casefold():
        return text
    return _whole(old).sub(lambda _: new, text)


def _item(correction: Correction) -> Item:
    """A doing that the owner added, as a dated item of the trace."""
    c = correction
    text = " ".join(p for p in ("" if c.subject == "wearer" else c.subject, c.action, c.object) if p)
    return Item(OWNER_ITEMS + c.id, c.window_id or 0, "event", c.t, c.offset_s, text, c.subject, c.action, c.object)
