"""Makes a long memory: days of replayed, retold and time-shifted recordings, with every stratum, through the store's writers.

    python tools/make_year.py YEAR.db [--days 365] [--seed 7] [--traces FOLDER] [--json]

A day is sixteen hours of windows of thirty seconds: runs of windows from the recorded traces, one an episode of ten
minutes, their captions in other words.  A dozen runs come back about the same time on most days (routines), others come
back now and then (threads).  A year holds 4 million captions, 3.3 million moments, 35,000 episodes, patterns with their
versions, views of three scales, a graph and facts.  Rows are made in bulk, eight days a transaction, and nothing is
judged by the growth engine, which takes hours for a year; what is stored has the shape of what it would store.
The last line says what was made, how long it took and at how much CPU.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small products: threads would only wait for each other
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from edge.recorder import read_trace
from storage import Store, Transaction
from storage.context_records import Fact, Relation, Support, View
from storage.records import Caption, Edge, Episode, Event, Moment, Pattern, SeenText, Utterance, Window
from tools import corpus as source
from tools.bench_engines import SPACE

US = 1_000_000
START_US = 1_735_689_600 * US  # 2025-01-01T00:00Z
DAY_US, WINDOW_US = 86_400 * US, 30 * US
OFFSET_S = 3600
WAKES_US = 6 * 3600 * US  # UTC; seven o'clock for the wearer
RUN = 20  # windows of an episode
RUNS = 96  # episodes of a day
CAPTIONS, MOMENTS = 6, 94  # of a window, of an episode
ROUTINES = 12
AT_ONCE = 8  # days of a transaction: their moments fill a whole segment of the search index
SCALES = ((180, 6), (600, 20), (3600, 120))  # of views: seconds, windows
PLACES = ("kitchen", "office", "living room", "garden", "hall", "bathroom", "street", "shop")


class Year:
    """Grows one memory, a day at a time."""

    def __init__(self, store: Store, traces: Path, seed: int) -> None:
        self._store, self._rng = store, random.Random(seed)
        self._retold = source.Retold(source.captions(traces), seed)
        self._embed = source.bulk()
        self._runs = list(_runs(traces))
        self._daily = self._rng.sample(range(len(self._runs)), ROUTINES)
        self._hours = sorted(self._rng.sample(range(RUNS), ROUTINES))
        self._patterns: dict[int, Pattern] = {}
        self._members: dict[int, list[tuple[int, int]]] = {}
        self._facts: dict[str, int] = {}
        self.captions = self.moments = self.episodes = self.patterns = 0

    def days(self, numbers: Sequence[int]) -> None:
        """Some days in one transaction."""
        with self._store.transaction() as tx:
            for number in numbers:
                self._day(tx, number)

    def _day(self, tx: Transaction, number: int) -> None:
        """One day."""
        rng, begin = self._rng, START_US + number * DAY_US + WAKES_US
        plan = [rng.randrange(len(self._runs)) for _ in range(RUNS)]
        for run, slot in zip(self._daily, self._hours, strict=True):
            if rng.random() < 0.8:
                plan[min(RUNS - 1, max(0, slot + rng.randint(-1, 1)))] = run
        windows: list[Window] = []
        parts: list[list[str]] = []
        for slot, run in enumerate(plan):
            place = PLACES[run % len(PLACES)]
            at = begin + slot * RUN * WINDOW_US
            made = [self._window(number, w, at + i * WINDOW_US, place) for i, w in enumerate(self._runs[run])]
            windows += made
            parts += [[c.text for c in w.captions[:3]] for w in made]
        ids = tx.trace.add_many(windows, self._embed.joined(parts))
        for slot, run in enumerate(plan):
            span = slice(slot * RUN, (slot + 1) * RUN)
            self._episode(tx, run, windows[span], ids[span])
        self._views(tx, windows, ids)
        self.captions += sum(len(w.captions) for w in windows)

    def _window(self, number: int, like: Window, t: int, place: str) -> Window:
        """A window of a trace at another time, told in other words."""
        end = t + WINDOW_US
        length = like.t_end - like.t_start

        def at(then: int) -> int:
            return t + (then - like.t_start) * WINDOW_US // length

        told = [Caption(at(c.t), self._retold.reworded(c.text, 0.4)) for c in like.captions[:CAPTIONS]]
        if len(told) < CAPTIONS and self._rng.random() < 0.95:
            more = [self._retold.reworded(self._retold.drawn()) for _ in range(CAPTIONS - len(told))]
            told += [Caption(t + i * WINDOW_US // CAPTIONS, text) for i, text in enumerate(more)]
        told.sort(key=lambda c: c.t)
        return replace(
            like, recording=f"wear-{number:03d}", t_start=t, t_end=end, offset_s=OFFSET_S, captions=tuple(told),
            description=" ".join(c.text for c in told[:3]), scene=place, keyframes=(), gaps=(), profile="wear", frames=6,
            events=tuple(Event(at(e.t), e.subject, e.action, e.object) for e in like.events),
            texts=tuple(SeenText(at(x.t), x.text) for x in like.texts),
            speech=tuple(Utterance(at(s.t), s.speaker, s.text) for s in like.speech),
        )  # fmt: skip

    def _episode(self, tx: Transaction, run: int, windows: Sequence[Window], ids: Sequence[int]) -> None:
        first, last = windows[0], windows[-1]
        known, place, rng = last.t_end, first.scene, self._rng
        told = [(i, c) for i, w in enumerate(windows) for c in w.captions]
        subject = told[len(told) // 2][1].text
        keywords = tuple(dict.fromkeys(e.object for w in windows for e in w.events if e.object))[:12]
        some = [c.text for _, c in told[:: max(1, len(told) // 4)]]
        episode = Episode(
            first.recording, first.t_start, known, OFFSET_S, subject, ". ".join(some), keywords,
            ". ".join(c.text for _, c in told), place, ids[0], ids[-1], "cap", known,
        )  # fmt: skip
        made = [
            [subject, *some],
            *([c.text, rng.choice(source.WHERE)] if rng.random() < 0.5 else [c.text] for _, c in told),
        ]
        vectors = self._embed.joined(made)
        e = tx.episodes.add(episode, vectors[0])
        moments = [
            Moment(
                e,
                ids[i],
                c.t,
                OFFSET_S,
                " ".join(made[n]),
                (),
                "core" if n % 5 == 0 else "detail",
                0.5,
                "",
                place,
                known,
            )
            for n, (i, c) in enumerate(told[:MOMENTS], 1)
        ]
        tx.moments.add_many(moments, vectors[1 : len(moments) + 1])
        self.moments += min(len(told), MOMENTS)
        self.episodes += 1
        self._pattern(tx, run, e, episode, vectors[0])
        self._graph(tx, e, windows, ids, known)

    def _pattern(self, tx: Transaction, run: int, e: int, episode: Episode, vector: Any) -> None:
        """A run that comes back is a pattern; one that was seen once is not yet."""
        members = self._members.setdefault(run, [])
        members.append((e, episode.t_start))
        if len(members) < 2:
            return
        minutes = sorted((t // US + OFFSET_S) % 86_400 // 60 for _, t in members)
        days = len({(t + OFFSET_S * US) // DAY_US for _, t in members})
        old = self._patterns.get(run)
        pattern = Pattern(
            "routine" if run in self._daily else "thread", old.title if old else episode.subject, episode.summary,
            episode.keywords, 0.6, len(members), days, len(members) / max(1, days), minutes[len(minutes) // 2],
            minutes[-1] - minutes[0], episode.known, id=old.id if old else 0,
        )  # fmt: skip
        pattern_id = tx.patterns.put(pattern, vector)
        self.patterns += old is None
        self._patterns[run] = replace(pattern, id=pattern_id)
        for member, _ in members if old is None else members[-1:]:
            tx.patterns.link(Edge(pattern_id, member, "core", 0.7, episode.known))

    def _graph(self, tx: Transaction, e: int, windows: Sequence[Window], ids: Sequence[int], known: int) -> None:
        """Who did what to what, and where; what is done often becomes a fact."""
        place = tx.graph.node("place", windows[0].scene, ids[0], known)
        doings: dict[tuple[str, str, str], tuple[int, int, int]] = {}
        for w, i in zip(windows, ids, strict=True):
            for event in w.events:
                key = (event.subject, event.action, event.object)
                _, t, count = doings.get(key, (i, event.t, 0))
                doings[key] = (doings[key][0] if key in doings else i, t, count + 1)
        edges = []
        for (subject, action, thing), (i, t, count) in list(doings.items())[:8]:
            who = tx.graph.node("person", subject or "wearer", i, known)
            what = tx.graph.node("entity", thing or action, i, known)
            edges += [
                Relation(who, "acts_on", action, what, e, i, t, count, known),
                Relation(what, "at", "", place, e, i, t, 1, known),
            ]
        tx.graph.relate(edges)
        if doings:
            (subject, action, thing), (i, t, _) = max(doings.items(), key=lambda d: d[1][2])
            text = f"{subject or 'The wearer'} often does this: {action} {thing}."
            support = [Support(f"e{e}", t, OFFSET_S, f"{action} {thing}", known, window_id=i, episode_id=e)]
            if text in self._facts:
                if self._rng.random() < 0.2:
                    tx.facts.support(self._facts[text], support, known, "active")
            elif len(self._facts) < 400:
                fact = Fact(
                    "habit", subject or "wearer", action, thing, text, text.casefold(), "active", 1, 1, t, t, known
                )
                self._facts[text] = tx.facts.add(fact, self._embed.embed([text])[0], support)

    def _views(self, tx: Transaction, windows: Sequence[Window], ids: Sequence[int]) -> None:
        parts, views = [], []
        for scale, size in SCALES:
            for at in range(0, len(windows), size):
                some = windows[at : at + size]
                told = [c.text for w in some[:: max(1, size // 4)] for c in w.captions[:2]]
                first, last = some[0], some[-1]
                block = first.t_start // (scale * US) * (scale * US)
                objects = tuple(dict.fromkeys(e.name for w in some for e in w.entities))[:8]
                actions = tuple(dict.fromkeys(e.action for w in some for e in w.events))[:8]
                views.append(
                    View(
                        first.recording, scale, block, first.t_start, last.t_end, OFFSET_S, ids[at], ids[at + len(some) - 1],
                        ". ".join(told), f"in the {first.scene}", objects, actions, (first.scene,), (), (), last.t_end,
                    )
                )  # fmt: skip
                parts.append(told or [first.scene])
        for view, vector in zip(views, self._embed.joined(parts), strict=True):
            tx.views.put(view, vector)


def _runs(traces: Path) -> Iterator[list[Window]]:
    """Runs of RUN windows of one recording, those with little to tell left out."""
    for path in sorted(traces.rglob("*.trace.jsonl")):
        windows = [w for w in read_trace(path, 5.0) if w.captions]
        for at in range(0, len(windows) - RUN, RUN):
            yield windows[at : at + RUN]


def make(path: Path, days: int, traces: Path, seed: int, *, progress: bool) -> dict[str, Any]:
    """Grow a new memory of so many days; what was made."""
    if path.exists():
        sys.exit(f"{path} is there already: name a new file.")
    start, used = perf_counter(), process_time()
    with Store.open(path, space=SPACE) as store:
        with store.exclusive() as db:
            for pragma in ("cache_size = -524288", "journal_mode = MEMORY", "synchronous = OFF", "secure_delete = OFF"):
                db.execute(f"PRAGMA {pragma}")  # whoever is interrupted begins again: no page is written twice
        year = Year(store, traces, seed)
        gc.freeze()  # the traces stay: looking through them again and again would take a tenth of the time
        for first in range(0, days, AT_ONCE):
            numbers = range(first, min(days, first + AT_ONCE))
            year.days(numbers)
            if progress:
                print(
                    f"\rday {numbers[-1] + 1} of {days}, {perf_counter() - start:.0f} s",
                    end="",
                    file=sys.stderr,
                    flush=True,
                )
        with store.exclusive() as db:
            db.execute("PRAGMA journal_mode = WAL")
    if progress:
        print(file=sys.stderr)
    return {
        "days": days, "captions": year.captions, "moments": year.moments, "episodes": year.episodes,
        "patterns": year.patterns, "build_s": round(perf_counter() - start, 1),
        "cpu_s": round(process_time() - used, 1), "disk_mb": round(path.stat().st_size / 1e6),
    }  # fmt: skip


def main() -> None:
    """Parse, make, say what was made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("db", type=Path)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--traces", type=Path, default=source.TRACES)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    made = make(given.db, given.days, given.traces, given.seed, progress=not given.json and sys.stderr.isatty())
    print(json.dumps(made) if given.json else "  ".join(f"{k} {v}" for k, v in made.items()))


if __name__ == "__main__":
    main()
