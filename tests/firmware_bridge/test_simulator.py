"""The simulated device, with the Python firmware and the C one: what a host sees of a day, on a bad line, in a crash."""

from __future__ import annotations

import itertools

import pytest

from firmware_bridge import protocol as p
from firmware_bridge.events import TimeSynced
from firmware_bridge.scenario import parse
from firmware_bridge.simulator import BOOT_US, Simulator

S = 1_000_000
BAD_LINE = {"corrupt": 0.05, "drop": 0.03, "duplicate": 0.05, "reorder": 0.05, "noise": 0.05, "lose_acks": 0.1}


def test_a_fresh_host_learns_everything_at_once(make_rig) -> None:
    rig = make_rig(parse({"worn": True, "battery": {"percent": 77.0}}))
    assert rig.run(2 * S, until=lambda: bool(rig.got(p.Battery)))
    assert [type(m).__name__ for m in rig.host.got[:5]] == ["Wake", "Firmware", "Worn", "Mute", "LedState"]
    assert rig.got(p.Wake)[0].reason == p.Reason.POWER_ON
    assert rig.got(p.Firmware)[0].version == "1.0.0" and rig.got(p.Worn)[0].worn
    battery = rig.got(p.Battery)[0]
    assert battery.percent == 77 and battery.charging == p.Charging.DISCHARGING and 3_300 < battery.mv < 4_200
    assert battery.ma < 0


def test_events_arrive_in_order_and_once_on_a_bad_line(make_rig) -> None:
    taps = [{"at_s": 1 + i / 10, "do": ("tap", "double_tap", "long_press")[i % 3]} for i in range(60)]
    rig = make_rig(parse({"event": taps, "line": BAD_LINE, "seed": 11}))
    assert rig.run(60 * S, until=lambda: len(rig.got(p.Gesture)) >= 60)
    rig.run(3 * S)
    kinds = [m.kind for m in rig.got(p.Gesture)]
    assert kinds == [p.GestureKind.TAP, p.GestureKind.DOUBLE_TAP, p.GestureKind.LONG_PRESS] * 20


def test_commands_are_carried_out_once_and_in_order_on_a_bad_line(make_rig) -> None:
    rig = make_rig(parse({"line": BAD_LINE, "seed": 12}))
    for i in range(80):
        rig.send(p.Tone(440, i, 10))
        rig.run(20_000)
    rig.run(60 * S, until=lambda: rig.host.session.queued == 0)
    assert [m.ms for m in rig.sim.commands] == list(range(80)) and rig.sim.board.shown == rig.sim.commands


def test_a_crash_is_reported_and_nothing_is_doubled(make_rig) -> None:
    events = [{"at_s": 2 + 3 * i, "do": "crash"} for i in range(5)]
    taps = [{"at_s": 0.5 + i / 2, "do": "tap"} for i in range(40)]
    rig = make_rig(parse({"event": events + taps, "line": BAD_LINE, "seed": 13}))
    for i in range(200):
        rig.send(p.Tone(440, i, 10))
        rig.run(100_000)
    rig.run(60 * S, until=lambda: rig.host.session.queued == 0)
    rig.run(5 * S)
    assert [m.ms for m in rig.sim.commands] == list(range(200))
    assert [m.reason for m in rig.got(p.Wake)] == [p.Reason.POWER_ON] + [p.Reason.CRASH] * 5
    lost = 5 * BOOT_US // 500_000 + 5  # a finger on glasses that reboot leaves no trace
    assert 40 - lost <= len(rig.got(p.Gesture)) <= 40


def test_out_of_range_loses_no_tap(make_rig) -> None:
    events = [
        {"at_s": 3, "do": "link_down"},
        {"at_s": 5, "do": "tap"},
        {"at_s": 12, "do": "double_tap"},
        {"at_s": 15, "do": "link_up"},
    ]
    rig = make_rig(parse({"event": events}))
    rig.run(14 * S)
    assert rig.host.downs == ["silence"] and not rig.got(p.Gesture)
    rig.run(10 * S)
    assert [m.kind for m in rig.got(p.Gesture)] == [p.GestureKind.TAP, p.GestureKind.DOUBLE_TAP]
    assert rig.host.ups == 2


def test_the_led_tells_the_truth(make_rig) -> None:
    rig = make_rig(parse({"event": [{"at_s": 4, "do": "led_fault"}, {"at_s": 6, "do": "led_ok"}]}))
    rig.run(1 * S)
    rig.send(p.SetLed(p.Led.RECORDING, p.LedMode.ON, 0))
    rig.run(2 * S)
    assert rig.got(p.LedState)[-1] == p.LedState(rig.got(p.LedState)[-1].at_us, p.Led.RECORDING, p.LedMode.ON, True)
    rig.run(2 * S)
    assert not rig.got(p.LedState)[-1].working and rig.got(p.Fault)[-1].active
    rig.run(2 * S)
    assert rig.got(p.LedState)[-1].working and not rig.got(p.Fault)[-1].active


def test_time_is_kept_and_the_day_told(make_rig) -> None:
    rig = make_rig(parse({}), delay_us=2_000)
    rig.run(3 * S)
    synced = [e for e in rig.host.events if isinstance(e, TimeSynced)][-1]
    boot = rig.sim._power.booted_us
    assert abs(synced.offset_us + boot) <= synced.rtt_us // 2 and synced.rtt_us == 4_000
    rig.send(p.ClockSet(rig.now - boot, 1_700_000_000_000_000, 60))
    rig.run(1 * S)
    report = rig.got(p.ClockReport)[0]
    assert report.source == p.ClockSource.HOST
    assert report.utc_us - report.at_us == 1_700_000_000_000_000 - (rig.now - S - boot)


def test_a_burst_of_raw_motion_comes_complete(make_rig) -> None:
    rig = make_rig(parse({"event": [{"at_s": 0, "do": "walk"}]}))
    rig.run(1 * S)
    rig.send(p.ImuStream(200, 1_000))
    rig.run(4 * S)
    bursts = rig.got(p.ImuRaw)
    assert sum(len(b.samples) for b in bursts) == 200 and {b.period_us for b in bursts} == {5_000}
    assert [b.at_us - a.at_us for a, b in itertools.pairwise(bursts)] == [80_000] * (len(bursts) - 1)
    assert rig.got(p.ImuSummary)[-1].activity == p.Activity.WALKING


def test_a_fall_is_reported_once_and_then_stillness(make_rig) -> None:
    rig = make_rig(parse({"event": [{"at_s": 0, "do": "walk"}, {"at_s": 3.1, "do": "fall"}]}))
    rig.run(10 * S)
    kinds = [m.activity for m in rig.got(p.ImuSummary)]
    assert kinds.count(p.Activity.FALL_SUSPECTED) == 1
    assert kinds[kinds.index(p.Activity.FALL_SUSPECTED) + 1 :] == [p.Activity.STILL] * 3


def test_sleep_says_goodbye_and_wakes_by_timer_and_by_touch(make_rig) -> None:
    rig = make_rig(parse({"event": [{"at_s": 20, "do": "tap"}]}))
    rig.run(1 * S)
    rig.send(p.SleepRequest(5))
    rig.run(3 * S)
    assert rig.host.downs == ["bye"] and rig.got(p.Sleep)[0].reason == p.Reason.HOST and not rig.sim.running
    rig.run(6 * S)
    assert rig.sim.running and rig.got(p.Wake)[-1].reason == p.Reason.TIMER
    rig.send(p.SleepRequest(0))
    rig.run(8 * S)
    assert not rig.sim.running
    rig.run(6 * S)
    assert rig.got(p.Wake)[-1].reason == p.Reason.BUTTON and rig.got(p.Gesture)[-1].kind == p.GestureKind.TAP


def test_messages_of_a_later_version_pass_by(make_rig) -> None:
    rig = make_rig(parse({"event": [{"at_s": 1, "do": "raw"}, {"at_s": 2, "do": "tap"}]}))
    rig.run(1 * S)
    rig.send(p.Unknown(0x7E, b"from a later host"), p.Tone(440, 5, 1))
    rig.run(5 * S)
    assert rig.host.session.stats.unknown == 1 and rig.host.session.queued == 0
    assert len(rig.got(p.Gesture)) == 1 and [m.ms for m in rig.sim.commands] == [5]


def test_the_battery_slides_faster_under_load_and_refills() -> None:
    def after(seconds: float, events: list, camera: bool) -> p.Battery:
        now = [0]
        sim = Simulator(parse({"speed": 60.0, "event": events, "battery": {"percent": 50.0}}), lambda: now[0])
        sim.board.camera_on = camera
        while now[0] < seconds / 60 * S:
            now[0] += 10_000
            sim.step()
            sim.board.camera_on = camera
        return sim.board.battery(0)

    idle, busy = after(1_800, [], camera=False), after(1_800, [], camera=True)
    assert idle.percent > busy.percent and idle.mv > busy.mv and busy.temp_dc > idle.temp_dc
    filled = after(7_200, [{"at_s": 0, "do": "charge"}], camera=False)
    assert filled.percent > 90 and filled.charging in (p.Charging.CHARGING, p.Charging.FULL)


def test_a_dead_gauge_is_unknown_not_zero(make_rig) -> None:
    rig = make_rig(parse({"event": [{"at_s": 1, "do": "gauge_fault"}]}))
    rig.run(3 * S)
    assert rig.got(p.Battery)[-1].percent is None and rig.got(p.Battery)[-1].charging == p.Charging.UNKNOWN


def test_noise_on_the_gauge_stays_small_and_in_range() -> None:
    now = [0]
    sim = Simulator(parse({"battery": {"percent": 1.0, "noise_percent": 3.0}}), lambda: now[0])
    seen = [sim.board.cell.gauge() for _ in range(500)]
    assert min(seen) >= 0 and max(seen) <= 8 and len(set(seen)) > 1


def test_the_same_seed_gives_the_same_bytes() -> None:
    def record() -> bytes:
        now = [0]
        sim = Simulator(parse({"seed": 5, "line": BAD_LINE, "event": [{"at_s": 1, "do": "tap"}]}), lambda: now[0])
        out = sim.line_opened()
        for now[0] in range(0, 3 * S, 10_000):
            out += sim.step()
        return out

    assert record() == record()


@pytest.mark.parametrize("action", ["crash", "reboot"])
def test_lights_are_off_after_a_restart(make_rig, action: str) -> None:
    rig = make_rig(parse({"event": [{"at_s": 2, "do": action}]}))
    rig.run(1 * S)
    rig.send(p.SetLed(p.Led.RECORDING, p.LedMode.ON, 0), p.CameraPower(True))
    rig.run(500_000)
    assert rig.got(p.CameraState)[-1].powered
    rig.run(4 * S)
    assert rig.got(p.LedState)[-1].mode == p.LedMode.OFF and not rig.sim.board.camera_on
