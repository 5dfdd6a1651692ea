"""Everyday wordings come to the form that knows them, and a wording no row fits stays as it was."""

from __future__ import annotations

import pytest

from edge.agent.question import understand
from edge.agent.wording import plain_wording
from edge.retrieval.zone import Zone

ZONE = Zone(1_759_827_600_000_000, 0)


@pytest.mark.parametrize(
    ("body", "plain"),
    [
        ("when was the dog last in view", "when did i last see the dog"),
        ("did you notice a bus", "did i see a bus"),
        ("was the door green", "did i see the green door"),
        ("read me the note on the door", "what did the note on the door say"),
        ("when do I have my lesson", "when is my lesson"),
        ("when do I have to catch the train", "when is the train"),
        ("where will the party be held", "where is the party"),
        ("when will the shop open again", "until when is the shop closed"),
        ("did I forget anything", "what do i have to do"),
        ("where's my coat", "where is my coat"),
        ("when did I last open the fridge", "when did I last open the fridge"),
        ("was there a time when I fed the dog", "was there a time when I fed the dog"),
    ],
)
def test_plain_wording(body: str, plain: str) -> None:
    assert plain_wording(body) == plain


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("Was there a bicycle in the yard?", "there"),
        ("Any dogs around?", "there"),
        ("Any idea where I put the mug?", "put"),
        ("Was there a day when I fed the dog?", "did"),
        ("What animals have I seen?", "seen_which"),
        ("What was next to the sink?", "in_view"),
        ("How many chairs stood in the hall?", "how_many"),
        ("What colour is my coat?", "looks"),
        ("When is the dentist's appointment?", "schedule"),
        ("When was the door opened?", "when"),
        ("On which platform is the train?", "which_place"),
        ("How long is the bridge closed?", "until"),
        ("How long was I away?", "duration"),
        ("Who told me about the party?", "who_said"),
        ("What am I supposed to buy?", "todo"),
        ("What did I buy?", "objects"),
        ("What did the instructor say about the screw?", "said_what"),
        ("What did the sign about the lift say?", "text"),
    ],
)
def test_form(question: str, form: str) -> None:
    assert understand(question, ZONE).form == form
