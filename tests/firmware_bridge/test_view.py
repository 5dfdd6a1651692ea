"""The host's view: nothing stale, mute on the safe side, one notice per outage."""

from __future__ import annotations

from firmware_bridge import protocol as p
from firmware_bridge.events import Down, Up
from firmware_bridge.view import SECOND, DeviceView

HELLO = p.Hello(1, 1, p.Role.DEVICE, False, 1, 2, 3, 1, 0, 0, 0, 1_000, 8, "glasses")
UP = Up(HELLO, 1)
BATTERY = p.Battery(0, 62, p.Charging.DISCHARGING, p.Health.GOOD, 3_900, -100, 250)


def test_loss_shows_everything_as_unknown_at_once() -> None:
    view = DeviceView()
    view.link(0, UP)
    for message in (BATTERY, p.Worn(0, True), p.Mute(0, False), p.LedState(0, p.Led.RECORDING, p.LedMode.ON, True)):
        view.message(SECOND, message)
    view.gauge(SECOND, 62)
    state = view.state(2 * SECOND)
    assert (state.percent, state.worn, state.muted, state.led_failed) == (62, True, False, False)
    view.link(3 * SECOND, Down("silence"))
    lost = view.state(3 * SECOND)
    assert (lost.connected, lost.percent, lost.battery, lost.worn, lost.muted) == (False, None, None, None, None)
    view.link(4 * SECOND, UP)
    assert view.state(4 * SECOND).percent is None  # until the device reports anew


def test_missed_reports_make_the_battery_unknown_though_connected() -> None:
    view = DeviceView()
    view.link(0, UP)
    view.message(0, BATTERY)
    assert view.state(90 * SECOND).percent == 62
    assert view.state(100 * SECOND).percent is None


def test_muted_stays_muted_through_an_outage() -> None:
    view = DeviceView()
    view.link(0, UP)
    view.message(0, p.Mute(0, True))
    view.link(SECOND, Down("silence"))
    assert view.state(SECOND).muted is True
    view.link(2 * SECOND, UP)
    view.message(2 * SECOND, p.Mute(0, False))
    assert view.state(2 * SECOND).muted is False


def test_standard_battery_service_fills_in() -> None:
    view = DeviceView()
    view.link(0, UP)
    view.gauge(0, 40)
    assert view.state(SECOND).percent == 40
    view.message(SECOND, BATTERY)
    assert view.state(SECOND).percent == 62


def test_faults_and_a_dead_led_are_seen() -> None:
    view = DeviceView()
    view.link(0, UP)
    view.message(0, p.Fault(0, p.FaultCode.LED, True, 0))
    view.message(0, p.LedState(0, p.Led.RECORDING, p.LedMode.ON, False))
    assert view.state(0).led_failed is True and view.state(0).faults == {p.FaultCode.LED}
    view.message(1, p.Fault(1, p.FaultCode.LED, False, 0))
    assert view.state(1).faults == frozenset()


def notices(view: DeviceView, moments: list[tuple[int, Up | Down]], until_s: int) -> int:
    said, todo = 0, list(moments)
    for second in range(until_s):
        while todo and todo[0][0] <= second:
            view.link(second * SECOND, todo.pop(0)[1])
        said += view.notice(second * SECOND)
    return said


def test_flapping_twenty_times_in_five_minutes_is_said_once() -> None:
    flaps = [(15 * i + d, e) for i in range(20) for d, e in ((0, UP), (9, Down("silence")))]
    assert notices(DeviceView(), flaps, 400) == 1


def test_a_short_gap_is_not_worth_a_word_and_two_outages_are_two() -> None:
    assert notices(DeviceView(), [(0, UP), (100, Down("silence")), (104, UP)], 400) == 0
    twice = [(0, UP), (100, Down("silence")), (130, UP), (300, Down("silence")), (330, UP)]
    assert notices(DeviceView(), twice, 500) == 2


def test_glasses_that_sleep_on_purpose_are_not_missed() -> None:
    view = DeviceView()
    view.link(0, UP)
    view.message(SECOND, p.Sleep(0, p.Reason.HOST))
    assert notices(view, [(2, Down("bye"))], 100) == 0
