"""A job in hand for which no procedure is loaded: what can be said of its next step from what was seen alone.

Two things can: a step was done and another is being made ready, so that one is next; and what was opened, taken off or
taken apart in a job that is not about taking apart wants its counterpart.  Nothing is guessed beyond that.  Only a
wearer who wants to hear everything (frequency high) is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from edge.clock import US
from edge.proactive.alerts import speak
from edge.proactive.experts import HANDS_ON, Screening, items_of, service
from edge.proactive.following import PAUSE_US
from edge.retrieval.words import content
from storage.records import Item, Service
from storage.snapshot import Snapshot

GAP_US = 20 * US  # words about what is next keep at least so far apart
AGAIN_US = 3600 * US  # the same next step is not named twice within so long
FRESH_US = 600 * US  # a step counts as just done for so long
HOLD_US = 20 * US  # a word that had to wait is still about the step at hand for so long

_BEGINS = re.compile(r"^(?:starts?|begins?|works? on)(?: the)? (?:task|recipe|job|activity|project)$", re.IGNORECASE)
_DOES = re.compile(r"^(?:does|do|performs?|follows?) (?:the )?step$", re.IGNORECASE)
_READIES = re.compile(
    r"^(?:prepar(?:e|es|ing)|get(?:s|ting)? ready) (?:for|to)(?: the)?(?: step| next step)?$", re.IGNORECASE
)
_APART = re.compile(r"\b(?:disassembl|dismantl|take apart|unpack|uninstall|strip|tear)", re.IGNORECASE)
_LEAD = re.compile(r"^(?:the )?(?:camera )?(?:wearer|person|he/she|he|she|i|they) ", re.IGNORECASE)
# What undoes something, and how its counterpart is put.
_UNDOES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"^(?:{verbs}) (?P<thing>.+)$", re.IGNORECASE), told)
    for verbs, told in (
        (r"dett?ach(?:e?s|ed)?", "attach {thing} again"),
        (r"disassembles?|disassembled|takes? apart", "put {thing} together again"),
        (r"opens?|opened", "close {thing}"),
        (r"unlocks?|unlocked", "lock {thing}"),
        (r"unscrews?|unscrewed|loosens?|loosened", "tighten {thing} again"),
        (r"unplugs?|unplugged", "plug {thing} in again"),
        (r"empties|empty|emptied|ejects?|ejected|withdraws?|removes?|removed|takes? (?:out|off)", "put {thing} back"),
    )
)
_TAIL = re.compile(r"\s+(?:from|out of|off|using|with|by|to|into|in|on|and|every)\b.*$", re.IGNORECASE)


@dataclass(slots=True)
class _Job:
    """The job under way: since when, whether it is about taking apart, what is done and was told of it."""

    t: int
    apart: bool
    last: int
    done: set[str] = field(default_factory=set)
    step: tuple[int, str] = (0, "")
    told: dict[str, int] = field(default_factory=dict)
    spoke: int = 0


class UnlistedExpert:
    """Asks for next_step_guidance in a job that was announced.  What it keeps is read back when it does not fit."""

    name = HANDS_ON
    types: tuple[str, ...] = ("next_step_guidance",)

    def __init__(self, wearer: frozenset[str], eager: Callable[[], bool], listed: Callable[[], bool]) -> None:
        """`eager`: whether the wearer wants to hear everything; `listed`: whether a loaded procedure is under way."""
        self._wearer, self._eager, self._listed = wearer, eager, listed
        self._last: tuple[str, int] = ("", 0)
        self._job: _Job | None = None

    def screen(self, unit: Screening, snapshot: Snapshot) -> list[Service]:
        """At most one word about what is next."""
        window = unit.window
        if window is None or not self._eager():
            return []
        before = (unit.recording, unit.previous.id if unit.previous is not None else 0)
        if self._last != before:
            self._job = None
            for earlier in snapshot.trace.windows(window.t_start - PAUSE_US, window.t_start):
                if earlier.recording == unit.recording and earlier.id != window.id:
                    self._feed(items_of(earlier))
        found = self._feed(items_of(window))
        self._last = (unit.recording, window.id)
        if self._listed() or not found:
            return []
        item, step = found[-1]
        refs = (f"o{item.id}", f"w{window.id}")
        key = f"next:{'_'.join(content(step))}@{item.t // US}"
        return [
            service("next_step_guidance", item.t, speak("next_step_guidance", step=step), refs, key, unit, self.name)
        ]

    def holds(self, service: Service, unit: Screening, snapshot: Snapshot) -> bool:
        """Whether the step is still ahead."""
        del snapshot
        return unit.known - service.t < HOLD_US

    def _feed(self, items: Sequence[Item]) -> list[tuple[Item, str]]:
        """What is next after each item that tells it."""
        found: list[tuple[Item, str]] = []
        for item in items:
            job = self._job
            if job is not None and item.t - job.last > PAUSE_US:
                self._job = job = None
            if item.kind == "event" and item.subject.lower() in self._wearer and _BEGINS.match(item.action):
                if job is None or item.action.lower().startswith(("start", "begin")):
                    self._job = job = _Job(item.t, bool(_APART.search(item.object)), item.t)
                else:
                    job.last = item.t
                continue
            if job is None or item.kind == "speech":
                continue
            job.last = item.t
            step = self._next(job, item)
            known = job.told.get(step, -AGAIN_US)
            if step and item.t - job.spoke >= GAP_US and item.t - known >= AGAIN_US:
                job.told[step] = job.spoke = item.t
                found.append((item, step))
        return found

    def _next(self, job: _Job, item: Item) -> str:
        if item.kind == "event":
            return self._made_ready(job, item) if item.subject.lower() in self._wearer else ""
        words = _LEAD.sub("", item.text.strip().rstrip("."))
        if job.apart or words == item.text.strip().rstrip("."):
            return ""  # who does it is not said
        for pattern, told in _UNDOES:
            undone = pattern.match(words)
            if undone is not None:
                thing = _TAIL.sub("", undone["thing"]).strip()
                return told.format(thing=thing) if content(thing) else ""
        return ""

    def _made_ready(self, job: _Job, item: Item) -> str:
        step = item.object.strip().rstrip(".")
        if _DOES.match(item.action):
            job.done.add(step)
            job.step = (item.t, step)
            return ""
        fresh = job.step[1] and item.t - job.step[0] < FRESH_US
        if not fresh or not _READIES.match(item.action) or step == job.step[1] or step in job.done:
            return ""
        job.step = (0, "")
        return step[:1].lower() + step[1:]
