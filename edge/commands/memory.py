"""Commands that print the memory: timeline, episodes, moments, patterns, intentions, alerts, why, export."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from edge.commands.common import (
    AtOption,
    DbOption,
    FromOption,
    JsonOption,
    ToOption,
    at,
    clock_told,
    emit,
    moment,
    reading,
    reference,
    say,
)
from storage import Snapshot
from storage.records import Decision, Episode, Service

NOTHING = "Nothing there. (Is the range right, and is this the memory you mean? See --db.)"


def timeline(
    db: DbOption = None,
    start: FromOption = None,
    end: ToOption = None,
    when: AtOption = None,
    as_json: JsonOption = False,
) -> None:
    """The day in order: episodes, what was said that should happen, alerts, gaps, and what is still going on."""
    with reading(db, when) as snapshot:
        rows = [*_episode_rows(snapshot, moment(start, snapshot), moment(end, snapshot))]
        rows += _open_rows(snapshot)
        low, high = _range(snapshot, start, end)
        rows += [r for r in _intention_rows(snapshot) if low <= r["_t"] < high]
        rows += [r for r in _alert_rows(snapshot) if low <= r["_t"] < high and r["decision"] == "deliver"]
        for gap in snapshot.trace.gaps():
            if gap.t_end > low and gap.t_start < high:
                offset = _offset(snapshot)
                rows.append(
                    {
                        "_t": gap.t_start,
                        "kind": "gap",
                        "id": f"g{gap.id}",
                        "t_start": at(gap.t_start, offset),
                        "t_end": at(gap.t_end, offset),
                        "text": gap.reason,
                    }
                )
    rows.sort(key=lambda r: r["_t"])
    for row in rows:
        moment_ = row["t_start"] if "t_start" in row else row["t"]
        row["time"] = clock_told(moment_)
        row["what"] = row.get("subject") or row.get("what") or row.get("text", "")
    emit(_clean(rows), as_json, ("time", "kind", "id", "what"), NOTHING)


def episodes(
    db: DbOption = None,
    start: FromOption = None,
    end: ToOption = None,
    when: AtOption = None,
    as_json: JsonOption = False,
) -> None:
    """Closed episodes: coherent activities with what happened in them."""
    with reading(db, when) as snapshot:
        rows = _episode_rows(snapshot, moment(start, snapshot), moment(end, snapshot))
    for row in rows:
        row["time"] = clock_told(row["t_start"]) + "-" + row["t_end"][11:19]
    emit(_clean(rows), as_json, ("id", "time", "subject", "summary"), NOTHING)


def moments(
    db: DbOption = None,
    start: FromOption = None,
    end: ToOption = None,
    when: AtOption = None,
    as_json: JsonOption = False,
) -> None:
    """Moments: single dated statements with their role and weight."""
    with reading(db, when) as snapshot:
        rows = [
            {
                "id": f"m{m.id}",
                "episode": f"e{m.episode_id}",
                "window": f"w{m.window_id}",
                "t": at(m.t, m.offset_s),
                "text": m.text,
                "keywords": list(m.keywords),
                "role": m.role,
                "weight": m.weight,
                "category": m.category,
                "place": m.place,
            }
            for m in snapshot.moments.between(moment(start, snapshot), moment(end, snapshot))
        ]
    for row in rows:
        row["time"] = clock_told(str(row["t"]))
    emit(_clean(rows), as_json, ("id", "time", "episode", "role", "weight", "text"), NOTHING)


def patterns(
    db: DbOption = None,
    start: FromOption = None,
    end: ToOption = None,
    when: AtOption = None,
    as_json: JsonOption = False,
) -> None:
    """Patterns: what recurs or resumes across episodes, with how often and when."""
    from edge.memory.hours import told
    from edge.memory.usual import usual

    with reading(db, when) as snapshot:
        low, high = _range(snapshot, start, end)
        found = snapshot.patterns.all()
        members = {p.id: snapshot.patterns.newest(p.id, p.recurrence) for p in found}
        edges = {p.id: snapshot.patterns.edges(p.id) for p in found}
    ways = usual(members)
    titles = {p.id: p.title for p in found}
    rows: list[dict[str, Any]] = [
        {
            "id": f"p{p.id}",
            "kind": p.kind,
            "title": p.title,
            "summary": p.summary,
            "keywords": list(p.keywords),
            "coherence": p.coherence,
            "recurrence": p.recurrence,
            "days": p.days,
            "frequency_per_day": p.frequency,
            "typical_time": None if p.typical_minute is None else told(p.typical_minute),
            "typical_times": [told(m) for m in way.hours.times] if way.hours else [],
            "spread_min": p.spread_min,
            "typical_duration_min": way.minutes,
            "weekdays": dict(way.weekdays),
            "usually_after": titles.get(way.before),
            "usually_before": titles.get(way.after),
            "version": p.version,
            "made_by": p.made_by,
            "episodes": [{"id": f"e{e.episode_id}", "role": e.role, "weight": e.weight} for e in edges[p.id]],
        }
        for p, way in ((p, ways[p.id]) for p in found)
        if any(m.t_end > low and m.t_start < high for m in members[p.id])
    ]
    if not as_json:
        for row in rows:
            row["seen"] = f"{row['recurrence']}x, {row['days']} day{'s' if row['days'] > 1 else ''}"
            row["when"] = ways[int(row["id"][1:])].when
            row["title"] += f" (after: {row['usually_after']})" if row["usually_after"] else ""
    emit(rows, as_json, ("id", "kind", "seen", "when", "title", "summary"), NOTHING)


def intentions(
    db: DbOption = None,
    start: FromOption = None,
    end: ToOption = None,
    when: AtOption = None,
    as_json: JsonOption = False,
) -> None:
    """What was said that should happen, and whether it has."""
    with reading(db, when) as snapshot:
        low, high = _range(snapshot, start, end)
        rows = [r for r in _intention_rows(snapshot) if low <= r["_t"] < high]
    for row in rows:
        row["time"] = clock_told(row["t"])
    emit(_clean(rows), as_json, ("id", "time", "state", "sort", "what", "due", "quote"), NOTHING)


def alerts(
    db: DbOption = None,
    start: FromOption = None,
    end: ToOption = None,
    when: AtOption = None,
    as_json: JsonOption = False,
) -> None:
    """What the experts asked to say, what was said, and why the rest was not."""
    with reading(db, when) as snapshot:
        low, high = _range(snapshot, start, end)
        rows = [r for r in _alert_rows(snapshot) if low <= r["_t"] < high]
    for row in rows:
        row["time"] = clock_told(row["t"])
    emit(_clean(rows), as_json, ("id", "time", "type", "decision", "text", "reason"), NOTHING)


def why(
    ref: Annotated[str, typer.Argument(metavar="ID", help="The alert's id, as in a3.")],
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Why an alert was said or not: the expert, the evidence, the arbiter's reason."""
    from edge.proactive.why import why as explain

    with reading(db) as snapshot:
        found = explain(snapshot, reference(ref, "a"))
        say(found.to_json(), as_json, found.lines())


def _range(snapshot: Snapshot, start: str | None, end: str | None) -> tuple[int, int]:
    low, high = moment(start, snapshot), moment(end, snapshot)
    return -(2**62) if low is None else low, 2**62 if high is None else high


def _episode_rows(snapshot: Snapshot, start: int | None, end: int | None) -> list[dict[str, Any]]:
    return [_episode_row(e) for e in snapshot.episodes.between(start, end)]


def _episode_row(e: Episode) -> dict[str, Any]:
    return {
        "_t": e.t_start,
        "kind": "episode",
        "id": f"e{e.id}",
        "recording": e.recording,
        "t_start": at(e.t_start, e.offset_s),
        "t_end": at(e.t_end, e.offset_s),
        "subject": e.subject,
        "summary": e.summary,
        "keywords": list(e.keywords),
        "description": e.description,
        "place": e.place,
        "windows": [f"w{e.first_window}", f"w{e.last_window}"],
        "cut": e.cut,
        "made_by": e.made_by,
    }


def _open_rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The activity still going on, told from its windows."""
    from edge.memory.episodes import write

    rows = []
    for recording in snapshot.trace.recordings()[-1:]:
        windows = snapshot.open_unit(recording).windows
        if windows:
            first, last = windows[0], windows[-1]
            rows.append(
                {
                    "_t": first.t_start,
                    "kind": "open",
                    "id": f"w{first.id}",
                    "t_start": at(first.t_start, first.offset_s),
                    "t_end": at(last.t_end, last.offset_s),
                    "subject": f"{write(windows).subject} (going on)",
                }
            )
    return rows


def _intention_rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    from edge.memory.intentions import sort_of, waits_for

    return [
        {
            "_t": i.t,
            "kind": "intention",
            "id": f"i{i.id}",
            "t": at(i.t, i.offset_s),
            "who": i.who,
            "sort": sort_of(i),
            "what": i.what,
            "due": i.due,
            "waits_for": waits_for(i),
            "state": i.state,
            "quote": i.quote,
            "evidence": list(i.evidence),
        }
        for i in snapshot.intentions.all()
    ]


def _alert_rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    decided: dict[int, Decision] = {d.service_id: d for d in snapshot.services.decisions()}
    return [_alert_row(s, decided.get(s.id)) for s in snapshot.services.between()]


def _alert_row(s: Service, decision: Decision | None) -> dict[str, Any]:
    return {
        "_t": s.t,
        "kind": "alert",
        "id": f"a{s.id}",
        "t": at(s.t, s.offset_s),
        "type": s.type,
        "text": s.text,
        "t_delivered": at(decision.t, s.offset_s) if decision and decision.decision == "deliver" else None,
        "decision": decision.decision if decision else "pending",
        "reason": decision.reason if decision else "",
        "evidence": list(s.evidence),
        "expert": s.expert,
        "made_by": s.made_by,
    }


def _clean(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if not k.startswith("_")} for row in rows]


def _offset(snapshot: Snapshot) -> int:
    last = snapshot.trace.last()
    return 0 if last is None else last.offset_s
