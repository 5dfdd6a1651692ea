"""What is told of a camera or a microphone that goes and comes back."""

from __future__ import annotations

from edge.capture.reopen import Reopen
from edge.clock import US
from edge.losing import Losses


def told(losses: Losses, flow: bool | None, second: float) -> list[str]:
    return [text for _, _, text in losses.step({"camera": True, "microphone": flow}, round(second * US))]


def test_a_loss_and_a_return_are_told_once_each() -> None:
    losses = Losses()
    heard = [
        told(losses, flow, n) for n, flow in enumerate([True, True, False, False, False, False, False, True, True])
    ]
    assert [(n, *texts) for n, texts in enumerate(heard) if texts] == [
        (5, "I cannot hear: the microphone is gone."),
        (7, "I can hear again."),
    ]


def test_a_short_outage_and_what_was_never_there_are_not_told() -> None:
    losses = Losses()
    assert not any(told(losses, flow, n) for n, flow in enumerate([True, False, False, True, False, False, True]))
    assert not any(told(losses, None, n) for n in range(100, 200))


def test_what_goes_on_missing_through_a_pause_is_not_told_again() -> None:
    losses = Losses()
    assert [len(told(losses, flow, n)) for n, flow in enumerate([False, False, False, False, None, None, False, False])] == [
        0, 0, 0, 1, 0, 0, 0, 0,
    ]  # fmt: skip


def test_when_a_source_flows() -> None:
    rule = Reopen(10, 2, 32, "microphone")
    assert rule.flows is None
    rule.died(0, "gone")
    assert rule.flows is None  # it was never there
    rule.opened(US)
    rule.item(2 * US)
    assert rule.flows
    rule.died(3 * US, "gone")
    assert rule.flows is False
    rule.opened(5 * US)
    assert rule.flows is False  # open, but nothing has come
    rule.item(6 * US)
    assert rule.flows
    rule.closed()
    assert rule.flows is None
