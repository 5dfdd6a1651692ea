"""When the disk, the file or another process is at fault: one clear sentence, no loss, and it goes on by itself after."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from storage_support import SPACE, grow

import storage.connect
from storage import Store
from storage.cipher import Secret
from storage.errors import StorageError, StoreLocked, StoreUnreadable, StoreUnwritable
from storage.keyframes import KeyframeFolder, folder_of

ROOT = Path(__file__).resolve().parents[2]
KEY = Secret.of("77" * 32)
KEYS = pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])


def told(error: BaseException) -> str:
    """The sentence of an error, which is one."""
    text = str(error)
    assert "\n" not in text
    assert len(text) > 20
    return text


def count(store: Store) -> int:
    with store.snapshot() as snapshot:
        return snapshot.trace.count()


# --- a full disk ------------------------------------------------------------------------------------------------------


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """No file of this process may grow past so many bytes: the kernel refuses the write, as a full disk does."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


@KEYS
@pytest.mark.parametrize("rounds", [pytest.param(8, id="few"), pytest.param(60, id="often", marks=pytest.mark.slow)])
def test_a_disk_that_is_full_at_any_write_loses_nothing_and_is_gone_on_with(
    rounds: int, key: Secret | None, tmp_path: Path
) -> None:
    path, rng, refused = tmp_path / "m.db", random.Random(rounds), 0
    with Store.open(path, space=SPACE, key=key, own=True) as store:
        grow(store, 1, 4)
        held, n = count(store), 0
        for _ in range(rounds):
            with at_most(rng.randrange(4096, path.with_name("m.db-wal").stat().st_size + 60_000)):
                try:
                    for _ in range(6):
                        n += 1
                        grow(store, n, 1, (f"r{n}",))
                        held += 1
                except StoreUnwritable as error:
                    refused += 1
                    assert "nothing was half written" in told(error) or "check the path" in told(error)
                    assert count(store) == held, "answers still come while nothing can be written"
            assert count(store) == held
            grow(store, 100_000 + n, 1, (f"after{n}",))  # by itself, once there is room
            held += 1
        assert refused > rounds // 4
        assert store.integrity() == []
    with Store.open(path, key=key) as store:
        assert count(store) == held
        assert store.integrity() == []


def test_a_full_disk_at_a_backup_leaves_the_one_before(tmp_path: Path) -> None:
    path, target = tmp_path / "m.db", tmp_path / "b.db"
    with Store.open(path, space=SPACE, own=True) as store:
        grow(store, 1, 10)
        store.backup(target)
        before = target.read_bytes()
        grow(store, 2, 40, ("later", "latest"))
        with at_most(target.stat().st_size // 2), pytest.raises(StoreUnwritable) as caught:
            store.backup(target)
        told(caught.value)
        assert target.read_bytes() == before
        assert sorted(p.name for p in tmp_path.iterdir() if "part" in p.name) == []
        store.backup(target)
    with Store.open(target) as copy:
        assert copy.integrity() == []


def test_a_full_disk_at_a_frame_is_told_and_leaves_no_half_one(tmp_path: Path) -> None:
    frames = KeyframeFolder(folder_of(tmp_path / "m.db"))
    with at_most(1000), pytest.raises(StoreUnwritable, match="free some space"):
        frames.save(1, bytes(5000), 4, 4)
    assert [p for p in frames.root.rglob("*") if p.is_file()] == []
    assert frames.read(frames.save(1, bytes(5000), 4, 4)) == bytes(5000)


# --- files that do not answer -----------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/ns/user").exists(), reason="needs Linux namespaces")
@pytest.mark.parametrize("options", ["{}", "{'read_only': True}", "{'own': True}"])
def test_a_file_system_that_is_read_only(options: str, tmp_path: Path) -> None:
    """What can be read is read, what cannot be written is told."""
    path = tmp_path / "disk" / "m.db"
    with Store.open(path, space=SPACE) as store:
        grow(store, 1, 6)
    code = (
        "import sys; from pathlib import Path; from storage import Store\n"
        "from storage.errors import StorageError\n"
        "try:\n"
        f"    with Store.open(Path(sys.argv[1]), **{options}) as store, store.snapshot() as snapshot:\n"
        "        print('held', snapshot.trace.count())\n"
        "        with store.transaction() as tx: tx.trace.recording('new', 'wear')\n"
        "except StorageError as error: print(error.code, error)\n"
    )
    line = f'mount --bind {path.parent} {path.parent} && mount -o remount,ro,bind {path.parent} && exec {sys.executable} -c "$0" {path}'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", line, code],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no namespaces here: {done.stderr.strip()}")
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[-1].startswith("storage.unwritable ")
    assert "cannot be" in lines[-1]
    with Store.open(path) as store:
        assert store.integrity() == []


FAILING_DISK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
/* Every N-th write or sync fails as a dying card does. */
static int due(void) {
    static long n = 0;
    const char *every = getenv("FAIL_EVERY");
    return every && ++n % atol(every) == 0;
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    static ssize_t (*real)(int, const void *, size_t, off64_t) = 0;
    if (!real) real = (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
    if (due()) { errno = EIO; return -1; }
    return real(fd, data, size, at);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }
int fdatasync(int fd) {
    static int (*real)(int) = 0;
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
    if (due()) { errno = EIO; return -1; }
    return real(fd);
}
int fsync(int fd) {
    static int (*real)(int) = 0;
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    if (due()) { errno = EIO; return -1; }
    return real(fd);
}
"""


@pytest.fixture(scope="module")
def failing_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that lets writes of a process fail."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler: writes cannot be made to fail")
    folder = tmp_path_factory.mktemp("disk")
    source, library = folder / "disk.c", folder / "disk.so"
    source.write_text(FAILING_DISK)
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True, capture_output=True
    )
    return library


@pytest.mark.parametrize("every", [3, 7, 19, 40])
def test_writes_that_fail_now_and_then_lose_nothing_that_was_acknowledged(
    every: int, failing_disk: Path, tmp_path: Path
) -> None:
    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE) as store:
        grow(store, 1, 4)
    code = (
        "import sys; from pathlib import Path; from storage import Store; from storage_support import grow\n"
        "from storage.errors import StorageError\n"
        "held, failed = 4, 0\n"
        "store = None\n"
        "for n in range(40):\n"
        "    try:\n"
        "        store = store or Store.open(Path(sys.argv[1]))\n"
        "        grow(store, n, 1, (f'r{n}',)); held += 1\n"
        "    except StorageError as error:\n"
        "        assert '\\n' not in str(error); failed += 1\n"
        "        assert error.code in ('storage.unwritable', 'storage.error'), (error.code, str(error))\n"
        "print(held, failed)\n"
        "import os; sys.stdout.flush(); os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], cwd=ROOT / "tests", capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "LD_PRELOAD": str(failing_disk), "FAIL_EVERY": str(every)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    held, failed = map(int, done.stdout.split())
    assert failed > 0
    with Store.open(path) as store:
        assert count(store) >= held
        assert store.integrity() == []


# --- somebody else ----------------------------------------------------------------------------------------------------


def test_a_database_that_another_process_holds_is_told_and_free_again_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage.connect, "BUSY_MS", 200)
    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE) as store:
        grow(store, 1, 4)
    code = (
        "import sys; from pathlib import Path; from storage import Store\n"
        "with Store.open(Path(sys.argv[1])) as store, store.transaction() as tx:\n"
        "    tx.trace.recording('theirs', 'wear'); print('held', flush=True); sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with Store.open(path) as store:
            with pytest.raises(StoreLocked, match="written by another process"):
                grow(store, 2, 1, ("ours",))
            assert count(store) == 4, "a reader is never kept waiting"
            waiting = threading.Thread(target=holder.communicate)
            waiting.start()
            waiting.join(120)
            grow(store, 2, 1, ("ours",))
            assert count(store) == 5
            assert store.integrity() == []
    finally:
        holder.kill()
        holder.wait()


# --- a page that went bad ---------------------------------------------------------------------------------------------

DAMAGE = (
    "import sys; from pathlib import Path; from storage import Store; from storage.cipher import Secret\n"
    "from storage.errors import StorageError\n"
    "key = Secret.of('77' * 32) if sys.argv[2] == 'sealed' else None\n"
    "found = []\n"
    "try:\n"
    "    with Store.open(Path(sys.argv[1]), key=key) as store:\n"
    "        found = store.integrity()\n"
    "        list(store.dump())\n"
    "except StorageError as error: found.append(f'{error.code} {error}')\n"
    "print(*found, sep='\\n')\n"
)


@KEYS
def test_a_bad_page_is_found_and_a_backup_offered_and_put_back(key: Secret | None, tmp_path: Path) -> None:
    """In a process of its own, since sqlite-vec is no match for every damage to its own tables."""
    path, backup = tmp_path / "m.db", tmp_path / "b.db"
    with Store.open(path, space=SPACE, key=key) as store:
        grow(store, 1, 30)
        store.backup(backup)
        expected = list(store.dump())
    whole, rng, found, offered = path.read_bytes(), random.Random(5), 0, 0
    for _ in range(6):
        data, page = bytearray(whole), rng.randrange(1, len(whole) // 4096) * 4096
        data[page : page + 4096] = rng.randbytes(4096)
        path.write_bytes(data)
        done = subprocess.run(
            [sys.executable, "-c", DAMAGE, str(path), "sealed" if key else "plain"],
            cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        found += bool(done.stdout.strip()) or done.returncode < 0
        offered += "restore" in done.stdout
    assert found >= 4, "a page that holds rows is missed by nobody"
    assert offered
    from storage.backup import restore

    restore(backup, path, replace=True, key=key)
    with Store.open(path, key=key) as store:
        assert list(store.dump()) == expected


def test_an_error_of_the_driver_is_always_one_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with Store.open(path, space=SPACE) as store:
        grow(store, 1, 4)
    for size in (0, 100, 511, 600, 4096, 5000):
        torn = tmp_path / f"{size}.db"
        torn.write_bytes(path.read_bytes()[:size])
        with pytest.raises(StoreUnreadable) as caught:
            Store.open(torn, create=False)
        told(caught.value)
    with pytest.raises(StorageError):
        Store.open(tmp_path, create=False)
