"""Finding, verifying and pulling model files, against a real HTTP server on loopback."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from models.errors import (
    FetchError,
    HashMismatchError,
    ManifestError,
    ModelCancelledError,
    ModelMissingError,
    NoSpaceError,
    NotAModelError,
    UnknownModelError,
)
from models.fetch import MARGIN, Progress
from models.manifest import ModelEntry, load_manifest
from models.registry import Registry

CONTENT = hashlib.shake_256(b"weights").digest(3_000_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Server:
    """Serves CONTENT with ranges, and misbehaves on demand."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str | None]] = []
        self.break_after: int | None = None  # bytes, once
        self.ranges = True
        self.page = False
        self.content_type = "application/octet-stream"
        self.body = CONTENT
        self.missing = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.serve(self)

            def log_message(self, *args: object) -> None:
                return

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/"

    def serve(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range")
        self.requests.append((request.path, wanted))
        if self.missing:
            request.send_error(404)
            return
        body = b"<!DOCTYPE html><html>please log in</html>" if self.page else self.body
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.ranges else 0
        request.send_response(206 if start else 200)
        request.send_header("Content-Type", self.content_type)
        request.send_header("Content-Length", str(len(body) - start))
        request.end_headers()
        if self.break_after is not None:
            request.wfile.write(body[start : start + self.break_after])
            request.wfile.flush()
            request.close_connection = True
            self.break_after = None
            return
        request.wfile.write(body[start:])


@pytest.fixture
def server() -> Iterator[Server]:
    s = Server()
    yield s
    s.http.shutdown()
    s.http.server_close()


def entry(server_url: str, *, sha256: str = DIGEST, size: int = len(CONTENT), **changes: object) -> ModelEntry:
    table = {
        "id": "tiny",
        "role": "asr",
        "licence": "MIT",
        "licence_url": "https://example.org/",
        "memory_mb": 1,
        "files": [{"name": "model.bin", "size": size, "sha256": sha256}],
        "sources": [{"kind": "url", "base": server_url}],
        **changes,
    }
    return ModelEntry.model_validate_json(json.dumps(table))


def registry(tmp_path: Path, *entries: ModelEntry, free: int = 10**12, **more: str) -> Registry:
    return Registry(tmp_path / "store", tmp_path / "cache", entries=entries, free_space=lambda _: free, **more)


def test_pull_then_locate(tmp_path: Path, server: Server) -> None:
    r = registry(tmp_path, entry(server.url))
    with pytest.raises(ModelMissingError, match="models pull tiny"):
        r.locate("tiny")
    seen: list[Progress] = []
    path = r.fetch("tiny", seen.append)["model.bin"]
    assert path.read_bytes() == CONTENT
    assert (seen[-1].done, seen[-1].total) == (len(CONTENT), len(CONTENT))
    assert not list(path.parent.glob("*.part"))
    assert r.locate("tiny")["model.bin"] == path
    r.fetch("tiny")
    assert len(server.requests) == 1, "what is there is not fetched again"


def test_a_broken_connection_is_resumed_where_it_stopped(tmp_path: Path, server: Server) -> None:
    server.break_after = 1_200_000
    path = registry(tmp_path, entry(server.url)).fetch("tiny")["model.bin"]
    assert path.read_bytes() == CONTENT
    first, second = server.requests
    assert first[1] is None
    assert second[1] == "bytes=1200000-"


def test_an_interrupted_pull_is_resumed_by_the_next_process(tmp_path: Path, server: Server) -> None:
    r = registry(tmp_path, entry(server.url))
    with pytest.raises(ModelCancelledError):
        r.fetch("tiny", cancelled=lambda: True)
    part = tmp_path / "store" / "tiny" / "model.bin.part"
    have = part.stat().st_size
    assert 0 < have < len(CONTENT)
    path = registry(tmp_path, entry(server.url)).fetch("tiny")["model.bin"]
    assert path.read_bytes() == CONTENT
    assert server.requests[-1][1] == f"bytes={have}-"


def test_a_server_without_ranges_starts_again(tmp_path: Path, server: Server) -> None:
    server.ranges = False
    server.break_after = 500_000
    assert registry(tmp_path, entry(server.url)).fetch("tiny")["model.bin"].read_bytes() == CONTENT


def test_remains_of_another_version_are_thrown_away_once(tmp_path: Path, server: Server) -> None:
    folder = tmp_path / "store" / "tiny"
    folder.mkdir(parents=True)
    (folder / "model.bin.part").write_bytes(b"x" * 1000)
    path = registry(tmp_path, entry(server.url)).fetch("tiny")["model.bin"]
    assert path.read_bytes() == CONTENT
    assert [r for _, r in server.requests] == ["bytes=1000-", None]


def test_wrong_hash_is_refused_and_leaves_nothing(tmp_path: Path, server: Server) -> None:
    r = registry(tmp_path, entry(server.url, sha256="0" * 64))
    with pytest.raises(HashMismatchError, match="is not the model"):
        r.fetch("tiny")
    assert list((tmp_path / "store" / "tiny").iterdir()) == []


def test_a_longer_file_is_refused_early(tmp_path: Path, server: Server) -> None:
    with pytest.raises(HashMismatchError, match="sends more"):
        registry(tmp_path, entry(server.url, size=1000)).fetch("tiny")


@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "application/octet-stream"])
def test_a_web_page_is_not_a_model(tmp_path: Path, server: Server, content_type: str) -> None:
    server.page = True
    server.content_type = content_type
    with pytest.raises(NotAModelError, match="web page"):
        registry(tmp_path, entry(server.url)).fetch("tiny")
    assert not (tmp_path / "store" / "tiny" / "model.bin").exists()


def test_short_disk_is_seen_before_the_first_byte(tmp_path: Path, server: Server) -> None:
    r = registry(tmp_path, entry(server.url), free=MARGIN + len(CONTENT) - 1)
    with pytest.raises(NoSpaceError, match="3 MB are needed"):
        r.fetch("tiny")
    assert server.requests == []


def test_a_dead_address_is_one_sentence(tmp_path: Path, server: Server) -> None:
    server.missing = True
    with pytest.raises(FetchError, match="404"):
        registry(tmp_path, entry(server.url)).fetch("tiny")
    with pytest.raises(FetchError, match="broke off"):
        registry(tmp_path, entry("http://127.0.0.1:9/")).fetch("tiny")


def test_the_next_source_is_tried(tmp_path: Path, server: Server) -> None:
    both = [{"kind": "url", "base": "http://127.0.0.1:9/"}, {"kind": "url", "base": server.url}]
    r = registry(tmp_path, entry(server.url, sources=both))
    assert r.fetch("tiny")["model.bin"].read_bytes() == CONTENT


def test_hub_addresses_name_the_revision(tmp_path: Path, server: Server) -> None:
    hub = [{"kind": "hub", "repo": "maker/model", "revision": "v1.0", "folder": "en"}]
    r = registry(tmp_path, entry(server.url, sources=hub), hub=server.url)
    r.fetch("tiny")
    assert server.requests[0][0] == "/maker/model/resolve/v1.0/en/model.bin"


def test_pieces_from_local_folders_are_joined(tmp_path: Path, server: Server) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "one" / "p1").write_bytes(CONTENT[:1_000_000])
    (tmp_path / "two" / "p2").write_bytes(CONTENT[1_000_000:])
    e = entry(
        server.url,
        files=[{"name": "model.bin", "size": len(CONTENT), "sha256": DIGEST, "parts": ["p1", "p2"]}],
        sources=[{"kind": "folder", "path": str(tmp_path / d)} for d in ("one", "two")],
    )
    assert registry(tmp_path, e).fetch("tiny")["model.bin"].read_bytes() == CONTENT
    assert server.requests == []


def test_files_of_one_folder_are_brought_together(tmp_path: Path, server: Server) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "config.json").write_bytes(b"{}")
    both = [{"kind": "folder", "path": str(tmp_path / "here")}, {"kind": "url", "base": server.url}]
    small = {"name": "config.json", "size": 2, "sha256": hashlib.sha256(b"{}").hexdigest()}
    large = {"name": "model.bin", "size": len(CONTENT), "sha256": DIGEST}
    r = registry(tmp_path, entry(server.url, files=[small, large], sources=both, together=True))
    paths = r.fetch("tiny")
    assert {p.parent for p in paths.values()} == {tmp_path / "store" / "tiny"}
    assert [path for path, _ in server.requests] == ["/model.bin"]


def test_pieces_from_the_network_are_joined(tmp_path: Path, server: Server) -> None:
    server.body = CONTENT[:1000]
    whole = CONTENT[:1000] * 2
    digest = hashlib.sha256(whole).hexdigest()
    e = entry(server.url, files=[{"name": "model.bin", "size": 2000, "sha256": digest, "parts": ["p1", "p2"]}])
    assert registry(tmp_path, e).fetch("tiny")["model.bin"].read_bytes() == whole


def folder_entry(tmp_path: Path, content: bytes) -> ModelEntry:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "model.bin").write_bytes(content)
    return entry("http://127.0.0.1:9/", sources=[{"kind": "folder", "path": str(tmp_path / "here")}])


def test_a_changed_file_is_noticed_and_an_unchanged_one_not_read_again(tmp_path: Path) -> None:
    e = folder_entry(tmp_path, CONTENT)
    path = registry(tmp_path, e).locate("tiny")["model.bin"]
    verdicts = tmp_path / "cache" / "verified-models.json"
    assert json.loads(verdicts.read_text())[str(path)][2] == DIGEST
    assert verdicts.stat().st_mode & 0o777 == 0o600, "whose models they are is for the owner alone"
    stat = path.stat()
    path.write_bytes(bytes(len(CONTENT)))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    r = registry(tmp_path, e)
    assert r.locate("tiny"), "same size and time: the remembered verdict holds"
    with pytest.raises(HashMismatchError):
        r.verify("tiny")
    with pytest.raises(HashMismatchError):
        r.locate("tiny")


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        (CONTENT[:100], NotAModelError, "cut short: 100 of 3000000"),
        (b"version https://git-lfs.github.com/spec/v1\n", NotAModelError, "pointer"),
        (b"\n<HTML><body>404</body>", NotAModelError, "web page"),
        (bytes(len(CONTENT)), HashMismatchError, "not the model.bin"),
    ],
)
def test_bad_local_files_are_named(tmp_path: Path, content: bytes, error: type[Exception], says: str) -> None:
    r = registry(tmp_path, folder_entry(tmp_path, content))
    with pytest.raises(error, match=says):
        r.locate("tiny")
    status = r.status("tiny")
    assert status.installed
    assert not status.verified
    assert status.problem


def test_a_broken_memory_of_verdicts_only_costs_hashing(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "verified-models.json").write_text("{ broken")
    assert registry(tmp_path, folder_entry(tmp_path, CONTENT)).locate("tiny")


def test_unknown_model(tmp_path: Path) -> None:
    with pytest.raises(UnknownModelError, match="known are tiny"):
        registry(tmp_path, entry("http://127.0.0.1:9/")).get("nothing")


@pytest.mark.parametrize(
    "change",
    [
        ('sha256 = "', 'sha256 = "zz'),
        ("version = 1", "version = 2"),
        ('role = "asr"', 'role = "cook"'),
        ("memory_mb = 145", 'memory_mb = "160"'),
        ("memory_mb = 145", "memory_mb = 145\nspeed = 3"),
        ('name = "model.bin"', 'name = "../model.bin"'),
        ('id = "whisper-base"', 'id = "whisper-tiny.en"'),
        ('id = "whisper-base"\nrole = "asr"', 'id = "whisper-base"\nrole = "asr"\ndefault = true'),
        ("[[model]]", "[[model]"),
    ],
)
def test_manifest_is_strict(tmp_path: Path, change: tuple[str, str]) -> None:
    from models.manifest import MANIFEST

    text = MANIFEST.read_text()
    assert change[0] in text
    (tmp_path / "manifest.toml").write_text(text.replace(*change, 1))
    with pytest.raises(ManifestError, match="manifest"):
        load_manifest(tmp_path / "manifest.toml")


def test_the_own_weights_are_what_the_manifest_says(tmp_path: Path) -> None:
    r = Registry(tmp_path / "store", tmp_path / "cache")
    own = [e for e in r.entries if any(s.kind == "own" for s in e.sources)]
    assert own
    for e in own:
        paths = r.locate(e.id)
        assert sum(p.stat().st_size for p in paths.values()) <= 8_000_000
        licence = next(iter(paths.values())).with_name("LICENSE").read_text()
        assert "Apache License" in licence
