"""The one table of alert types, and the one table of how often the wearer wants to be spoken to.

Everything the arbiter knows about a type stands in its row; adding a type is adding a row.  A test sweeps the table.
Priorities: 5 acute danger, 4 damage or waste under way, 3 something the wearer asked for or will regret,
2 help with the task at hand, 1 an offer, 0 information.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from edge.config import Frequency

Haptic: TypeAlias = Literal["none", "tick", "double", "long"]
Sound: TypeAlias = Literal["none", "soft", "chime", "alarm"]

SPEAKABLE_S = 4.0
CHARS_PER_S = 15.0  # unhurried English speech
WORD_GAP_S = 0.03
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Alert:
    """One type of alert.

    template: what is said, with named slots; sample: slots for sweeping the table.
    cooldown_s: seconds between two deliveries of the type; merge_s: a second situation of the type within so many
    seconds is the same one.  staleness_s: seconds after the trigger at which saying it makes no sense any more.
    rearm_s: the same thing (type and key) is told again only after it has not been asked for during so many seconds.
    critical: passes quiet hours, budgets and the chosen frequency.
    asked: the wearer asked for each one: it spends no budget, keeps no pause, and may be said again.
    step_s: inside a procedure the wearer follows, seconds between two of the type; nothing is merged there.
    variants: named other ways to say it, with the same slots.
    unbudgeted: comes a few times a discharge at most: it spends no budget and keeps no pause.
    digest_s: seconds after its trigger for which a digest may still tell what was held back; 0: then it is of no use.
    """

    type: str
    priority: int
    template: str
    sample: tuple[tuple[str, str], ...]
    haptic: Haptic
    sound: Sound
    cooldown_s: int
    staleness_s: int
    merge_s: int = 60
    rearm_s: int = DAY_S
    once_a_day: bool = False
    critical: bool = False
    asked: bool = False
    unbudgeted: bool = False
    step_s: int = 20
    variants: tuple[tuple[str, str], ...] = ()
    digest_s: int = 0

    @property
    def budgeted(self) -> bool:
        """Whether it counts against what the chosen frequency allows."""
        return not (self.critical or self.asked or self.unbudgeted)


# fmt: off
TABLE: tuple[Alert, ...] = (
    # --- the ten services --------------------------------------------------------------------------------------------
    Alert("safety", 5, "Careful: {hazard}.", (("hazard", "your fingers are near the blade"),),
          "long", "alarm", cooldown_s=10, staleness_s=35, merge_s=10, rearm_s=60, critical=True),  # a window is up to 30 s
    Alert("error_recovery", 4, "{mistake}: {remedy}.", (("mistake", "Two spoons"), ("remedy", "it says one spoon")),
          "double", "chime", cooldown_s=30, staleness_s=60, merge_s=20),
    Alert("resource_reminder", 4, "{thing} {state}.", (("thing", "The stove"), ("state", "is still on")),
          "double", "chime", cooldown_s=300, staleness_s=180),
    Alert("task_reminder", 3, "You wanted to {what}.", (("what", "call the dentist about Friday"),),
          "tick", "soft", cooldown_s=240, staleness_s=300, digest_s=4 * 3600, variants=(("step", "You passed over: {what}."), ("open", "Still to do: {what}."), ("late", "Not yet today: {what}."))),
    Alert("memory_recall", 3, "{what}.", (("what", "You left your notebook on the desk"),),
          "tick", "soft", cooldown_s=300, staleness_s=180, digest_s=3600, variants=(("step", "Last time here: {what}."),)),
    Alert("next_step_guidance", 2, "Next: {step}.", (("step", "add the milk and stir"),),
          "tick", "none", cooldown_s=10, staleness_s=45, merge_s=10, step_s=10),
    Alert("tool_use", 2, "{advice}.", (("advice", "Hold the drill with both hands"),),
          "tick", "soft", cooldown_s=60, staleness_s=30, merge_s=30),
    Alert("habit_coaching", 1, "{advice}.", (("advice", "You have been sitting for an hour"),),
          "tick", "none", cooldown_s=3600, staleness_s=600, once_a_day=True),
    Alert("memory_link_contextual", 1, "{link}.", (("link", "You bought this rice on Monday"),),
          "none", "none", cooldown_s=1800, staleness_s=300),
    Alert("routine_optimization", 1, "{offer}.", (("offer", "Third time today: do both at once"),),
          "none", "none", cooldown_s=3600, staleness_s=600, once_a_day=True, digest_s=4 * 3600),
    # --- the arbiter itself ------------------------------------------------------------------------------------------
    Alert("digest", 2, "Held back: {what}{more}.", (("what", "You wanted to call Ana"), ("more", ", and 2 more")),
          "none", "soft", cooldown_s=1800, staleness_s=120),
    # --- what the wearer asked to be told ----------------------------------------------------------------------------
    Alert("standing", 3, "{text}.", (("text", "I see the bus"),),
          "tick", "chime", cooldown_s=4, staleness_s=120, merge_s=0, rearm_s=1, asked=True),
    # --- the device about itself -------------------------------------------------------------------------------------
    Alert("battery_5", 4, "Battery at {percent} percent. I will stop soon.", (("percent", "5"),),
          "long", "chime", cooldown_s=1800, staleness_s=600, rearm_s=3600, unbudgeted=True),
    Alert("battery_10", 3, "Battery at {percent} percent.", (("percent", "10"),),
          "double", "soft", cooldown_s=1800, staleness_s=600, rearm_s=3600, unbudgeted=True),
    Alert("battery_20", 2, "Battery at {percent} percent.", (("percent", "20"),),
          "tick", "soft", cooldown_s=1800, staleness_s=600, rearm_s=3600, unbudgeted=True),
    Alert("link_lost", 3, "I lost {part}.", (("part", "the glasses"),),
          "double", "soft", cooldown_s=1800, staleness_s=120, rearm_s=600),
    Alert("camera_lost", 3, "I cannot see: the camera is gone.", (),
          "double", "soft", cooldown_s=1800, staleness_s=120, rearm_s=600, unbudgeted=True),
    Alert("camera_back", 3, "I can see again.", (),
          "tick", "soft", cooldown_s=1800, staleness_s=60, rearm_s=600, unbudgeted=True),
    Alert("microphone_lost", 3, "I cannot hear: the microphone is gone.", (),
          "double", "soft", cooldown_s=1800, staleness_s=120, rearm_s=600, unbudgeted=True),
    Alert("microphone_back", 3, "I can hear again.", (),
          "tick", "soft", cooldown_s=1800, staleness_s=60, rearm_s=600, unbudgeted=True),
    Alert("storage_low", 3, "The memory is almost full.", (),
          "tick", "soft", cooldown_s=21_600, staleness_s=3600),
    Alert("too_hot", 3, "I am too hot and slow down.", (),
          "tick", "soft", cooldown_s=1800, staleness_s=300, rearm_s=1800),
)
# fmt: on

# While a procedure is followed its services have caps of their own: at most `count` in any `seconds`.
PROCEDURE_SPANS: tuple[tuple[int, int], ...] = ((30, 6), (3600, 240))

BY_TYPE: dict[str, Alert] = {alert.type: alert for alert in TABLE}
SERVICES = tuple(alert.type for alert in TABLE[:10])


@dataclass(frozen=True, slots=True)
class Patience:
    """What a frequency allows of alerts that are not critical.

    min_priority: lower ones stay silent; gap_s: seconds between any two; spans: at most `count` in any `seconds`
    (of monotonic time); daily: most in one local day.
    """

    min_priority: int
    gap_s: int
    spans: tuple[tuple[int, int], ...]
    daily: int


PATIENCE: dict[Frequency, Patience] = {
    "minimal": Patience(3, 1800, ((7200, 1),), 3),
    "low": Patience(2, 300, ((3600, 2), (14_400, 4)), 8),
    "normal": Patience(1, 90, ((3600, 4), (14_400, 8)), 16),
    "high": Patience(0, 20, ((3600, 12),), 60),
}


def alert(kind: str) -> Alert:
    """The row of a type.  Raises LookupError for a type without a row: a slip in an expert, not the user's."""
    if kind not in BY_TYPE:
        raise LookupError(f"there is no alert type {kind!r}")
    return BY_TYPE[kind]


def spoken_s(text: str) -> float:
    """About how many seconds it takes to say a text."""
    return len(text) / CHARS_PER_S + WORD_GAP_S * len(text.split())


def speak(kind: str, *, variant: str = "", **slots: str) -> str:
    """The sentence of an alert with its slots filled, shortened at a word so that it can be said in 4 s."""
    row = alert(kind)
    return _speakable(dict(row.variants)[variant] if variant else row.template, slots)


def sentence(text: str) -> str:
    """Somebody's own words as a sentence that can be said in 4 s, shortened at a word."""
    return _speakable("{text}.", {"text": text})


def _speakable(template: str, slots: Mapping[str, str]) -> str:
    filled = {name: " ".join(value.split()).rstrip(".!?,;: ") for name, value in slots.items()}
    text = template.format(**filled)
    while spoken_s(text) > SPEAKABLE_S:
        longest = max(filled, key=lambda name: len(filled[name]), default="")
        words = filled[longest].split() if longest else []
        if len(words) < 2:
            break
        filled[longest] = _TRAILING.sub("", " ".join(words[:-1])).rstrip(",;: ") or words[0]
        text = template.format(**filled)
    return text[0].upper() + text[1:]


# A shortened sentence must not end on a word that promises more.
_TRAILING = re.compile(
    r"(?:\s+(?:a|an|the|to|of|in|on|at|by|for|from|with|and|or|but|my|your|his|her|their|its|about|before|after|when))+$",
    re.IGNORECASE,
)
