"""What `doctor` looks at: each check gives a finding, with what to do where something is wrong."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from edge import config as settings
from edge.ahead import ahead, soon
from edge.config import Config
from edge.engines import Engines
from edge.errors import ControlError, sentence_of
from edge.first_run import camera_told, sound_told
from edge.keys import VARIABLE
from edge.server.control import ControlClient, NotRunning
from models import ASR, DETECTOR, OCR, TEXT_EMBEDDING, TTS, VAD, Registry
from models.errors import ModelError
from storage import Store
from storage.backup import beside, copies_before_updates
from storage.cipher import is_encrypted
from storage.cipher_swap import unfinished
from storage.connect import check_engine, connect
from storage.errors import StorageError, WrongKey

State: TypeAlias = Literal["ok", "degraded", "broken"]

HEADROOM_MB = 500
# Our import names are common words: another package that ships one of them would shadow ours.
OWN_PACKAGES = ("edge", "models", "firmware_bridge", "storage")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: its state, what was found, and what to do (empty when all is well)."""

    part: str
    state: State
    what: str
    do: str = ""

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)


def examine(config: Config, db: Path) -> list[Finding]:
    """Every check, in the order of what rests on what."""
    findings: list[Finding] = []
    checks: tuple[Callable[[Config, Path], Iterable[Finding]], ...] = (
        _python,
        _packages,
        _folders,
        _engine,
        _memory,
        _files,
        _models,
        _priority,
        _senses,
        _running,
    )
    for check in checks:
        findings += check(config, db)
    return findings


def _python(_: Config, __: Path) -> Iterable[Finding]:
    told = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    yield Finding("python", "ok" if sys.version_info >= (3, 10) else "broken", told)


def _packages(_: Config, __: Path) -> Iterable[Finding]:
    """Mixtures that break each other, and foreign packages under our names."""
    owners = importlib.metadata.packages_distributions()
    for name in OWN_PACKAGES:
        foreign = sorted(set(owners.get(name, [])) - {"grove-edge"})
        if foreign:
            yield Finding(
                "packages",
                "broken",
                f"{', '.join(foreign)} brings a package named {name}",
                f"pip uninstall {foreign[0]}",
            )
    have = {d.metadata["Name"].lower() for d in importlib.metadata.distributions() if d.metadata["Name"]}
    if {"onnxruntime", "onnxruntime-gpu"} <= have:
        yield Finding(
            "packages",
            "broken",
            "onnxruntime and onnxruntime-gpu overwrite each other",
            "pip uninstall onnxruntime onnxruntime-gpu, then install one of them",
        )
    if "tflite-runtime" in have and int(importlib.metadata.version("numpy").split(".")[0]) >= 2:
        yield Finding(
            "packages",
            "broken",
            "tflite-runtime needs numpy below 2",
            "pip uninstall tflite-runtime (ai-edge-litert serves instead), or use constraints/tflite.txt",
        )
    if {"opencv-python", "opencv-python-headless"} <= have:
        yield Finding(
            "packages",
            "degraded",
            "opencv-python and opencv-python-headless overwrite each other",
            "pip uninstall opencv-python",
        )


def _folders(_: Config, db: Path) -> Iterable[Finding]:
    for name, folder in (("data", db.parent), ("state", settings.state_dir()), ("cache", settings.cache_dir())):
        place = next(p for p in (folder, *folder.parents) if p.exists())
        if not os.access(place, os.W_OK):
            yield Finding(f"{name} folder", "broken", f"{folder} cannot be written", "fix its permissions")
            continue
        if folder.exists() and folder.stat().st_mode & 0o077 and folder != Path.cwd() and name != "data":
            yield Finding(f"{name} folder", "degraded", f"{folder} is open to others", f"chmod 700 {folder}")
        free = shutil.disk_usage(place).free // 1_000_000
        low = free < HEADROOM_MB
        yield Finding(
            f"{name} folder",
            "degraded" if low else "ok",
            f"{folder}, {free} MB free",
            f"free at least {HEADROOM_MB} MB" if low else "",
        )


def _engine(_: Config, __: Path) -> Iterable[Finding]:
    try:
        db = connect(None)
        versions = check_engine(db)
        db.close()
    except StorageError as error:
        yield Finding("database engine", "broken", sentence_of(error), "pip install -U sqlcipher3 sqlite-vec")
        return
    yield Finding("database engine", "ok", ", ".join(f"{k} {v}" for k, v in versions.items()))


def _memory(_: Config, path: Path) -> Iterable[Finding]:
    if not path.exists():
        yield Finding("memory", "ok", f"none yet at {path}")
        return
    try:
        with Store.open(path, create=False, read_only=True) as store:
            wrong = store.integrity()
            with store.snapshot() as snapshot:
                told = f"{path}: {snapshot.trace.count()} windows, {snapshot.episodes.count()} episodes"
                troubles = snapshot.health.recent(1)
            with store.holdings() as kept:
                pictures = f"{kept.keyframe_bytes() / 1e6:.0f} MB of pictures, {kept.pruned_count()} windows pruned"
                pinned = len(kept.pins())
            unfinished = store.erasures()
    except StorageError as error:
        do = "give the key" if isinstance(error, WrongKey) else "grove-edge restore BACKUP --replace, or another --db"
        yield Finding("memory", "broken", sentence_of(error), do)
        return
    if path.stat().st_mode & 0o077:
        yield Finding("memory", "degraded", f"{path} is readable by others", f"chmod 600 {path}")
    if wrong:
        yield Finding("memory", "broken", f"{path}: {wrong[0]}", "grove-edge restore BACKUP --replace")
    else:
        yield Finding("memory", "ok", told)
    yield Finding("retention", "ok", f"{pictures}, {pinned} pinned")
    if unfinished:
        yield Finding("erasure", "degraded", "one was begun and is not finished", "start the device, or read it once")
    for event in troubles:
        yield Finding("last trouble", "ok", f"{event.part} {event.state}: {event.detail}")


def _files(config: Config, path: Path) -> Iterable[Finding]:
    """Whether the memory is encrypted as the owner wants it, and copies of it that lie beside."""
    if not path.exists():
        return
    sealed = is_encrypted(path)
    wanted = bool(config.storage.key_file or config.storage.keyring or VARIABLE in os.environ)
    told = "encrypted" if sealed else "not encrypted"
    if wanted and not sealed:
        yield Finding("encryption", "degraded", f"{told}, though a key is configured", "grove-edge encrypt")
    else:
        yield Finding("encryption", "ok", told)
    left = unfinished(path)
    if left:
        do = "grove-edge encrypt" if sealed else "grove-edge decrypt"
        yield Finding("keyframes", "degraded", f"{left} are {'not ' if sealed else ''}encrypted", do)
    before = copies_before_updates(path)
    for copy in beside(path):
        if copy in before:
            yield Finding("copy before an update", "ok", f"{copy}: delete it when the update has proved good")
        else:
            yield Finding(
                "other copy", "ok", f"{copy}: of a restore or an encryption; delete it if you need it no more"
            )


def _models(config: Config, _: Path) -> Iterable[Finding]:
    """Every role the light profile needs: what fills it, and what had to stand in."""
    registry = Registry(settings.data_dir() / "models", settings.cache_dir())
    chosen = {ASR.name: config.models.asr, TEXT_EMBEDDING.name: config.models.text_embedding}
    for role in (TEXT_EMBEDDING, DETECTOR, OCR, VAD, ASR):
        name = chosen.get(role.name, role.order[0])
        try:
            registry.locate(name)
        except ModelError as error:
            yield Finding(role.name, "degraded", sentence_of(error), f"grove-edge models pull {name}")
        else:
            yield Finding(role.name, "ok", name)
    yield from _listening(config, registry)
    engines = Engines(config)
    try:
        engines.voice_tts()
    except ModelError as error:
        yield Finding(TTS.name, "degraded", sentence_of(error), "apt-get install espeak-ng")
    else:
        status = next(s for s in engines.status() if s.role == TTS.name)
        fell = "; ".join(status.problems)
        yield Finding(TTS.name, "degraded" if fell else "ok", fell or str(status.model_id))
    finally:
        engines.close()


def _listening(config: Config, registry: Registry) -> Iterable[Finding]:
    """What a conversation is heard with; services behind an address are asked when it begins."""
    if not config.voice.listen:
        yield Finding("listening", "ok", "off: voice.listen is false")
        return
    for name in [*config.voice.wake_words.split(), *config.voice.stop_words.split(), config.voice.asr]:
        if name.startswith("wyoming://"):
            continue
        if name.endswith(".tflite"):
            there = Path(name).expanduser().is_file()
            yield Finding("listening", "ok" if there else "degraded", name, "" if there else "correct voice.wake_words")
            continue
        try:
            registry.locate(name)
        except ModelError as error:
            yield Finding("listening", "degraded", sentence_of(error), f"grove-edge models pull {name}")
        else:
            yield Finding("listening", "ok", name)


def _priority(config: Config, _: Path) -> Iterable[Finding]:
    """Whether a conversation may run before what can wait; without it a busy machine answers later, and all else works."""
    if not config.voice.listen:
        return
    with ahead():
        real = os.sched_getscheduler(0) != os.SCHED_OTHER
    with soon() as nicer:
        missing = [name for name, has in (("real time", real), ("a better nice value", nicer)) if not has]
    told = f"not granted: {' and '.join(missing)}; on a busy machine a conversation is slower" if missing else "granted"
    yield Finding("priority", "ok", told, "see 'As a service' in docs/install.md" if missing else "")


def _senses(config: Config, _: Path) -> Iterable[Finding]:
    for part, (good, told, do), wanted in (
        ("camera", camera_told(), config.capture.source == "camera"),
        ("sound", sound_told(), config.capture.mic == "default" or config.voice.speaker == "default"),
    ):
        yield Finding(part, "ok" if good or not wanted else "degraded", told, "" if good else do)


def _running(_: Config, __: Path) -> Iterable[Finding]:
    path = settings.runtime_dir() / "control.sock"
    if not path.exists():
        yield Finding("device", "ok", "not running")
        return
    try:
        health = ControlClient(path, timeout_s=3.0).call("health")
    except ControlError as error:
        left = isinstance(error, NotRunning)  # a socket that a killed run left behind
        yield Finding("device", "ok" if left else "degraded", "not running" if left else sentence_of(error))
        return
    age = health["last_commit_age_s"]
    committed = "nothing committed yet" if age is None else f"last commit {age:.0f} s ago"
    told = f"{health['state']}: {health['capture']['state']}, {committed}"
    state: State = "ok" if health["state"] == "ok" else "degraded"
    yield Finding("device", state, told, "; ".join([*down(health), *health["fell_back"]]))


def down(health: dict[str, Any]) -> list[str]:
    """A sentence for each service that /health tells is down."""
    return [f"{name} is down: {s['last_error']}" for name, s in health["services"].items() if s["state"] == "down"]
