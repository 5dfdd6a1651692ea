from __future__ import annotations

import os
import threading

import pytest

from edge.ahead import ahead, soon


def rank() -> tuple[int, int]:
    return os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def test_a_thread_and_those_it_begins_come_first_for_as_long_as_it_lasts() -> None:
    before, others = rank(), []
    if before[0] != os.SCHED_OTHER:
        pytest.skip("whoever runs the tests has given them a priority")
    with ahead() as granted:
        inside = rank()
        thread = threading.Thread(target=lambda: others.append(rank()))
        thread.start()
        thread.join()
        with ahead():
            assert rank() == inside
        assert rank() == inside
    assert (inside != before) is granted
    assert others == [inside]
    assert rank() == before


def test_one_that_computes_for_long_comes_behind_those_that_move_sound() -> None:
    before = rank()
    if before[0] != os.SCHED_OTHER:
        pytest.skip("whoever runs the tests has given them a priority")
    with ahead() as first:
        moving = rank()
        with soon() as granted:
            thinking = rank()
        assert rank() == moving
    assert thinking[0] == os.SCHED_OTHER
    assert (thinking[1] < before[1]) is granted
    assert granted or not first
    assert rank() == before
