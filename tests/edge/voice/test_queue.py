from __future__ import annotations

from edge.messages import Say
from edge.voice.queue import ALERT, ANSWER, CRITICAL, NOTICE, URGENT, VoiceQueue


def say(text: str, priority: int, deadline: int | None = None, source: str = "alert") -> Say:
    return Say(text, priority, source, deadline)


def order(queue: VoiceQueue, mono: int = 0) -> list[str]:
    texts = []
    while (said := queue.next(mono)) is not None:
        texts.append(said.text)
    return texts


def test_the_urgent_speaks_first_and_equals_in_their_order() -> None:
    queue = VoiceQueue()
    for text, priority in (
        ("battery low", NOTICE), ("water", ALERT), ("answer one", ANSWER), ("stove", URGENT), ("habit", ALERT),
        ("car", CRITICAL), ("answer two", ANSWER),
    ):  # fmt: skip
        assert queue.push(say(text, priority), 0)
    assert order(queue) == ["car", "stove", "answer one", "answer two", "water", "habit", "battery low"]
    assert queue.dropped == {}


def test_the_stale_is_never_said() -> None:
    queue = VoiceQueue()
    assert queue.push(say("in time", ALERT, deadline=100), 50)
    assert queue.push(say("too late", ALERT, deadline=99), 50)
    assert not queue.push(say("late already", CRITICAL, deadline=49), 50)
    assert order(queue, 100) == ["in time"]
    assert queue.dropped == {"stale": 2}


def test_the_same_words_wait_once() -> None:
    queue = VoiceQueue()
    assert queue.push(say("mind the stove", ALERT), 0)
    assert not queue.push(say("mind the stove", ALERT), 0)
    assert queue.push(say("mind the stove", ALERT, source="answer"), 0)
    assert len(queue) == 2
    assert order(queue) == ["mind the stove"] * 2
    assert queue.push(say("mind the stove", ALERT), 0)  # said before is no reason to keep silent now


def test_a_full_queue_lets_go_of_the_oldest_of_the_least_urgent() -> None:
    queue = VoiceQueue(capacity=3)
    for text, priority in (("first low", NOTICE), ("second low", NOTICE), ("answer", ANSWER)):
        queue.push(say(text, priority), 0)
    assert queue.push(say("alert", ALERT), 0)
    assert order(queue) == ["answer", "alert", "second low"]
    for number in range(3):
        queue.push(say(f"answer {number}", ANSWER), 0)
    assert not queue.push(say("low again", NOTICE), 0)
    assert queue.dropped == {"full": 2}
    assert len(queue) == 3


def test_a_full_queue_lets_go_of_the_stale_first() -> None:
    queue = VoiceQueue(capacity=2)
    queue.push(say("stale soon", CRITICAL, deadline=10), 0)
    queue.push(say("low", NOTICE), 0)
    assert queue.push(say("another low", NOTICE), 11)
    assert order(queue, 11) == ["low", "another low"]


def test_only_the_critical_interrupts_and_only_the_uncritical_is_interrupted() -> None:
    queue = VoiceQueue()
    queue.push(say("urgent", URGENT), 0)
    assert not queue.interrupts(say("answer", ANSWER))
    queue.push(say("car", CRITICAL), 0)
    assert queue.interrupts(say("answer", ANSWER))
    assert queue.interrupts(say("urgent too", URGENT))
    assert not queue.interrupts(say("another car", CRITICAL))


def test_the_rest_of_an_interrupted_one_comes_before_its_equals() -> None:
    queue = VoiceQueue()
    queue.push(say("second answer", ANSWER), 0)
    queue.push(say("car", CRITICAL), 0)
    assert queue.resume(say("one. two. three.", ANSWER, deadline=10), "two. three.", 10)
    assert not queue.resume(say("old. news.", ALERT, deadline=9), "news.", 10)
    assert order(queue, 10) == ["car", "two. three.", "second answer"]
    assert queue.dropped == {"stale": 1}


def test_clearing_keeps_critical_warnings() -> None:
    queue = VoiceQueue()
    queue.push(say("answer", ANSWER, source="answer"), 0)
    queue.push(say("water", ALERT), 0)
    queue.push(say("car", CRITICAL), 0)
    assert queue.clear("answer") == 1
    assert queue.clear() == 1
    assert queue.clear() == 0
    assert order(queue) == ["car"]
    assert queue.dropped == {"hushed": 2}
