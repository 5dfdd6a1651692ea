"""Made-up memories written straight into a store, row by row, for the tests of the storage room."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from storage import EmbeddingSpace, Store
from storage.context_records import Correction, Effect, Fact, Relation, StoredProcedure, Support, View
from storage.errors import StorageError
from storage.health import HealthEvent
from storage.patience import Feedback, PowerEvent, Wish
from storage.records import (
    Caption,
    Decision,
    Device,
    Edge,
    Entity,
    Episode,
    Event,
    Gap,
    Intention,
    Keyframe,
    Moment,
    Pattern,
    SeenText,
    Service,
    Utterance,
    Window,
)

US = 1_000_000
DIM = 8
SPACE = EmbeddingSpace("made-8", DIM)
BASE = 1_772_000_000 * US

VERBS, THINGS, WHO = ["open", "take", "put", "wash"], ["cup", "knife", "red door", "tap"], ["wearer", "other", "Ana"]


@dataclass(slots=True)
class History:
    """What was written, so that reads can be given arguments that hit and that miss."""

    ends: list[int] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    moments: list[int] = field(default_factory=list)
    patterns: list[int] = field(default_factory=list)
    intentions: list[int] = field(default_factory=list)
    services: list[Service] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    facts: list[int] = field(default_factory=list)
    corrections: list[int] = field(default_factory=list)


def vector(rng: random.Random) -> Any:
    return np.asarray([rng.uniform(-1, 1) for _ in range(DIM)], dtype=np.float32)


def window(rng: random.Random, recording: str, start: int, length_s: int, offset_s: int) -> Window:
    """A window with some of everything a window can hold."""
    end = start + length_s * US

    def at() -> int:
        return rng.randint(start, end)

    some = rng.randint(0, 3)
    return Window(
        recording, start, end, offset_s,
        captions=tuple(sorted((Caption(at(), f"{rng.choice(VERBS)} {rng.choice(THINGS)}") for _ in range(some)), key=lambda x: x.t)),
        description=rng.choice(["", "washing up", "cooking soup"]),
        entities=tuple(Entity(rng.choice(THINGS), rng.randint(1, 3), ("blue",), rng.choice([None, "sink"])) for _ in range(some)),
        events=tuple(sorted((Event(at(), rng.choice(WHO), rng.choice(VERBS), rng.choice(THINGS)) for _ in range(some)), key=lambda x: x.t)),
        texts=tuple(SeenText(at(), "EXIT 4") for _ in range(rng.randint(0, 1))),
        speech=tuple(Utterance(at(), rng.choice(WHO), "I have to call the plumber") for _ in range(rng.randint(0, 1))),
        scene=rng.choice(["", "kitchen"]),
        frames=rng.randint(1, 6),
        keyframes=tuple(Keyframe(at(), f"020000/{i}.jpg", "0" * 64, 64, 48, 100, look=("made", vector(rng).tobytes())) for i in range(rng.randint(0, 2))),
        gaps=tuple(Gap(recording, start, start + US, "camera lost") for _ in range(rng.randint(0, 1))),
        device=rng.choice([None, Device(battery=80, worn=True)]),
    )  # fmt: skip


def grow(store: Store, seed: int, steps: int, recordings: tuple[str, ...] = ("one", "two")) -> History:
    """Write a random history.  The second recording is older than the first though it is stored among it, so that the
    order of ids is not the order of times.
    """
    rng, made = random.Random(seed), History()
    clocks = {name: BASE - i * 3600 * US for i, name in enumerate(recordings)}
    open_units: dict[str, list[Window]] = {name: [] for name in recordings}
    for _ in range(steps):
        name = rng.choice(recordings)
        with store.transaction() as tx:
            start = clocks[name] + rng.choice([0, 0, 0, 20 * US, 7200 * US])
            w = window(rng, name, start, rng.randint(5, 40), rng.choice([0, 3600, -12600]))
            clocks[name] = w.t_end
            w_id = tx.trace.add(w, vector(rng))
            w = tx.snapshot().trace.window(w_id)
            made.windows.append(w)
            made.ends.append(w.t_end)
            open_units[name].append(w)
            if rng.random() < 0.3:
                _close(tx, rng, open_units[name], made)
                open_units[name] = []
            if rng.random() < 0.2:
                said = Intention("wearer", "I have to go", "go", w.t_start, 0, w_id, "", "open", w.t_end, (f"w{w_id}",))
                made.intentions.append(tx.intentions.add(said))
            elif made.intentions and rng.random() < 0.2:
                _settle(tx, rng, made, w)
            if rng.random() < 0.25:
                kind = rng.choice(["task_reminder", "resource_reminder"])
                asked = Service(kind, w.t_start, 0, "Mind the tap.", (f"w{w_id}",), rng.choice("ab"), w.t_end, "A")
                s_id = tx.services.add(asked)
                made.services.append(tx.snapshot().services.get(s_id))
                tx.services.decide(Decision(s_id, w.t_end, "defer", "pause"))
                tx.services.decide(Decision(s_id, w.t_end + rng.randint(1, 90) * US, "deliver", "clear"))
            if rng.random() < 0.1:
                tx.health.add(HealthEvent(w.t_end, "camera", "down", "unplugged"))
            tx.services.advance("proactive", w_id)
            _correct(tx, rng, made, w)
            if w_id % 4 == 0:
                tx.patience.wish(Wish(w.t_end, "snooze", rng.choice(["type:safety", "place:shed"]), "on", w.t_end + US))
                tx.patience.power(PowerEvent(w.t_end, "saver", 38.0, False, warned="20"))
                if made.services:
                    tx.patience.feedback(Feedback(w.t_end, rng.choice(made.services).id, "dismissed", "tap"))
    return made


def _close(tx: Any, rng: random.Random, unit: list[Window], made: History) -> None:
    first, last = unit[0], unit[-1]
    known = last.t_end + rng.choice([0, 60 * US])
    made.ends.append(known)
    episode = Episode(
        first.recording, first.t_start, last.t_end, first.offset_s, "washing a cup", "The wearer washed a cup.",
        ("cup", "wash"), "washed the cup", "kitchen", first.id, last.id, "change", known,
    )  # fmt: skip
    e_id = tx.episodes.add(episode, vector(rng))
    episode = tx.snapshot().episodes.get(e_id)
    made.episodes.append(episode)
    for w in unit:
        m = Moment(e_id, w.id, w.t_start, 0, f"{rng.choice(VERBS)} cup", ("cup",), "core", 0.5, "", "kitchen", known)
        made.moments.append(tx.moments.add(m, vector(rng)))
    _context(tx, rng, unit, episode, made)
    chains = [p for p in made.patterns if tx.snapshot(known).patterns.all() and _newest(tx, p) <= known]
    old = rng.choice(chains) if chains and rng.random() < 0.7 else 0
    p = Pattern(
        "thread", "cups", f"Cups again, {rng.choice(THINGS)}.", ("cup",), 0.5, 1, 1, 1.0, None, None, known, id=old
    )
    p_id = tx.patterns.put(p, vector(rng))
    if not old:
        made.patterns.append(p_id)
    edge = Edge(p_id, e_id, rng.choice(["core", "detail"]), 0.5, known)
    tx.patterns.link(edge)
    made.edges.append(edge)
    for other in [e for e in made.edges if e.pattern_id == p_id and e.known < known][:1]:  # re-estimated
        tx.patterns.link(Edge(p_id, other.episode_id, "context", 0.1, known))


def _correct(tx: Any, rng: random.Random, made: History, w: Window) -> None:
    """The owner corrects a row, adds a doing, or takes a word back."""
    choice = rng.random()
    if choice < 0.15 and made.moments:
        ref = f"m{rng.choice(made.moments)}"
        effects = (Effect(ref, rng.choice(["replace", "note", "deny"]), "cup", "sister's cup"),  # type: ignore[arg-type]
                   Effect(f"w{w.id}", "replace", "cup", "sister's cup"))  # fmt: skip
        told = Correction(ref, "that was my sister's cup", "replace", w.t_start, 0, w.t_end, effects=effects)
        made.corrections.append(tx.corrections.add(told, vector(rng)))
    elif choice < 0.25:
        told = Correction("", "I did take the knife", "add", w.t_start, 0, w.t_end, "wearer", "take", "knife", w.id)
        made.corrections.append(tx.corrections.add(told, vector(rng)))
    elif choice < 0.3 and made.corrections:
        one = tx.snapshot().corrections.get(rng.choice(made.corrections))
        if one.known < w.t_end:
            tx.corrections.move(one.id, "undone", w.t_end)
    elif choice < 0.32:
        tx.procedures.put(StoredProcedure(rng.choice(["tea", "soup"]), '{"steps": ["fill the kettle"]}', w.t_end))


def _context(tx: Any, rng: random.Random, unit: list[Window], episode: Episode, made: History) -> None:
    """A view of the unit, edges of the graph, and facts with what they rest on."""
    first, last, known = unit[0], unit[-1], episode.known
    view = View(first.recording, 180, first.t_start // (180 * US) * 180 * US, first.t_start, last.t_end, 0, first.id, last.id,
                f"washed the {rng.choice(THINGS)}", "a cup at the sink", ("cup",), ("wash",), ("washing",), ("Ana",),
                ("EXIT 4",), known)  # fmt: skip
    tx.views.put(view, vector(rng))
    me = tx.graph.node("person", "wearer", first.id, known)
    thing = tx.graph.node("entity", rng.choice(THINGS), first.id, known, rng.choice(["", "the cup", "mug"]))
    place = tx.graph.node("place", "kitchen", last.id, known)
    at = (episode.id, last.id, last.t_start, 1, known)
    tx.graph.relate([Relation(me, "acts_on", "wash", thing, *at), Relation(thing, "at", "", place, *at)])
    rests = Support(f"e{episode.id}", episode.t_start, 0, "washed", known, episode_id=episode.id)
    fact = tx.snapshot(known).facts.with_key(f"likes {first.id % 3}")
    if fact is not None:
        tx.facts.support(fact.id, [rests], known, rng.choice(["active", "retired"]))
    else:
        new = Fact("habit", "wearer", "washes", "cup", "The wearer washes cups.", f"likes {first.id % 3}",
                   rng.choice(["candidate", "active"]), 0, 0, 0, 0, known)  # fmt: skip
        made.facts.append(tx.facts.add(new, vector(rng), [rests]))


def _newest(tx: Any, pattern_id: int) -> int:
    return int(tx.snapshot().patterns.get(pattern_id).known)


def _settle(tx: Any, rng: random.Random, made: History, w: Window) -> None:
    i = tx.snapshot().intentions.get(rng.choice(made.intentions))
    if i.known < w.t_end:
        tx.intentions.move(i.id, rng.choice(["done", "dropped"]), w.t_end, (f"w{w.id}",))


def read_damaged(folder: Path, count: int) -> None:
    """Damage a memory in so many ways, read and write each, and print how it ended: "ok" or the code of the error."""
    path = folder / "m.db"
    with Store.open(path, space=SPACE) as store:
        grow(store, 1, 30)
    whole = path.read_bytes()

    def look(store: Store) -> None:
        with store.snapshot() as snapshot:
            snapshot.trace.windows()
            snapshot.search("moment", "cup", np.ones(DIM, np.float32))
            snapshot.patterns.all()

    for seed in range(count):
        rng, data = random.Random(seed), bytearray(whole)
        page = rng.randrange(len(data) // 4096) * 4096
        first = page + (100 if page == 0 else 0)
        data[first : page + 4096] = rng.randbytes(page + 4096 - first) if seed % 2 else bytes(page + 4096 - first)
        path.write_bytes(data)
        for use in (lambda s: list(s.dump()), look, Store.integrity, lambda s: grow(s, 5, 6, ("three", "four"))):
            try:
                with Store.open(path) as store:
                    use(store)
                print("ok")
            except StorageError as error:
                assert "\n" not in str(error)
                print(error.code)
