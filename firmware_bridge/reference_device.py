"""The compiled C reference as a firmware that the simulator drives: same interface as the Python device.

``build`` compiles ``firmware_bridge/reference`` with the system's C compiler; the process speaks the step protocol that
``device_main.c`` describes. It keeps no clock either: every step gets the device's time.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import IO

from firmware_bridge import protocol as p
from firmware_bridge.device import Reaction
from firmware_bridge.errors import ReferenceFailed
from firmware_bridge.frames import Frame
from firmware_bridge.update import Vitals

SOURCES = Path(__file__).parent / "reference"
WARNINGS = ("-std=c99", "-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_HEAD = struct.Struct("<BHQ")
_RECORD = struct.Struct("<BH")
_NEVER = 2**64 - 1
Record = tuple[str, bytes]


def build(target: Path, *, sanitize: bool = True, options: tuple[str, ...] = ()) -> Path:
    """Compile the reference device to ``target``; raises ReferenceFailed with the compiler's words."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise ReferenceFailed("no C compiler found")
    target.parent.mkdir(parents=True, exist_ok=True)
    sources = [str(SOURCES / name) for name in ("device_main.c", "grove_bridge.c")]
    flags = [*WARNINGS, *(SANITIZERS if sanitize else ()), "-O1", "-g", *options]
    done = subprocess.run([compiler, *flags, *sources, "-o", str(target)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReferenceFailed(f"the C reference does not compile: {done.stderr.strip()}")
    return target


class ReferenceProcess:
    """One running reference device, driven by requests; ``state`` is the file that outlives it."""

    def __init__(self, binary: Path, state: Path | None = None) -> None:
        self._binary, self._state = binary, state
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        arguments = [str(self._binary), *([str(self._state)] if self._state else [])]
        return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def restart(self) -> None:
        """Kill it, as a crash would, and start it again on its state file."""
        self.close(kill=True)
        self.process = self._start()

    def ask(self, op: str, at_us: int = 0, data: bytes = b"") -> tuple[list[Record], int | None]:
        """One request; its records and the deadline. Raises ReferenceFailed when the process died."""
        try:
            to, back = _pipes(self.process)
            to.write(_HEAD.pack(ord(op), len(data), at_us) + data)
            to.flush()
            records: list[Record] = []
            while True:
                kind, size = _RECORD.unpack(_exactly(back, _RECORD.size))
                content = _exactly(back, size)
                if kind == ord("."):
                    deadline = int.from_bytes(content, "little")
                    return records, None if deadline == _NEVER else deadline
                records.append((chr(kind), content))
        except (BrokenPipeError, EOFError) as error:
            raise ReferenceFailed(f"the C reference died (exit {self.process.wait()})") from error

    def decode(self, data: bytes) -> tuple[list[tuple[Frame, int, bytes]], int, int]:
        """Bytes through the bare C decoder: (frame, result of unpacking, payload packed again), good and corrupt."""
        frames, good, corrupt = [], 0, 0
        for kind, content in self.ask("D", 0, data)[0]:
            if kind == "f":
                number, flags, session, seq, result, size = struct.unpack_from("<BBHIBB", content)
                payload = content[10 : 10 + size]
                frames.append((Frame(number, flags, session, seq, payload), result, content[10 + size :]))
            elif kind == "c":
                good, corrupt = struct.unpack("<II", content)
        return frames, good, corrupt

    def encode(self, frame: Frame) -> bytes:
        """A frame encoded by the C codec."""
        head = struct.pack("<BBHI", frame.number, frame.flags, frame.session, frame.seq)
        return b"".join(content for _, content in self.ask("E", 0, head + frame.payload)[0])

    def close(self, *, kill: bool = False) -> int:
        """End the process; returns its exit code (0 when the sanitizers found nothing)."""
        if kill:
            self.process.kill()
        for pipe in _pipes(self.process):
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # it died before it read the last request
        return self.process.wait()


class ReferenceDevice:
    """An Engine (see ``device``) around the C process."""

    def __init__(self, binary: Path, state: Path | None = None) -> None:
        self.reference = ReferenceProcess(binary, state)
        self.vitals = Vitals(None, None)
        self._sent_vitals: Vitals | None = None
        self._deadline: int | None = None

    def boot(self, nonce: int, reason: p.Reason) -> Reaction:
        """Power on."""
        self._sent_vitals = None
        return self._do("B", 0, struct.pack("<IB", nonce, reason))

    def opened(self, at_us: int) -> Reaction:
        """The line came up."""
        return self._do("O", at_us)

    def closed(self, at_us: int) -> Reaction:
        """The line ended."""
        return self._do("C", at_us)

    def feed(self, at_us: int, data: bytes) -> Reaction:
        """Bytes from the host."""
        self._tell_vitals(at_us)
        reaction = Reaction()
        for start in range(0, len(data), 32_768):
            _merge(reaction, self._do("F", at_us, data[start : start + 32_768]))
        return reaction

    def send(self, at_us: int, message: p.Message) -> Reaction:
        """The board has something to report."""
        number, payload = p.pack(message)
        return self._do("S", at_us, bytes((number,)) + payload)

    def tick(self, at_us: int) -> Reaction:
        """Time passed."""
        self._tell_vitals(at_us)
        return self._do("T", at_us)

    def sleep(self, at_us: int) -> Reaction:
        """Say goodbye."""
        return self._do("Z", at_us)

    def deadline(self) -> int | None:
        """When ``tick`` must be called at the latest."""
        return self._deadline

    def close(self) -> int:
        """End the process; 0 when it was well to the end."""
        return self.reference.close()

    def _tell_vitals(self, at_us: int) -> None:
        if self.vitals != self._sent_vitals:
            percent = 0xFF if self.vitals.percent is None else self.vitals.percent
            temp = -0x8000 if self.vitals.temp_dc is None else self.vitals.temp_dc
            self._do("V", at_us, struct.pack("<Bh", percent, temp))
            self._sent_vitals = self.vitals

    def _do(self, op: str, at_us: int, data: bytes = b"") -> Reaction:
        records, self._deadline = self.reference.ask(op, at_us, data)
        reaction = Reaction()
        for kind, content in records:
            if kind == "W":
                reaction.data += content
            elif kind == "M":
                reaction.commands.append(p.unpack(content[0], content[1:]))
            elif kind == "G":
                reaction.connected = True
            elif kind == "L":
                reaction.lost = True
            elif kind == "R":
                reaction.restart = True
        return reaction


def _merge(into: Reaction, more: Reaction) -> None:
    into.data += more.data
    into.commands += more.commands
    into.connected |= more.connected
    into.lost |= more.lost
    into.restart |= more.restart


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise ReferenceFailed("the C reference has no pipes")
    return process.stdin, process.stdout


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) != size:
        raise EOFError
    return data
