"""What spoken commands do: the memory's side of a conversation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edge.agent.asking import Asker
from edge.clock import US, ReplayClock
from edge.config import Config
from edge.conversation import Conversation, span_words
from edge.messages import Say
from edge.replay import replay
from edge.voice.intent import understand
from edge.voice.mind import Moment, Reply
from edge.voice.queue import ALERT, ANSWER
from storage import EmbeddingSpace, Store


class Device:
    def __init__(self) -> None:
        self.rests: list[float | None] = []
        self.erased: list[float] = []

    def rest(self, seconds: float | None) -> None:
        self.rests.append(seconds)

    def erase(self, seconds: float) -> None:
        self.erased.append(seconds)


class Talk:
    def __init__(self, store: Store, embed: Any, now: int) -> None:
        self.clock, self.device, self.store = ReplayClock(now, 3600), Device(), store
        self.at = Moment(now, 3600)
        self.mind = Conversation(store, Asker(Config(), mono=self.clock.mono, embed=embed), self.device, self.clock)

    def tell(self, text: str, last: Say | None = None) -> Reply:
        return self.mind.obey(understand(text), self.at, last)


@pytest.fixture
def talk(day: Callable[..., Path], embed: Any, tmp_path: Path) -> Any:
    db = tmp_path / "m.db"
    with Store.open(db, space=EmbeddingSpace("wordllama-256", 256)) as store:
        replay(day(), store, embed, Config())
        with store.snapshot() as snapshot:
            last = snapshot.trace.last()
        assert last is not None
        yield Talk(store, embed, last.t_end + 60 * US)


def test_a_question_is_answered_and_a_guess_leaves_no_trace(talk: Talk) -> None:
    answer = " ".join(talk.mind.answer("When did I last open the fridge?", talk.at))
    assert "fridge" in answer
    before = talk.mind._asker.previous("voice")
    guessed = talk.mind.answer("What did I say about the plumber?", talk.at)
    next(iter(guessed))
    guessed.close()
    assert talk.mind._asker.previous("voice") == before


def test_pause_and_resume(talk: Talk) -> None:
    assert "one hour" in talk.tell("Pause recording for an hour.").text
    assert talk.device.rests[0] == 3600
    talk.tell("Resume recording.")
    assert talk.device.rests[-1] is None


def test_forgetting_needs_a_length_and_a_yes(talk: Talk) -> None:
    assert not talk.tell("Forget that.").asks
    assert not talk.tell("Forget the last 30 days.").asks
    assert talk.tell("Forget the last ten minutes.").asks
    assert "nothing" in talk.mind.confirm(False, talk.at).text.lower()
    assert talk.device.erased == []
    assert talk.tell("Forget the last ten minutes.").asks
    talk.clock.set(talk.at.t + 5 * US)
    talk.mind.confirm(True, talk.at)
    assert talk.device.erased == [605.0]
    assert "nothing to confirm" in talk.mind.confirm(True, talk.at).text


def test_why_and_not_again(talk: Talk) -> None:
    assert "not said anything" in talk.tell("Why did you say that?").text
    "".join(talk.mind.answer("When did I last open the fridge?", talk.at))
    talk.mind.answered("When did I last open the fridge?")
    assert "noticed" in talk.tell("Why did you say that?", Say("At nine.", ANSWER, "answer")).text
    assert "no alert" in talk.tell("Don't tell me that again.", Say("At nine.", ANSWER, "answer")).text
    with talk.store.snapshot() as snapshot:
        services = snapshot.services.between(0)
    if services:
        alert = Say(services[0].text, ALERT, f"a{services[0].id}")
        assert "noticed" in talk.tell("Why did you say that?", alert).text
        talk.tell("Don't tell me that again.", alert)
        with talk.store.snapshot() as snapshot:
            assert [f.kind for f in snapshot.patience.feedback()] == ["dismissed"]


def test_snooze_and_reminders(talk: Talk) -> None:
    assert "two hours" in talk.tell("Snooze for two hours.").text
    with talk.store.snapshot() as snapshot:
        wish = snapshot.patience.wish("do-not-disturb")
        before = len(snapshot.intentions.all())
    assert wish is not None
    assert wish.until == talk.at.t + 7200 * US
    talk.tell("Remind me to call the dentist.")
    with talk.store.snapshot() as snapshot:
        kept = [i.what for i in snapshot.intentions.all()] + [s.text for s in snapshot.standing.open()]
        assert len(snapshot.intentions.all()) + len(snapshot.standing.open()) > before
    assert any("dentist" in text for text in kept)


def test_a_wish_to_be_told_is_kept_and_what_asks_about_the_past_is_answered(talk: Talk) -> None:
    assert "when you open the fridge" in talk.tell("Tell me when I open the fridge.").text
    assert "At 19:30" in talk.tell("Remind me to call my mother at half past 7 in the evening.").text
    assert "your mother" in talk.tell("Remind me to call my mother.").text
    assert "fridge" in talk.tell("Let me know when I left the fridge open.").text
    with talk.store.snapshot() as snapshot:
        assert len(snapshot.standing.open()) == 2


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(3600, "one hour"), (600, "ten minutes"), (5400, "one hour and thirty minutes"), (0, "a moment"), (61, "one minute and one second")],
)  # fmt: skip
def test_lengths_are_spoken(seconds: float, words: str) -> None:
    assert span_words(seconds) == words
