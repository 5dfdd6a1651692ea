"""What a memory loses in each power mode: a recorded day as that mode would have perceived it, grown and asked.

A mode samples fewer frames, looks at some of them, reads some, may not hear, and without the vision model names only
what the detector knows.  The day is thinned to that and replayed; questions are answered by rules from what is left.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from edge.agent.asking import Asker
from edge.clock import US, SystemClock, parse_time
from edge.config import Config
from edge.engines import Engines
from edge.memory.growth import Growth
from edge.perception.vlm import ALMOST_ONE
from edge.power import MODES, TIERS, Mode
from edge.recorder import check_trace, read_trace
from edge.retrieval.words import content
from models.backends.nanodet import COCO
from storage import EmbeddingSpace, Store
from storage.records import Caption, Event, Window

SEEN = frozenset(word for name in COCO for word in content(name))


@dataclass(slots=True)
class Kept:
    """What a mode kept of a day: how many facts there were and are, and questions asked and answered right."""

    acts: int = 0
    things: int = 0
    texts: int = 0
    words: int = 0
    asked: int = 0
    right: int = 0

    def add(self, other: Kept) -> None:
        """Take in another recording."""
        for name in ("acts", "things", "texts", "words", "asked", "right"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


def thinned(window: Window, mode: Mode, interval_s: float, *, describe: bool | None = None) -> Window:
    """A window as a mode would have perceived it.  `describe` overrides whether the vision model works."""
    row = MODES[mode]
    tier = TIERS[row.tier]
    vlm = row.vlm > 0 if describe is None else describe
    step = round(interval_s * row.interval * US)
    times = [t for t in range(window.t_start, window.t_end, step)][: tier.frames]
    reach = round(interval_s * US) // 2  # a frame tells of what goes on around it
    seen = [c for c in window.captions if _near(c.t, times, reach)]
    acts = [e for e in window.events if _near(e.t, times, reach)]
    read = [x for x in window.texts if _near(x.t, times[: tier.texts], reach)]
    if not vlm:
        seen = [Caption(c.t, text) for c in seen if (text := _named(c.text))]
        acts = [Event(e.t, e.subject, "hand near", e.object) for e in acts if set(content(e.object)) & SEEN]
    words = set(content(" ".join([*(c.text for c in seen), *(f"{e.action} {e.object}" for e in acts)])))
    things = tuple(e for e in window.entities if set(content(e.name)) & (words if vlm else words & SEEN))
    return replace(
        window,
        captions=tuple(seen),
        events=tuple(acts),
        texts=tuple(read),
        speech=window.speech if row.asr != "off" else (),
        entities=things,
        description="; ".join(dict.fromkeys(c.text for c in seen)),
        frames=max(1, len(times)),
    )


def replayed(trace: Path, questions: Path | None, mode: Mode, *, describe: bool | None = None) -> Kept:
    """Grow one recording as a mode would have seen it, count what is in it, and ask."""
    checked = check_trace(trace)
    config = Config(memory={"profile": checked.profile})  # type: ignore[arg-type]
    interval_s = config.memory.growth(config.memory.profile).frame_interval_s
    engines = Engines(config)
    model = engines.text_embedding()
    found = Kept()
    with Store.open(None, space=EmbeddingSpace(model.id, model.dim)) as store:
        growth = Growth(store, model.embed, config.memory, config.owner.name)
        due, share = 1.0, MODES[mode].vlm if describe is None else float(describe)
        for whole in read_trace(trace, interval_s):
            due = min(1.0, due + share)  # as the runtime spreads the windows that it has described
            described, due = due >= ALMOST_ONE, 0.0 if due >= ALMOST_ONE else due
            window = thinned(whole, mode, interval_s, describe=share > 0 and described)
            growth.idle(window.t_start)
            growth.step(window)
            found.acts += len({(e.action, e.object) for e in window.events})
            found.things += len({e.name for e in window.entities})
            found.texts += len({x.text for x in window.texts})
            found.words += sum(len(s.text.split()) for s in window.speech)
        growth.end()
        if questions is not None:
            asker = Asker(config, mono=SystemClock().mono, embed=model.embed)
            for row in map(json.loads, questions.read_text(encoding="utf-8").splitlines()):
                now, offset_s = parse_time(row["ask_time"])
                with store.snapshot(now) as snapshot:
                    said = asker.ask(
                        snapshot, row["question"], now=now, offset_s=offset_s, choices=row.get("choices"), policy="rules",
                        conversation=row["id"],
                    ).to_json()  # fmt: skip
                found.asked += 1
                found.right += _right(row, said.get("value"))
    engines.close()
    return found


def _near(t: int, times: Iterable[int], reach: int) -> bool:
    return any(abs(t - at) <= reach for at in times)


def _named(text: str) -> str:
    """What the detector could have named of a sentence, in its order."""
    return ", ".join(dict.fromkeys(w for w in content(text) if w in SEEN))


def _right(row: dict[str, Any], value: Any) -> bool:
    """Whether a value is the truth: times within the row's tolerance, counts and words as they are."""
    truth, kind = row["answer"], row["answer_kind"]
    if kind == "unanswerable":
        return value in (None, "", "not known", "unknown")
    if value is None:
        return False
    if kind == "time" and "never" not in (truth, value):
        try:
            apart = abs((datetime.fromisoformat(str(value)) - datetime.fromisoformat(truth)).total_seconds())
        except ValueError:
            return False
        return apart <= (row.get("tolerance_s") or 30)
    if isinstance(truth, int | float) and not isinstance(truth, bool):
        return isinstance(value, int | float) and float(value) == float(truth)
    return _plain(value) == _plain(truth)


def _plain(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, list) else str(value).strip().lower()
