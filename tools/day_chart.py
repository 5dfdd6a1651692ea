"""The picture of a day: bands, threads and marks of tools/plot_day.py, drawn with matplotlib."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta, timezone
from itertools import pairwise
from math import radians, sin
from pathlib import Path
from typing import Any

from edge.clock import US, local
from edge.memory.hours import told
from edge.memory.text import span
from storage.records import Episode, Pattern, Service, Us

GAPS = 0.3  # pauses together are at most so wide, against what was recorded
GAP = 0.03  # and one alone
LANES = 14  # threads of a day
SPOKEN = 6  # alerts whose sentence is told
WIDTH, LEFT, RIGHT = 16.0, 2.75, 1.95  # inches: of the picture, of the titles, of what is told of a pattern
PALETTE = ("#4269d0", "#efb118", "#ff725c", "#3ca951", "#a463f2", "#6cc5b0", "#9c6b4e", "#ff8ab7", "#2f7f8f", "#97bbf5",
           "#c2527d", "#8a9a3b", "#e08e45", "#5b5ea6")  # fmt: skip
GREY, NOTHING, INK, PALE = "#b9bec6", "#e9ebef", "#22262e", "#6b7280"
BAND, TURN = 0.38, 52  # height of a band in inches, slope of its words in degrees
KINDS = {"deliver": "spoken", "defer": "put off", "suppress": "kept back", "": "not decided yet"}
MARKS: dict[str, tuple[str, str, Any]] = {"deliver": ("^", "#c8102e", "full"), "defer": ("^", "#c8102e", "none"), "suppress": ("x", PALE, "full"),
         "": (".", PALE, "full")}  # fmt: skip


class PlotError(Exception):
    """What keeps a day from being drawn, with what to do about it."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A pattern with its episodes of the day, and whether it was there before and went on after it."""

    pattern: Pattern
    episodes: tuple[Episode, ...]
    before: bool
    after: bool


@dataclass(frozen=True, slots=True)
class Day:
    """What is drawn; `stretches` are when something was recorded, `alerts` go with the last decision about each."""

    day: date
    offset_s: int
    stretches: tuple[tuple[Us, Us], ...]
    episodes: tuple[Episode, ...]
    threads: tuple[Thread, ...]
    alerts: tuple[tuple[Service, str], ...]


class Axis:
    """From a time to a place on the paper: what was recorded to scale, pauses shortened."""

    def __init__(self, stretches: Sequence[tuple[Us, Us]]) -> None:
        recorded = sum(end - start for start, end in stretches)
        pauses = [b[0] - a[1] for a, b in pairwise(stretches)]
        most = min(GAP * recorded, GAPS * recorded / max(1, len(pauses)))
        self._runs: list[tuple[Us, Us, float]] = []  # start, end, where it starts
        self.gaps: list[tuple[float, float, Us]] = []  # from, to, how long it was
        at = 0.0
        for n, (start, end) in enumerate(stretches):
            if n:
                wide = min(pauses[n - 1], most)
                self.gaps.append((at, at + wide, pauses[n - 1]))
                at += wide
            self._runs.append((start, end, at))
            at += end - start
        self.end = at

    def __call__(self, t: Us) -> float:
        """The place of a time; one in a pause is where the pause begins."""
        place = 0.0
        for start, end, at in self._runs:
            if t < start:
                break
            place = at + min(t, end) - start
        return place

    def ticks(self, offset_s: int, most: int) -> list[tuple[float, str]]:
        """Round local times, not too close to one another."""
        steps = (1, 2, 5, 10, 15, 30, 60, 120, 180, 240)
        recorded = sum(end - start for start, end, _ in self._runs)
        step = next((s for s in steps if recorded / (s * 60 * US) <= most), steps[-1]) * 60 * US
        found: list[tuple[float, str]] = []
        for start, end, at in self._runs:
            first = -(-(start + offset_s * US) // step) * step - offset_s * US
            found += [(at + t - start, f"{local(t, offset_s):%H:%M}") for t in range(first, end + 1, step)]
            if first > end:
                found.append((at, f"{local(start, offset_s):%H:%M}"))
        kept: list[tuple[float, str]] = []
        for tick in found:
            if not kept or tick[0] - kept[-1][0] >= self.end / (1.3 * most):
                kept.append(tick)
        return kept


def spread(places: Sequence[float], room: float, low: float, high: float) -> list[float]:
    """Places in order, moved as little as need be so that each has room."""
    found: list[float] = []
    for place in places:
        found.append(max(place, low if not found else found[-1] + room))
    limit = high
    for n in range(len(found) - 1, -1, -1):
        found[n] = min(found[n], limit)
        limit = found[n] - room
    return found


def draw(day: Day, path: Path) -> None:
    """Draw a day into a PNG or SVG file.  Raises PlotError without matplotlib, and for another kind of file."""
    if path.suffix not in (".png", ".svg"):
        raise PlotError(f"{path} is neither .png nor .svg: give --out such a name.")
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise PlotError("Drawing needs matplotlib: pip install -e '.[dev]', or pip install matplotlib.") from error
    mpl.use("Agg")
    with (
        mpl.rc_context({"svg.hashsalt": "grove-edge", "svg.fonttype": "none", "font.size": 9, "hatch.linewidth": 0.5}),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings(
            "ignore", "Glyph .* missing", UserWarning
        )  # a script that the font lacks shows as boxes
        _Picture(day).save(path)


class _Picture:
    """The panels of one picture, top to bottom."""

    def __init__(self, day: Day) -> None:
        from matplotlib import pyplot as plt

        self._day, self._axis = day, Axis(day.stretches)
        held = [t for t in day.threads if len(t.episodes) > 1 or t.pattern.recurrence > 1]
        longest = sorted(held, key=lambda t: -sum(e.t_end - e.t_start for e in t.episodes))[:LANES]
        self._lanes = [t for t in day.threads if t in longest]
        self._colours = {t.pattern.id: PALETTE[n % len(PALETTE)] for n, t in enumerate(self._lanes)}
        self._of = {e.id: t.pattern.id for t in day.threads for e in t.episodes}
        self._kinds = list(dict.fromkeys(s.type for s, _ in day.alerts))
        self._spoken = [s for s, decision in day.alerts if decision == "deliver"][:SPOKEN]
        self._wide = WIDTH - LEFT - RIGHT
        self._labels = self._subjects()
        self._height = (
            BAND + 0.45 + 0.06 * max((len(words) for words, *_ in self._labels), default=0) * sin(radians(TURN))
        )
        heights = [self._height, max(0.9, 0.31 * len(self._lanes) + 0.3), 0.28 * len(self._kinds) + 0.1]
        heights = heights if self._kinds else heights[:2]
        below = 0.75 + 0.2 * len(self._spoken) + 0.1 * bool(self._spoken)
        tall = 0.8 + sum(heights) + 0.08 * len(heights) + below
        self._figure: Any = plt.figure(figsize=(WIDTH, tall), facecolor="white")
        self._tall = tall
        panels = self._figure.add_gridspec(
            len(heights), 1, height_ratios=heights, hspace=0.05, left=LEFT / WIDTH, right=1 - RIGHT / WIDTH,
            top=1 - 0.8 / tall, bottom=below / tall,
        )  # fmt: skip
        self._panels = [self._figure.add_subplot(panels[n]) for n in range(len(heights))]

    def save(self, path: Path) -> None:
        """Draw everything and write the file."""
        from matplotlib import pyplot as plt

        for panel in self._panels:
            self._ground(panel)
        self._bands(self._panels[0])
        self._threads(self._panels[1])
        if self._kinds:
            self._alerts(self._panels[2])
        ticks = self._axis.ticks(self._day.offset_s, 16)
        self._panels[-1].set_xticks([x for x, _ in ticks], [label for _, label in ticks], color=INK)
        self._panels[-1].tick_params(axis="x", length=3, color=PALE, bottom=True)
        self._words()
        self._figure.savefig(path, dpi=140, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(self._figure)

    def _ground(self, panel: Any) -> None:
        panel.set_xlim(0, self._axis.end)
        panel.set_xticks([])
        panel.set_yticks([])
        for side in ("top", "right", "left", "bottom"):
            panel.spines[side].set_visible(False)
        for low, high, _ in self._axis.gaps:
            top = (BAND + 0.06) / self._height if panel is self._panels[0] else 1
            panel.axvspan(
                low, high, ymax=top, facecolor="#f4f5f7", edgecolor="#c9ced6", hatch="////", linewidth=0, zorder=0
            )

    def _bands(self, panel: Any) -> None:
        """Episodes with their subjects; a line leads from each, or from a run of like ones, to its words.  Its y is inches."""
        panel.set_ylim(0, self._height)
        for e in self._day.episodes:
            left, right = self._axis(e.t_start), self._axis(e.t_end)
            colour = self._colours.get(self._of[e.id], GREY) if e.id in self._of else NOTHING
            wide = max(right - left, self._axis.end * 0.0015)
            panel.bar(left, BAND, wide, 0.03, align="edge", color=colour, edgecolor="white", linewidth=0.6, zorder=3)
        for low, high, long in self._axis.gaps:
            if long >= 600 * US and (high - low) / self._axis.end * self._wide > 0.14:
                told = (
                    f"{long // (3600 * US)}:{long // (60 * US) % 60:02d} h"
                    if long >= 3600 * US
                    else f"{long // (60 * US)} min"
                )
                panel.text(
                    (low + high) / 2, 0.03 + BAND / 2, told, rotation=90, ha="center", va="center", fontsize=6, color=PALE,
                    zorder=4,
                )  # fmt: skip
        for words, place, centre, pattern in self._labels:
            colour = self._colours.get(pattern, PALE)
            bend = [BAND + 0.06, BAND + 0.1, BAND + 0.24, BAND + 0.28]
            panel.plot([centre, centre, place, place], bend, color=colour, linewidth=0.8, zorder=2)
            panel.text(
                place, BAND + 0.31, words, rotation=TURN, rotation_mode="anchor", ha="left", va="center", fontsize=7.5,
                color=INK, parse_math=False,
            )  # fmt: skip

    def _subjects(self) -> list[tuple[str, float, float, int]]:
        """(words, where they stand, where they belong, pattern) of the episodes that a pattern holds, longest first served.

        Episodes of one subject and pattern that follow on one another share their words.
        """
        runs: list[list[Episode]] = []
        for e in self._day.episodes:
            near = runs[-1][-1] if runs else None
            if near is not None and (near.subject, self._of.get(near.id)) == (e.subject, self._of.get(e.id)):
                runs[-1].append(e)
            else:
                runs.append([e])
        told = [run for run in runs if run[0].id in self._of]
        room = self._axis.end * 0.17 / self._wide
        told = sorted(told, key=lambda run: run[0].t_start - run[-1].t_end)[: int(self._axis.end / room)]
        told.sort(key=lambda run: (run[0].t_start, run[0].id))
        centres = [(self._axis(run[0].t_start) + self._axis(run[-1].t_end)) / 2 for run in told]
        return [
            (
                _cut(run[0].subject, 40) + (f" \u00d7{len(run)}" if len(run) > 1 else ""),
                place,
                centre,
                self._of[run[0].id],
            )
            for run, place, centre in zip(told, spread(centres, room, 0, self._axis.end), centres, strict=True)
        ]

    def _threads(self, panel: Any) -> None:
        """A line through the episodes of each pattern."""
        panel.set_ylim(len(self._lanes) - 0.4, -0.7)
        beside = panel.get_yaxis_transform()
        for y, thread in enumerate(self._lanes):
            pattern, colour = thread.pattern, self._colours[thread.pattern.id]
            spans = [(self._axis(e.t_start), self._axis(e.t_end)) for e in thread.episodes]
            panel.plot([spans[0][0], spans[-1][1]], [y, y], color=colour, linewidth=1.6, zorder=2)
            for there, ends in ((thread.before, (0, spans[0][0])), (thread.after, (spans[-1][1], self._axis.end))):
                if there:
                    panel.plot(ends, [y, y], color=colour, linewidth=1, linestyle=(0, (1, 2.5)), zorder=1)
            for low, high in spans:
                wide = max(high - low, self._axis.end * 0.003)
                panel.bar(
                    low, 0.5, wide, y - 0.25, align="edge", color=colour, edgecolor="white", linewidth=0.5, zorder=3
                )
            panel.text(
                -0.008, y, _cut(pattern.title, 40), transform=beside, ha="right", va="center", fontsize=8,
                color=INK, parse_math=False,
            )  # fmt: skip
            panel.text(1.008, y, _habit(pattern), transform=beside, ha="left", va="center", fontsize=7.5, color=PALE)
        rest = len(self._day.threads) - len(self._lanes)
        if rest:
            what = "more" if self._lanes else "of one episode each"
            panel.text(
                -0.008, len(self._lanes) - 0.55, f"{rest} {what}, in grey", transform=beside, ha="right", va="center",
                fontsize=7, color=PALE, style="italic",
            )  # fmt: skip

    def _alerts(self, panel: Any) -> None:
        """A row for each kind of alert."""
        panel.set_ylim(len(self._kinds) - 0.4, -0.6)
        for y, kind in enumerate(self._kinds):
            panel.axhline(y, color="#e3e6ea", linewidth=0.8, zorder=1)
            panel.text(
                -0.008, y, kind.replace("_", " "), transform=panel.get_yaxis_transform(), ha="right", va="center", fontsize=8,
                color="#a10d25",
            )  # fmt: skip
        for service, decision in self._day.alerts:
            mark, colour, fill = MARKS[decision]
            panel.plot(
                self._axis(service.t), self._kinds.index(service.type), mark, color=colour, fillstyle=fill, markersize=7,
                markeredgewidth=1.2, zorder=4, clip_on=False,
            )  # fmt: skip

    def _words(self) -> None:
        """The heading, the legend, and what was spoken."""
        day, text = self._day, self._figure.text
        text(LEFT / WIDTH, 1 - 0.32 / self._tall, f"{day.day:%A} {day.day.day} {day.day:%B %Y}", fontsize=15, weight="bold", color=INK)  # fmt: skip
        recorded = sum(end - start for start, end in day.stretches)
        known = sum(t.before for t in day.threads)
        spoken = sum(d == "deliver" for _, d in day.alerts)
        told = [
            f"{span(0, recorded)} recorded in {_number(len(day.stretches), 'stretch', 'es')}",
            _number(len(day.episodes), "episode"),
            f"{_number(len(day.threads), 'pattern')}, {known} known from before",
            f"{_number(len(day.alerts), 'alert')}, {spoken} spoken" if day.alerts else "no alerts",
            str(timezone(timedelta(seconds=day.offset_s))),
        ]
        text(LEFT / WIDTH, 1 - 0.57 / self._tall, "  \u00b7  ".join(told), fontsize=9.5, color=PALE)
        for n, service in enumerate(self._spoken):
            said = (
                f"{local(service.t, day.offset_s):%H:%M}  {service.type.replace('_', ' ')}: \u201c{service.text}\u201d"
            )
            at = (0.42 + 0.2 * (len(self._spoken) - n - 1)) / self._tall
            text(LEFT / WIDTH, at, _cut(said, 190), fontsize=8, color=INK, parse_math=False)
        self._legend()

    def _legend(self) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        shown: list[Any] = [
            Patch(facecolor=PALETTE[0], label="episode of a pattern that recurs"),
            Line2D([], [], color=INK, linewidth=1.6, label="pattern"),
            Line2D([], [], color=INK, linewidth=1, linestyle=(0, (1, 2.5)), label="from or to another day"),
        ]
        if len(self._lanes) < len(self._day.threads):
            shown.append(Patch(facecolor=GREY, label="of another pattern"))
        if any(e.id not in self._of for e in self._day.episodes):
            shown.append(Patch(facecolor=NOTHING, label="of none"))
        if self._axis.gaps:
            shown.append(Patch(facecolor="#f4f5f7", edgecolor="#c9ced6", hatch="////", label="not recorded"))
        for decision in dict.fromkeys(d for _, d in self._day.alerts):
            mark, colour, fill = MARKS[decision]
            label = f"alert {KINDS[decision]}"
            shown.append(Line2D([], [], linestyle="", marker=mark, color=colour, fillstyle=fill, label=label))
        self._figure.legend(
            handles=shown, loc="lower left", ncols=len(shown), frameon=False, fontsize=8, handlelength=1.6,
            bbox_to_anchor=(LEFT / WIDTH - 0.008, 0.06 / self._tall), labelcolor=INK, columnspacing=1.4,
        )  # fmt: skip


def _habit(pattern: Pattern) -> str:
    """How often and when, in few words."""
    often = f"{pattern.recurrence}\u00d7 on {_number(pattern.days, 'day')}"
    if pattern.kind != "routine" or pattern.typical_minute is None:
        return often
    return f"{often}, about {told(pattern.typical_minute)}"


def _cut(text: str, most: int) -> str:
    """A text of at most so many characters, cut between words."""
    if len(text) <= most:
        return text
    return text[:most].rpartition(" ")[0].rstrip(" ,;:.(") + "\u2026"


def _number(count: int, what: str, many: str = "s") -> str:
    return f"{count} {what if count == 1 else what + many}"
