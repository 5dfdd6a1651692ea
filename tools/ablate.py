"""What each part of the memory is worth for answering: one table of accuracy and cost, as Markdown.

    python tools/ablate.py DATA [--recordings 2] [--questions 40] [--json]

DATA holds <source>/<recording>.trace.jsonl with .questions.jsonl beside them, and ../check/score.py judges.
Of each source the recordings of middle size are replayed into memories of their own; every question is then answered by
the rules from the whole memory, from one with a part or a skill cut out or with fewer results of each search, and from
flat indexes: the same rules over what a flat index returns for the question (BM25 and dense ranks fused, one of the two
alone, k from 3 to 30).  The baseline is a flat caption index: k lines, each a caption, a sentence that was said or a text
that was read, with its time.  "flat windows" returns whole windows with all that is in them, events and things included:
no caption index, but the memory's own records found by likeness; where a recording has hardly more than k windows it
returns all of it and cannot but tie.
The exit status is 1 when the flat caption index is as good on some source, or costs less a question.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from edge.agent.answer import ask
from edge.clock import parse_time
from edge.config import Config
from edge.engines import Engines
from edge.errors import InputError
from edge.recorder import check_trace
from edge.replay import replay
from edge.retrieval import timephrase
from edge.retrieval.zone import Zone
from storage import EmbeddingSpace, Snapshot, Store
from storage.records import Item, ItemKind, SeenEntity
from storage.search import fuse

Embed: TypeAlias = Callable[[list[str]], NDArray[np.float32]]
Ranks: TypeAlias = Literal["both", "bm25", "dense"]
BASELINE = "flat caption index, k 20"
FEW = 20  # questions of a type; rarer types are pooled


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the table: what is cut out of the memory, or how the flat index reads it."""

    name: str
    without: str = ""  # a stratum, a kind of item, a skill, or "times"
    flat: int = 0  # lines or windows the flat index returns; 0 for the memory itself
    ranks: Ranks = "both"
    unit: Literal["lines", "windows"] = "lines"
    top: int = 0  # results of one search of the memory, at most; 0 all


VARIANTS = (
    Variant("whole memory"),
    Variant("without events", "event"),
    Variant("without captions", "caption"),
    Variant("without speech", "speech"),
    Variant("without texts in view", "text"),
    Variant("without things in view", "entities"),
    Variant("without moments (F)", "moments"),
    Variant("without episodes (E)", "episodes"),
    Variant("without patterns (P)", "patterns"),
    Variant("without views, graph and facts", "context"),
    Variant("without Perception Lookup (R)", "perception"),
    Variant("without Moment Recall, Episode Replay, Pattern Traversal", "strata"),
    Variant("without the time range", "times"),
    *(Variant(f"top-k {k} of each search", top=k) for k in (3, 10, 20, 30)),
    Variant(BASELINE, flat=20),
    Variant("flat caption index, BM25 only", flat=20, ranks="bm25"),
    Variant("flat caption index, dense only", flat=20, ranks="dense"),
    *(Variant(f"flat caption index, k {k}", flat=k) for k in (3, 10, 30)),
    *(Variant(f"flat windows, k {k}", flat=k, unit="windows") for k in (3, 10, 20, 30)),
)
STRATA = ("moments", "episodes", "patterns")
CONTEXT = ("views", "graph", "facts")
LINES: tuple[ItemKind, ...] = ("caption", "speech", "text")
SEARCHES = ("matching", "times_of", "newest")  # calls of a reader that give the best or the newest of many


class Cut:
    """A snapshot of which only some items and things are seen; for the rules it is a snapshot like any other."""

    def __init__(
        self,
        whole: Snapshot,
        without: str = "",
        windows: frozenset[int] | None = None,
        lines: frozenset[int] | None = None,
        top: int = 0,
    ) -> None:
        self._whole, self.without, self.windows, self.top = whole, without, windows, top
        self.items: frozenset[int] | None = lines
        self.flat = windows is not None or lines is not None
        self.eventless = lines is not None or without in ("event", "perception")
        self.thingless = lines is not None or without in ("entities", "perception")
        if windows is not None:
            found = [whole.trace.window(w) for w in sorted(windows)]
            self.items = frozenset(
                x.id for w in found for group in (w.captions, w.events, w.texts, w.speech) for x in group
            )
        self.trace, self.lookup = _Reader(whole.trace, self), _Reader(whole.lookup, self)

    def __getattr__(self, name: str) -> Any:
        if name in STRATA and (self.flat or self.without in (name, "strata")):
            return _Nothing()
        if name in CONTEXT and (self.flat or self.without == "context"):
            return _Nothing()
        return getattr(self._whole, name)

    def search(self, stratum: str, *args: Any, **kwargs: Any) -> list[Any]:
        """The search of the whole memory, without a stratum that is cut out."""
        gone = self.flat or self.without == f"{stratum}s" or (self.without == "strata" and f"{stratum}s" in STRATA)
        if gone or (self.without == "perception" and stratum in ("item", "window")):
            return []
        if self.top:
            kwargs["k"] = min(self.top, kwargs.get("k", self.top))
        return list(self._whole.search(stratum, *args, **kwargs))  # type: ignore[arg-type]

    def shows(self, row: Any) -> bool:
        """Is a row of a result part of what is left?"""
        if isinstance(row, Item):
            return self.without not in (row.kind, "perception") and (self.items is None or row.id in self.items)
        if isinstance(row, SeenEntity):
            return not self.thingless and (self.windows is None or row.window_id in self.windows)
        if isinstance(row, tuple) and len(row) == 3 and row[2] in ("event", "caption", "text", "speech"):
            return self.without not in (row[2], "perception") and (self.items is None or row[1] in self.items)
        return True


class _Reader:
    """A reader whose results are filtered; its vocabularies are those of what is left."""

    def __init__(self, whole: Any, cut: Cut) -> None:
        self._whole, self._cut = whole, cut

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._whole, name)
        cut = self._cut
        if name in ("actions", "objects") and cut.eventless:
            return lambda *_: []
        if name == "entity_names" and cut.thingless:
            return list
        if not callable(found):
            return found
        if cut.top and name in SEARCHES:
            return lambda *args, **kwargs: found(*args, **kwargs)[: cut.top]
        return lambda *args, **kwargs: self._left(found(*args, **kwargs))

    def _left(self, result: Any) -> Any:
        if isinstance(result, list):
            return [row for row in result if self._cut.shows(row)]
        if isinstance(result, dict):
            return {key: row for key, row in result.items() if self._cut.shows(row)}
        if isinstance(result, tuple) and all(isinstance(part, list) for part in result):
            return tuple(self._left(part) for part in result)
        return result


class _Nothing:
    """A stratum that is not there."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: {} if name == "many" else []


class Lines:
    """Every caption, sentence and text of a memory with its vector: what a flat caption index holds."""

    def __init__(self, store: Store, embed: Embed) -> None:
        with store.snapshot() as snapshot:
            items = snapshot.trace.items(LINES)
            ends = {w.id: w.t_end for w in snapshot.trace.windows()}
        texts = [f"{i.speaker}: {i.text}" if i.speaker else i.text for i in items]
        self.ids = np.array([i.id for i in items], dtype=np.int64)
        self.known = np.array([ends[i.window_id] for i in items], dtype=np.int64)
        rows = [embed(texts[at : at + 512]) for at in range(0, len(texts), 512)]
        self.vectors = np.concatenate(rows) if rows else np.zeros((0, 1), np.float32)
        self._held = frozenset(self.ids.tolist())

    def best(
        self, snapshot: Snapshot, question: str, vector: NDArray[np.float32] | None, k: int, *, words: bool
    ) -> frozenset[int]:
        """The k lines that fit a question best: both ranks read to five times k and fused, as in the memory's own search."""
        depth = 5 * k
        sparse: list[int] = []
        if words:
            sparse = [h.id for h in snapshot.search("item", question, None, k=3 * depth) if h.id in self._held][:depth]
        dense: list[int] = []
        if vector is not None and len(self.ids):
            scores = np.where(self.known <= snapshot.until, self.vectors @ vector, -np.inf)
            order = np.argsort(-scores, kind="stable")[:depth]
            dense = [int(self.ids[i]) for i in order if np.isfinite(scores[i])]
        return frozenset(h.id for h in fuse("item", sparse, dense, k))


def view_of(snapshot: Snapshot, variant: Variant, question: str, embed: Embed, lines: Lines | None = None) -> Snapshot:
    """The snapshot as a variant has it; a flat caption index needs its lines."""
    if variant.flat:
        vector = embed([question])[0] if variant.ranks != "bm25" else None
        if variant.unit == "lines":
            assert lines is not None
            kept = lines.best(snapshot, question, vector, variant.flat, words=variant.ranks != "dense")
            return cast("Snapshot", Cut(snapshot, lines=kept))
        text = question if variant.ranks != "dense" else ""
        hits = snapshot.search("window", text, vector, k=variant.flat)
        return cast("Snapshot", Cut(snapshot, windows=frozenset(h.id for h in hits)))
    if variant.without or variant.top:
        return cast("Snapshot", Cut(snapshot, variant.without, top=variant.top))
    return snapshot


def answered(
    store: Store, row: dict[str, Any], variant: Variant, embed: Embed, owner: str, lines: Lines
) -> tuple[dict[str, Any], float]:
    """The answer to one question as JSON, and its CPU time in milliseconds."""
    now, offset_s = parse_time(str(row["ask_time"]))
    question = str(row["question"])
    began = process_time()
    with store.snapshot(now) as snapshot:
        view = view_of(snapshot, variant, question, embed, lines)
        if variant.without == "times":
            question = timephrase.extract(question, Zone(now, offset_s)).rest or question
        try:
            found = ask(
                view, question, now=now, offset_s=offset_s, owner=owner, choices=row.get("choices"), embed=embed
            ).to_json()
        except InputError as error:
            found = {"answer": str(error), "value": None, "evidence": []}
    return found, 1000 * (process_time() - began)


def measured(
    data: Path, judge: ModuleType, recordings: int, questions: int
) -> dict[str, dict[str, tuple[float, float]]]:
    """Macro accuracy and mean milliseconds, by variant and source."""
    model = Engines(Config()).text_embedding()
    owners = _owners(data)
    right: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    cost: dict[tuple[str, str], list[float]] = defaultdict(list)
    for source, trace in _traces(data, recordings):
        rows = list(judge.rows(str(trace).replace(".trace.", ".questions.")))
        step = max(1, len(rows) // questions)
        with tempfile.TemporaryDirectory() as folder:
            space = EmbeddingSpace(model.id, model.dim)
            with Store.open(Path(folder) / "m.db", space=space) as store:
                checked = check_trace(trace)
                replay(trace, store, model.embed, Config(memory={"profile": checked.profile}), checked=checked)
                lines = Lines(store, model.embed)
                for row in rows[::step]:
                    for variant in VARIANTS:
                        found, ms = answered(
                            store, row, variant, model.embed, owners.get(trace.name.split(".")[0], ""), lines
                        )
                        right[variant.name, source][row["type"]].append(judge.right(row, found))
                        cost[variant.name, source].append(ms)
        print(f"{trace.name}: {len(rows[::step])} questions", file=sys.stderr)
    table: dict[str, dict[str, tuple[float, float]]] = defaultdict(dict)
    for (name, source), by_type in right.items():
        spent = cost[name, source]
        table[name][source] = (_macro(by_type), sum(spent) / len(spent))
    return table


def _macro(by_type: dict[str, list[float]]) -> float:
    """The mean over question types; types with few questions count as one."""
    few = [x for v in by_type.values() if len(v) < FEW for x in v]
    groups = [v for v in by_type.values() if len(v) >= FEW] + ([few] if few else [])
    return sum(sum(g) / len(g) for g in groups) / len(groups)


def _traces(data: Path, recordings: int) -> Iterator[tuple[str, Path]]:
    for folder in sorted(p for p in data.iterdir() if p.is_dir()):
        traces = sorted(folder.glob("*.trace.jsonl"), key=lambda p: p.stat().st_size)
        low = max(0, (len(traces) - recordings) // 2)
        for trace in traces[low : low + recordings]:
            yield folder.name, trace


def _owners(data: Path) -> dict[str, str]:
    """Wearers' names by recording, where a source gives them."""
    found: dict[str, str] = {}
    for path in data.glob("*/wearers.json"):
        found.update(json.loads(path.read_text(encoding="utf-8")))
    return found


def as_markdown(table: dict[str, dict[str, tuple[float, float]]]) -> str:
    """The table with a column a source: accuracy, and CPU milliseconds a question."""
    sources = sorted({s for row in table.values() for s in row})
    lines = [f"| variant | {' | '.join(sources)} | mean | ms |", f"|---|{'---:|' * (len(sources) + 2)}"]
    for name, row in table.items():
        scores = [row[s][0] for s in sources]
        ms = sum(row[s][1] for s in sources) / len(sources)
        lines.append(
            f"| {name} | {' | '.join(f'{x:.3f}' for x in scores)} | {sum(scores) / len(scores):.3f} | {ms:.1f} |"
        )
    return "\n".join(lines)


def flaws(table: dict[str, dict[str, tuple[float, float]]]) -> list[str]:
    """Where the flat index is as good as the memory, or cheaper."""
    whole, flat = table["whole memory"], table[BASELINE]
    wrong = [
        f"{s}: the flat caption index is as good ({flat[s][0]:.3f})" for s in sorted(whole) if flat[s][0] >= whole[s][0]
    ]
    ours, theirs = (sum(ms for _, ms in t.values()) / len(t) for t in (whole, flat))
    return wrong + (
        [f"the flat caption index is cheaper ({theirs:.1f} ms against {ours:.1f})"] if theirs <= ours else []
    )


def _judge(data: Path) -> ModuleType:
    path = data.parent / "check" / "score.py"
    spec = importlib.util.spec_from_file_location("score", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise SystemExit(
            f"There is no judge at {path}: give the folder with the recordings, beside which check/score.py lies."
        )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of sources with traces and questions")
    parser.add_argument("--recordings", type=int, default=2, help="of each source, those of middle size")
    parser.add_argument("--questions", type=int, default=40, help="of each recording, evenly spread")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    options = parser.parse_args()
    table = measured(options.data, _judge(options.data), options.recordings, options.questions)
    print(json.dumps(table) if options.json else as_markdown(table))
    wrong = flaws(table)
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
