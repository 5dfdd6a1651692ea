"""Reading the memory: the skills and their calls, typed, and the same as tools for any model.

    from edge.retrieval import Skills

    with store.snapshot(until) as snapshot:
        skills = Skills(snapshot, embed)
        for moment in skills.search_moments("red mug", k=5):
            print(moment.id, moment.t_start, moment.text, moment.score)

Names are imported when first asked for, so that whoever needs only words or times loads nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edge.retrieval.anchors import Anchor
    from edge.retrieval.digest import Digest
    from edge.retrieval.evidence import Evidence
    from edge.retrieval.looking import Eyes
    from edge.retrieval.readout import Readout
    from edge.retrieval.skills import Branch, Count, Skills
    from edge.retrieval.tools import TOOLS, Tool, call
    from edge.retrieval.zone import Zone

__all__ = [
    "TOOLS", "Anchor", "Branch", "Count", "Digest", "Evidence", "Eyes", "Readout", "Skills", "Tool", "Zone", "call",
]  # fmt: skip
_WHERE = {
    "Anchor": "anchors", "Digest": "digest", "Evidence": "evidence", "Eyes": "looking", "Readout": "readout",
    "Branch": "skills", "Count": "skills", "Skills": "skills", "Zone": "timephrase", "TOOLS": "tools", "Tool": "tools",
    "call": "tools",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
