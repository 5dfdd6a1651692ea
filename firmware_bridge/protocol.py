"""Every message of the link, and the one table that gives its number, direction and delivery.

Times named ``at_us`` are microseconds of the device's own clock since its boot; the host maps them with the offset that
time synchronisation yields. None stands for "not measured". ``docs/firmware.md`` is generated from this file.
"""

# ruff: noqa: RUF009 (wire() is dataclasses.field with the layout as metadata)

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any, NamedTuple

from firmware_bridge.errors import MessageError
from firmware_bridge.fields import Layout, Sample, layout_of, pack_fields, unpack_fields, wire

VERSION = 1
VERSION_MIN = 1

Role = IntEnum("Role", "UNKNOWN HOST DEVICE", start=0)
ByeReason = IntEnum("ByeReason", "UNKNOWN SHUTDOWN SLEEP REBOOT VERSION", start=0)
Charging = IntEnum("Charging", "UNKNOWN DISCHARGING CHARGING FULL FAULT", start=0)
Health = IntEnum("Health", "UNKNOWN GOOD AGED FAILING OVERHEAT COLD", start=0)
Control = IntEnum("Control", "UNKNOWN TOUCH BUTTON CAMERA_BUTTON", start=0)
GestureKind = IntEnum("GestureKind", "UNKNOWN TAP DOUBLE_TAP LONG_PRESS SWIPE_FORWARD SWIPE_BACK", start=0)
Activity = IntEnum("Activity", "UNKNOWN STILL WALKING RUNNING FALL_SUSPECTED", start=0)
Led = IntEnum("Led", "UNKNOWN RECORDING STATUS", start=0)
LedMode = IntEnum("LedMode", "UNKNOWN OFF ON BLINK PULSE", start=0)
Pattern = IntEnum("Pattern", "UNKNOWN TICK DOUBLE LONG RISE ALERT", start=0)
Reason = IntEnum(
    "Reason", "UNKNOWN POWER_ON BUTTON WORN UNWORN CHARGER TIMER HOST WATCHDOG CRASH LOW_BATTERY UPDATE", start=0
)
Level = IntEnum("Level", "UNKNOWN DEBUG INFO WARNING ERROR", start=0)
FaultCode = IntEnum("FaultCode", "UNKNOWN LED CAMERA IMU BATTERY_GAUGE OVERHEAT FLASH WATCHDOG_RESET", start=0)
SlotState = IntEnum("SlotState", "UNKNOWN CONFIRMED TESTING REVERTED", start=0)
ClockSource = IntEnum("ClockSource", "UNKNOWN UNSET HOST RTC", start=0)
UpdateState = IntEnum("UpdateState", "UNKNOWN IDLE RECEIVING REFUSED REBOOTING TESTING CONFIRMED REVERTED", start=0)
UpdateReason = IntEnum(
    "UpdateReason", "UNKNOWN NONE LOW_BATTERY HOT TOO_LARGE WRONG_HASH WRONG_OFFSET NOT_STARTED ABORTED FLASH", start=0
)


class Capability(IntFlag):
    """What a device can do, told in its Hello; a host sends nothing that needs a missing one."""

    BATTERY = 1
    WEAR = 2
    GESTURES = 4
    IMU = 8
    IMU_RAW = 16
    LIGHT = 32
    MUTE_SWITCH = 64
    LED = 128
    HAPTIC = 256
    TONE = 512
    DISPLAY = 1024
    CAMERA_POWER = 2048
    UPDATE = 4096
    CLOCK = 8192


ALL_CAPABILITIES = Capability(0x3FFF)
_AT = "µs since the device booted"


@dataclass(frozen=True, slots=True)
class Hello:
    """Opens a session; both sides send it until each has seen its own nonce echoed. Its layout never changes."""

    version_min: int = wire("u8", "oldest protocol version understood")
    version_max: int = wire("u8", "newest protocol version understood")
    role: Role = wire("enum", "who speaks", enum=Role)
    reply: bool = wire("bool", "1 asks the peer to answer with its Hello")
    nonce: int = wire("u32", "number of this handshake, never 0; its low 16 bits tag all later frames")
    echo: int = wire("u32", "the peer's nonce, 0 when not known yet")
    stream: int = wire("u32", "identity of the sender's queue of acknowledged messages, never 0; kept while it is kept")
    base: int = wire("u32", "sequence number of the oldest message still queued (the next one when none is)")
    peer_stream: int = wire("u32", "identity of the peer's queue last received from, 0 when none")
    committed: int = wire("u32", "last sequence number of that queue that was committed")
    capabilities: int = wire("u32", "bit set, see Capabilities")
    keepalive_ms: int = wire("u16", "the sender is never silent for longer; 3.5 times this silence is a lost link")
    window: int = wire("u8", "acknowledged messages it accepts ahead of its last commit, 1 to 32")
    name: str = wire("text", "name of the product or program, at most 64 bytes")


@dataclass(frozen=True, slots=True)
class Ack:
    """Everything up to ``committed`` is stored for good; ``seen`` only says what need not be sent again yet."""

    committed: int = wire("u32", "last sequence number committed")
    seen: int = wire("u32", "bit i set: committed + 1 + i has arrived but is not committed")


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """Sent when nothing else was for ``keepalive_ms``."""

    uptime_ms: int = wire("u32", "ms since boot or start, wraps")


@dataclass(frozen=True, slots=True)
class TimePing:
    """Asks for the peer's clock."""

    sent_us: int = wire("u64", "sender's clock")


@dataclass(frozen=True, slots=True)
class TimePong:
    """Answers a TimePing at once."""

    ping_us: int = wire("u64", "copied from the ping")
    received_us: int = wire("u64", "answerer's clock when the ping arrived")
    sent_us: int = wire("u64", "answerer's clock when this was sent")


@dataclass(frozen=True, slots=True)
class Bye:
    """The sender leaves; the link is down on purpose."""

    reason: ByeReason = wire("enum", "why", enum=ByeReason)


@dataclass(frozen=True, slots=True)
class Battery:
    """State of the cell, sent on change of a percent and at least every 30 s."""

    at_us: int = wire("u64", _AT)
    percent: int | None = wire("percent", "0 to 100, 255 unknown")
    charging: Charging = wire("enum", "charger", enum=Charging)
    health: Health = wire("enum", "cell", enum=Health)
    mv: int | None = wire("u16?", "mV at the cell, 65535 unknown")
    ma: int | None = wire("i16?", "mA into the cell (negative: out of it), -32768 unknown")
    temp_dc: int | None = wire("i16?", "0.1 degrees Celsius, -32768 unknown")


@dataclass(frozen=True, slots=True)
class Worn:
    """The glasses were put on or taken off."""

    at_us: int = wire("u64", _AT)
    worn: bool = wire("bool", "1 on the head")


@dataclass(frozen=True, slots=True)
class Gesture:
    """A press or tap, already told apart by the device."""

    at_us: int = wire("u64", _AT)
    control: Control = wire("enum", "where", enum=Control)
    kind: GestureKind = wire("enum", "what", enum=GestureKind)
    held_ms: int = wire("u16", "ms the finger stayed, 0 for swipes")


@dataclass(frozen=True, slots=True)
class ImuSummary:
    """Motion over the last period, and what the device makes of it."""

    at_us: int = wire("u64", _AT)
    period_ms: int = wire("u16", "ms summarised")
    activity: Activity = wire("enum", "guess", enum=Activity)
    mean_x_mg: int = wire("i16", "mean acceleration, milli-g")
    mean_y_mg: int = wire("i16", "mean acceleration, milli-g")
    mean_z_mg: int = wire("i16", "mean acceleration, milli-g")
    std_mg: int = wire("u16", "standard deviation of the magnitude, milli-g")
    peak_mg: int = wire("u16", "largest magnitude, milli-g")
    gyro_ddps: int = wire("u16", "root mean square rate, 0.1 degrees per second")
    steps: int = wire("u16", "steps in the period")


@dataclass(frozen=True, slots=True)
class ImuRaw:
    """A burst of raw samples, asked for with ImuStream."""

    at_us: int = wire("u64", _AT + ", of the first sample")
    period_us: int = wire("u32", "µs between samples")
    samples: tuple[Sample, ...] = wire("samples", "at most 19 of 6 x i16: acceleration milli-g, rate 0.1 degrees/s")


@dataclass(frozen=True, slots=True)
class Light:
    """Ambient light."""

    at_us: int = wire("u64", _AT)
    lux: int = wire("u32", "lux")


@dataclass(frozen=True, slots=True)
class Mute:
    """Position of the mute switch; survives reboots."""

    at_us: int = wire("u64", _AT)
    muted: bool = wire("bool", "1: nothing may be recorded")


@dataclass(frozen=True, slots=True)
class LedState:
    """What a light really does, sent after every SetLed and whenever it changes."""

    at_us: int = wire("u64", _AT)
    led: Led = wire("enum", "which", enum=Led)
    mode: LedMode = wire("enum", "what it does", enum=LedMode)
    working: bool = wire("bool", "0: the current through it shows that it does not shine")


@dataclass(frozen=True, slots=True)
class CameraState:
    """Whether the camera has power."""

    at_us: int = wire("u64", _AT)
    powered: bool = wire("bool", "1 powered")
    working: bool = wire("bool", "0 it failed to start")


@dataclass(frozen=True, slots=True)
class Wake:
    """The device woke or started."""

    at_us: int = wire("u64", _AT)
    reason: Reason = wire("enum", "why", enum=Reason)


@dataclass(frozen=True, slots=True)
class Sleep:
    """The device is about to sleep; the link ends."""

    at_us: int = wire("u64", _AT)
    reason: Reason = wire("enum", "why", enum=Reason)


@dataclass(frozen=True, slots=True)
class Log:
    """A line of the device's log."""

    at_us: int = wire("u64", _AT)
    level: Level = wire("enum", "weight", enum=Level)
    text: str = wire("text", "the line")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something on the device failed or recovered."""

    at_us: int = wire("u64", _AT)
    fault: FaultCode = wire("enum", "what", enum=FaultCode)
    active: bool = wire("bool", "1 began, 0 over")
    detail: int = wire("u32", "number for the maker of the board")


@dataclass(frozen=True, slots=True)
class Firmware:
    """What runs on the device; sent after every handshake."""

    at_us: int = wire("u64", _AT)
    state: SlotState = wire("enum", "the running image", enum=SlotState)
    version: str = wire("text", "version of the running image")
    board: str = wire("text", "name of the board")


@dataclass(frozen=True, slots=True)
class ClockReport:
    """The device's idea of the time of day, for a host that lost its own."""

    at_us: int = wire("u64", _AT)
    utc_us: int = wire("i64", "µs since 1970, UTC, at at_us")
    source: ClockSource = wire("enum", "where it has it from", enum=ClockSource)


@dataclass(frozen=True, slots=True)
class UpdateStatus:
    """Where an update stands; answers every update message but the chunks."""

    update: int = wire("u32", "number of the update, 0 when none")
    state: UpdateState = wire("enum", "state", enum=UpdateState)
    reason: UpdateReason = wire("enum", "why", enum=UpdateReason)
    offset: int = wire("u32", "bytes safely in flash; the next chunk starts here")


@dataclass(frozen=True, slots=True)
class SetLed:
    """Drive a light."""

    led: Led = wire("enum", "which", enum=Led)
    mode: LedMode = wire("enum", "what it shall do", enum=LedMode)
    period_ms: int = wire("u16", "ms of one blink or pulse")


@dataclass(frozen=True, slots=True)
class Haptic:
    """Vibrate."""

    pattern: Pattern = wire("enum", "pattern", enum=Pattern)
    strength: int = wire("u8", "0 to 255")
    repeat: int = wire("u8", "times, at least 1")


@dataclass(frozen=True, slots=True)
class Tone:
    """Beep."""

    hz: int = wire("u16", "Hz")
    ms: int = wire("u16", "ms")
    volume: int = wire("u8", "0 to 255")


@dataclass(frozen=True, slots=True)
class Display:
    """Show text; an empty text clears."""

    show_ms: int = wire("u16", "ms to show, 0 until replaced")
    line: int = wire("u8", "line from the top, 0 the first")
    text: str = wire("text", "the text")


@dataclass(frozen=True, slots=True)
class CameraPower:
    """Switch the camera's supply; answered by CameraState."""

    on: bool = wire("bool", "1 on")


@dataclass(frozen=True, slots=True)
class SleepRequest:
    """Let the device sleep."""

    wake_after_s: int = wire("u32", "s until it wakes by itself, 0 never")


@dataclass(frozen=True, slots=True)
class ImuStream:
    """Ask for a burst of ImuRaw."""

    hz: int = wire("u16", "samples per second, 0 stops")
    ms: int = wire("u16", "ms")


@dataclass(frozen=True, slots=True)
class ClockSet:
    """Tell the device the time of day; sent after time synchronisation and when the host's clock jumps."""

    device_us: int = wire("u64", "the device's clock at utc_us")
    utc_us: int = wire("i64", "µs since 1970, UTC")
    offset_min: int = wire("i16", "minutes of the wearer's local time ahead of UTC")


@dataclass(frozen=True, slots=True)
class UpdateBegin:
    """Start an update or continue it (same hash): refused under 30 % battery or above 45 degrees Celsius."""

    update: int = wire("u32", "number of the update, not 0")
    size: int = wire("u32", "bytes of the image")
    sha256: bytes = wire("bytes32", "SHA-256 of the image")
    version: str = wire("text", "version of the image, at most 32 bytes")


@dataclass(frozen=True, slots=True)
class UpdateChunk:
    """A piece of the image; in order, without gaps."""

    update: int = wire("u32", "number of the update")
    offset: int = wire("u32", "where it belongs")
    data: bytes = wire("blob", "at most 192 bytes")


@dataclass(frozen=True, slots=True)
class UpdateFinish:
    """All chunks are sent: check the hash and boot the image on trial."""

    update: int = wire("u32", "number of the update")


@dataclass(frozen=True, slots=True)
class UpdateConfirm:
    """The trial image talks to the host: keep it. Without this within 60 s of its boot the old image returns."""

    update: int = wire("u32", "number of the update")


@dataclass(frozen=True, slots=True)
class UpdateAbort:
    """Forget the update."""

    update: int = wire("u32", "number of the update")


@dataclass(frozen=True, slots=True)
class Unknown:
    """A message this side does not know, or whose payload is malformed; it is counted, acknowledged and skipped."""

    number: int
    payload: bytes
    malformed: bool = False


Message = Any
"""An instance of one of the dataclasses in :data:`TABLE` (or Unknown)."""

Way = IntEnum("Way", "BOTH TO_HOST TO_DEVICE", start=0)
Delivery = IntEnum("Delivery", "LINK DATAGRAM ASSURED", start=0)


class Row(NamedTuple):
    """One line of the table. ``needs`` is the capability a device must have told to be sent this."""

    number: int
    message: type[Any]
    way: Way
    delivery: Delivery
    needs: Capability = Capability(0)


_H, _D, _A, _G, _C = Way.TO_HOST, Way.TO_DEVICE, Delivery.ASSURED, Delivery.DATAGRAM, Capability
TABLE: tuple[Row, ...] = (
    Row(0x01, Hello, Way.BOTH, Delivery.LINK),
    Row(0x02, Ack, Way.BOTH, Delivery.LINK),
    Row(0x03, KeepAlive, Way.BOTH, Delivery.LINK),
    Row(0x04, TimePing, Way.BOTH, Delivery.LINK),
    Row(0x05, TimePong, Way.BOTH, Delivery.LINK),
    Row(0x06, Bye, Way.BOTH, Delivery.LINK),
    Row(0x10, Battery, _H, _A),
    Row(0x11, Worn, _H, _A),
    Row(0x12, Gesture, _H, _A),
    Row(0x13, ImuSummary, _H, _G),
    Row(0x14, ImuRaw, _H, _G),
    Row(0x15, Light, _H, _G),
    Row(0x16, Mute, _H, _A),
    Row(0x17, LedState, _H, _A),
    Row(0x18, CameraState, _H, _A),
    Row(0x19, Wake, _H, _A),
    Row(0x1A, Sleep, _H, _A),
    Row(0x1B, Log, _H, _A),
    Row(0x1C, Fault, _H, _A),
    Row(0x1D, Firmware, _H, _A),
    Row(0x1E, ClockReport, _H, _A),
    Row(0x20, UpdateStatus, _H, _A),
    Row(0x40, SetLed, _D, _A, _C.LED),
    Row(0x41, Haptic, _D, _A, _C.HAPTIC),
    Row(0x42, Tone, _D, _A, _C.TONE),
    Row(0x43, Display, _D, _A, _C.DISPLAY),
    Row(0x44, CameraPower, _D, _A, _C.CAMERA_POWER),
    Row(0x45, SleepRequest, _D, _A),
    Row(0x46, ImuStream, _D, _A, _C.IMU_RAW),
    Row(0x47, ClockSet, _D, _A, _C.CLOCK),
    Row(0x50, UpdateBegin, _D, _A, _C.UPDATE),
    Row(0x51, UpdateChunk, _D, _A, _C.UPDATE),
    Row(0x52, UpdateFinish, _D, _A, _C.UPDATE),
    Row(0x53, UpdateConfirm, _D, _A, _C.UPDATE),
    Row(0x54, UpdateAbort, _D, _A, _C.UPDATE),
)
BY_NUMBER: dict[int, Row] = {row.number: row for row in TABLE}
BY_MESSAGE: dict[type[Any], Row] = {row.message: row for row in TABLE}
LAYOUTS: dict[type[Any], Layout] = {row.message: layout_of(row.message) for row in TABLE}


def pack(message: Message) -> tuple[int, bytes]:
    """(number, payload) of a message; raises MessageError for a value that does not fit its field."""
    if isinstance(message, Unknown):
        return message.number, message.payload
    row = BY_MESSAGE.get(type(message))
    if row is None:
        raise MessageError(f"{type(message).__name__} is not a message of the table")
    return row.number, pack_fields(LAYOUTS[row.message], message)


def unpack(number: int, payload: bytes) -> Message:
    """The message of a payload; Unknown when the number is not in the table or the payload is malformed."""
    row = BY_NUMBER.get(number)
    if row is None:
        return Unknown(number, payload)
    try:
        return row.message(*unpack_fields(LAYOUTS[row.message], payload))
    except MessageError:
        return Unknown(number, payload, malformed=True)
