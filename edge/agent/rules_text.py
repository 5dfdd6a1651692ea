"""What a written text said: signs by what they say, by what was in view and said around them; clocks by their time."""

from __future__ import annotations

import re
from dataclasses import replace

from edge.agent import boards
from edge.agent.boards import Board, Frame
from edge.agent.draft import Draft, proof
from edge.agent.phrases import spoken_time
from edge.agent.question import Query
from edge.agent.rules_speech import known_speaker, said_what
from edge.agent.view import View
from edge.retrieval import kinds, sights, words
from edge.retrieval.zone import Us

_CLOCKS = frozenset(words.key(w) for w in "clock watch time timer stopwatch counter date timestamp".split())
_PERSONS = frozenset(words.key(w) for w in "person man woman lady boy girl guy voice people they".split())
_SCREENS = frozenset(words.key(w) for w in "screen display monitor television tv".split())
# Words that say that something is written, not what.
_WRITING = frozenset(
    words.key(w)
    for w in """note sign poster label text notice letter page paper message board sticker menu card screen display monitor
    say read show written write printed print tell state stand recording session video start beginning end first last
    time clock""".split()
)
AROUND_US = 60_000_000
SHARED, IN_VIEW, SPOKEN = 3.0, 1.5, 0.7


def text(view: View, q: Query) -> Draft | None:
    """What a written text said: by its own words, by what the thing asked for was near, and when."""
    asked = words.thing(q.clause.thing)
    view.calls += 1
    if asked and (asked[-1] in _PERSONS or known_speaker(view, q.clause.thing)):
        return said_what(view, _of_speaker(q))
    if not asked or not view.snap.lookup.newest(("text",), limit=1):
        return None
    low, high = _stretch(view, q)
    topic = [w for w in words.tokens(words.same_phrases(_topic(q))) if w not in words.STOPWORDS]
    topic = [w for w in dict.fromkeys(topic) if words.key(w) not in _WRITING]
    point = next((s for s in q.spans if s.kind == "point"), None)
    if point is not None:
        low, high = point.start - AROUND_US // 2, point.end + AROUND_US // 2
    frames = boards.read(view, low, high, topic if point is None else ())
    if not frames:
        return Draft("text", None, "I don't know: I saw no text then.", confidence=0.4)
    early, near = _early(q), None if point is None else point.start
    if asked[-1] in _CLOCKS and (found := _clock(view, frames, low, early=early, near=near)):
        return found
    graded = [(_grade(view, b, topic, asked), b) for b in boards.boards(frames)]
    if not graded:
        return _clock(view, frames, low, early=early, near=near)

    def order(g: tuple[float, Board]) -> tuple[float, float]:
        if near is not None:
            return g[0], -min(abs(f.t - near) for f in g[1].frames)
        return g[0], float(-g[1].frames[0].t if early else g[1].frames[-1].t)

    ranked = sorted(graded, key=order, reverse=True)
    grade, best = ranked[0]
    shown = max(
        best.frames,
        key=lambda f: (len(set(f.lines) & set(best.lines)), _in_view(view, f, topic), -f.t if early else f.t),
    )
    unsure = bool(topic) and grade <= 0 and near is None
    start = "I read nothing that I know to be that. The nearest text said" if unsure else "It said"
    said = f'{start} "{best.text}", {spoken_time(view, shown.t)}.'
    if not topic and point is None and not early:
        others = [b.text for _, b in ranked[1:3] if any(boards.wordy(x) for x in b.lines)]
        said += f" Other texts: {'; '.join(others)}." if others else ""
    rest = sorted((f for f in best.frames if f is not shown), key=lambda f: (-_purity(f, best), -f.t))
    evidence = proof(f.item for f in _one_each_window([shown, *rest]))
    return Draft("text", best.text, said, evidence, 0.4 if unsure else 0.85 if grade > 0 else 0.6)


def _of_speaker(q: Query) -> Query:
    return replace(q, speaker=q.clause.thing, clauses=())


def _topic(q: Query) -> str:
    """The question without what it asks for and its times."""
    text = q.text
    for span in q.spans:
        text = text.replace(span.text, " ")
    return text


def _early(q: Query) -> bool:
    body = q.text.lower()
    return bool(re.search(r"\b(?:start\w*|beg[aiu]n\w*|first)\b", body)) and not re.search(
        r"\b(?:end|stop\w*|last|finish\w*)\b", body
    )


def _stretch(view: View, q: Query) -> tuple[Us | None, Us | None]:
    """The time asked about; "the recording" is the last one."""
    scope = view.scope(q)
    if scope.named or not re.search(r"\b(?:recording|session|video|clip)\b", q.text, re.IGNORECASE):
        return scope.start, scope.end
    last = view.snap.trace.last()
    if last is None:
        return None, None
    run = view.snap.lookup.stretches(last.t_end - 86_400_000_000, None)[-1]
    return run.t_start, run.t_end + 1


def _clock(view: View, frames: list[Frame], low: Us | None, *, early: bool, near: Us | None) -> Draft | None:
    """The clock-like lines of one frame, the date before the time: the first frame, the one nearest to a time, or the last."""
    if early and low is not None:
        frames = boards.read(view, low, low + 10 * AROUND_US) or frames
    shapes = boards.running(frames)
    told = [(f, lines) for f in frames if (lines := boards.clocks_of(f, shapes))]
    if not told:
        return None
    if near is not None:
        frame, lines = min(told, key=lambda x: abs(x[0].t - near))
    else:
        frame, lines = told[0] if early else told[-1]
    value = ", ".join(re.sub(r",(?=\d{4}$)", ", ", _bare(line)) for line in lines)
    return Draft("text", value, f'It said "{value}", {spoken_time(view, frame.t)}.', proof([frame.item]), 0.85)


def _bare(line: str) -> str:
    """A clock's line without what the reader made of the marks beside it."""
    return re.sub(r"^[^\w]+|[^\w]+$", "", line)


def _grade(view: View, board: Board, topic: list[str], asked: tuple[str, ...]) -> float:
    """How well a board is the one asked about: words shared, things in view with it, words said around it."""
    grade = 0.0 if any(boards.wordy(x) for x in board.lines) else -2.0
    if asked[-1] in _SCREENS and any(_in_view(view, f, ["screen"]) for f in board.frames[-3:]):
        grade += IN_VIEW
    keys = {words.key(w) for w in topic}
    if not keys:
        return grade
    grade += SHARED * len(keys & set(words.content(board.text))) / len(keys)
    shown = sum(1 for f in board.frames if _in_view(view, f, topic))
    grade += IN_VIEW * (0.5 + 0.5 * shown / len(board.frames)) if shown else 0.0
    return grade + SPOKEN * _spoken(view, board, keys)


def _in_view(view: View, frame: Frame, topic: list[str]) -> bool:
    """Was a thing of the topic in the same picture (or in its window, where no caption tells)?"""
    names = [e.name for e in view.things_in(frame.item)]
    wanted = [n for n in names if any(kinds.grade(w, n) >= 2 for w in topic)]
    return any(not frame.shows or sights.shows(frame.shows, n) for n in wanted)


def _spoken(view: View, board: Board, keys: set[str]) -> float:
    """The share of the topic's words that was said within a minute of a board's first and last frame."""
    heard: set[str] = set()
    for frame in {board.frames[0], board.frames[-1]}:
        for item in view.snap.trace.items(("speech",), frame.t - AROUND_US, frame.t + AROUND_US):
            heard |= set(words.content(item.text))
    return len(keys & heard) / len(keys)


def _purity(frame: Frame, board: Board) -> float:
    """How much of what was read in a frame is the board: a frame near to it shows little else."""
    signs = [x for x in frame.lines if not boards.clock_like(x)]
    return round(sum(x in board.lines for x in signs) / len(signs), 1) if signs else 0.0


def _one_each_window(frames: list[Frame]) -> list[Frame]:
    found: dict[int, Frame] = {}
    for frame in frames:
        found.setdefault(frame.item.window_id, frame)
    return list(found.values())[:8]
