"""What is searched, as a table: where a stratum's texts and vectors are, and by which times a row is known and found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from storage.records import ItemKind

Stratum: TypeAlias = Literal["item", "window", "moment", "episode", "pattern", "view", "fact", "correction"]


@dataclass(frozen=True, slots=True)
class Ground:
    """How a stratum is indexed.  Expressions are over its owner `o` and what `joins` adds.

    `number` tells the strata apart in the tables of the index and never changes; `texts` are the columns whose words
    count; `typical` is the usual length of a text in characters; `known`, `start` and `end` are times in microseconds
    (a row is inside [s, e) when end >= s and start < e); `chain` is equal for the versions of one thing, of which only
    the newest visible one is found; `tag` is a small number that rows are told apart by; `near` holds the coarse vectors beside the vec0 table `vec`.
    """

    number: int
    owner: str
    texts: tuple[str, ...]
    typical: int
    known: str
    start: str
    end: str
    near: str | None
    vec: str | None
    joins: str = ""
    chain: str = ""
    tag: str = ""

    def columns(self) -> str:
        """The SELECT list of what a segment is made from: id, known, start, end, chain, text, its measured length, tag."""
        text, measured = (f" || {glue}".join(f"o.{c}" for c in self.texts) for glue in ("char(10) || ", ""))
        return f"o.id, {self.known}, {self.start}, {self.end}, {self.chain or '0'}, {text}, length({measured}), {self.tag or '0'}"


KINDS: tuple[ItemKind, ...] = ("caption", "event", "text", "speech")  # of items, by their tag

GROUNDS: dict[Stratum, Ground] = {
    "item": Ground(1, "item", ("text",), 30, "w.t_end", "o.t", "o.t", None, None, "CROSS JOIN window w ON w.id = o.window_id",
        tag="CASE o.kind WHEN 'caption' THEN 0 WHEN 'event' THEN 1 WHEN 'text' THEN 2 ELSE 3 END"),
    "window": Ground(2, "window", ("description", "scene"), 80, "o.t_end", "o.t_start", "o.t_end", "window_near", "window_vec"),
    "moment": Ground(3, "moment", ("text", "keywords"), 80, "o.known", "o.t", "o.t", "moment_near", "moment_vec"),
    "episode": Ground(
        4, "episode", ("subject", "summary", "keywords", "description"), 600, "o.known", "o.t_start", "o.t_end",
        "episode_near", "episode_vec",
    ),
    "pattern": Ground(
        5, "pattern_version", ("title", "summary", "keywords"), 400, "o.known", "o.known", "o.known",
        "pattern_version_near", "pattern_vec", chain="o.pattern_id",
    ),
    "view": Ground(
        6, "view", ("text", "visual", "topics"), 600, "o.known", "o.t_start", "o.t_end", "view_near", "view_vec",
        chain="(SELECT n.id FROM view n WHERE n.recording_id = o.recording_id AND n.scale_s = o.scale_s "
        "AND n.t_block = o.t_block ORDER BY n.version LIMIT 1)",
    ),
    "fact": Ground(7, "fact", ("text",), 40, "o.known", "o.known", "o.known", "fact_near", "fact_vec"),
    "correction": Ground(8, "correction", ("text",), 40, "o.known", "o.t", "o.t", "correction_near", "correction_vec"),
}  # fmt: skip

# vec table -> the table of coarse vectors beside it
NEAR = {g.vec: g.near for g in GROUNDS.values() if g.vec is not None and g.near is not None}
