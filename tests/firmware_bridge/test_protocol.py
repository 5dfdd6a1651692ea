"""Every message through the codec: round trips, limits, and what a newer or broken peer may send."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge import protocol as p
from firmware_bridge.errors import MessageError
from firmware_bridge.fields import MAX_PAYLOAD, VARIABLE, clip_text
from firmware_bridge.frames import MAX_ENCODED, Frame, FrameDecoder, encode_frame


@given(st.data(), st.integers(0, 255), st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF))
def test_every_message_survives_the_wire(any_message, data, flags: int, session: int, seq: int) -> None:
    message = data.draw(any_message)
    number, payload = p.pack(message)
    wire = encode_frame(Frame(number, flags, session, seq, payload))
    assert wire[0] == wire[-1] == 0 and 0 not in wire[1:-1] and len(wire) <= MAX_ENCODED + 2
    (frame,) = FrameDecoder().feed(wire)
    assert frame == Frame(number, flags, session, seq, payload)
    assert p.unpack(frame.number, frame.payload) == message


@given(st.data(), st.binary(min_size=1, max_size=8))
def test_fields_that_a_newer_peer_appends_are_ignored(any_message, data, more: bytes) -> None:
    message = data.draw(any_message)
    number, payload = p.pack(message)
    assert p.unpack(number, payload + more) == message


@given(st.data())
def test_a_payload_cut_short_is_malformed_and_kept(any_message, data) -> None:
    message = data.draw(any_message)
    number, payload = p.pack(message)
    assert p.unpack(number, payload[:-1]) == p.Unknown(number, payload[:-1], malformed=True)


def test_numbers_names_and_layouts_are_unique_and_ordered() -> None:
    assert len(p.BY_NUMBER) == len(p.BY_MESSAGE) == len(p.TABLE)
    for row in p.TABLE:
        layout = p.LAYOUTS[row.message]
        assert layout.fixed.size + sum(k in VARIABLE for k in layout.kinds) <= MAX_PAYLOAD
        assert all(doc for doc in layout.docs)
        for choices in layout.enums:
            if choices is not None:  # C maps a value it does not know by "greater than the last"
                assert [c.value for c in choices] == list(range(len(choices))) and choices(0).name == "UNKNOWN"


@pytest.mark.parametrize(
    "message",
    [
        p.Battery(0, 101, p.Charging.FULL, p.Health.GOOD, None, None, None),
        p.Battery(-1, 5, p.Charging.FULL, p.Health.GOOD, None, None, None),
        p.Battery(0, 5, p.Charging.FULL, p.Health.GOOD, 0xFFFF, None, None),
        p.Battery(0, 5, p.Charging.FULL, p.Health.GOOD, None, -0x8000, None),
        p.Tone(70_000, 1, 1),
        p.UpdateBegin(1, 1, b"short", "1"),
        p.Log(0, p.Level.INFO, "x" * 256),
        p.Log(0, p.Level.INFO, "x" * 240),
        p.ImuRaw(0, 1, ((1, 2, 3, 4, 5, 70_000),)),
        p.ImuRaw(0, 1, ((0,) * 6,) * 20),
        p.ImuRaw(0, 1, ((0,) * 6,) * 22),
        object(),
    ],
)
def test_values_that_do_not_fit_are_refused(message: object) -> None:
    with pytest.raises(MessageError):
        p.pack(message)


def test_unknown_values_become_unknown_or_none() -> None:
    number, payload = p.pack(p.Battery(7, 50, p.Charging.FULL, p.Health.GOOD, 3_900, -120, 250))
    raw = bytearray(payload)
    raw[8], raw[9] = 180, 77
    battery = p.unpack(number, bytes(raw))
    assert (battery.percent, battery.charging, battery.mv) == (None, p.Charging.UNKNOWN, 3_900)


def test_text_is_clipped_between_characters_and_survives_bad_bytes() -> None:
    assert clip_text("aé€", 3) == "aé" and clip_text("aé€", 5) == "aé"
    number, payload = p.pack(p.Log(0, p.Level.INFO, "abc"))
    assert p.unpack(number, payload[:-1] + b"\xff").text == "ab\ufffd"


def test_unknown_number_is_kept_whole() -> None:
    assert p.unpack(0xEE, b"abc") == p.Unknown(0xEE, b"abc")
    assert p.pack(p.Unknown(0xEE, b"abc")) == (0xEE, b"abc")


def test_messages_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        p.Worn(0, True).worn = False  # type: ignore[misc]


def noise_then_frames(size: int, seed: int) -> None:
    """Random bytes in random pieces never harm the decoder, and the very next frame is found."""
    rng = random.Random(seed)
    decoder = FrameDecoder()
    good = encode_frame(Frame(*p.pack(p.Worn(1, True))[:1], 1, 2, 3, p.pack(p.Worn(1, True))[1]))
    left, found = size, 0
    while left > 0:
        piece = rng.randbytes(min(left, rng.choice((1, 7, 100, 5_000))))
        left -= len(piece)
        decoder.feed(piece)
        found += 1
        assert decoder.feed(good)[-1:] == [FrameDecoder().feed(good)[0]]
    assert decoder.stats.good >= found and decoder.stats.corrupt > size // 5_000


def test_noise_is_survived_and_the_next_frame_found() -> None:
    noise_then_frames(200_000, seed=1)


def test_five_million_random_bytes() -> None:
    noise_then_frames(5_000_000, seed=2)


def test_an_endless_piece_takes_no_memory_and_counts_once() -> None:
    decoder = FrameDecoder()
    for _ in range(100):
        decoder.feed(b"x" * 1_000)
    assert decoder.stats.corrupt == 1 and len(decoder._rest) <= MAX_ENCODED
    good = encode_frame(Frame(3, 0, 0, 0, b"abcd"))
    assert len(decoder.feed(good)) == 1
