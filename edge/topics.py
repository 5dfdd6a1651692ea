"""The topics of the bus on one screen: what travels, how much may wait, and what gives way when it is full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from edge import messages as m

Policy: TypeAlias = Literal["keep_latest", "drop_oldest", "never_drop"]


@dataclass(frozen=True, slots=True)
class Topic:
    """`capacity` is in messages.  keep_latest: a new one replaces what waits; drop_oldest: the oldest goes, counted;
    never_drop: beyond the capacity messages spill to disk and come back in order; while the disk is full, up to `held`
    of them wait in memory, and beyond that the oldest of these is dropped, counted.
    """

    name: str
    carries: type[m.Message]
    capacity: int
    policy: Policy
    held: int = 2000


TOPICS: tuple[Topic, ...] = (
    Topic("frames", m.Frame, 1, "keep_latest"),
    Topic("sound", m.Sound, 200, "drop_oldest"),
    Topic("raw_windows", m.RawWindow, 4, "never_drop", held=8),
    Topic("observations", m.Observation, 16, "never_drop"),
    Topic("windows", m.WindowCommitted, 64, "never_drop"),
    Topic("episodes", m.EpisodeClosed, 64, "never_drop"),
    Topic("patterns", m.PatternChanged, 64, "drop_oldest"),
    Topic("intentions", m.IntentionChanged, 64, "drop_oldest"),
    Topic("facts", m.FactChanged, 64, "drop_oldest"),
    Topic("services", m.ServiceAsked, 64, "never_drop"),
    Topic("decisions", m.ServiceDecided, 64, "drop_oldest"),
    Topic("voice", m.Say, 16, "drop_oldest"),
    Topic("spoken", m.Spoken, 64, "drop_oldest"),
    Topic("sampled", m.Sampled, 2, "drop_oldest"),
    Topic("health", m.Health, 64, "drop_oldest"),
)

BY_NAME = {topic.name: topic for topic in TOPICS}
BY_TYPE: dict[type[m.Message], Topic] = {topic.carries: topic for topic in TOPICS}
