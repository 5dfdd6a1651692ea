"""Words made comparable: keys that conflate inflections, strict and loose synonyms, things and their kinds.

Everything here is a pure function of text, so its caches hold no memory of the wearer's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_WORD = re.compile(r"[^\W_]+(?:[-'\u2019./][^\W_]+)*", re.UNICODE)
_VOWEL = re.compile(r"[aeiouy]")

# Irregular forms only where the suffix rules below would miss them.
_IRREGULAR = {
    form: base
    for base, forms in {
        "take": "took taken", "eat": "ate eaten", "drink": "drank drunk", "make": "made", "do": "did done does doing",
        "go": "went gone goes going", "buy": "bought", "bring": "brought", "break": "broke broken", "begin": "began begun",
        "give": "gave given", "get": "got gotten", "hang": "hung", "hold": "held", "keep": "kept", "say": "said",
        "tell": "told", "speak": "spoke spoken", "sleep": "slept", "wake": "woke woken", "write": "wrote written",
        "read": "readed", "throw": "threw thrown", "tear": "tore torn", "shake": "shook shaken", "sit": "sat",
        "stand": "stood", "see": "saw seen", "find": "found", "feed": "fed", "feel": "felt", "meet": "met",
        "lose": "lost", "pay": "paid", "run": "ran", "sell": "sold", "send": "sent", "teach": "taught",
        "think": "thought", "wear": "wore worn", "win": "won", "choose": "chose chosen", "come": "came",
        "drive": "drove driven", "fall": "fell fallen", "fly": "flew flown", "forget": "forgot forgotten",
        "grow": "grew grown", "know": "knew known", "ride": "rode ridden", "ring": "rang rung", "sing": "sang sung",
        "swim": "swam swum", "build": "built", "catch": "caught", "leave": "leaving", "spend": "spent", "sweep": "swept",
        "hear": "heard", "use": "used", "tie": "tied", "die": "died", "be": "was were been is are am", "have": "has had", "knife": "knives", "leaf": "leaves",
        "loaf": "loaves", "shelf": "shelves", "half": "halves", "foot": "feet", "tooth": "teeth", "man": "men",
        "woman": "women", "child": "children", "person": "people", "mouse": "mice", "life": "lives", "wife": "wives",
    }.items()
    for form in forms.split()
}  # fmt: skip

# Words that mean the same in any house; the first of each row stands for all.
_SAME = (
    "fridge refrigerator", "close shut", "start begin commence", "turn switch", "bin garbage-bin dustbin trash-can",
    "rubbish garbage trash", "hob cooker stove stovetop", "tap faucet", "cellphone smartphone mobile phone",
    "tv television telly", "couch sofa", "photo picture photograph", "mum mom mother", "dad father", "aubergine eggplant",
    "courgette zucchini", "coriander cilantro", "chilli chili chile", "yoghurt yogurt", "bike bicycle", "mug cup-mug",
    "laptop notebook-computer", "kid child", "soya soy", "favorite favourite", "color colour", "gray grey", "scissors scissor", "glasses spectacles eyeglasses",
)  # fmt: skip
_SAME_PHRASES = (
    (re.compile(r"\b(?:cutting|chopping) boards?\b"), "chopping board"),
    (re.compile(r"\bfrying pans?\b|\bfrypans?\b|\bskillets?\b"), "frying pan"),
    (re.compile(r"\bwasher machines?\b|\bclothes washers?\b"), "washing machine"),
    (re.compile(r"\bgarbage (?:bin|can)s?\b|\btrash cans?\b|\brubbish bins?\b|\bdustbins?\b"), "bin"),
    (re.compile(r"\bmobile phones?\b|\bcell ?phones?\b|\bsmart ?phones?\b"), "phone"),
    (re.compile(r"\btooth brush\b"), "toothbrush"),
)

# Verbs close enough to stand in for one another when the very word is not in the memory, or when a question lists
# several of a row ("wash, rinse or wipe").
_NEAR_VERBS = (
    "wash rinse clean wipe scrub wash-up wipe-off wipe-down soap",
    "cut chop slice dice mince chop-up cut-up carve",
    "stir mix beat whisk blend stir-in mix-in whip",
    "take grab pick-up get fetch collect lift pick take-out grab",
    "put place set lay put-down leave set-down rest put-back lay-down",
    "throw throw-away discard dispose bin toss throw-out",
    "move take pick-up lift grab put put-down",
    "remove take-off detach disassemble dismantle take-apart withdraw take-out pull-out unplug",
    "attach assemble insert mount fix put-on connect fit install put-together build",
    "tighten screw fasten screw-in", "loosen unscrew unfasten", "exchange change replace swap",
    "start do make work-on prepare have cook", "look inspect check examine look-at", "press push push-down",
    "say tell mention remark", "drink sip", "eat have consume", "use operate", "turn-on switch-on use", "brush clean", "empty unload", "load fill", "turn rotate twist flip turn-over",
)  # fmt: skip

STOPWORDS = frozenset(
    """a an the of to my mine i me it its and or is was were are am be been being do did does done have has had having
    in on at by for from with as that this these those which what when where who whom whose why how we us our you your
    he him his she her they them their there then than so if not no any some all also just can could would should will
    shall may might about into onto up down out off over under again ever one ones got get go""".split()
)

# What was moved was picked up: a general act that always counts as the narrower one asked for.
_IMPLIED_BY = {"pick-up": ("move",), "take": ("pick-up",)}

_DETERMINERS = frozenset(
    "a an the my our your his her their its some any this that these those another one's all both each every more".split()
)
_OPAQUE_TAIL = frozenset(  # a thing's part, state or container's content: "fridge door" is still the fridge
    """door piece slice half end bit part content choppings chopping mixture mix leaf stick top side stalk peel skin
    clove cube handle shell head bottom rest""".split()
)
PARTICLES = frozenset(
    "in into on onto to over out up down away back from with at around through off under together apart inside".split()
)
_SIGNIFICANT = frozenset("on off out apart together".split())


def tokens(text: str) -> list[str]:
    """The words of a text, lower case; "don't", "2.5", "maindoor-a" stay whole."""
    return [w.lower().replace("\u2019", "'") for w in _WORD.findall(text)]


@lru_cache(maxsize=65536)
def key(word: str) -> str:
    """The key all inflections of a word share; not itself a word ("slices", "slicing" -> "slic")."""
    w = word.lower().replace("\u2019", "'")
    if w.endswith("'s"):
        w = w[:-2]
    w = _stem(_IRREGULAR.get(w, w))
    return _CANON.get(w, w)


def _stem(w: str) -> str:
    if len(w) > 3 and not w.isdigit():
        if w.endswith(("ies", "ied")):
            w = w[:-3] + ("y" if len(w) > 4 else "ie")
        elif w.endswith(("sses", "xes", "ches", "shes", "zes", "oes")):
            w = w[:-2]
        elif w.endswith("s") and not w.endswith(("ss", "us", "is")):
            w = w[:-1]
        if w.endswith("ing") and len(w) > 5 and _VOWEL.search(w[:-3]):
            w = w[:-3]
        elif w.endswith("ed") and len(w) > 4 and _VOWEL.search(w[:-2]):
            w = w[:-2]
    if len(w) > 3 and w.endswith("e"):
        w = w[:-1]
    if len(w) > 2 and w[-1] == w[-2] and w[-1] not in "aeiou":
        w = w[:-1]
    return w[:-1] + "i" if len(w) > 2 and w.endswith("y") and w[-2] not in "aeiou" else w


_CANON: dict[str, str] = {}
for _row in _SAME:
    _first, *_others = _row.split()
    for _other in _others:
        _CANON[_stem(_other)] = _stem(_first)


def same_phrases(text: str) -> str:
    """The text, lower case, with whole-phrase synonyms brought to one form."""
    text = text.lower()
    for pattern, form in _SAME_PHRASES:
        text = pattern.sub(form, text)
    return text


@lru_cache(maxsize=65536)
def keys(text: str) -> tuple[str, ...]:
    """The keys of all words of a text, in order."""
    return tuple(key(w) for w in tokens(same_phrases(text)))


@lru_cache(maxsize=65536)
def content(text: str) -> tuple[str, ...]:
    """The keys of the words that carry meaning, in order, without repetition."""
    words = tokens(same_phrases(text))
    return tuple(dict.fromkeys(key(w) for w in words if w not in STOPWORDS and w.split("'")[0] not in STOPWORDS))


@lru_cache(maxsize=65536)
def plain(text: str) -> str:
    """A text reduced to its words, for "is this the same sentence?"."""
    return " ".join(tokens(text))


@lru_cache(maxsize=65536)
def thing(text: str) -> tuple[str, ...]:
    """A noun phrase as keys without determiners: the last is its head, those before narrow it.

    A phrase with "of" ("lid of the pan") keeps its order and is compared whole.
    """
    words = tokens(same_phrases(text))
    while words and words[0] in _DETERMINERS:
        words.pop(0)
    return tuple(key(w) for w in words if w not in ("the", "a", "an", "my"))


@lru_cache(maxsize=65536)
def bare(text: str) -> tuple[str, ...]:
    """A noun phrase as stems without determiners and without synonyms: what its inflections share."""
    return tuple(_stem(w) for w in tokens(text) if w not in _DETERMINERS)


def thing_grade(asked: tuple[str, ...], seen: tuple[str, ...]) -> int:
    """How well a thing that was seen is the thing asked for: 4 the same, 3 a kind of it, 2 a part of it, 1 its
    kind (asked more narrowly than it was seen), 0 another thing.
    """
    if not asked or not seen:
        return 0
    if asked == seen or (len(asked) != len(seen) and "".join(asked) == "".join(seen)):  # "lunchbox", "lunch box"
        return 4
    if len(seen) > len(asked) and seen[-len(asked) :] == asked and "of" not in seen:
        return 3
    if len(seen) > len(asked) and seen[-1] in _TAIL_KEYS and "of" not in seen:
        rest = seen[:-1]
        if rest == asked or rest[-len(asked) :] == asked:
            return 2
    if len(asked) > len(seen) and asked[-len(seen) :] == seen and "of" not in asked:
        return 1
    return 0


_TAIL_KEYS = frozenset(key(w) for w in _OPAQUE_TAIL)


@lru_cache(maxsize=16384)
def act(text: str) -> tuple[str, str]:
    """A verb with its particle as keys: "turns off" -> ("turn", "off"), "wash" -> ("wash", "")."""
    words = tokens(text)
    if not words:
        return "", ""
    return key(words[0]), next((w for w in words[1:] if w in PARTICLES), "")


def act_grade(asked: tuple[str, str], done: tuple[str, str]) -> int:
    """3 the very act, 2 the act with a direction that does not change it ("pour" and "pour into"), 0 another."""
    if asked[0] != done[0]:
        return 0
    if asked[1] == done[1]:
        return 3
    one = asked[1] or done[1]
    if asked[1] and done[1]:
        return 2 if {asked[1], done[1]} in ({"in", "into"}, {"on", "onto"}) else 0
    if asked[0] in _SWITCHED and one in _SIGNIFICANT:
        return 0
    return 2


_SWITCHED = frozenset(key(w) for w in "turn switch put take plug log get go".split())


@lru_cache(maxsize=1024)
def near_acts(asked: tuple[str, str]) -> frozenset[tuple[str, str]]:
    """The acts that may stand in for this one."""
    found: set[tuple[str, str]] = set()
    for row in _NEAR:
        if asked in row or (asked[1] and (asked[0], "") in row and asked[1] not in _SIGNIFICANT):
            found |= row
    return frozenset(found)


def implied_by(asked: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    """The acts that are this act too, whenever they are recorded."""
    return _IMPLIED.get(asked, ())


_IMPLIED = {
    act(one.replace("-", " ")): tuple(act(v.replace("-", " ")) for v in others) for one, others in _IMPLIED_BY.items()
}
_NEAR = tuple(frozenset(act(v.replace("-", " ")) for v in row.split()) for row in _NEAR_VERBS)


def overlap(a: Iterable[str], b: Iterable[str]) -> float:
    """F1 of two bags of keys as sets: 1.0 the same, 0.0 nothing in common."""
    x, y = set(a), set(b)
    both = len(x & y)
    return 2 * both / (len(x) + len(y)) if both else 0.0
