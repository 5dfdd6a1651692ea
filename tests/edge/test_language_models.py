"""The program with and without language models: nothing leaves by default, and a model that dies costs words, not windows."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from remote_support import free_port, says, serving

from edge.clock import SystemClock
from edge.config import Config, Llm, Remote
from edge.engines import Engines
from edge.errors import ConfigError
from edge.recorder import read_trace
from models.errors import ModelMissingError
from models.roles import Message
from tools.tiny_models import Made, make

ROOT = Path(__file__).resolve().parents[2]
NO_ENGINE = any(importlib.util.find_spec(m) is None for m in ("llama_cpp", "gguf"))
needs_llama = pytest.mark.skipif(NO_ENGINE, reason="llama-cpp-python and gguf are not installed: see tools/llama.sh")
needs_openai = pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="openai is not installed")
mono = SystemClock().mono
SECONDS, WINDOW_S = 16, 4

# Told by every Python process of the run, before anything is sent: who talks to whom over the network.
HOOK = """
    import os, sys
    def hook(event, given):
        if event in ("socket.getaddrinfo", "socket.gethostbyname"):
            told = given[0]
        elif event in ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"):
            told = given[1]
            if not isinstance(told, tuple):
                return  # a path: a socket of this machine's file system
            if event == "socket.bind" and told[0] in ("::1", "127.0.0.1"):
                return  # urllib3 asks in this way whether there is IPv6; who listens shows in the kernel's tables
        else:
            return
        with open(os.environ["NET_LOG"], "a") as log:
            log.write(f"{event} {told!r} {sys.argv[:2]}\\n")
    sys.addaudithook(hook)
"""


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rooms that follow each other, one for each window."""
    path, size = tmp_path_factory.mktemp("video") / "rooms.mp4", (160, 120)
    rng = np.random.default_rng(1)
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=2)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for second in range(0, SECONDS, WINDOW_S):
            room = cv2.resize(rng.integers(0, 255, (12, 16, 3), dtype=np.uint8), size, interpolation=cv2.INTER_NEAREST)
            for n in range(second * 2, (second + WINDOW_S) * 2):
                frame = av.VideoFrame.from_ndarray(room, format="bgr24")
                frame.pts, frame.time_base = n, Fraction(1, 2)
                out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


@pytest.fixture
def home() -> Iterator[Path]:
    """A home of its own, its path short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="gl-"))
    (folder / "run").mkdir(mode=0o700)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("tiny"), "qwen3vl")


def environment(home: Path, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        **{f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "STATE")},
        "XDG_RUNTIME_DIR": str(home / "run"),
        "GROVE_EDGE_MEMORY__CLIP__WINDOW_S": str(WINDOW_S),
        **more,
    }


def command(home: Path, video: Path) -> list[str]:
    return [
        sys.executable, "-m", "edge.cli", "run", "--source", str(video), "--mic", "none", "--speaker", "none",
        "--db", str(home / "m.db"), "--record", str(home / "copy.jsonl"), "--json",
    ]  # fmt: skip


def descendants(pid: int) -> set[int]:
    """A process and all below it."""
    found, todo = {pid}, [pid]
    while todo:
        for children in Path(f"/proc/{todo.pop()}/task").glob("*/children"):
            try:
                new = {int(x) for x in children.read_text().split()} - found
            except OSError:
                continue
            found |= new
            todo += new
    return found


def internet_sockets(pids: set[int]) -> set[str]:
    """Lines of the kernel's tables of TCP, UDP and raw sockets that belong to these processes."""
    inodes: set[str] = set()
    for pid in pids:
        with suppress(OSError):  # it has ended
            for fd in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    target = str(fd.readlink())
                    if target.startswith("socket:["):
                        inodes.add(target[8:-1])
    lines: set[str] = set()
    if not inodes:
        return lines
    for table in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6", "icmp"):
        path = Path(f"/proc/net/{table}")
        if path.exists():
            lines |= {
                f"{table} {x}"
                for x in path.read_text().splitlines()[1:]
                if len(x.split()) > 9 and x.split()[9] in inodes
            }
    return lines


def watched(arguments: Sequence[str], env: dict[str, str], folder: Path) -> tuple[int, str, list[str]]:
    """Run a program to its end; its status, its output and every sign of the network from it and its children."""
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(textwrap.dedent(HOOK), encoding="utf-8")
    log = folder / "net.log"
    paths = os.pathsep.join([str(folder / "hook"), *filter(None, [env.get("PYTHONPATH", "")])])
    process = subprocess.Popen(
        arguments, cwd=ROOT, env={**env, "PYTHONPATH": paths, "NET_LOG": str(log)}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    seen: set[str] = set()
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(0.05):
            seen.update(internet_sockets(descendants(process.pid)))

    looker = threading.Thread(target=look)
    looker.start()
    try:
        out, _ = process.communicate()
    finally:
        process.kill()
        stop.set()
        looker.join()
    told = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return process.returncode, out, told + sorted(seen)


def test_nothing_leaves_the_device_by_default(video: Path, home: Path) -> None:
    status, out, signs = watched(command(home, video), environment(home), home)
    assert status == 0, out
    assert len(list(read_trace(home / "copy.jsonl", 2.0))) == SECONDS // WINDOW_S
    assert signs == []


def test_the_watch_would_see_a_connection(home: Path) -> None:
    port = free_port()
    code = f"""
        import socket, threading
        server = socket.create_server(("127.0.0.1", {port}))
        client = socket.create_connection(("127.0.0.1", {port}))
        threading.Event().wait(0.3)
    """
    _, _, signs = watched([sys.executable, "-c", textwrap.dedent(code)], environment(home), home)
    assert any(s.startswith("socket.connect") for s in signs)
    assert any(s.startswith("tcp") for s in signs)


def with_tiny(tiny: Made, **more: str) -> dict[str, str]:
    settings = {
        "VISION": "local", "VISION_MODEL": str(tiny.model), "VISION_MMPROJ": str(tiny.mmproj), "CONTEXT": "8192",
        "VISION_TIMEOUT_S": "60", "VISION_FRAMES": "1", "VISION_TOKENS": "4000", "THREADS": "1", **more,
    }  # fmt: skip
    return {f"GROVE_EDGE_LLM__{k}": v for k, v in settings.items()}


@needs_llama
def test_a_run_with_a_vision_model_keeps_all_to_itself_too(video: Path, home: Path, tiny: Made) -> None:
    status, out, signs = watched(command(home, video), environment(home, **with_tiny(tiny)), home)
    assert status == 0, out
    windows = list(read_trace(home / "copy.jsonl", 2.0))
    assert len(windows) == SECONDS // WINDOW_S
    assert {w.made_by for w in windows} == {"vlm"}
    assert len({w.description for w in windows}) == len(windows)
    assert signs == []
    costs = json.loads((home / "state" / "grove-edge" / "model-costs.json").read_text())
    (day,) = costs.values()
    (cost,) = day.values()
    assert cost["calls"] == cost["images"] == len(windows)
    assert cost["bytes_sent"] == 0


@needs_llama
def test_a_child_that_is_killed_again_and_again_costs_words_and_no_window(video: Path, home: Path, tiny: Made) -> None:
    process = subprocess.Popen(
        command(home, video), cwd=ROOT, env=environment(home, **with_tiny(tiny)), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    kills, never = 0, threading.Event()
    while process.poll() is None:
        for pid in descendants(process.pid) - {process.pid}:
            try:
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if b"llama_child" in line and kills < 3:
                never.wait(0.7)
                with suppress(ProcessLookupError):  # it left by itself
                    os.kill(pid, signal.SIGKILL)
                    kills += 1
        never.wait(0.05)
    out, _ = process.communicate()
    assert process.returncode == 0, out
    windows = list(read_trace(home / "copy.jsonl", 2.0))
    assert kills
    assert len(windows) == SECONDS // WINDOW_S
    assert "light" in {w.made_by for w in windows}
    assert all(w.captions and not w.gaps for w in windows)  # no frame was missed meanwhile


def test_a_model_that_is_not_there_is_told_and_light_perception_works(video: Path, home: Path) -> None:
    env = environment(home, GROVE_EDGE_LLM__VISION="local", GROVE_EDGE_LLM__VISION_MODEL=str(home / "none.gguf"))
    done = subprocess.run(command(home, video), cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {w.made_by for w in read_trace(home / "copy.jsonl", 2.0)} == {"light"}
    (path,) = (home / "state").rglob("grove-edge.log")
    log = path.read_text(encoding="utf-8")
    assert "fell_back" in log
    assert "none.gguf" in log


# --- the choice of each role ----------------------------------------------------------------------------------------


@pytest.fixture
def engines() -> Iterator[Callable[..., Engines]]:
    made: list[Engines] = []

    def build(**llm: Any) -> Engines:
        made.append(Engines(Config(llm=Llm(**llm))))
        return made[-1]

    yield build
    for one in made:
        one.close()


def test_by_default_nobody_thinks(engines: Callable[..., Engines]) -> None:
    chosen = engines()
    assert chosen.vision() is None
    assert chosen.language("agent") is chosen.language("matching") is chosen.language("consolidation") is None
    health = chosen.language_health()
    policies = health.pop("policies")
    assert set(policies.values()) == {"off", "rules"}
    assert {"vision", "consolidation", "matching", "boundary", "agent"} <= set(policies)
    assert health == {"roles": {}, "models": {}, "costs_today": []}


@pytest.mark.parametrize(
    "llm",
    [
        {"vision": "remote"},
        {"vision": "remote", "remote": Remote(url="http://127.0.0.1:1/v1", model="m")},
        {"vision": "remote", "remote": Remote(url="http://127.0.0.1:1/v1", model="m", vision_may_send="text")},
        {"vision": "remote-then-local", "remote": Remote(model="m", vision_may_send="text+frames")},
    ],
)
def test_a_remote_that_is_not_allowed_or_not_named_is_a_wrong_setting(
    engines: Callable[..., Engines], llm: Any
) -> None:
    with pytest.raises(ConfigError, match=r"llm\.vision names a remote"):
        engines(**llm).vision()


def test_a_local_model_that_is_not_here_says_how_to_get_it(engines: Callable[..., Engines]) -> None:
    with pytest.raises(ModelMissingError, match="models pull qwen3-4b"):
        engines(agent="local", language_model="qwen3-4b").language("agent")


@needs_openai
def test_remote_then_local_is_one_model_with_metered_parts(engines: Callable[..., Engines]) -> None:
    with serving(says("In the kitchen.")) as server:
        remote = Remote(url=server.url, model="m")
        thinker = engines(agent="remote-then-local", language_model="qwen3-4b", remote=remote)
        model = thinker.language("agent")  # the local one is not here: told, and the remote answers alone
        assert model is not None
        assert model.complete([Message("user", "Where are my keys?")]) == "In the kitchen."
        assert thinker.language("agent") is model
        assert "qwen3-4b" in thinker.thinkers.problems["agent"]
        health = thinker.language_health()
        assert health["roles"]["agent"]["in_use"]
        (row,) = health["costs_today"]
        assert (row["role"], row["where"], row["calls"]) == ("agent", "remote", 1)
        assert row["bytes_sent"] > 0
