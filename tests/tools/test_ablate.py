"""The ablation: a cut memory shows what is left and nothing else, and the verdict is read off the table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from edge.agent.answer import ask
from storage.records import Caption, Entity, Event, Utterance, Window
from storage.store import EmbeddingSpace, Store
from tools.ablate import BASELINE, VARIANTS, Lines, Variant, as_markdown, flaws, view_of

T = 1_760_000_000_000_000
NOW = T + 3_600_000_000


def embed(texts: list[str]) -> np.ndarray:
    """One axis for each thing the windows speak of."""
    axes = ("kettle", "shutter", "cat")
    return np.array([[float(a in t.lower()) + 1e-3 for a in axes] for t in texts], dtype=np.float32)


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with Store.open(None, space=EmbeddingSpace("test", 3)) as store:
        with store.transaction() as tx:
            for n, (verb, thing) in enumerate((("open", "shutter"), ("fill", "kettle"), ("open", "shutter"))):
                t = T + n * 30_000_000
                window = Window(
                    "w", t, t + 30_000_000, 0,
                    captions=(Caption(t + 1, f"put the {thing} on the sill"),), description=f"{verb} the {thing}",
                    events=(Event(t, "wearer", verb, thing),), entities=(Entity("cat"),) if n == 1 else (),
                    speech=(Utterance(t + 2, "other", f"Mind the {thing}."),),
                )  # fmt: skip
                tx.trace.add(window, embed([window.description])[0])
        yield store


def value(store: Store, variant: Variant, question: str) -> object:
    lines = Lines(store, embed)
    with store.snapshot(NOW) as snapshot:
        return ask(view_of(snapshot, variant, question, embed, lines), question, now=NOW, offset_s=0).value


@pytest.mark.parametrize(
    ("without", "question", "whole", "cut"),
    [
        ("event", "How many times did I open the shutter?", 2, 0),
        ("caption", "Where did I put the kettle?", "on the sill", None),
        ("entities", "Did I see a cat?", "yes", "no"),
        ("speech", "What did the other person say?", "Mind the shutter.", None),
        ("moments", "How many times did I open the shutter?", 2, 2),
        ("strata", "How many times did I open the shutter?", 2, 2),
        ("perception", "How many times did I open the shutter?", 2, 0),
        ("perception", "Where did I put the kettle?", "on the sill", None),
    ],
)
def test_a_part_that_is_cut_out_is_not_seen(
    store: Store, without: str, question: str, whole: object, cut: object
) -> None:
    assert value(store, Variant("whole"), question) == whole
    assert value(store, Variant("cut", without), question) == cut


def test_flat_windows_hold_only_what_is_in_them(store: Store) -> None:
    question = "How many times did I open the shutter?"
    assert value(store, Variant("flat", flat=1, unit="windows"), question) == 1
    assert value(store, Variant("flat", flat=3, unit="windows"), question) == 2
    assert value(store, Variant("flat", flat=2, ranks="dense", unit="windows"), question) == 2
    assert (
        value(store, Variant("flat", flat=1, ranks="bm25", unit="windows"), "How many times did I fill the kettle?")
        == 1
    )


def test_a_flat_caption_index_has_lines_and_no_registry(store: Store) -> None:
    for ranks in ("both", "bm25", "dense"):
        assert value(store, Variant("flat", flat=2, ranks=ranks), "Where did I put the kettle?") == "on the sill"
    assert value(store, Variant("flat", flat=20), "How many times did I open the shutter?") == 0
    assert value(store, Variant("flat", flat=20), "Did I see a cat?") == "no"
    with store.snapshot(T + 30_000_000) as snapshot:  # two windows are still to come
        kept = Lines(store, embed).best(snapshot, "kettle", embed(["kettle"])[0], 20, words=True)
        assert {i.window_id for i in snapshot.trace.items_by_id(list(kept)).values()} == {1}
        assert len(kept) == 2


def test_fewer_results_of_a_search_are_fewer(store: Store) -> None:
    assert value(store, Variant("top", top=3), "Where did I put the kettle?") == "on the sill"
    with store.snapshot(NOW) as snapshot:
        cut = view_of(snapshot, Variant("top", top=1), "x", embed)
        assert len(cut.search("window", "shutter kettle", k=20)) == 1
        assert len(cut.lookup.newest(("caption",))) == 1


def test_names_of_variants_differ() -> None:
    assert len({v.name for v in VARIANTS}) == len(VARIANTS)


def test_the_verdict_names_where_the_flat_index_is_as_good() -> None:
    table = {"whole memory": {"a": (0.9, 2.0), "b": (0.8, 2.0)}, BASELINE: {"a": (0.9, 5.0), "b": (0.5, 5.0)}}
    assert flaws(table) == ["a: the flat caption index is as good (0.900)"]
    assert as_markdown(table).splitlines()[2] == "| whole memory | 0.900 | 0.800 | 0.850 | 2.0 |"
