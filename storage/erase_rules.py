"""How the rows of every table follow from what is forgotten.

FOLLOWS names each table that holds anything perceived or derived, with the condition on its row `x` under which the row
goes; EXEMPT names the others, with the reason.  A test finds no third kind.

The conditions speak of temporary tables that storage.erase fills:
    erased_window(id, whole)     windows that lose something; whole: nothing of them is left
    erased_episode(id, whole)    episodes that lose something; whole: no window of theirs is left
    erased_pattern(id, known)    patterns whose versions known at or after that time go
    erased_span(t_start, t_end)  times that are forgotten, microseconds, half open
    erased_ref(ref, whole)       "w3", "e4", "m7", "k2", "i1", "f6": what loses something, and whether it goes whole
    erased_row(tab, key)         single rows, by table and key
The order is that of the rules: a later one may ask whether an earlier table still has the row it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass

WHOLE = "(SELECT id FROM erased_window WHERE whole)"
_TOUCHED = "(SELECT id FROM erased_window)"
_ROWS = "(SELECT key FROM erased_row WHERE tab = '{}')"
_IN_SPAN = "EXISTS (SELECT 1 FROM erased_span g WHERE x.t >= g.t_start AND x.t < g.t_end)"


def cites(column: str, *, whole: bool = False) -> str:
    """The condition that a column of references, one a line, names something erased, or something gone whole."""
    refs = f"""json_each('["' || replace({column}, char(10), '","') || '"]')"""
    return f"EXISTS (SELECT 1 FROM {refs} j JOIN erased_ref g ON g.ref = j.value{' AND g.whole' if whole else ''})"


def _of_pattern(column: str) -> str:
    refs = f"""json_each('["' || replace({column}, char(10), '","') || '"]')"""
    return f"EXISTS (SELECT 1 FROM {refs} j JOIN erased_pattern g ON j.value = 'p' || g.id AND x.known >= g.known)"


def _last(column: str) -> str:
    refs = f"""json_extract('["' || replace({column}, char(10), '","') || '"]', '$[#-1]')"""
    return f"{refs} IN (SELECT ref FROM erased_ref)"


def _orphan(parent: str, column: str, key: str = "id") -> str:
    return f"NOT EXISTS (SELECT 1 FROM {parent} o WHERE o.{key} = x.{column})"


@dataclass(frozen=True, slots=True)
class Follows:
    """How the rows of a table follow: they go under `where`; `texts` are its columns of words, `key` what names a row.

    `own` marks what the owner has set, which stays when everything else goes.
    """

    table: str
    where: str
    texts: tuple[str, ...] = ()
    key: str = "x.id"
    own: bool = False


FOLLOWS: tuple[Follows, ...] = (
    Follows("window", f"x.id IN {WHOLE}", ("description", "scene")),
    Follows("item", f"x.window_id IN {WHOLE}", ("text", "subject", "action", "object", "speaker")),
    Follows("entity", f"x.window_id IN {WHOLE}", ("name", "attributes", "location")),
    Follows("keyframe", f"x.window_id IN {WHOLE}"),
    Follows("gap", f"x.window_id IN {WHOLE}", ("reason",)),
    Follows("pruned", f"x.window_id IN {WHOLE}", key="x.window_id"),
    Follows(
        "episode",
        "x.id IN (SELECT id FROM erased_episode WHERE whole)",
        ("subject", "summary", "keywords", "description", "place"),
    ),
    Follows("moment", "x.episode_id IN (SELECT id FROM erased_episode)", ("text", "keywords", "place")),
    Follows(
        "pattern_version",
        "EXISTS (SELECT 1 FROM erased_pattern g WHERE g.id = x.pattern_id AND x.known >= g.known)",
        ("title", "summary", "keywords"),
    ),
    Follows(
        "edge",
        f"{_orphan('episode', 'episode_id')} "
        "OR EXISTS (SELECT 1 FROM erased_pattern g WHERE g.id = x.pattern_id AND x.known >= g.known)",
        key="x.pattern_id || ' ' || x.episode_id || ' ' || x.known",
    ),
    Follows("pattern", "NOT EXISTS (SELECT 1 FROM pattern_version o WHERE o.pattern_id = x.id)"),
    Follows("intention", f"x.window_id IN {WHOLE}", ("who", "quote", "what", "due")),
    # A state rests on the reference it was made with, the last one; the first is the statement itself.
    Follows(
        "intention_version",
        f"{_orphan('intention', 'intention_id')} OR (x.version > 1 AND {_last('x.evidence')})",
        ("evidence",),
    ),
    Follows("service", f"{_IN_SPAN} OR {cites('x.evidence')} OR {_of_pattern('x.evidence')}", ("text", "key")),
    Follows("decision", _orphan("service", "service_id"), ("reason",)),
    Follows("feedback", _orphan("service", "service_id"), ("how",)),
    Follows(
        "view",
        "EXISTS (SELECT 1 FROM erased_window g WHERE g.id BETWEEN x.first_window AND x.last_window)",
        ("text", "visual", "objects", "actions", "topics", "speakers", "names"),
    ),
    Follows(
        "correction",
        f"{_IN_SPAN} OR x.window_id IN {WHOLE} OR {cites('x.ref', whole=True)}",
        ("text", "subject", "action", "object"),
    ),
    Follows("correction_version", _orphan("correction", "correction_id")),
    Follows(
        "correction_effect",
        f"{_orphan('correction', 'correction_id')} OR {cites('x.ref', whole=True)}",
        ("old", "new"),
        key="x.correction_id || ' ' || x.ref || ' ' || x.kind || ' ' || x.old",
    ),
    Follows(
        "relation",
        f"x.window_id IN {_TOUCHED} OR x.episode_id IN (SELECT id FROM erased_episode) "
        f"OR x.source IN {_ROWS.format('node')} OR x.target IN {_ROWS.format('node')}",
        ("label",),
    ),
    Follows("alias", f"x.window_id IN {_TOUCHED} OR x.node_id IN {_ROWS.format('node')}", ("name",)),
    Follows(
        "node",
        "NOT EXISTS (SELECT 1 FROM relation o WHERE o.source = x.id) "
        "AND NOT EXISTS (SELECT 1 FROM relation o WHERE o.target = x.id) "
        "AND NOT EXISTS (SELECT 1 FROM alias o WHERE o.node_id = x.id)",
        ("name",),
    ),
    Follows(
        "fact_support",
        f"x.window_id IN {WHOLE} OR {_IN_SPAN} OR x.episode_id IN (SELECT id FROM erased_episode WHERE whole) "
        "OR x.ref IN (SELECT ref FROM erased_ref WHERE whole) "
        f"OR (x.correction_id IS NOT NULL AND {_orphan('correction', 'correction_id')}) "
        f"OR x.fact_id IN {_ROWS.format('fact')}",
        ("quote",),
        key="x.fact_id || ' ' || x.ref",
    ),
    Follows(
        "fact",
        "NOT EXISTS (SELECT 1 FROM fact_support o WHERE o.fact_id = x.id)",
        ("subject", "relation", "object", "text", "key"),
    ),
    Follows(
        "fact_version", f"{_orphan('fact', 'fact_id')} OR 'f' || x.fact_id IN (SELECT ref FROM erased_ref)", ("reason",)
    ),
    Follows("standing", f"{_IN_SPAN.replace('x.t ', 'x.known ')}", ("text", "what", "trigger")),
    Follows("standing_event", f"{_orphan('standing', 'standing_id')} OR {cites('x.evidence')}", ("evidence",)),
    Follows("keyframe_look", _orphan("keyframe", "keyframe_id"), key="x.keyframe_id"),
    Follows("keyframe_tier", _orphan("keyframe", "keyframe_id"), key="x.keyframe_id"),
    Follows("pin", cites("x.ref", whole=True), key="x.ref"),
    Follows("wish", "0", ("target", "value"), own=True),  # quiet hours, snoozes: they go when they name what goes
    Follows("recording", "NOT EXISTS (SELECT 1 FROM window o WHERE o.recording_id = x.id)"),
)


@dataclass(frozen=True, slots=True)
class Exempt:
    """A table that erasure leaves alone, and why; `all_goes`: forgetting everything empties it too."""

    why: str
    all_goes: bool = False


EXEMPT: dict[str, Exempt] = {
    "meta": Exempt("which embedding the vectors are of"),
    "migration": Exempt("which steps the schema has seen"),
    "erasure": Exempt("the erasures themselves: when, what kind, how many rows; what was asked for is emptied"),
    "cursor": Exempt("how far a stage has come: the id of a window, set back when that window is gone", all_goes=True),
    "health_event": Exempt("what broke and when: parts of the machine, nothing perceived", all_goes=True),
    "power_event": Exempt("battery and heat of the machine", all_goes=True),
    "recorded_file": Exempt("paths of the recordings that an erasure has to rewrite", all_goes=True),
    "search_state": Exempt("how far the search index has come"),
    "segment": Exempt("a stretch of the search index: a trigger takes it away with any row it covers"),
    "segment_column": Exempt("goes with its segment, by trigger"),
    "posting": Exempt("goes with its segment, by trigger"),
    "procedure": Exempt("names of the step lists the owner has loaded"),
    "procedure_version": Exempt("the step lists themselves, from files of the owner's"),
}
