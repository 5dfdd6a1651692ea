"""Whose turn it is: events in, actions out."""

from __future__ import annotations

from edge.voice import turn as t
from edge.voice.endpoint import STEP_S, Patience
from edge.voice.turn import Chime, Close, Decode, Do, Guess, Hold, Open, Turns


class Talk:
    """Feeds spans of sound and decodes what `says` gives, a moment after it was asked for."""

    def __init__(self, **how: object) -> None:
        self.turns = Turns(Patience(), **how)  # type: ignore[arg-type]
        self.says = ""
        self.late = 3  # steps until a decoding comes back
        self.all: list[t.Action] = []
        self._due: list[tuple[int, Decode]] = []
        self._now = 0

    def event(self, event: t.Event) -> list[t.Action]:
        actions = self.turns.step(event)
        self.all += actions
        self._due += [(self._now + self.late, a) for a in actions if isinstance(a, Decode)]
        return actions

    def sound(self, seconds: float, chance: float, anybody: float = 0.0) -> list[t.Action]:
        made: list[t.Action] = []
        for _ in range(round(seconds / STEP_S)):
            self._now += 1
            made += self.event(t.Chance(chance, anybody))
            for due in [d for d in self._due if d[0] <= self._now]:
                self._due.remove(due)
                made += self.event(t.Words(due[1].turn, due[1].steps, self.says))
        return made

    def kinds(self) -> list[str]:
        return [type(a).__name__ for a in self.all]


def test_wake_question_answer() -> None:
    talk = Talk()
    assert talk.event(t.Wake("Hey Jarvis")) == [Hold(), Open(1, "wake", t.PRE_S), Chime("ready")]
    talk.says = "Hey Jarvis, where are my keys?"
    talk.sound(1.5, 0.9)
    after = talk.sound(0.4, 0.0)
    assert [a.intent.text for a in after if isinstance(a, Guess)] == ["Where are my keys?"]
    (done,) = [a for a in talk.sound(0.2, 0.0) if isinstance(a, Do)]
    assert (done.kind, done.intent.kind, done.intent.text) == ("wake", "question", "Where are my keys?")
    assert talk.turns.open is None
    assert talk.sound(3, 0.9) == []


def test_the_wake_word_alone_is_followed_by_patience() -> None:
    talk = Talk()
    talk.event(t.Wake("Hey Jarvis"))
    talk.says = "Hey Jarvis."
    talk.sound(0.4, 0.9)
    talk.sound(2.2, 0.0)
    assert talk.turns.open == "wake"
    talk.says = "Hey Jarvis. What time is it?"
    talk.sound(1.0, 0.9)
    assert any(isinstance(a, Do) for a in talk.sound(1.0, 0.0))


def test_a_question_that_passes_for_the_own_voice_is_heard_to_its_end() -> None:
    """While the device still sounds nobody is told from it: half a question must not do for all of it."""
    talk = Talk()
    talk.event(t.Wake("Hey Jarvis"))
    talk.says = "Hey Jarvis, where am I?"  # going to be "where are my keys"
    assert talk.sound(0.9, 0.0, anybody=0.9) == []
    talk.says = "Hey Jarvis, where are my keys?"
    (done,) = [a for a in talk.sound(0.5, 0.0) if isinstance(a, Do)]
    assert done.intent.text == "Where are my keys?"


def test_a_short_command_in_one_breath_with_the_wake_word_is_found_in_what_was_before_it() -> None:
    for text, kind in (("Louder.", "louder"), ("Stop.", "stop"), ("Where are my keys?", "question")):
        talk = Talk()
        talk.event(t.Wake("Hey Jarvis"))
        talk.says = f"Hey Jarvis, {text}"
        (done,) = [a for a in talk.sound(1.0, 0.0) if isinstance(a, Do)]
        assert (done.intent.kind, done.intent.text) == (kind, text)
        assert talk.kinds().count("Decode") == 1
    for text in ("Hey Jarvis.", "Hey Jarvis is.", "Hey, Jarvis, yes.", "The wall is blue."):
        talk = Talk()
        talk.event(t.Wake("Hey Jarvis"))
        talk.says = text
        talk.sound(2.0, 0.0)
        assert talk.turns.open == "wake"
        assert talk.kinds().count("Decode") == 1
    talk = Talk()
    talk.event(t.Tap())
    talk.sound(4.0, 0.0)
    assert "Decode" not in talk.kinds()  # before a tap nothing was said to the device


def test_a_command_may_end_in_a_word_that_a_sentence_does_not_end_in() -> None:
    talk = Talk()
    talk.event(t.Wake("Hey Jarvis"))
    talk.says = "Hey Jarvis, repeat that."
    talk.sound(1.0, 0.9)
    assert [a.intent.kind for a in talk.sound(0.7, 0.0) if isinstance(a, Do)] == ["repeat"]
    talk.event(t.Wake("Hey Jarvis"))
    talk.says = "Hey Jarvis, what did I do with"
    talk.sound(1.0, 0.9)
    assert not any(isinstance(a, Do) for a in talk.sound(1.5, 0.0))


def test_after_the_wake_word_nobody_speaks() -> None:
    talk = Talk()
    talk.event(t.Wake("Hey Jarvis"))
    assert talk.sound(5.2, 0.0)[-2:] == [Chime("gone"), Close(True)]


def test_no_end_before_the_last_words_are_decoded() -> None:
    talk = Talk()
    talk.late = 60  # 1.9 s: a busy machine
    talk.event(t.Wake("Hey Jarvis"))
    talk.says = "Hey Jarvis, where are"
    talk.sound(1.5, 0.9)
    assert not [a for a in talk.sound(1.0, 0.0) if isinstance(a, Do)]
    talk.says = "Hey Jarvis, where are my keys?"
    (done,) = [a for a in talk.sound(4.0, 0.0) if isinstance(a, Do)]
    assert done.intent.text == "Where are my keys?"


def test_a_recogniser_that_never_answers_ends_the_turn() -> None:
    talk = Talk()
    talk.late = 10_000
    talk.event(t.Wake("Hey Jarvis"))
    talk.sound(1.5, 0.9)
    assert talk.sound(8.0, 0.0)[-1] == Close(True)
    assert talk.turns.open is None


def test_stop_waits_for_no_silence() -> None:
    talk = Talk()
    talk.event(t.Barge())
    talk.says = "Stop."
    talk.sound(0.4, 0.9)
    assert [a.intent.kind for a in talk.sound(0.35, 0.0) if isinstance(a, Do)] == ["stop"]


def test_a_voice_over_the_device_that_says_nothing_gives_the_floor_back_after_two_seconds() -> None:
    talk = Talk()
    assert talk.event(t.Barge()) == [Hold(), Open(1, "barge", t.BARGE_PRE_S)]
    made = talk.sound(2.1, 0.0)
    assert made[-1] == Close(True)
    talk.event(t.Barge())
    talk.says = ""
    talk.sound(0.3, 0.9)
    assert talk.sound(2.2, 0.0)[-1] == Close(True)


def test_a_tap_begins_a_turn_and_a_second_ends_it() -> None:
    talk = Talk()
    assert Open(1, "tap", 0.2) in talk.event(t.Tap())
    assert talk.event(t.Tap()) == [Chime("gone"), Close(False)]
    talk.event(t.Tap())
    talk.says = "Hey Jarvis is a film"  # nothing is taken off: no wake word was said
    talk.sound(1.0, 0.9)
    (done,) = [a for a in talk.sound(1.0, 0.0) if isinstance(a, Do)]
    assert done.intent.text == "Hey Jarvis is a film"


def test_an_answer_is_expected_without_a_wake_word() -> None:
    talk = Talk()
    assert Open(1, "reply", 0.2) in talk.event(t.Expect())
    talk.says = "Yes."
    talk.sound(0.5, 0.9)
    (done,) = [a for a in talk.sound(0.9, 0.0) if isinstance(a, Do)]
    assert (done.kind, done.intent.kind) == ("reply", "yes")
    talk.event(t.Wake("Hey Jarvis"))
    assert talk.event(t.Expect()) == []  # somebody has the floor already


def test_a_microphone_that_stops_in_mid_utterance_ends_the_turn() -> None:
    talk = Talk()
    talk.event(t.Wake("Hey Jarvis"))
    talk.says = "Hey Jarvis, where are my keys?"
    talk.sound(1.6, 0.9)
    talk.event(t.Deaf())
    decode = [a for a in talk.all if isinstance(a, Decode)][-1]
    talk.event(t.Words(decode.turn, decode.steps, talk.says))
    (decode,) = [a for a in talk.event(t.Deaf()) if isinstance(a, Decode)] or [decode]
    talk.event(t.Words(decode.turn, decode.steps, talk.says))
    (done,) = talk.event(t.Deaf()) if talk.turns.open else [talk.all[-1]]
    assert isinstance(done, Do)
    talk.event(t.Wake("Hey Jarvis"))
    assert talk.event(t.Deaf()) == [Chime("trouble"), Close(True)]


def test_a_second_wake_word_begins_anew_and_late_words_of_the_first_are_dropped() -> None:
    talk = Talk()
    talk.event(t.Wake("Hey Jarvis"))
    talk.sound(1.2, 0.9)
    talk.event(t.Wake("Hey Jarvis"))
    assert talk.event(t.Words(1, 20, "Delete everything.")) == []
    assert talk.turns.text == ""


def test_without_earcons_nothing_chimes() -> None:
    talk = Talk(chimes=False)
    talk.event(t.Wake("Hey Jarvis"))
    talk.sound(6.0, 0.0)
    assert "Chime" not in talk.kinds()
