"""A remote model that is down, slow, mad or polite: an answer or a typed error in bounded time, memory and log lines."""

from __future__ import annotations

import base64
import importlib.util
import json
import logging
import resource
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from remote_support import (
    FaultServer,
    cuts,
    drips,
    echoes,
    endless,
    fails,
    free_port,
    garbage,
    hangs,
    page,
    says,
    serving,
)

from edge.clock import SystemClock
from models.backends.fake import FakeLanguage
from models.backends.openai_remote import OpenAIRemote, RemoteSettings
from models.breaker import Breaker
from models.disk_queue import DiskQueue, Job
from models.errors import (
    InputError,
    ModelCancelledError,
    ModelDownError,
    ModelError,
    ModelTimeoutError,
    NoSpaceError,
    NotAllowedError,
    OutputError,
)
from models.fallback import FirstOf, Metered
from models.meter import DAYS_KEPT, Meter
from models.roles import CallOptions, Message, Usage

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("openai") is None, reason="openai is not installed: pip install openai"
)

mono = SystemClock().mono
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 9},
        "count": {"type": "integer", "minimum": 1, "maximum": 5},
    },
    "required": ["name", "count"],
}
GOOD = '{"name": "cup", "count": 2}'
ASK = [Message("user", "What is on the table?")]
Connect = Callable[..., OpenAIRemote]


@pytest.fixture
def connect() -> Iterator[Connect]:
    made: list[OpenAIRemote] = []

    def build(url: str, *, breaker: Breaker | None = None, **more: Any) -> OpenAIRemote:
        given = {"first_byte_s": 60.0, "idle_s": 60.0, "backoff_s": 0.01, **more}
        made.append(OpenAIRemote(RemoteSettings(url=url, model="m", **given), mono=mono, breaker=breaker))
        return made[-1]

    yield build
    for one in made:
        one.close()


def test_text_and_objects_come_and_are_metered(connect: Connect) -> None:
    costs: list[Usage] = []
    with serving(
        says("On the table.", usage={"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}), says(GOOD)
    ) as server:
        remote = connect(server.url)
        assert remote.complete(ASK, None, CallOptions(meter=costs.append)) == "On the table."
        assert remote.complete(ASK, SCHEMA, CallOptions(meter=costs.append)) == {"name": "cup", "count": 2}
        assert (costs[0].prompt_tokens, costs[0].completion_tokens) == (9, 4)
        assert costs[1].completion_tokens > 0
        assert all(c.bytes_sent > 100 for c in costs)
        form = server.requests[1]["response_format"]
        assert form["json_schema"]["schema"]["additionalProperties"] is False
        assert form["json_schema"]["strict"] is True
    assert remote.health()["state"] == "closed"


def test_text_streams_as_it_comes(connect: Connect) -> None:
    with serving(says("<think>hm</think>One two three", 4)) as server:
        pieces = list(connect(server.url).stream(ASK))
        assert "".join(pieces) == "One two three"
        assert len(pieces) > 2


@pytest.mark.parametrize(
    ("answer", "repaired"),
    [
        (f"```json\n{GOOD}\n```", 0),
        (f"<think>a cup?</think>{GOOD}", 0),
        ('{"name": "cup", "count": 2', 1),
        ("{'name': 'cup', 'count': 2,}", 1),
    ],
)
def test_a_nearly_right_answer_is_mended(connect: Connect, answer: str, repaired: int) -> None:
    with serving(says(answer)) as server:
        remote = connect(server.url)
        assert remote.complete(ASK, SCHEMA) == {"name": "cup", "count": 2}
        assert remote.repaired == repaired
        assert len(server.requests) == 1


def test_a_wrong_answer_is_asked_for_once_more_with_the_reason(connect: Connect) -> None:
    with serving(says('{"name": "cup", "count": 9}'), says(GOOD)) as server:
        remote = connect(server.url)
        assert remote.complete(ASK, SCHEMA) == {"name": "cup", "count": 2}
        again = server.requests[1]["messages"]
        assert again[-2]["role"] == "assistant"
        assert "at most 5" in again[-1]["content"]


@pytest.mark.parametrize("fault", [echoes, says('{"name": "cup", "count": 9}'), says("I cannot do that."), says("[]")])
def test_an_answer_that_stays_wrong_is_an_error(connect: Connect, fault: Any) -> None:
    with serving(fault) as server:
        remote = connect(server.url)
        with pytest.raises(OutputError):
            remote.complete(ASK, SCHEMA)
        assert len(server.requests) == 2


def test_a_server_without_schemas_is_asked_more_plainly(connect: Connect) -> None:
    def plain(h: Any) -> None:
        if h.body.get("response_format", {}).get("type") == "json_schema" or "stream_options" in h.body:
            h.status(422, b'{"detail": "unknown"}')
        else:
            h.stream([GOOD])

    with serving(plain) as server:
        remote = connect(server.url)
        assert remote.complete(ASK, SCHEMA) == {"name": "cup", "count": 2}
        assert "JSON schema" in server.requests[-1]["messages"][0]["content"]
        before = len(server.requests)
        remote.complete(ASK, SCHEMA)
        assert len(server.requests) == before + 1  # it has learned


@pytest.mark.parametrize(
    ("fault", "error", "requests"),
    [
        (hangs, ModelTimeoutError, 1),
        (drips, ModelTimeoutError, 1),
        (cuts, ModelDownError, 3),
        (garbage, ModelDownError, 3),
        (page, ModelDownError, 3),
        (endless, ModelDownError, 3),
        (fails(500, b"x" * 5_000_000), ModelDownError, 3),
        (fails(503), ModelDownError, 3),
        (fails(401), NotAllowedError, 1),
    ],
)
def test_a_broken_server_is_a_typed_error_in_bounded_time(
    connect: Connect, fault: Any, error: type[ModelError], requests: int
) -> None:
    little = 2.0 if error is ModelTimeoutError else 60.0
    with serving(fault) as server:
        remote = connect(server.url, first_byte_s=little, idle_s=little)
        with pytest.raises(error):
            remote.complete(ASK, SCHEMA, CallOptions(timeout_s=300))
        assert len(server.requests) == requests


def test_nobody_there_is_a_typed_error(connect: Connect) -> None:
    with pytest.raises(ModelDownError):
        connect(f"http://127.0.0.1:{free_port()}/v1").complete(ASK)


def test_a_server_that_recovers_is_used_in_the_same_call(connect: Connect) -> None:
    with serving(fails(500), cuts, says(GOOD)) as server:
        assert connect(server.url).complete(ASK, SCHEMA) == {"name": "cup", "count": 2}
        assert len(server.requests) == 3


def test_retry_after_is_kept_within_the_deadline_and_beyond_it_the_breaker_waits(connect: Connect) -> None:
    with serving(fails(429, headers={"Retry-After": "0.1"}), says(GOOD)) as server:
        began = mono()
        assert connect(server.url).complete(ASK, SCHEMA) == {"name": "cup", "count": 2}
        assert mono() - began >= 100_000
    with serving(fails(429, headers={"Retry-After": "120"})) as server:
        remote = connect(server.url)
        with pytest.raises(ModelDownError, match="asks for time"):
            remote.complete(ASK, SCHEMA, CallOptions(timeout_s=60))
        with pytest.raises(ModelDownError, match=r"left alone for another (1[012]|[5-9])"):
            remote.complete(ASK, SCHEMA)
        assert len(server.requests) == 1
        assert remote.health()["state"] == "open"


def test_a_call_is_taken_back_at_once(connect: Connect) -> None:
    back = threading.Event()
    with serving(hangs) as server:
        remote = connect(server.url)
        threading.Timer(0.1, back.set).start()
        with pytest.raises(ModelCancelledError):
            remote.complete(ASK, None, CallOptions(cancelled=back.is_set))
        with pytest.raises(ModelTimeoutError):
            remote.complete(ASK, None, CallOptions(timeout_s=0.2))
        assert remote.health()["state"] == "closed"


def test_the_breaker_opens_tries_once_and_closes_with_one_line_each(caplog: pytest.LogCaptureFixture) -> None:
    now = [0]
    breaker = Breaker("The remote", mono=lambda: now[0], failures=3, rest_s=30)
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            breaker.enter()
            breaker.failed("no route")
        for _ in range(50):
            with pytest.raises(ModelDownError, match="no route"):
                breaker.enter()
        now[0] += 30_000_000
        assert breaker.state == "half-open"
        breaker.enter()
        with pytest.raises(ModelDownError):
            breaker.enter()  # only one may try
        breaker.failed("no route")
        now[0] += 59_000_000
        assert breaker.state == "open"  # the rest has doubled
        now[0] += 1_000_000
        breaker.enter()
        breaker.left()  # taken back: nothing is known
        breaker.enter()
        breaker.passed()
        breaker.enter()
    assert [r.message for r in caplog.records] == [
        "The remote is left alone for a while: no route",
        "The remote answers again",
    ]


def test_nothing_is_sent_that_the_settings_do_not_allow(connect: Connect) -> None:
    frame = np.zeros((32, 32, 3), np.uint8)
    with serving(says(GOOD)) as server:
        for share in ("nothing", "text"):
            with pytest.raises(NotAllowedError):
                connect(server.url, may_send=share).describe([frame], "?", SCHEMA)
        with pytest.raises(NotAllowedError):
            connect(server.url, may_send="nothing").complete(ASK)
        assert not server.requests
        assert connect(server.url, may_send="text+frames").describe([frame, frame], "?", SCHEMA)["count"] == 2
        parts = server.requests[0]["messages"][-1]["content"]
        pictures = [p["image_url"]["url"] for p in parts if p["type"] == "image_url"]
        assert len(pictures) == 2
        assert base64.b64decode(pictures[0].split(",")[1]).startswith(b"\xff\xd8")


def test_what_was_sent_is_logged_with_its_bytes_and_never_its_words(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(says("yes")) as server, caplog.at_level(logging.INFO, "models.backends.openai_remote"):
        connect(server.url).complete([Message("user", "my secret")])
    (line,) = [r.getMessage() for r in caplog.records]
    assert "bytes" in line
    assert "secret" not in line


def test_the_next_one_answers_when_the_first_is_down_and_one_line_tells(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    port = free_port()
    both = FirstOf(
        [connect(f"http://127.0.0.1:{port}/v1", breaker=Breaker("The remote", mono=mono, rest_s=0.2)), FakeLanguage()],
        mono=mono,
    )
    with caplog.at_level(logging.INFO, "models"):
        for _ in range(6):
            assert both.complete(ASK, SCHEMA)
        assert both.fell_back
        with serving(says(GOOD), port=port):
            until = mono() + 60_000_000
            while both.fell_back:
                assert mono() < until
                both.complete(ASK, SCHEMA)
        assert list(both.stream(ASK))
    lines = [
        r.message for r in caplog.records if r.name in ("models.fallback", "models.breaker") and "answers" in r.message
    ]
    assert len([m for m in lines if m.startswith("fake-language")]) == 1 + ("fake-language" in lines[-1])


def test_answers_without_end_keep_memory_bounded(connect: Connect) -> None:
    with serving(endless) as server:
        remote = connect(server.url, tries=1, breaker=Breaker("The remote", mono=mono, failures=10_000))
        for _ in range(3):
            with pytest.raises(ModelDownError):
                remote.complete(ASK)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(12):
            with pytest.raises(ModelDownError):
                remote.complete(ASK)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # kB


# --- the queue on disk ----------------------------------------------------------------------------------------------


def test_work_waits_in_order_and_survives_the_process(tmp_path: Path) -> None:
    queue = DiskQueue(tmp_path / "q")
    for i in range(12):
        queue.put({"n": i})
    done: list[int] = []

    def down(_: Job) -> None:
        raise ModelDownError("still down")

    assert queue.drain(down, ModelDownError, lambda: False) == 0
    again = DiskQueue(tmp_path / "q")
    again.put({"n": 12})
    again.drain(lambda job: done.append(job.work["n"]), ModelDownError, lambda: len(done) >= 5)
    again.drain(lambda job: done.append(job.work["n"]), ModelDownError, lambda: False)
    assert done == list(range(13))
    assert again.counts() == {"waiting": 0, "dead": 0}


def test_a_job_that_fails_is_given_up_seen_and_put_back(tmp_path: Path) -> None:
    queue = DiskQueue(tmp_path / "q", tries=3)
    bad, good = queue.put({"bad": True}), queue.put({"bad": False})
    tried: list[str] = []

    def do(job: Job) -> None:
        tried.append(job.id)
        if job.work["bad"]:
            raise OutputError("It makes no sense.")

    assert queue.drain(do, ModelDownError, lambda: False) == 1
    assert tried == [bad, bad, bad, good]
    (dead,) = queue.dead()
    assert (dead.id, dead.tries) == (bad, 3)
    assert "no sense" in dead.error
    assert queue.revive() == 1
    assert queue.counts() == {"waiting": 1, "dead": 0}
    assert queue.put({"bad": False}) > good


def test_a_damaged_job_is_put_aside_and_the_rest_goes_on(tmp_path: Path) -> None:
    queue = DiskQueue(tmp_path / "q", jobs_max=2)
    first = queue.put({"n": 1})
    queue.put({"n": 2})
    with pytest.raises(NoSpaceError):
        queue.put({"n": 3})
    with pytest.raises(InputError):
        DiskQueue(tmp_path / "r").put({"n": "x" * (2 << 20)})
    (tmp_path / "q" / f"{first}.json").write_text("{cut")
    (tmp_path / "q" / "000000000009.part").write_text("half")
    again = DiskQueue(tmp_path / "q")
    job = again.next()
    assert job is not None
    assert job.work == {"n": 2}
    assert again.counts() == {"waiting": 1, "dead": 1}
    assert not list((tmp_path / "q").glob("*.part"))


# --- costs ----------------------------------------------------------------------------------------------------------


def test_costs_are_kept_by_role_and_day_also_of_failures(tmp_path: Path) -> None:
    day = ["2026-03-01"]
    meter = Meter(tmp_path / "costs.json", lambda: day[0])

    class Dear(FakeLanguage):
        watts = 10.0

        def complete(self, messages, schema=None, options=None):
            options.meter(Usage(10, 5, 0, 2.0, 100))
            if schema is None:
                raise OutputError("no")
            return super().complete(messages, schema)

    model, seen = Metered(Dear(), "agent", "local", meter), []
    model.complete(ASK, SCHEMA, CallOptions(meter=seen.append))
    with pytest.raises(OutputError):
        model.complete(ASK)
    day[0] = "2026-03-02"
    with pytest.raises(OutputError):
        list(model.stream(ASK))
    meter.close()
    rows = Meter(tmp_path / "costs.json", lambda: day[0]).rows()
    assert [r["day"] for r in rows] == ["2026-03-02", "2026-03-01"]
    old = rows[1]
    assert (old["role"], old["where"], old["calls"], old["failed"]) == ("agent", "local", 2, 1)
    assert (old["prompt_tokens"], old["completion_tokens"], old["bytes_sent"]) == (20, 10, 200)
    assert old["joules_estimated"] == 40.0
    assert len(seen) == 1
    for i in range(DAYS_KEPT + 5):
        day[0] = f"2027-{i // 28 + 1:02d}-{i % 28 + 1:02d}"
        meter.enter("agent", "local", "m", [], failed=False)
    assert len({r["day"] for r in meter.rows()}) == DAYS_KEPT
    (tmp_path / "costs.json").write_text("{broken")
    assert Meter(tmp_path / "costs.json", lambda: day[0]).rows() == []


def test_the_server_of_these_tests_speaks_the_protocol() -> None:
    with serving(says("x")) as server:
        assert isinstance(server, FaultServer)
        assert json.dumps(server.requests) == "[]"
