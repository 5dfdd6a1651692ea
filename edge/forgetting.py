"""Forgetting from end to end: the recordings, the log, the rows, the bytes, the proof, and what cannot be reached.

The order is such that a kill at any moment loses nothing that stays and that the next start finishes the work: the wish
is stored first; files outside the memory are rewritten while it still says what is to go; the rows then go in one
transaction, which empties the wish; what follows may be done again at will.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, TypeAlias

from edge import config as settings
from edge.agent import context_file
from edge.clock import SystemClock
from edge.config import Config
from edge.engines import Engines
from edge.errors import InputError
from edge.logs import Log, RotatingFile
from edge.logs import erase as erase_log
from edge.memory import forget
from edge.memory.forget import Cut, Wish
from edge.memory.patterns import Embed
from edge.recorder import Recorder, cut_trace
from models.errors import ModelError
from storage import Store
from storage.erase_bytes import files_of
from storage.erase_finish import Finished, finish
from storage.erase_jobs import Job
from storage.errors import StoreLocked
from storage.keyframes import KeyframeFolder, folder_of

_log = Log("forget")

Report: TypeAlias = dict[str, Any]

COPIES = "copies that were made before: backups, exports, recordings given away"


def forget_now(
    store: Store,
    wish: Wish,
    embed: Embed | None,
    config: Config,
    recorder: Recorder | None = None,
    *,
    busy: bool = False,
) -> Report:
    """Grant a wish; returns what was removed, what was looked for, and what cannot be reached.

    `busy`: a device waits for its memory, so a large file is written anew later (storage.erase_finish.tidy).
    Raises StorageError when nothing could be stored; what was begun is finished at the next start.
    """
    job = forget.ask(store, wish, SystemClock().now())
    return _carry_out(store, job, embed, config, recorder, busy=busy)


def resume(store: Store, embed: Embed | None, config: Config) -> list[Report]:
    """Finish what a killed process had begun to forget.  Only for the process that owns the memory."""
    reports = []
    for job in store.erasures():
        _log.info("erasure_resumed", kind=job.kind, state=job.state)
        reports.append(_carry_out(store, job, embed, config, None))
    return reports


def finish_at(path: Path, config: Config) -> list[Report]:
    """Finish it for whoever opens a memory only to read; nothing when a running device owns it, which does it itself."""
    try:
        store = Store.open(path, create=False, own=True, synchronous=config.memory.synchronous)
    except StoreLocked:
        return []
    engines = Engines(config)
    try:
        return resume(store, embedding(engines, store), config)
    finally:
        engines.close()
        store.close()


def embedding(engines: Engines, store: Store) -> Embed | None:
    """The embedding a memory was made with, for what is written anew; None when it cannot be had."""
    try:
        model = engines.text_embedding()
    except ModelError as error:
        _log.warning("forgetting_without_embedding", cause=error)
        return None
    return model.embed if (model.id, model.dim) == (store.space.id, store.space.dim) else None


def look(store: Store, wish: Wish) -> dict[str, float]:
    """What a wish would concern, without touching anything."""
    with store.transaction() as tx:
        return forget.plan(tx, wish).counts()


def _carry_out(
    store: Store, job: Job, embed: Embed | None, config: Config, recorder: Recorder | None, *, busy: bool = False
) -> Report:
    report: Report = {"kind": job.kind, "concerned": {}, "recordings": {}, "log_lines": 0}
    files = _recorded(store)
    if job.state == "asked":
        wish = Wish.from_json(job.request)
        report["recordings"] = _recordings(files, wish.cut, config, recorder)
        report["log_lines"] = _forget_log()
        context_file.forget()  # the question before may name what is to go
        taken = forget.take_rows(store, job, embed, config.memory)
        job = taken.job
        report["concerned"] = taken.plan
    frames = None if store.path is None else KeyframeFolder(folder_of(store.path))
    beside = _beside(store.path)
    end = finish(store, job, frames, [*beside, *files, *_logs()], busy=busy)
    report |= {
        "removed": job.removed,
        "keyframes": end.keyframes,
        **_told(end),
        "not_reached": _not_reached(end, beside),
    }
    _log.info("forgotten", kind=job.kind, rows=sum(job.removed.values()), done=end.done)
    return report


def _told(end: Finished) -> Report:
    proof = end.proof
    looked = {
        "texts": proof.texts,
        "vectors": proof.vectors,
        "pieces": proof.pieces,
        "left_out": proof.left_out,
        "files": proof.files,
        "megabytes": proof.megabytes,
        "found": [f"{f.path} at byte {f.offset}" for f in proof.found],
    }
    return {"done": end.done, "waiting": end.scrubbed.waiting, "rewritten": end.scrubbed.vacuumed, "looked_for": looked}


def _not_reached(end: Finished, beside: list[Path]) -> list[str]:
    found = {f.path for f in end.proof.found}
    return [COPIES, *(str(p) for p in beside if str(p) in found)]


def _recorded(store: Store) -> list[Path]:
    with store.transaction() as tx:
        return [p for p in map(Path, tx.erase.recorded_files()) if p.is_file()]


def _recordings(files: list[Path], cut: Cut, config: Config, recorder: Recorder | None) -> dict[str, int]:
    """Rewrite the recordings that were made beside the memory: by file, how many windows changed."""
    interval = config.memory.growth(config.memory.profile).frame_interval_s
    changed: dict[str, int] = {}
    if recorder is not None:
        changed[str(recorder.path)] = recorder.cut(cut)
    for path in files:
        if recorder is not None and path.resolve() == recorder.path.resolve():
            continue
        try:
            changed[str(path)] = cut_trace(path, cut, interval)
        except InputError as error:  # the rows go all the same, and the report names the file
            _log.error("recording_not_rewritten", cause=error, file=str(path))
    return {file: count for file, count in changed.items() if count}


def _forget_log() -> int:
    """Drop every line of the log that may hold people's words: only debug lines do."""
    folder = settings.state_dir() / "log"
    mine = [h for h in logging.getLogger().handlers if isinstance(h, RotatingFile)]
    for handler in mine:
        handler.acquire()
        handler.release_stream()
    try:
        return erase_log(folder) if folder.is_dir() else 0
    finally:
        for handler in mine:
            handler.release()


def _beside(path: Path | None) -> list[Path]:
    """Files beside a memory that carry its name and are not the memory itself."""
    if path is None:
        return []
    own = files_of(path)
    return sorted(p for p in path.parent.glob(f"{path.name}*") if p not in own and p.is_file())


def _logs() -> list[Path]:
    state = settings.state_dir()
    return sorted(p for folder in (state / "log", state / "spool") if folder.is_dir() for p in folder.iterdir())
