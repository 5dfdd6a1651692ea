"""Wishes, feedback and the power log: the newest wish counts, as known at each time."""

from __future__ import annotations

import pytest

from storage import Store
from storage.errors import NotFound
from storage.patience import Feedback, PowerEvent, Wish
from storage.records import Service


def test_the_newest_wish_of_a_kind_and_target_counts_at_each_time() -> None:
    with Store.open(None) as store:
        with store.transaction() as tx:
            tx.patience.wish(Wish(10, "frequency", value="low"))
            tx.patience.wish(Wish(20, "snooze", "type:safety", "on", 500))
            tx.patience.wish(Wish(30, "frequency", value="high"))
            tx.patience.wish(Wish(40, "snooze", "type:safety"))
        with store.snapshot(25) as then:
            assert [(w.kind, w.value) for w in then.patience.wishes()] == [("frequency", "low"), ("snooze", "on")]
        with store.snapshot() as now:
            assert [(w.kind, w.value) for w in now.patience.wishes()] == [("frequency", "high"), ("snooze", "")]
            found = now.patience.wish("snooze", "type:safety")
            assert found is not None and found.value == ""
            assert now.patience.wish("snooze", "place:shed") is None


def test_feedback_carries_what_the_alert_was_about_and_needs_one() -> None:
    with Store.open(None) as store:
        with store.transaction() as tx:
            number = tx.services.add(Service("task_reminder", 5, 0, "You wanted to sow.", (), "sow", 5))
            tx.patience.feedback(Feedback(7, number, "dismissed", "tap"))
        with store.snapshot() as now:
            (only,) = now.patience.feedback()
            assert (only.type, only.key, only.kind, only.how) == ("task_reminder", "sow", "dismissed", "tap")
        with store.snapshot(6) as before:
            assert before.patience.feedback() == []
        with pytest.raises(NotFound), store.transaction() as tx:
            tx.patience.feedback(Feedback(8, number + 1, "thanked"))


def test_the_power_log_keeps_what_was_known_and_what_was_not() -> None:
    event = PowerEvent(9, "saver", 38.5, False, None, 2.25, 1.5, "20")
    with Store.open(None) as store:
        with store.transaction() as tx:
            tx.patience.power(PowerEvent(1, "performance"))
            tx.patience.power(event)
        with store.snapshot() as now:
            last = now.patience.last_power()
            assert last is not None
            assert (last.mode, last.battery, last.charging, last.temperature_c, last.watts, last.warned) == (
                "saver", 38.5, False, None, 2.25, "20",
            )  # fmt: skip
            assert [p.mode for p in now.patience.power(since=2)] == ["saver"]
