"""Which of several steps of one text an order means: "stir" twice, each time before a turn in the microwave.

A list of pairs of texts cannot say it outright, but a circle in it ("microwave before stir", "stir before microwave")
can only mean that the later of the two comes again.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from itertools import pairwise


def occurrences(steps: Sequence[str], before: Sequence[tuple[str, str]]) -> list[tuple[int, int]]:
    """Pairs (earlier, later) of positions in `steps` for pairs of texts, in their order and without doubles.

    What comes from outside a circle goes before the first occurrence, what leads out of it follows the last one, and
    inside it the occurrences alternate.  Raises KeyError with the text of a step that is not listed.
    """
    places: dict[str, list[int]] = {}
    for i, step in enumerate(steps):
        places.setdefault(step, []).append(i)
    for pair in before:
        for text in pair:
            if text not in places:
                raise KeyError(text)
    after = _reached(places, before)
    depth = _depths(places, before, after)
    found: dict[tuple[int, int], None] = {}
    for early, late in before:
        a, b = places[early], places[late]
        if early == late:
            found.update(dict.fromkeys(pairwise(a)))
        elif early not in after[late]:  # no circle
            found[a[-1], b[0]] = None
        elif depth[early] < depth[late]:
            found.update(dict.fromkeys(zip(a, b, strict=False)))
        elif len(a) >= len(b) - 1:
            found.update(dict.fromkeys(zip(a, b[1:], strict=False)))
        else:  # too few to tell which time: it is done by the last
            found[a[-1], b[-1]] = None
    return list(found)


def _reached(places: dict[str, list[int]], before: Sequence[tuple[str, str]]) -> dict[str, set[str]]:
    """For each text the texts that come after it, by any way."""
    onward: dict[str, set[str]] = {text: set() for text in places}
    for early, late in before:
        onward[early].add(late)
    found: dict[str, set[str]] = {}
    for text in places:
        seen: set[str] = set()
        todo = deque(onward[text])
        while todo:
            step = todo.popleft()
            if step not in seen:
                seen.add(step)
                todo.extend(onward[step])
        found[text] = seen
    return found


def _depths(
    places: dict[str, list[int]], before: Sequence[tuple[str, str]], after: dict[str, set[str]]
) -> dict[str, int]:
    """How far inside its circle a text lies, counted from where the circle is entered; 0 outside of circles."""
    circling = {text for text in places if text in after[text]}
    entries = Counter(late for early, late in before if late in circling and early not in after[late])
    depth = dict.fromkeys(places, 0)
    for text in sorted(circling, key=lambda t: (-entries[t], places[t])):
        if depth[text] or any(depth[t] for t in after[text] if text in after[t]):
            continue
        depth[text] = 1
        todo = deque([text])
        while todo:
            step = todo.popleft()
            for early, late in before:
                if early == step and step in after[late] and not depth[late]:
                    depth[late] = depth[step] + 1
                    todo.append(late)
    return depth
