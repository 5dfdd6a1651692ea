"""How good the proactive services are, beside a metronome, and what each part of the memory is worth to them: Markdown.

    python tools/eval_services.py DATA [--source cc4d adl hdepic holo] [--recordings 2] [--ablate] [--json]

DATA holds <source>/<recording>.trace.jsonl with .proactive.jsonl beside them, and ../check/score.py judges: services
count at the second at which they could first be spoken.  Each source is replayed as it is meant to be (window, procedures,
whose words are dropped, tolerance), at frequency high.  The metronome says as many services of each type, evenly spread over the
worn time.  With --ablate each recording is replayed once more for each part that is taken away; rules do not write
queries, so the query made of what is perceived is set against one made of the wording of the last episode where memory is asked.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast
from unittest.mock import patch

from edge.clock import US, iso
from edge.config import Config
from edge.engines import Engines
from edge.proactive import evaluate as evaluating
from edge.proactive import experts_c, experts_r, recall
from edge.proactive.habits import Habits
from edge.proactive.procedures import load
from edge.proactive.recall import Links
from edge.proactive.routines import Routines
from edge.proactive.screening import Proactive
from edge.recorder import read_trace
from edge.retrieval.words import content
from storage import EmbeddingSpace, Store


@dataclass(frozen=True, slots=True)
class Source:
    """How a source is replayed and judged: window in seconds, whose words are dropped, tolerance in seconds."""

    window_s: float | None
    tolerance_s: int
    procedures: str = ""
    drop: str = ""


SOURCES: dict[str, Source] = {
    "cc4d": Source(10, 25, procedures="recipes.json"),
    "adl": Source(None, 1800),
    "hdepic": Source(10, 60),
    "holo": Source(10, 10, drop="instructor"),
}


class _Empty:
    """A stratum that holds nothing: every list is empty, everything single is absent."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def __getattr__(self, name: str) -> Any:
        if name in ("last", "of_window"):
            return lambda *_, **__: None
        if name == "get":
            return self._whole.get
        return lambda *_, **__: []


class _Blind:
    """A snapshot without some strata."""

    def __init__(self, whole: Any, without: frozenset[str]) -> None:
        self._whole, self._without = whole, without

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._whole, name)
        return _Empty(value) if name in self._without else value

    def search(self, stratum: str, query: str, **more: Any) -> Any:
        return [] if f"{stratum}s" in self._without else self._whole.search(stratum, query, **more)


class _BlindStore:
    """A store whose readers do not see some strata."""

    def __init__(self, whole: Store, without: frozenset[str]) -> None:
        self._whole, self._without = whole, without

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    @contextmanager
    def snapshot(self, *until: int) -> Iterator[Any]:
        with self._whole.snapshot(*until) as whole:
            yield _Blind(whole, self._without)


def _nothing(*_: Any, **__: Any) -> list[Any]:
    return []


def _none(*_: Any, **__: Any) -> None:
    return None


def _by_episode(keys: Any, item: Any, start: int, end: int, snapshot: Any) -> Any:
    """The look for a thing put somewhere, asked with what was written of the last episode instead of what is seen."""
    last = max(snapshot.episodes.between(item.t - 86_400 * US, item.t), key=lambda e: e.t_end, default=None)
    hits = snapshot.search("item", last.subject if last else "", k=60, start=start, end=end)
    found = snapshot.trace.items_by_id([h.id for h in hits]).values()
    named = [i for i in found if i.kind in ("event", "caption") and set(keys) <= set(content(i.text))]
    return sorted(named, key=lambda i: (-i.t, -i.id))


Cut = tuple[Any, str, Callable[..., Any]]
VARIANTS: dict[str, tuple[frozenset[str], tuple[Cut, ...]]] = {
    "the whole": (frozenset(), ()),
    "without moments (F)": (frozenset({"moments"}), ()),
    "without episodes (E)": (frozenset({"episodes"}), ()),
    "without patterns (P)": (frozenset({"patterns"}), ()),
    "without open intentions": (frozenset({"intentions"}), ()),
    "without routine candidates": (frozenset(), ((Routines, "late", _nothing),)),
    "without recall candidates": (frozenset(), ((experts_c, "sought", _nothing),)),
    "without memory-link candidates": (frozenset(), ((Links, "met", _nothing),)),
    "without the wearer's state": (frozenset(), ((Habits, "coach", _nothing),)),
    "without own earlier errors": (frozenset(), ((experts_r.ProcedureExpert, "_went_wrong", _none),)),
    "without the procedure": (frozenset({"procedure"}), ()),
    "query of written words": (frozenset(), ((recall, "_about", _by_episode),)),
}


def main() -> int:
    """Print the tables; exit status 1 when a metronome is as good somewhere."""
    args = _arguments()
    judge = _judge(args.data.parent / "check" / "score.py")
    engines = Engines(Config())
    text = engines.text_embedding()
    rows = []
    for source in args.source:
        files = sorted((args.data / source).glob("*.trace.jsonl"), key=lambda f: f.stat().st_size)
        for trace in files[: args.recordings or None]:
            for name in VARIANTS if args.ablate else ["the whole"]:
                rows.append({"source": source, "variant": name, **_one(source, trace, name, text, judge)})
                print(f"{source} {trace.name} {name}", file=sys.stderr)
    engines.close()
    print(json.dumps(rows) if args.json else _markdown(rows))
    beaten = [r for r in rows if r["variant"] == "the whole" and r["services"] and r["macro_f1"] <= r["metronome_f1"]]
    return 1 if beaten else 0


def _one(source: str, trace: Path, variant: str, text: Any, judge: ModuleType) -> dict[str, Any]:
    how, (without, cuts) = SOURCES[source], VARIANTS[variant]
    config = Config()
    truth = trace.with_name(trace.name.replace(".trace.", ".proactive."))
    listed = load(trace.parent / how.procedures) if how.procedures and "procedure" not in without else None

    def blind(store: Store, *args: Any, **more: Any) -> Proactive:
        seen = cast("Store", _BlindStore(store, without)) if without else store
        return Proactive(seen, *args, **more)

    with ExitStack() as stack:
        for owner, name, instead in cuts:
            stack.enter_context(patch.object(owner, name, instead))
        stack.enter_context(patch.object(evaluating, "Proactive", blind))
        store = stack.enter_context(Store.open(None, space=EmbeddingSpace(text.id, text.dim)))
        found = evaluating.evaluate(
            trace, store, text.embed, config, window_s=how.window_s, procedures=listed, drop_speaker=how.drop,
            alerts=config.alerts.model_copy(update={"frequency": "high"}),
        )  # fmt: skip
    said = [r for r in found.rows if r["decision"] == "deliver"]
    told = _score(judge, truth, said, how, found.hours)
    beat = _score(judge, truth, _metronome(trace, Counter(r["type"] for r in said)), how, found.hours)
    return {
        "recording": trace.name.split(".")[0], "services": len(said), "macro_f1": told["macro_f1"],
        "false_per_hour": told["false_per_hour"], "by_type": {k: v["f1"] for k, v in told["by_type"].items() if v["truth"]},
        "metronome_f1": beat["macro_f1"], "metronome_false": beat["false_per_hour"],
    }  # fmt: skip


def _score(judge: ModuleType, truth: Path, rows: list[dict[str, Any]], how: Source, hours: float) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.write("".join(json.dumps(r) + "\n" for r in rows))
        file.flush()
        scored: dict[str, Any] = judge.services(str(truth), file.name, how.tolerance_s, hours)
    return scored


def _metronome(trace: Path, counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """As many services of each type, evenly spread over the worn time."""
    worn = [(w.t_start, w.t_end, w.offset_s) for w in read_trace(trace, 5.0)]
    total = sum(end - start for start, end, _ in worn)
    rows = []
    for kind, count in counts.items():
        for n in range(count):
            left = round((n + 0.5) * total / count)
            for start, end, offset_s in worn:
                if left < end - start:
                    rows.append({"t": iso(start + left, offset_s), "type": kind, "decision": "deliver"})
                    break
                left -= end - start
    return rows


def _markdown(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| source | recording | variant | services | macro-F1 | false/h | metronome F1 | by type |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        types = ", ".join(f"{k} {v:.2f}" for k, v in r["by_type"].items())
        lines.append(
            f"| {r['source']} | {r['recording']} | {r['variant']} | {r['services']} | {r['macro_f1']:.3f} | "
            f"{r['false_per_hour']:.2f} | {r['metronome_f1']:.3f} | {types} |"
        )
    for source in dict.fromkeys(r["source"] for r in rows):
        for variant in dict.fromkeys(r["variant"] for r in rows):
            of = [r for r in rows if r["source"] == source and r["variant"] == variant]
            if of:
                means = [sum(r[k] for r in of) / len(of) for k in ("macro_f1", "false_per_hour", "metronome_f1")]
                lines.append(
                    f"| {source} | mean of {len(of)} | {variant} | {sum(r['services'] for r in of)} | {means[0]:.3f} | {means[1]:.2f} | {means[2]:.3f} | |"
                )
    return "\n".join(lines)


def _judge(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("score", path)
    if spec is None or spec.loader is None or not path.exists():
        raise SystemExit(f"There is no judge at {path}: DATA must be the folder of open recordings.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--source", nargs="+", choices=list(SOURCES), default=list(SOURCES))
    parser.add_argument("--recordings", type=int, default=0, help="the smallest so many of each source; 0: all")
    parser.add_argument("--ablate", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
