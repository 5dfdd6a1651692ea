"""What a question asks when no form fits: by its cue words, and by the last thing it says of the wearer.

Forms are exact and are tried first; cues catch the many other ways people put the same question ("any idea where ...",
"was there a time when ...", "what was my next action after ...").
"""

from __future__ import annotations

import re

from edge.agent.forms import Form

USUAL = re.compile(
    r"\b(?:i|we|my|what|the|is) (?:usual(?:ly)?|normal(?:ly)?|typical(?:ly)?|generally|most often|mostly|tend to|habitual(?:ly)?)\b|"
    r"^(?:usually|normally|typically|generally)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(r"\b(?:when|what time|which time|what moment|what hour|at what|the time)\b", re.I)
_NOT_WHEN = re.compile(r"(?:what|which|who|why|how)\b(?!(?: \w+)? (?:time|day|moment|hour|date)\b)(?!(?:'s| is| was) the (?:last|first|latest|time)\b)", re.I)  # fmt: skip
_NOT = re.compile(r"\b(?:not|never|without|n't|didn't|haven't|hadn't|skip\w*|miss(?:ed)?)\b", re.I)
_AFTER = re.compile(r"\b(?:after|next|followed|follows|following|then|once|subsequent\w*|afterwards)\b", re.I)
_BEFORE = re.compile(r"\b(?:before|previous\w*|preced\w+|prior|beforehand|led up)\b", re.I)
_SAID = re.compile(r"\b(?:say|says|said|tell|told|mention\w*|remark\w*|explain\w*|ask|asked|hear|heard)\b", re.I)
_REPLY = re.compile(r"\b(?:answer\w*|repl(?:y|ied|ies)|respond\w*|response|react\w*)\b", re.I)
_SESSION = re.compile(
    r"\b(?:session|recording|descri\w+|summar\w+|fits?|in which|outing|i did this|the following)\b", re.I
)
_SPOKEN_BY = re.compile(
    r"\b(?:did|has|that|was it that|when|have|what) (?P<who>(?:the |my )?[\w']+(?: \w+)?) "
    r"(?:say|says|said|tell|told|mention\w*|remark\w*|explain\w*|ask|asked|answer\w*|repl\w+|respond\w*|react\w*)\b",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"\b(?P<ord>last|latest|most recent(?:ly)?|first|earliest)\b", re.I)
# After "I": auxiliaries and adverbs that are not the act itself.
_SKIP = (
    r"(?:(?:did|do|have|had|was|were|am|would|'ve|'d|ever|already|actually|really|even|usually|normally|typically|generally|"
    r"last|first|most recently|recently|not|never|it|start to|used to) )*"
)
_MINE = re.compile(rf"\b(?:i|we) {_SKIP}(?P<vp>(?!did\b|do\b|put\b.*\bit$)[^,;.?!]+.*)$", re.I)
_PLACED = re.compile(
    r"\b(?:i|we) (?:(?:did|have|had|last|first) )*(?:put|place|placed|leave|left|set|lay|laid|keep|kept|store|stored|hide|hid|see|saw)"
    r"(?: (?:down|back|away))? (?P<obj>(?!it\b|them\b).+)$",
    re.IGNORECASE,
)
_SOUGHT = re.compile(
    r"\b(?:looking for|look for|can't find|cannot find|lost|searching for|need) (?P<obj>[^.;,?!]+)", re.I
)
_IS_AT = re.compile(
    r"\bwhere (?:on earth )?(?:(?:is|are|was|were|did|has|have) )?(?P<obj>(?:the|my|our|a|an|this|that)\b.+?)(?: (?:is|are|was|were|go|be|gone|went|now|got to))*$",
    re.I,
)
_DOWN = re.compile(
    r"\b(?:put(?:ting)?|plac\w+|set(?:ting)?) (?:it |them )?(?:down |back |away )?(?P<obj>(?:the|my|a|an)\b[^,;.]+?)?(?: down| back)?\b(?=,|$| at| when| before)",
    re.I,
)
_FROM = re.compile(
    r"\b(?:before (?:i |putting|placing)|(?:get|got|come|came|take|took|taken)\b.*\bfrom\b|from where|where\b.*\bfrom\b)",
    re.I,
)
_FROM_THING = re.compile(
    r"\b(?:putting (?:down )?|placing |where (?:was|did|were) |(?:get|got|took|take|taken) )(?P<obj>(?:the|my|a|an)\b.+?)(?: (?:down|from|come|before|that|which|at)\b.*|,.*|$)",
    re.I,
)
_TOOK = re.compile(
    r"\b(?:picking up|taking|grabbing|picked up|took|grabbed|lifted) (?P<obj>(?:the|my|a|an)\b[^,;.]+?)(?:,|;|\.| and|$)",
    re.I,
)


def guess(body: str) -> tuple[Form, dict[str, str]] | None:
    """A form and its groups by cue words; None for a plain look-up."""
    low = body.lower()
    if re.search(r"\bwhich of (?:these|the following)\b", low):
        return None  # choices are weighed by the evidence for each
    quoted = re.search(r"\u00a7\d", body)
    vp = quoted.group(0) if quoted else _mine(body)
    m = _ORDINAL.search(re.sub(r"\u00a7\d", "", low))
    found: dict[str, str] = {"vp": vp, "ord": m.group("ord") if m else ""}
    if re.search(r"\b(?:went wrong|go wrong|wrong|mistake\w*|errors?)\b", low):
        return "wrong", found
    if "where" in low or re.search(r"\b(?:place|spot|location)\b.*\bi (?:last )?(?:put|left|saw|placed)", low):
        return _where(body, low, found)
    if re.search(r"\bhow (?:many times|often|frequently)\b|\bnumber of times\b", low):
        return ("count", found) if vp else None
    if re.search(r"\bhow (?:many days|long)\b", low) and re.search(r"\b(?:since|ago|back|been)\b", low):
        return ("days_since", found) if vp else None
    if re.search(r"\bhow (?:long|many (?:seconds|minutes|hours))\b", low):
        unit = re.search(r"\b(second|minute|hour)s?\b", low)
        return ("duration", {**found, "unit": unit.group(1) if unit else ""}) if vp else None
    if re.search(r"\bhow many\b.*\bdays\b", low):
        return ("count_days", found) if vp else None
    if re.search(r"\bdays\b|\bdates\b", low) and vp:
        return ("days_without" if _NOT.search(low) else "days_with"), found
    if USUAL.search(low) and vp:
        if _AFTER.search(low):
            return "usual_next", found
        return ("usual_time", found) if _WHEN.search(low) else None
    if re.search(r"^(?:was|is|were|has) (?:there|it)\b|\bwhether\b|^if\b", low) and vp:
        return "did", found
    if quoted:
        return _about_quote(low, found)
    if re.search(r"\bfirst\b", low) and " or " in low and vp:
        return "order", {"alts": re.sub(r"^(?:did )?i (?:first )?", "", vp, flags=re.I)}
    if _WHEN.search(low) and (vp or m) and not _NOT_WHEN.match(low):
        return ("when", found) if vp else None
    return None


def _mine(body: str) -> str:
    """What the last clause about the wearer says: "... that I watered the ferns" -> "watered the ferns"."""
    best = ""
    for m in re.finditer(r"\b(?:i|we)\b", body, re.IGNORECASE):
        inner = _MINE.match(body[m.start() :])
        if inner is not None:
            best = inner.group("vp").strip(" ,.?!")
    return re.sub(r" (?:at all|even once|first|last|again|on)$", "", best)


def _where(body: str, low: str, found: dict[str, str]) -> tuple[Form, dict[str, str]] | None:
    taken = _FROM.search(low)
    if taken:
        m = _FROM_THING.search(body)
        return ("taken_from", {"obj": m.group("obj"), "verb": "put"}) if m else None
    for pattern in (_SOUGHT, _TOOK, _PLACED, _IS_AT):
        m = pattern.search(body)
        if m is not None:
            obj = re.sub(
                r" (?:(?:that|which|when|after) i (?:had )?(?:picked|took|taken|grabbed).*|(?:down|last|back|away))$",
                "",
                m.group("obj"),
            )
            return "put", {**found, "vp": "", "obj": obj.strip(" ,.?"), "verb": "put"}
    return None


def _about_quote(low: str, found: dict[str, str]) -> tuple[Form, dict[str, str]] | None:
    who = _SPOKEN_BY.search(low)
    name = who.group("who") if who and who.group("who") not in ("i", "we", "it", "you") else ""
    if _REPLY.search(low) or (_SAID.search(low) and re.search(r"\bwhat did\b", low) and _AFTER.search(low)):
        return "reply", {**found, "who": name}
    if _SAID.search(low) and _WHEN.search(low):
        return "said_when", {**found, "who": name}
    if _SESSION.search(low) and (_WHEN.search(low) or re.search(r"\bwhich\b", low)):
        return "session", found
    if _BEFORE.search(low):
        return "previous", found
    if _AFTER.search(low) and not _WHEN.search(low.partition("\u00a7")[0].replace("when i", "")):
        return "next", found
    if _WHEN.search(low):
        return "when", found
    return None
