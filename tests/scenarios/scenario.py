"""Scenario files: a small script of life in, the alerts it must and must not lead to out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from edge.clock import US, ReplayClock, parse_time
from edge.config import Alerts, Memory
from edge.memory.growth import Growth
from edge.messages import Message, ServiceDecided
from edge.proactive.procedures import make
from edge.proactive.screening import Proactive
from models.backends.fake import HashEmbedding
from storage import Store
from storage.records import Caption, Decision, Event, Service, Utterance, Window

FOLDER = Path(__file__).parent
PROCEDURES: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / "procedures" / "kitchen_and_shed.yaml").read_text())
KEYS = {"name", "start", "window_s", "script", "expect", "forbid", "at_most", "alerts", "owner", "procedures"}


@dataclass(frozen=True)
class Told:
    """One delivered alert, in seconds from the start: what triggered it and when it could be said."""

    type: str
    trigger_s: float
    said_s: float
    text: str


def load() -> list[dict[str, Any]]:
    """Every scenario of the folder, with the file it stands in."""
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        for scenario in yaml.safe_load(path.read_text()):
            assert not set(scenario) - KEYS, f"{path.name}: {set(scenario) - KEYS}"
            found.append({"file": path.stem, **scenario})
    return found


def seconds(clock: str) -> float:
    """ "1:02:03" or "2:03" as seconds."""
    total = 0.0
    for part in clock.split(":"):
        total = total * 60 + float(part)
    return total


def windows(scenario: dict[str, Any]) -> list[Window]:
    """The script as perceived windows without a gap, until one window after its last line."""
    begin = scenario["start"]
    t0, offset = parse_time(begin.isoformat() if isinstance(begin, datetime) else begin)
    length = float(scenario.get("window_s", 30))
    dated: list[tuple[float, str, Any]] = []
    for line in scenario["script"]:
        at = seconds(line["at"])
        (kind, value), *rest = [(k, v) for k, v in line.items() if k != "at"]
        assert not rest, f"one thing a line: {line}"
        if kind == "busy":
            until, every, *acts = value
            steps = int((seconds(until) - at) // every) + 1
            dated += [(at + n * every, "do", acts[n % len(acts)]) for n in range(steps)]
        else:
            dated.append((at, kind, value))
    dated.sort(key=lambda d: d[0])
    gaps = [(at, seconds(value)) for at, kind, value in dated if kind == "gap"]
    made, scene = [], ""
    for n in range(int(max(d[0] for d in dated) // length) + 2):
        start, end = n * length, (n + 1) * length
        if any(a < end and start < z for a, z in gaps):
            continue
        here = [d for d in dated if start <= d[0] < end]
        places = [value for _, kind, value in here if kind == "place"]
        scene = places[-1] if places else scene
        made.append(_window(t0, offset, start, end, scene, [d for d in here if d[1] not in ("place", "gap")]))
    return made


def _window(t0: int, offset: int, start: float, end: float, scene: str, dated: list[tuple[float, str, Any]]) -> Window:
    captions, events, speech = [], [], []
    for at, kind, value in dated:
        t = t0 + round(at * US)
        if kind == "say":
            speech.append(Utterance(t, value[0], value[1]))
        elif kind == "see":
            captions.append(Caption(t, value))
        else:
            who, act = ("wearer", value) if kind == "do" else value
            action, thing = (part.strip() for part in act.split("|"))
            events.append(Event(t, who, action, thing))
            captions.append(Caption(t, f"{'' if who == 'wearer' else who + ' '}{action} {thing}"))
    return Window(
        recording="scenario",
        t_start=t0 + round(start * US),
        t_end=t0 + round(end * US),
        offset_s=offset,
        captions=tuple(captions),
        description="; ".join(c.text for c in captions),
        events=tuple(events),
        speech=tuple(speech),
        scene=scene,
        frames=round((end - start) / 5),
    )


def run(scenario: dict[str, Any], store: Store | None = None) -> list[tuple[Service, Decision]]:
    """Replay a scenario through the real memory, experts and arbiter; every decision in order."""
    store = store or Store.open(None)
    growth = Growth(store, HashEmbedding().embed, Memory(), scenario.get("owner", ""))
    clock = ReplayClock()
    alerts = Alerts.model_validate(scenario.get("alerts", {}))
    procedures = {
        name: make(name, given["steps"], given.get("before"))
        for name, given in PROCEDURES.items()
        if name in scenario.get("procedures", ())
    }
    proactive = Proactive(store, alerts, clock, scenario.get("owner", ""), procedures=procedures)
    out: list[Message] = []
    for window in windows(scenario):
        out += proactive.step(growth.idle(window.t_start))
        messages = growth.step(window)
        clock.set(window.t_end, window.offset_s)
        out += proactive.step(messages)
    out += proactive.step(growth.end())
    return [(m.service, m.decision) for m in out if isinstance(m, ServiceDecided)]


def told(scenario: dict[str, Any]) -> list[Told]:
    """What a scenario delivers."""
    begin = scenario["start"]
    t0, _ = parse_time(begin.isoformat() if isinstance(begin, datetime) else begin)
    return [Told(s.type, (s.t - t0) / US, (d.t - t0) / US, s.text) for s, d in run(scenario) if d.decision == "deliver"]


def faults(scenario: dict[str, Any], delivered: list[Told]) -> list[str]:
    """What is wrong with what was delivered; empty when all is well."""
    wrong = []
    for want in scenario.get("expect", []):
        low, high = seconds(want["from"]), seconds(want["to"])
        fits = [
            x for x in delivered
            if x.type == want["type"] and low <= x.trigger_s <= high and want.get("says", "").lower() in x.text.lower()
        ]  # fmt: skip
        if not fits:
            wrong.append(f"expected {want}, got {delivered}")
    for kind in scenario.get("forbid", []):
        wrong += [f"forbidden: {x}" for x in delivered if x.type == kind]
    for kind, most in scenario.get("at_most", {}).items():
        found = [x for x in delivered if x.type == kind]
        if len(found) > most:
            wrong.append(f"more than {most}: {found}")
    return wrong
