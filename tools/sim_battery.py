"""Hours of wear in each power mode, from a table of component powers, and what each mode costs the memory.

    python tools/sim_battery.py [--png hours.png] [--recall TRACE.jsonl [TRACE.jsonl ...]] [--json]

A modelled day of wear (tools/energy_model.py) is run through every mode kept all day, and through the product's own
choice of modes as the battery falls (edge.power.step).  Every figure of the table is also taken 30 % lower and higher,
one by one and all in the worst direction.  --recall replays recorded days as each mode would have perceived them and
tells which share of acts, things, texts and words is kept, and how many of the questions beside a trace
(NAME.questions.jsonl) rules still answer.  The exit status is 1 when balanced lasts less than 1.6 times as long as
performance, or saver less than 3 times, with the figures as they stand.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import itertools

from edge.clock import US
from edge.power import Mode, PowerState, Reading, step
from tools.energy_model import COMPONENTS, DAY, PACK_WH, USABLE, WATTS, draw, hours, mean_watts
from tools.mode_recall import Kept, replayed

KEPT: tuple[Mode, ...] = ("performance", "balanced", "saver", "cool-down", "critical")
WANTED = {"balanced": 1.6, "saver": 3.0}
MARGIN = 0.3
STEP_S = 60


def ratios(watts: Mapping[str, float] = WATTS) -> dict[str, float]:
    """How much longer a mode lasts than performance."""
    base = hours("performance", watts)
    return {mode: hours(mode, watts) / base for mode in KEPT}


def sensitivity() -> list[dict[str, Any]]:
    """The ratios with each component 30 % lower and higher, and with all in the direction that is worst for saving."""
    rows = []
    for c in COMPONENTS:
        for factor in (1 - MARGIN, 1 + MARGIN):
            found = ratios({**WATTS, c.name: c.watts * factor})
            rows.append({"component": c.name, "factor": factor, **{m: round(found[m], 2) for m in WANTED}})
    worst = {c.name: c.watts * (1 - MARGIN if c.name == "vision model" else 1 + MARGIN) for c in COMPONENTS}
    best = {c.name: c.watts * (1 + MARGIN if c.name == "vision model" else 1 - MARGIN) for c in COMPONENTS}
    for name, watts in (("all, worst", worst), ("all, best", best)):
        rows.append(
            {"component": name, "factor": None, **{m: round(v, 2) for m, v in ratios(watts).items() if m in WANTED}}
        )
    return rows


def discharge(choice: Mode | None, *, chosen_at_all: bool = True) -> list[tuple[float, float, Mode]]:
    """(hours, percent, mode) from full to empty with the product's own choice of modes; a choice yields to a low battery.

    `chosen_at_all` false keeps the mode whatever the battery says.
    """
    state, left, out, n = PowerState(), PACK_WH * USABLE, [], 0
    while left > 0 and n < 60 * 100:
        percent = 100 * left / (PACK_WH * USABLE)
        state = step(state, Reading(battery=percent, charging=False, choice=choice), n * STEP_S * US)
        mode: Mode = state.mode if chosen_at_all or choice is None else choice
        out.append((n * STEP_S / 3600, percent, mode))
        left -= sum(draw(mode, DAY[n * STEP_S // 3600 % len(DAY)]).values()) * STEP_S / 3600
        n += 1
    return out


def plot(path: Path) -> None:
    """Bars of hours by mode with their range, and the curve of a day in which the device chooses."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (bars, curve) = plt.subplots(1, 2, figsize=(12, 4.6))
    low = {c.name: c.watts * (1 + MARGIN) for c in COMPONENTS}
    high = {c.name: c.watts * (1 - MARGIN) for c in COMPONENTS}
    values = [hours(m) for m in KEPT]
    error = [
        [v - hours(m, low) for m, v in zip(KEPT, values, strict=True)],
        [hours(m, high) - v for m, v in zip(KEPT, values, strict=True)],
    ]
    bars.bar(KEPT, values, yerr=error, capsize=4, color=["#b5443a", "#3a6fb5", "#4b9a5f", "#c48a2c", "#777777"])
    for n, v in enumerate(values):
        bars.text(n + 0.06, v + 0.15, f"{v:.1f} h", ha="left", fontsize=9)
    bars.set_ylabel("hours of wear on one charge")
    bars.set_title(f"A mode kept all day ({PACK_WH:.0f} Wh pack, every figure \u00b130 %)", fontsize=10)
    for choice, kept, label, style in (
        ("performance", True, "performance kept", "--"), (None, False, "chosen by the battery", "-"), ("saver", True, "saver kept", ":"),
    ):  # fmt: skip
        points = discharge(choice, chosen_at_all=not kept)  # type: ignore[arg-type]
        curve.plot([h for h, _, _ in points], [p for _, p, _ in points], style, label=label)
    chosen = discharge(None)
    for (_, _, before), (h, p, mode) in itertools.pairwise(chosen):
        if before != mode:
            curve.annotate(mode, (h, p), textcoords="offset points", xytext=(6, 6), fontsize=8)
            curve.plot([h], [p], "o", color="black", markersize=3)
    curve.set_xlabel("hours since putting them on")
    curve.set_ylabel("battery, percent")
    curve.set_ylim(0, 102)
    curve.legend(fontsize=8)
    curve.set_title("The modelled day until the battery is empty", fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def recall(traces: list[Path]) -> dict[str, dict[str, float]]:
    """By mode: shares of what performance keeps, and of the questions that are answered right."""
    found: dict[str, Kept] = {}
    cases: list[tuple[str, Mode, bool | None]] = [(m, m, None) for m in KEPT]
    cases.insert(2, ("saver, described", "saver", True))  # what the frame interval alone costs
    for label, mode, describe in cases:
        found[label] = Kept()
        for trace in traces:
            questions = trace.with_name(trace.name.replace(".trace.jsonl", ".questions.jsonl"))
            given = questions if questions != trace and questions.exists() else None
            found[label].add(replayed(trace, given, mode, describe=describe))
    full = found["performance"]
    return {
        label: {
            name: round(getattr(kept, name) / getattr(full, name), 3) if getattr(full, name) else 1.0
            for name in ("acts", "things", "texts", "words")
        } | {"questions": kept.asked, "right": round(kept.right / kept.asked, 3) if kept.asked else 0.0}
        for label, kept in found.items()
    }  # fmt: skip


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--png", type=Path, help="where the plot goes (needs matplotlib)")
    parser.add_argument("--recall", type=Path, nargs="*", default=[], help="traces of recorded days")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    day = DAY[0]
    told: dict[str, Any] = {
        "components": {c.name: {"watts": c.watts, "source": c.source} for c in COMPONENTS},
        "modes": {
            m: {
                "watts": round(mean_watts(m), 2), "hours": round(hours(m), 1), "times_performance": round(ratios()[m], 2),
                "first_hour": {k: round(v, 3) for k, v in draw(m, day).items()},
            }
            for m in KEPT
        },
        "sensitivity": sensitivity(),
        "chosen_by_the_battery_h": round(discharge(None)[-1][0], 1),
    }  # fmt: skip
    if options.recall:
        told["recall"] = recall(options.recall)
    if options.png is not None:
        plot(options.png)
    if options.json:
        print(json.dumps(told))
    else:
        _print(told)
    return 0 if all(ratios()[m] >= least for m, least in WANTED.items()) else 1


def _print(told: dict[str, Any]) -> None:
    for name, c in told["components"].items():
        print(f"{name:18}{c['watts']:>6.3f} W  {c['source']}")
    print(f"\n{'mode':14}{'watts':>7}{'hours':>7}{'times performance':>20}")
    for mode, m in told["modes"].items():
        print(f"{mode:14}{m['watts']:>7.2f}{m['hours']:>7.1f}{m['times_performance']:>20.2f}")
    print(f"chosen by the battery: {told['chosen_by_the_battery_h']} h\n")
    print(f"{'30 % less or more of':24}{'balanced':>10}{'saver':>8}   (times performance)")
    for row in told["sensitivity"]:
        factor = "" if row["factor"] is None else f" x{row['factor']:.1f}"
        print(f"{row['component'] + factor:24}{row['balanced']:>10.2f}{row['saver']:>8.2f}")
    for label, r in told.get("recall", {}).items():
        kept = ", ".join(f"{name} {r[name]:.0%}" for name in ("acts", "things", "texts", "words"))
        print(f"{label:18} keeps {kept}; {r['right']:.1%} of {r['questions']} questions right")


if __name__ == "__main__":
    sys.exit(main())
