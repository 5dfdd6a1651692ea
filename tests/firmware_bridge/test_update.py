"""Firmware update with the Python firmware and the C one: interrupted anywhere, refused rightly, taken back when bad."""

from __future__ import annotations

import hashlib
import random

import pytest

from firmware_bridge import protocol as p
from firmware_bridge.errors import UpdateError
from firmware_bridge.protocol import SlotState, UpdateReason, UpdateState
from firmware_bridge.scenario import parse
from firmware_bridge.update import CHUNK_MOST, Flash, boot
from firmware_bridge.updater import Updater

S = 1_000_000
IMAGE = random.Random(8).randbytes(CHUNK_MOST * 7 + 50)


class Drive:
    """An Updater on a rig: passes messages to and fro until it is done or fails."""

    def __init__(self, rig, updater: Updater) -> None:
        self.rig, self.updater = rig, updater
        self.ups = self.read = 0

    def step(self) -> bool:
        rig, updater = self.rig, self.updater
        if rig.host.ups != self.ups and rig.host.session.up:
            self.ups = rig.host.ups
            rig.send(*updater.connected())
        while self.read < len(rig.host.got):
            self.read += 1
            rig.send(*updater.on(rig.host.got[self.read - 1]))
        if rig.host.session.up:
            rig.send(*updater.more(max(0, 8 - rig.host.session.queued)))
        return updater.finished

    def run(self, us: int) -> bool:
        return self.rig.run(us, until=self.step)


def versions(rig) -> list[tuple[str, SlotState]]:
    return [(m.version, m.state) for m in rig.got(p.Firmware)]


def test_an_update_boots_on_trial_and_is_kept_when_confirmed(make_rig) -> None:
    rig = make_rig(parse({"line": {"corrupt": 0.05, "drop": 0.05, "duplicate": 0.05, "reorder": 0.05}}))
    assert Drive(rig, Updater(IMAGE, "2.0.0", 1)).run(120 * S)
    rig.sim.do("reboot")
    rig.run(5 * S)
    assert versions(rig) == [
        ("1.0.0", SlotState.CONFIRMED),
        ("2.0.0", SlotState.TESTING),
        ("2.0.0", SlotState.CONFIRMED),
    ]
    assert Drive(rig, Updater(IMAGE[::-1], "3.0.0", 2)).run(120 * S)  # and into the first slot again
    rig.sim.do("reboot")
    rig.run(5 * S)
    assert versions(rig)[-1] == ("3.0.0", SlotState.CONFIRMED)


def test_interrupted_at_each_chunk_the_old_firmware_boots_and_the_update_resumes(make_rig) -> None:
    chunks = -(-len(IMAGE) // CHUNK_MOST)
    for stop_after in range(chunks + 1):
        rig = make_rig(parse({}))
        rig.run(2 * S)
        digest = hashlib.sha256(IMAGE).digest()
        rig.send(p.UpdateBegin(1, len(IMAGE), digest, "2.0.0"))
        for i in range(stop_after):
            rig.send(p.UpdateChunk(1, i * CHUNK_MOST, IMAGE[i * CHUNK_MOST : (i + 1) * CHUNK_MOST]))
        rig.run(1 * S)
        rig.sim.do("crash")
        rig.run(5 * S)
        assert versions(rig)[-1] == ("1.0.0", SlotState.CONFIRMED)
        status = rig.got(p.UpdateStatus)[-1]
        assert status.state == UpdateState.RECEIVING
        assert status.offset == min(stop_after * CHUNK_MOST, len(IMAGE))
        drive = Drive(rig, Updater(IMAGE, "2.0.0", 1))
        drive.read = len(rig.host.got)
        assert drive.run(60 * S) and versions(rig)[-1] == ("2.0.0", SlotState.TESTING)


def test_a_crash_in_the_trial_brings_the_old_firmware_back(make_rig) -> None:
    rig = make_rig(parse({"event": [{"at_s": 0, "do": "bad_image"}]}))
    with pytest.raises(UpdateError, match=r"1\.0\.0 runs again|taken back"):
        Drive(rig, Updater(IMAGE, "2.0.0", 1)).run(120 * S)
    assert versions(rig)[-1] == ("1.0.0", SlotState.REVERTED)
    assert rig.got(p.Wake)[-1].reason == p.Reason.WATCHDOG
    rig.sim.do("crash")
    rig.run(5 * S)
    assert versions(rig)[-1][0] == "1.0.0"


def test_a_trial_that_nobody_confirms_is_taken_back_after_a_minute(make_rig) -> None:
    rig = make_rig(parse({}))
    drive = Drive(rig, Updater(IMAGE, "2.0.0", 1))
    assert rig.run(60 * S, until=lambda: ("2.0.0", SlotState.TESTING) in versions(rig) or drive.step())
    rig.run(50 * S)  # the host is there but silent about it
    assert versions(rig)[-1] == ("2.0.0", SlotState.TESTING)
    rig.run(20 * S)
    assert versions(rig)[-1] == ("1.0.0", SlotState.REVERTED)


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        ({"battery": {"percent": 9.0}}, UpdateReason.LOW_BATTERY),
        ({"battery": {"percent": 29.0}}, UpdateReason.LOW_BATTERY),
        ({"thermal": {"ambient_c": 46.0}}, UpdateReason.HOT),
        ({"event": [{"at_s": 0, "do": "gauge_fault"}]}, UpdateReason.LOW_BATTERY),
    ],
)
def test_unfit_devices_refuse(make_rig, scenario: dict, reason: UpdateReason) -> None:
    rig = make_rig(parse(scenario))
    with pytest.raises(UpdateError, match="refused"):
        Drive(rig, Updater(IMAGE, "2.0.0", 1)).run(20 * S)
    assert rig.got(p.UpdateStatus)[-1].reason == reason
    rig.sim.do("reboot")
    rig.run(5 * S)
    assert versions(rig)[-1] == ("1.0.0", SlotState.CONFIRMED)


def test_a_battery_that_runs_low_meanwhile_stops_the_swap(make_rig) -> None:
    rig = make_rig(parse({}))
    rig.run(2 * S)
    rig.send(p.UpdateBegin(1, len(IMAGE), hashlib.sha256(IMAGE).digest(), "2.0.0"))
    for i in range(0, len(IMAGE), CHUNK_MOST):
        rig.send(p.UpdateChunk(1, i, IMAGE[i : i + CHUNK_MOST]))
    rig.run(2 * S)
    rig.sim.do("battery", 12)
    rig.run(1 * S)
    rig.send(p.UpdateFinish(1))
    rig.run(2 * S)
    assert rig.got(p.UpdateStatus)[-1].reason == UpdateReason.LOW_BATTERY
    rig.sim.do("battery", 60)
    rig.run(1 * S)
    rig.send(p.UpdateFinish(1))
    rig.run(5 * S)
    assert versions(rig)[-1] == ("2.0.0", SlotState.TESTING)


def test_a_wrong_hash_is_refused_and_forgotten(make_rig) -> None:
    rig = make_rig(parse({}))
    rig.run(2 * S)
    rig.send(p.UpdateBegin(3, 100, bytes(32), "2.0.0"), p.UpdateChunk(3, 0, bytes(100)), p.UpdateFinish(3))
    rig.run(3 * S)
    assert [(m.state, m.reason) for m in rig.got(p.UpdateStatus)] == [
        (UpdateState.RECEIVING, UpdateReason.NONE),
        (UpdateState.REFUSED, UpdateReason.WRONG_HASH),
    ]
    rig.send(p.UpdateFinish(3))
    rig.sim.do("reboot")
    rig.run(5 * S)
    assert versions(rig)[-1] == ("1.0.0", SlotState.CONFIRMED)


def test_gaps_oversizes_strangers_and_aborts_are_answered(make_rig) -> None:
    rig = make_rig(parse({}))
    rig.run(2 * S)
    wanted = hashlib.sha256(IMAGE).digest()
    rig.send(
        p.UpdateChunk(1, 0, b"early"),
        p.UpdateBegin(1, 2_000_000, wanted, "2"),
        p.UpdateBegin(1, len(IMAGE), wanted, "2"),
        p.UpdateChunk(1, 0, IMAGE[:100]),
        p.UpdateChunk(1, 300, b"gap"),
        p.UpdateChunk(1, 50, IMAGE[50:150]),
        p.UpdateChunk(1, 0, IMAGE[:10]),
        p.UpdateFinish(1),
        p.UpdateConfirm(1),
        p.UpdateAbort(1),
        p.UpdateFinish(1),
    )
    rig.run(3 * S)
    assert [(m.state.name, m.reason.name, m.offset) for m in rig.got(p.UpdateStatus)] == [
        ("REFUSED", "NOT_STARTED", 0),
        ("REFUSED", "TOO_LARGE", 0),
        ("RECEIVING", "NONE", 0),
        ("RECEIVING", "WRONG_OFFSET", 100),
        ("RECEIVING", "WRONG_OFFSET", 150),
        ("CONFIRMED", "NONE", 0),
        ("IDLE", "ABORTED", 150),
        ("REFUSED", "NOT_STARTED", 0),
    ]


def test_the_boot_loader_tries_a_new_image_exactly_once() -> None:
    flash = Flash()
    assert boot(flash) == (0, SlotState.CONFIRMED)
    flash.trial = True
    assert boot(flash) == (1, SlotState.TESTING)
    assert boot(flash) == (0, SlotState.REVERTED)
    assert boot(flash) == (0, SlotState.REVERTED) and not flash.trial
