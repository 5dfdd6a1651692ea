"""The session on a made-up clock: exactly once, in order, across faults, crashes, silence and old versions."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_bridge import protocol as p
from firmware_bridge.errors import MessageError, NotCapable, OutboxFull, SessionError
from firmware_bridge.events import Deliver, Restored, Settings, TimeSynced, Up, transmitted
from firmware_bridge.faults import LineRates
from firmware_bridge.frames import ASSURED, Frame, FrameDecoder, encode_frame
from firmware_bridge.session import Session

BAD = LineRates(corrupt=0.05, drop=0.03, duplicate=0.05, reorder=0.05, noise=0.05, lose_acks=0.05)


def numbers(messages: list) -> list[int]:
    return [m.at_us if isinstance(m, p.Worn) else m.ms for m in messages if isinstance(m, p.Worn | p.Tone)]


def test_both_sides_come_up_and_know_each_other(pair) -> None:
    link = pair()
    link.open()
    link.run(100_000)
    assert link.host.ups == link.device.ups == 1
    up = next(e for e in link.host.events if isinstance(e, Up))
    assert (up.peer.role, up.version, up.peer.stream) == (p.Role.DEVICE, 1, 7_000_002)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_bad_line_delivers_each_message_once_and_in_order(pair, seed: int) -> None:
    link = pair(BAD, seed=seed)
    link.open()
    for i in range(150):
        link.send(link.device, p.Worn(i, True))
        link.send(link.host, p.Tone(1, i, 1))
        link.run(3_000)
    link.run(30_000_000, until=lambda: not (link.host.session.queued or link.device.session.queued))
    assert numbers(link.host.got) == numbers(link.device.got) == list(range(150))


def test_crashes_of_either_side_lose_and_double_nothing(pair) -> None:
    rng = random.Random(5)
    link = pair(BAD, seed=5)
    link.open()
    crashes = 0
    for i in range(400):
        link.send(link.device, p.Worn(i, True))
        link.send(link.host, p.Tone(1, i, 1))
        link.run(rng.randint(0, 8_000))
        if rng.random() < 0.25:
            crashes += 1
            link.restart(rng.choice((link.host, link.device)))
    link.run(60_000_000, until=lambda: not (link.host.session.queued or link.device.session.queued))
    assert crashes > 50
    assert numbers(link.host.got) == numbers(link.device.got) == list(range(400))


def test_nothing_is_acknowledged_before_it_is_committed(pair) -> None:
    link = pair()
    link.open()
    link.run(100_000)
    link.host.slow = []
    for i in range(5):
        link.send(link.device, p.Worn(i, True))
    link.run(5_000_000)
    assert len(link.host.slow) == 5 and link.device.session.queued == 5
    link.put(link.host, link.host.commit(link.now, link.host.slow[0]))
    link.run(1_000_000)
    assert link.device.session.queued == 4
    link.host.slow = None
    link.restart(link.host)  # the four were delivered but never committed: they come again
    link.run(5_000_000)
    assert numbers(link.host.got) == list(range(5)) and link.device.session.queued == 0


def test_a_lost_last_acknowledgement_is_asked_for_soon(pair) -> None:
    link = pair()
    link.open()
    link.run(3_000_000)
    link.host.slow = []
    for i in range(3):
        link.send(link.device, p.Worn(i, True))
    link.run(5_000)
    link.put(link.device, link.device.session.feed(link.now, transmitted(link.host.session.feed(link.now, b""))))
    seen = p.pack(p.Ack(0, 0b111))[1]  # all three have arrived, none is committed
    link.put(
        link.device, link.device.session.feed(link.now, encode_frame(Frame(2, 0, link.host.nonce & 0xFFFF, 0, seen)))
    )
    for item in link.host.slow:
        link.host.commit(link.now, item)  # and the acknowledgements of the commits are lost
    began = link.now
    link.run(3_000_000, until=lambda: link.device.session.queued == 0)
    assert link.device.session.queued == 0 and link.now - began < 300_000
    assert link.device.session.stats.resent == 1


def test_commits_out_of_order_are_refused_and_repeats_harmless(pair) -> None:
    link = pair()
    link.open()
    link.run(100_000)
    link.host.slow = []
    for i in range(3):
        link.send(link.device, p.Worn(i, True))
    link.run(100_000)
    first, _, third = link.host.slow
    with pytest.raises(SessionError):
        link.host.session.commit(link.now, third.stream, third.seq)
    link.host.session.commit(link.now, first.stream, first.seq)
    assert link.host.session.commit(link.now, first.stream, first.seq) == []
    assert link.host.session.commit(link.now, first.stream + 1, 99) == []


def test_sequence_numbers_wrap(pair) -> None:
    link = pair(BAD, seed=9)
    link.device.next = 0xFFFFFFF0
    link.device.restart()
    link.open()
    for i in range(60):
        link.send(link.device, p.Worn(i, True))
    link.run(30_000_000, until=lambda: not link.device.session.queued)
    assert numbers(link.host.got) == list(range(60)) and link.device.next < 100


def test_silence_is_noticed_and_mended(pair) -> None:
    link = pair()
    link.open()
    link.run(2_000_000)
    link.cut = True
    link.send(link.device, p.Worn(1, True))
    link.run(10_000_000)
    assert link.host.downs == link.device.downs == ["silence"]
    assert not link.host.session.up and link.host.session.peer is None
    link.cut = False
    link.run(5_000_000)
    assert link.host.ups == 2 and numbers(link.host.got) == [1]


def test_idle_link_stays_up_on_keep_alives(pair) -> None:
    link = pair()
    link.open()
    link.run(60_000_000)
    assert link.host.downs == link.device.downs == [] and link.host.ups == 1


def test_a_peer_without_memory_starts_a_new_queue(pair) -> None:
    link = pair()
    link.open()
    link.send(link.device, p.Worn(1, True))
    link.run(1_000_000)
    link.device.stream, link.device.next, link.device.queue, link.device.peer = 42, 1, {}, (0, 0)
    link.restart(link.device)
    link.send(link.device, p.Worn(2, True))
    link.send(link.host, p.Tone(1, 3, 1))
    link.run(5_000_000)
    assert numbers(link.host.got) == [1, 2] and numbers(link.device.got) == [3]


def test_a_receiver_that_lost_its_journal_resumes_at_the_oldest_kept(pair) -> None:
    link = pair()
    link.open()
    for i in range(5):
        link.send(link.device, p.Worn(i, True))
    link.run(1_000_000)
    link.host.peer = (link.device.stream, 2)  # an old copy of the journal
    link.restart(link.host)
    link.send(link.device, p.Worn(5, True))
    link.run(5_000_000)
    assert numbers(link.host.got) == list(range(6)) and link.host.session.stats.lost_by_peer == 3


def test_a_message_kept_early_is_delivered_when_a_handshake_moves_on_to_it(pair) -> None:
    link = pair()
    link.open()
    link.run(100_000)
    number, payload = p.pack(p.Worn(3, True))
    early = encode_frame(Frame(number, ASSURED, link.device.nonce & 0xFFFF, 3, payload))
    link.put(link.host, link.host.session.feed(link.now, early))
    link.device.next, link.device.queue = 4, {3: (number, payload)}  # it forgot 1 and 2
    link.restart(link.device)
    link.send(link.device, p.Worn(4, True))
    link.run(5_000_000)
    assert numbers(link.host.got) == [3, 4] and link.device.session.queued == 0


def test_unknown_malformed_and_misdirected_are_counted_acknowledged_and_skipped(pair) -> None:
    link = pair()
    link.open()
    link.run(100_000)
    link.send(link.device, p.Unknown(0x7F, b"new"))
    link.send(link.device, p.Unknown(0x10, b"short"))  # number of Battery, payload too short
    link.run(10_000)
    wrong = Frame(0x40, ASSURED, link.device.nonce & 0xFFFF, 3, bytes(4))  # SetLed is not for the host
    link.put(link.host, link.host.session.feed(link.now, encode_frame(wrong)))
    link.device.session._outbox._next, link.device.session._outbox._unsent = 4, 4
    link.send(link.device, p.Worn(9, True))
    link.run(1_000_000)
    stats = link.host.session.stats
    assert (stats.unknown, stats.malformed, stats.misdirected) == (1, 1, 1)
    assert numbers(link.host.got) == [9] and link.device.session.queued == 0


def test_datagrams_are_newest_wins_and_dropped_while_down(pair) -> None:
    link = pair()
    link.send(link.device, p.Light(0, 5))
    assert link.device.session.stats.datagrams_dropped == 1
    link.open()
    link.run(100_000)
    first = transmitted(link.device.session.send(link.now, p.Light(1, 1)))
    second = transmitted(link.device.session.send(link.now, p.Light(2, 2)))
    fourth = [transmitted(link.device.session.send(link.now, p.Light(i, i))) for i in (3, 4)][1]
    for data in (second, first, second, fourth):
        link.put(link.host, link.host.session.feed(link.now, data))
    assert [m.lux for m in link.host.got] == [2, 4]
    assert link.host.session.stats.duplicates == 2 and link.host.session.stats.datagrams_lost == 1


def test_time_is_synchronised_within_half_the_round_trip(pair) -> None:
    link = pair(delay_us=3_000)
    link.open()
    link.run(2_000_000)
    synced = [e for e in link.host.events if isinstance(e, TimeSynced)]
    assert len(synced) >= 4 and all(e.rtt_us == 6_000 and e.offset_us == 0 for e in synced)
    assert not [e for e in link.device.events if isinstance(e, TimeSynced)]


def test_a_set_clock_of_the_peer_shows_as_a_jump() -> None:
    host = Session(p.Role.HOST, nonce=1, restored=Restored(1), settings=Settings(time_ping_us=200_000))
    device = Session(p.Role.DEVICE, nonce=2, restored=Restored(2))
    host.opened(0)
    skew, jumps, now = 5_000_000, [], 0
    to_device = transmitted(host.tick(0))
    device.opened(skew)
    for now in range(0, 3_000_000, 50_000):
        if now == 1_500_000:
            skew += 3_600_000
        reply = transmitted(device.feed(now + skew, to_device))
        out = host.feed(now, reply)
        to_device = transmitted(out) + transmitted(host.tick(now))
        jumps += [e.jump_us for e in out if isinstance(e, TimeSynced) and abs(e.jump_us) > 500_000]
    assert jumps == [3_600_000] and abs((host.offset_us or 0) - skew) <= 25_000  # half a round trip of 50 ms


def test_versions_without_overlap_do_not_talk_and_do_not_storm(pair) -> None:
    link = pair()
    link.open()
    link.run(100_000)
    hello = p.Hello(9, 12, p.Role.DEVICE, True, 77, 0, 5, 1, 0, 0, 0, 1_000, 8, "future")
    wire = encode_frame(Frame(*p.pack(hello)[:1], 0, 77, 0, p.pack(hello)[1]))
    out = [o for _ in range(20) for o in link.host.session.feed(link.now, wire)]
    assert [type(o).__name__ for o in out] == ["Down"] and out[0].reason == "version"
    assert not link.host.session.up
    older = dataclasses.replace(hello, version_min=1, nonce=78)  # a peer that still speaks ours is welcome again
    wire = encode_frame(Frame(1, 0, 78, 0, p.pack(older)[1]))
    answer = FrameDecoder().feed(transmitted(link.host.session.feed(link.now, wire)))
    assert p.unpack(answer[0].number, answer[0].payload).echo == 78


def test_frames_of_an_earlier_life_are_ignored_and_answered_with_a_greeting(pair) -> None:
    link = pair()
    link.open()
    link.run(100_000)
    stale = encode_frame(Frame(0x11, ASSURED, 0xBEEF, 1, p.pack(p.Worn(1, True))[1]))
    out = link.host.session.feed(link.now, stale * 5)
    assert not [o for o in out if isinstance(o, Deliver)] and link.host.session.stats.strays == 5
    assert len(FrameDecoder().feed(transmitted(out))) == 1


def test_forged_acknowledgements_release_nothing(pair) -> None:
    link = pair()
    link.open()
    link.run(100_000)
    link.host.slow = []
    link.send(link.device, p.Worn(1, True))
    ack = p.pack(p.Ack(500, 0xFFFFFFFF))[1]
    link.put(
        link.device, link.device.session.feed(link.now, encode_frame(Frame(2, 0, link.host.nonce & 0xFFFF, 0, ack)))
    )
    assert link.device.session.queued == 1 and link.device.session.stats.malformed == 1


def test_what_may_not_be_sent_is_refused(pair) -> None:
    link = pair(outbox=3)
    for wrong in (p.Worn(1, True), p.KeepAlive(1)):
        with pytest.raises(SessionError):
            link.host.session.send(0, wrong)
    with pytest.raises(MessageError):
        link.host.session.send(0, p.Tone(-1, 0, 0))
    for i in range(3):
        link.send(link.host, p.Tone(1, i, 1))
    with pytest.raises(OutboxFull):
        link.host.session.send(0, p.Tone(1, 3, 1))
    link.device.session.capabilities = p.Capability.BATTERY
    link.open()
    link.run(1_000_000)
    with pytest.raises(NotCapable):
        link.host.session.send(link.now, p.Haptic(p.Pattern.TICK, 1, 1))
    with pytest.raises(SessionError):
        Session(p.Role.HOST, nonce=0, restored=Restored(1))


def test_bye_is_told_and_a_reopened_line_greets_again(pair) -> None:
    link = pair()
    link.open()
    link.run(100_000)
    link.put(link.device, link.device.session.bye(link.now, p.ByeReason.SLEEP))
    link.run(8_000_000)
    assert link.host.downs == ["bye"] and link.device.session.deadline() is None
    link.put(link.device, link.device.session.opened(link.now))
    link.run(3_000_000)
    assert link.host.session.up and link.device.session.up


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(max_size=60) | st.integers(0, 5_000_000), max_size=40), st.integers(0, 2**32 - 1))
def test_no_bytes_and_no_clock_break_a_session(items: list, seed: int) -> None:
    session = Session(p.Role.HOST, nonce=1, restored=Restored(1), settings=Settings(outbox=4))
    rng, now = random.Random(seed), 0
    session.opened(now)
    for item in items:
        if isinstance(item, int):
            now += item
            session.step(now, None)
        else:
            session.step(now, item)
            frame = Frame(rng.randrange(256), rng.randrange(4), rng.randrange(3), rng.randrange(40), item)
            session.step(now, encode_frame(frame))
    assert session.deadline() is not None
