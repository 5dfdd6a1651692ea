"""kill -9 in the middle of writing, of an update, a backup, a vacuum, an encryption: whole afterwards, nothing lost.

Each is done a few times here and as often as promised with -m slow.
"""

from __future__ import annotations

import lzma
import os
import random
import select
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from storage_support import BASE, SPACE, US, grow

from storage import Store, cipher_swap
from storage.backup import beside, copies_before_updates
from storage.cipher import Secret
from storage.errors import StorageError, WrongKey
from storage.keyframes import KeyframeFolder, folder_of
from storage.migrations import MIGRATIONS, missing

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "memory-m002_speakers.db.xz"
KEY = Secret.of("66" * 32)
TIMES = [pytest.param(3, id="few"), pytest.param(20, id="often", marks=pytest.mark.slow)]


def child(work: Callable[[int], None]) -> tuple[int, int]:
    """Do work in a process of its own; gives its id and a pipe that `work` may write to."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        status = 1
        try:
            work(writing)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    return pid, reading


def killed(work: Callable[[int], None], after_s: float) -> bool:
    """Kill work after so long; false when it had ended well before."""
    pid, pipe = child(work)
    select.select([pipe], [], [], 300)  # its first word: it is at it
    select.select([], [], [], after_s)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(pipe)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "it did not fail by itself"
    return os.WIFSIGNALED(status)


def moments(times: int, rng: random.Random, length: float, cut: list[bool]) -> Iterator[tuple[int, float]]:
    """Numbered moments within so many seconds to kill at; beyond `times` at once, until one fell into the work.

    Whoever kills tells `cut`: a busy machine may let work come to its end before every one of them.
    """
    for n in range(times + 200):
        if n < times:
            yield n, rng.uniform(0, length)
        elif not any(cut):
            yield n, 0.0
    assert any(cut), "no kill fell into the work"


def took(work: Callable[[int], None]) -> float:
    """About how long work takes when it is left alone, from its first word on, seconds."""
    pid, pipe = child(work)
    select.select([pipe], [], [], 300)
    steps = 0
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        select.select([], [], [], 0.002)
        steps += 1
    os.close(pipe)
    return steps * 0.002


def lines_of(path: Path, key: Secret | None = None) -> list[str]:
    with Store.open(path, key=key) as store:
        assert store.integrity() == []
        return list(store.dump())


def memory(path: Path, steps: int = 60, key: Secret | None = None) -> list[str]:
    with Store.open(path, space=SPACE, key=key) as store:
        grow(store, 3, steps)
        return list(store.dump())


# --- writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
@pytest.mark.parametrize("times", [pytest.param(4, id="few"), pytest.param(100, id="often", marks=pytest.mark.slow)])
def test_a_writer_that_is_killed_beside_a_reader_loses_nothing(times: int, key: Secret | None, tmp_path: Path) -> None:
    path, rng = tmp_path / "m.db", random.Random(times)
    memory(path, 4, key)
    ending, end = os.pipe()

    def read(pipe: int) -> None:
        """Again and again: what is seen holds together, whatever happens to the writer."""
        reads = 0
        while not select.select([ending], [], [], 0.01)[0]:
            try:
                with Store.open(path, read_only=True, key=key) as store, store.snapshot() as snapshot:
                    windows = {w.id for w in snapshot.trace.windows()}
                    for episode in snapshot.episodes.between():
                        if not {episode.first_window, episode.last_window} <= windows:
                            os.write(pipe, b"e%d without its windows\n" % episode.id)
                    reads += 1
            except StorageError as error:
                os.write(pipe, f"{error}\n".encode())
        os.write(pipe, b"read %d times\n" % reads)

    def write(pipe: int, n: int) -> None:
        with Store.open(path, own=True, key=key) as store:
            for step in range(10_000):
                grow(store, rng.randrange(1 << 30), 1, (f"r{n}-{step}",))
                with store.snapshot() as snapshot:
                    os.write(pipe, b"%d\n" % snapshot.trace.count())  # acknowledged

    # Each in a process of its own, forked while nothing is open here: SQLite's locks do not survive a fork.
    reader, heard = child(read)
    held = 4
    for n in range(times):
        pid, pipe = child(lambda pipe, n=n: write(pipe, n))
        select.select([pipe], [], [], 300)
        select.select([], [], [], rng.uniform(0, 0.15))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        told = everything(pipe).split()
        acknowledged = int(told[-1]) if told else held
        with Store.open(path, own=True, key=key) as store, store.snapshot() as snapshot:
            held = snapshot.trace.count()
            assert held >= acknowledged
            assert store.integrity() == []
    os.write(end, b"!")
    os.waitpid(reader, 0)
    said = everything(heard).decode().splitlines()
    assert len(said) == 1
    assert int(said[0].split()[1]) > 0
    for descriptor in (ending, end):
        os.close(descriptor)


def everything(pipe: int) -> bytes:
    told = b""
    while part := os.read(pipe, 65536):
        told += part
    os.close(pipe)
    return told


# --- an update of the schema ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", TIMES)
def test_an_update_that_is_killed_is_made_by_the_next_one_who_opens(times: int, tmp_path: Path) -> None:
    old = lzma.decompress(GOLDEN.read_bytes())
    rng, cut = random.Random(times), list[bool]()

    def update(path: Path) -> Callable[[int], None]:
        def work(pipe: int) -> None:
            os.write(pipe, b"!")
            Store.open(path).close()

        return work

    whole = tmp_path / "whole.db"
    whole.write_bytes(old)
    length = took(update(whole))
    expected = lines_of(whole)
    for n, after in moments(times, rng, length, cut):
        path = tmp_path / str(n) / "m.db"
        path.parent.mkdir()
        path.write_bytes(old)
        cut.append(killed(update(path), after))
        assert lines_of(path) == expected
        with Store.open(path) as store:
            assert missing(store._writer) == []
            assert store._writer.execute("SELECT count(*) FROM migration").fetchone()[0] == len(MIGRATIONS)
        for copy in copies_before_updates(path):
            Store.open(copy).close()


# --- backups ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", TIMES)
def test_a_backup_that_is_killed_leaves_the_memory_and_the_backup_before(times: int, tmp_path: Path) -> None:
    path, target, rng = tmp_path / "m.db", tmp_path / "b" / "b.db", random.Random(times)
    cut: list[bool] = []
    expected = memory(path)
    with Store.open(path) as store:
        store.backup(target)

    def work(pipe: int) -> None:
        os.write(pipe, b"!")
        with Store.open(path, read_only=True) as store:
            store.backup(target)

    length = took(work)
    for _, after in moments(times, rng, length, cut):
        cut.append(killed(work, after))
        assert lines_of(path) == expected
        assert lines_of(target) == expected
    with Store.open(path) as store:
        store.backup(target)
    assert sorted(p.name for p in target.parent.iterdir() if p.suffix == ".part") == []


# --- a vacuum ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", TIMES)
def test_a_vacuum_that_is_killed_changes_nothing(times: int, tmp_path: Path) -> None:
    path, rng, cut = tmp_path / "m.db", random.Random(times), list[bool]()
    memory(path)
    with Store.open(path) as store:
        store._writer.execute("CREATE TABLE large(data BLOB)")
        store._writer.execute("INSERT INTO large VALUES (zeroblob(4000000))")
        store._writer.execute("DROP TABLE large")  # room that a vacuum gives back
    expected = lines_of(path)

    def work(pipe: int) -> None:
        with Store.open(path, own=True) as store, store.exclusive() as db:
            os.write(pipe, b"!")
            db.execute("VACUUM")

    length = took(work)
    for _, after in moments(times, rng, length, cut):
        cut.append(killed(work, after))
        assert lines_of(path) == expected


# --- encryption -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", TIMES)
def test_an_encryption_that_is_killed_is_finished_by_the_same_command(times: int, tmp_path: Path) -> None:
    whole, rng, cut = tmp_path / "whole", random.Random(times), list[bool]()
    expected = memory(whole / "m.db")
    frames = KeyframeFolder(folder_of(whole / "m.db"))
    kept = [frames.save(BASE + n * US, b"\xff\xd8 %d" % n * 400, 4, 4) for n in range(12)]
    pictures = [frames.read(k) for k in kept]

    def encrypt(path: Path) -> Callable[[int], None]:
        def work(pipe: int) -> None:
            os.write(pipe, b"!")
            cipher_swap.encrypt(path, KEY)

        return work

    length = took(encrypt(Path(shutil.copytree(whole, tmp_path / "first")) / "m.db"))
    for n, after in moments(times, rng, length, cut):
        path = Path(shutil.copytree(whole, tmp_path / str(n))) / "m.db"
        cut.append(killed(encrypt(path), after))
        try:
            assert lines_of(path) == expected
        except WrongKey:
            assert lines_of(path, KEY) == expected
        cipher_swap.encrypt(path, KEY)
        assert lines_of(path, KEY) == expected
        assert [KeyframeFolder(folder_of(path), KEY).read(k) for k in kept] == pictures
        assert cipher_swap.unfinished(path) == 0
        assert beside(path) == []
        assert b"plumber" not in b"".join(p.read_bytes() for p in path.parent.rglob("*") if p.is_file())
        shutil.rmtree(path.parent)
