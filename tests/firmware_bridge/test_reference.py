"""The C reference against the Python codec: golden frames, round trips across both, differential fuzz."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge import protocol as p
from firmware_bridge.errors import ReferenceFailed
from firmware_bridge.frames import Frame, FrameDecoder, encode_frame
from firmware_bridge.reference_device import ReferenceProcess, build

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden" / "firmware_frames.txt"
OK, UNKNOWN, MALFORMED = range(3)


@pytest.fixture(scope="module")
def c(reference_binary):
    process = ReferenceProcess(reference_binary)
    yield process
    assert process.close() == 0, "the sanitizers found something"


def golden() -> list[tuple[str, int, bytes]]:
    lines = [line.split() for line in GOLDEN.read_text().splitlines() if not line.startswith("#")]
    return [(name, int(seq), bytes.fromhex(wire)) for name, seq, wire in lines]


def test_golden_frames_cover_the_table() -> None:
    assert [name for name, _, _ in golden()] == [row.message.__name__ for row in p.TABLE]


@pytest.mark.parametrize(("name", "seq", "wire"), golden(), ids=lambda value: value if isinstance(value, str) else "")
def test_golden_frames_read_and_write_alike_in_both(c, name: str, seq: int, wire: bytes) -> None:
    (frame,) = FrameDecoder().feed(wire)
    message = p.unpack(frame.number, frame.payload)
    assert (type(message).__name__, frame.session, frame.seq) == (name, 0xBEEF, seq)
    assert p.pack(message) == (frame.number, frame.payload) and encode_frame(frame) == wire
    ((c_frame, result, again),), _, _ = c.decode(wire)
    assert (c_frame, result, again) == (frame, OK, frame.payload) and c.encode(frame) == wire


@given(data=st.data(), seq=st.integers(0, 2**32 - 1))
def test_every_message_survives_python_to_c_and_back(c, any_message, data, seq: int) -> None:
    message = data.draw(any_message)
    number, payload = p.pack(message)
    frame = Frame(number, 1, 0x1234, seq, payload)
    wire = encode_frame(frame)
    assert c.encode(frame) == wire
    ((c_frame, result, again),), _, _ = c.decode(wire)
    assert (c_frame, result) == (frame, OK)
    assert p.unpack(number, again) == message


@given(payload=st.binary(max_size=242), number=st.sampled_from([row.number for row in p.TABLE] + [0, 0x7F, 0xFF]))
def test_any_payload_is_judged_and_read_alike(c, payload: bytes, number: int) -> None:
    message = p.unpack(number, payload)
    ((_, result, again),), _, _ = c.decode(encode_frame(Frame(number, 0, 0, 0, payload)))
    if isinstance(message, p.Unknown):
        assert result == (MALFORMED if message.malformed else UNKNOWN)
        return
    assert result == OK
    texts = [getattr(message, n) for n, k in zip(*p.LAYOUTS[type(message)][:2], strict=True) if k == "text"]
    if not any("\ufffd" in text for text in texts):  # text that is not UTF-8 is bytes to C, replaced in Python
        assert p.pack(message) == (number, again)


@given(st.binary(max_size=242), st.integers(0, 2**32 - 1))
def test_any_frame_is_encoded_alike(c, payload: bytes, seq: int) -> None:
    frame = Frame(seq & 0xFF, 3, seq >> 16, seq, payload)
    assert c.encode(frame) == encode_frame(frame)


def differential(c: ReferenceProcess, size: int, seed: int) -> None:
    """Noise, good frames and damaged frames through both decoders: the same frames and the same counts."""
    rng = random.Random(seed)
    python = FrameDecoder()
    _, good0, corrupt0 = c.decode(b"\0")
    done = 0
    while done < size:
        parts = []
        while sum(map(len, parts)) < 30_000:
            kind = rng.random()
            if kind < 0.4:
                parts.append(rng.randbytes(rng.choice((3, 60, 300, 2_000))))
            else:
                number = rng.choice(p.TABLE).number
                payload = rng.randbytes(rng.choice((0, 1, 8, 17, 40, 241, 242)))
                wire = bytearray(encode_frame(Frame(number, rng.randrange(256), 7, rng.randrange(2**32), payload)))
                if kind > 0.7:
                    wire[rng.randrange(len(wire))] = rng.randrange(256)
                parts.append(bytes(wire))
        data = b"".join(parts)
        done += len(data)
        ours = python.feed(data)
        theirs, good, corrupt = c.decode(data)
        assert [frame for frame, _, _ in theirs] == ours
        assert (good - good0, corrupt - corrupt0) == (python.stats.good, python.stats.corrupt)
        for frame, result, _ in theirs:
            message = p.unpack(frame.number, frame.payload)
            assert (result == OK) == (not isinstance(message, p.Unknown))
    assert python.stats.good > 50 and python.stats.corrupt > 50
    marker = Frame(3, 0, 1, 2, b"abcd")
    assert c.decode(b"\0" + encode_frame(marker))[0][-1][0] == marker


def test_both_decoders_agree_on_a_hostile_stream(c) -> None:
    differential(c, 600_000, seed=3)


def test_both_decoders_agree_on_five_million_bytes(c) -> None:
    differential(c, 5_000_000, seed=4)


def test_five_million_random_bytes_into_the_c_decoder(c) -> None:
    rng = random.Random(5)
    good = encode_frame(Frame(3, 0, 1, 2, b"abcd"))
    for _ in range(100):
        frames, _, _ = c.decode(rng.randbytes(50_000) + good)
        assert frames[-1][0] == Frame(3, 0, 1, 2, b"abcd")


def test_generated_tables_and_docs_are_fresh() -> None:
    tool = [sys.executable, str(ROOT / "tools" / "gen_firmware_doc.py"), "--check"]
    done = subprocess.run(tool, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_reference_needs_nothing_but_memory_functions(tmp_path: Path) -> None:
    """No allocation, no clock, no I/O: all that the object file leaves to the linker is moving and comparing bytes."""
    object_file = tmp_path / "grove_bridge.o"
    source = ROOT / "firmware_bridge" / "reference" / "grove_bridge.c"
    subprocess.run(["cc", "-std=c99", "-Os", "-c", str(source), "-o", str(object_file)], check=True)
    listing = subprocess.run(["nm", "-u", str(object_file)], capture_output=True, text=True, check=True).stdout
    needed = {line.split()[-1] for line in listing.splitlines()}
    assert needed <= {"memcpy", "memset", "memmove", "memcmp", "strlen", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"}


def test_a_compiler_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(ReferenceFailed, match="powers of two"):
        build(tmp_path / "device", options=("-DGB_WINDOW=3",))
