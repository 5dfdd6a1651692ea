"""What kind a thing is: "animal", "vehicle" or "device" for the names that perception gives, and their everyday synonyms.

The names are those of COCO, which the detector knows; a model that names other things is understood by its last word.
"""

from __future__ import annotations

from functools import lru_cache

from edge.retrieval import words

_KINDS = {
    "animal": "bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe",
    "pet": "cat, dog, bird",
    "vehicle": "bicycle, car, motorcycle, airplane, bus, train, truck, boat",
    "food": "banana, apple, sandwich, orange, broccoli, carrot, hot dog, pizza, donut, cake",
    "fruit": "banana, apple, orange",
    "vegetable": "broccoli, carrot",
    "furniture": "chair, couch, bed, dining table, bench",
    "seat": "chair, couch, bench",
    "device": "tv, laptop, mouse, remote, keyboard, cell phone, microwave, oven, toaster, refrigerator, hair drier, clock",
    "electronics": "tv, laptop, mouse, remote, keyboard, cell phone",
    "computer": "laptop, keyboard, mouse",
    "screen": "tv, laptop, cell phone",
    "appliance": "microwave, oven, toaster, sink, refrigerator, hair drier",
    "dishes": "bottle, wine glass, cup, fork, knife, spoon, bowl",
    "cutlery": "fork, knife, spoon",
    "container": "bottle, wine glass, cup, bowl, vase, backpack, handbag, suitcase",
    "bag": "backpack, handbag, suitcase",
    "luggage": "backpack, handbag, suitcase",
    "clothing": "tie",
    "plant": "potted plant",
    "toy": "teddy bear, frisbee, kite, sports ball",
    "ball": "sports ball",
    "sign": "stop sign, traffic light",
    "tool": "scissors, knife, toothbrush, hair drier",
    "sports gear": "frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard, surfboard, tennis racket",
    "instrument": "clock, parking meter",
}  # fmt: skip
_NO_KIND = "person, book, toilet, umbrella, fire hydrant"
_SAME = {
    "people": "person", "human": "person", "man": "person", "woman": "person", "child": "person", "someone": "person",
    "somebody": "person", "anyone": "person", "anybody": "person", "stranger": "person", "kitten": "cat", "puppy": "dog",
    "mug": "cup", "teacup": "cup", "glass": "wine glass", "phone": "cell phone", "mobile": "cell phone", "monitor": "tv",
    "television": "tv", "sofa": "couch", "table": "dining table", "desk": "dining table", "fridge": "refrigerator",
    "bike": "bicycle", "motorbike": "motorcycle", "plane": "airplane", "lorry": "truck", "ship": "boat",
    "rucksack": "backpack", "purse": "handbag", "notebook": "laptop", "magazine": "book", "watch": "clock",
    "hairdryer": "hair drier", "doughnut": "donut", "flowerpot": "potted plant", "cutlery": "fork", "wristwatch": "clock",
    "creature": "animal", "beast": "animal", "gadget": "device", "machine": "device", "crockery": "dishes",
    "tableware": "dishes", "silverware": "cutlery", "snack": "food", "equipment": "device", "sports equipment": "sports gear",
}  # fmt: skip
# Compounds whose last word misleads: no dog, no bear, no animal.
_NOT_A = {("dog", "hot dog"), ("bear", "teddy bear"), ("animal", "teddy bear"), ("light", "traffic light")}
_ANYTHING = frozenset("thing things object objects item items stuff anything something everything".split())


@lru_cache(maxsize=1)
def _members() -> dict[tuple[str, ...], frozenset[tuple[str, ...]]]:
    return {words.thing(k): frozenset(words.thing(n) for n in names.split(", ")) for k, names in _KINDS.items()}


@lru_cache(maxsize=1)
def _synonyms() -> dict[tuple[str, ...], tuple[str, ...]]:
    return {words.thing(a): words.thing(b) for a, b in _SAME.items()}


def anything(asked: str) -> bool:
    """Does it ask for things of every kind ("what objects", "anything")?"""
    return not words.thing(asked) or words.tokens(asked)[-1] in _ANYTHING


@lru_cache(maxsize=16384)
def grade(asked: str, name: str) -> int:
    """How well a name is the thing asked for: 4 the same, 3 a kind of it, 2 a part of it, 1 a near synonym, 0 another.

    "animal" is met by "cat" (3), "fridge" by "refrigerator" (4), "mug" by "cup" (1: nothing nearer is named so).
    """
    wanted, seen = words.thing(asked), words.thing(name)
    plain = " ".join(words.tokens(name))
    if not wanted or (len(wanted) == 1 and (wanted[0], plain) in _misleading()):
        return 0
    if (found := words.thing_grade(wanted, seen)) >= 2:
        return found
    head = _synonyms().get(wanted, wanted)
    members = _members()
    for kind in (wanted, head):
        for member in members.get(kind, ()):
            if seen == member or (seen[-len(member) :] == member and (member[-1], plain) not in _misleading()):
                return 3
    return 1 if head != wanted and words.thing_grade(head, seen) >= 3 else 0


@lru_cache(maxsize=1)
def _misleading() -> frozenset[tuple[str, str]]:
    return frozenset((words.key(a), b) for a, b in _NOT_A)


def named(asked: str, names: list[str]) -> list[str]:
    """Of the names a memory holds those that are the thing asked for; near synonyms only when nothing else is."""
    graded = [(grade(asked, n), n) for n in names]
    return [n for g, n in graded if g >= 2] or [n for g, n in graded if g == 1]


def is_kind(asked: str) -> bool:
    """Is it a word for a whole kind ("animals")?"""
    wanted = words.thing(asked)
    return _synonyms().get(wanted, wanted) in _members()


def detectable(asked: str) -> bool:
    """Would a detector that knows the names of COCO have listed such a thing?"""
    return is_kind(asked) or any(grade(asked, n) for n in _every())


@lru_cache(maxsize=1)
def _every() -> tuple[str, ...]:
    """All names of the detector."""
    return tuple(dict.fromkeys(n for names in (*_KINDS.values(), _NO_KIND) for n in names.split(", ")))
