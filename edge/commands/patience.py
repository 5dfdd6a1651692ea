"""grove-edge frequency, quiet-hours, snooze, pause, resume, power, thanks, dismiss: the wearer's patience.

A running device is told over its control socket; without one the wish is written into the memory, and holds from the
next start on.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from edge import config as settings
from edge.clock import SystemClock
from edge.commands.common import (
    LONGEST_S,
    DbOption,
    JsonOption,
    clock_told,
    db_path,
    emit,
    reading,
    reference,
    say,
    wearer_offset,
)
from edge.config import Frequency
from edge.errors import UsageError

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_FOR = typer.Option("--for", help="For how long, as in 30m, 2h or 1d.")
_CLEAR = typer.Option("--clear", help="Take it back.")


def frequency(
    level: Annotated[Frequency | None, typer.Argument(help="minimal, low, normal or high; without it: show.")] = None,
    clear: Annotated[bool, _CLEAR] = False,
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """How often alerts may come; what warns of danger comes in any case."""
    if level is None and not clear:
        found = _in_force(db)
        say({"frequency": found["frequency"]}, as_json, [f"{found['frequency']}"])
        return
    done = _tell("frequency", {"level": level}, db)
    told = "As the settings say again." if level is None else f"Alerts from now on: {level}."
    say(done, as_json, [told])


def quiet_hours(
    hours: Annotated[str | None, typer.Argument(help="As in 22:00-07:00; without it: show.")] = None,
    days: Annotated[str, typer.Option("--days", help="Days on which they begin, as in mon tue.")] = (
        "mon tue wed thu fri sat sun"
    ),
    clear: Annotated[bool, _CLEAR] = False,
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Hours in which only what is critical is said."""
    if hours is None and not clear:
        quiet = _in_force(db)["quiet"]
        told = f"{quiet['start']}-{quiet['end']} on {quiet['weekdays']}" if quiet["start"] else "No quiet hours."
        say({"quiet": quiet}, as_json, [told])
        return
    value: dict[str, Any] | None = None
    if hours is not None:
        if not days.split():
            raise UsageError("Name the days on which they begin, as in --days 'mon tue'.")
        match = re.fullmatch(r"\s*(\d\d:\d\d)\s*-\s*(\d\d:\d\d)\s*", hours)
        if match is None:
            raise UsageError(f"{hours!r} are no hours: write them as 22:00-07:00.")
        value = {"start": match[1], "end": match[2], "weekdays": days}
        _checked(value)
    done = _tell("quiet_hours", {"quiet": value}, db)
    say(done, as_json, ["As the settings say again." if value is None else f"Quiet {hours} on {days}."])


def snooze(
    what: Annotated[str | None, typer.Argument(help="A type of alert; without it everything, but for danger.")] = None,
    person: Annotated[
        str | None, typer.Option("--person", help="What is about somebody, or while they are there.")
    ] = None,
    place: Annotated[str | None, typer.Option("--place", help="While you are there.")] = None,
    length: Annotated[str, _FOR] = "1h",
    clear: Annotated[bool, _CLEAR] = False,
    show: Annotated[bool, typer.Option("--list", help="Show what is snoozed.")] = False,
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """Silence for a while: for everything, one type, one person or one place; it outlasts a restart."""
    if show:
        found = _in_force(db)
        rows = list(found["snoozes"])
        if found["do_not_disturb_until"] is not None:
            rows.insert(0, {"what": "everything", "until": found["do_not_disturb_until"]})
        if not as_json:
            rows = [{**row, "until": clock_told(row["until"])} for row in rows]
        emit(rows, as_json, ("what", "until"), "Nothing is snoozed.")
        return
    named = [(k, v) for k, v in (("type", what), ("person", person), ("place", place)) if v is not None]
    if len(named) > 1:
        raise UsageError("One at a time: a type, a person or a place.")
    kind, target = named[0] if named else ("all", "")
    done = _tell("snooze", {"kind": kind, "what": target, "seconds": None if clear else seconds(length)}, db)
    about = f"{kind} {target}" if target else "everything"
    say(done, as_json, [f"No longer silent about {about}." if clear else f"Silent about {about} for {length}."])


def pause(db: DbOption = None, as_json: JsonOption = False) -> None:
    """Close camera and microphone and keep nothing until resume, also after a restart."""
    say(_tell("pause", {}, db), as_json, ["Paused: camera and microphone are closed."])


def resume(db: DbOption = None, as_json: JsonOption = False) -> None:
    """Open camera and microphone again."""
    say(_tell("resume", {}, db), as_json, ["Recording again."])


def power(
    mode: Annotated[
        Literal["auto", "performance", "balanced", "saver"] | None,
        typer.Argument(help="Choose a mode, or auto: by the battery; without it: show."),
    ] = None,
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """The power mode, and how it came about; choose one, or leave it to the battery."""
    from edge.commands.common import at

    if mode is not None:
        done = _tell("power", {"mode": None if mode == "auto" else mode}, db)
        say(done, as_json, [f"Power: {mode}."])
        return
    with reading(db) as snapshot:
        offset = wearer_offset(snapshot)
        rows = [
            {
                "t": at(p.t, offset), "mode": p.mode, "battery": p.battery, "charging": p.charging,
                "temperature_c": p.temperature_c, "watts": p.watts, "hours_left": p.hours_left,
            }
            for p in snapshot.patience.power()
        ]  # fmt: skip
    rows = rows[-100:]
    if not as_json:
        rows = [{**row, "t": clock_told(str(row["t"]))} for row in rows]
    columns = ("t", "mode", "battery", "charging", "temperature_c", "hours_left")
    emit(rows, as_json, columns, "No power mode is known: no device has run with this memory yet.")


def thanks(
    alert: Annotated[str | None, typer.Argument(help="The alert, as in a12; without it the last one.")] = None,
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """An alert was of use: its kind may come a little more often."""
    say(_feedback("thanked", alert, db), as_json, ["Noted."])


def dismiss(
    alert: Annotated[str | None, typer.Argument(help="The alert, as in a12; without it the last one.")] = None,
    db: DbOption = None,
    as_json: JsonOption = False,
) -> None:
    """An alert was not of use: its kind gets rarer, and this thing is left alone for a day."""
    say(_feedback("dismissed", alert, db), as_json, ["Noted: there will be less of that."])


def seconds(text: str) -> float:
    """A length of time such as 90s, 30m, 2h or 1d in seconds.  Raises UsageError."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|m|h|d)\s*", text)
    if match is None or not 0 < float(match[1]) * _UNITS[match[2]] < LONGEST_S:
        raise UsageError(f"{text!r} is no length of time: write it as 30m, 2h or 1d.")
    return float(match[1]) * _UNITS[match[2]]


def _feedback(kind: str, alert: str | None, db: DbOption) -> dict[str, Any]:
    number = None if alert is None else reference(alert, "a")
    return _tell("feedback", {"kind": kind, "id": number, "how": "command"}, db)


def _checked(value: dict[str, Any]) -> None:
    from pydantic import ValidationError

    from edge.config import Quiet

    try:
        Quiet.model_validate(value)
    except ValidationError as error:
        raise UsageError("Those are no quiet hours: write 22:00-07:00, and days as mon tue wed.") from error


def _in_force(db: DbOption) -> dict[str, Any]:
    from edge.wishing import in_force

    with reading(db) as snapshot:
        return in_force(snapshot, settings.load().alerts, SystemClock().now(), wearer_offset(snapshot))


def _tell(call: str, args: dict[str, Any], db: DbOption) -> dict[str, Any]:
    """Tell the running device, or write into the memory when none runs."""
    from edge.patience_calls import calls
    from edge.server.control import ControlClient, NotRunning, control_path
    from edge.wishing import Wishing
    from storage import Store

    client = ControlClient(control_path())
    try:
        if db is None or Path(client.call("health")["db"]).resolve() == db.resolve():
            return client.call(call, **args)
    except NotRunning:  # then the memory keeps the wish for the next start
        pass
    with Store.open(db_path(db), create=False) as store:
        return calls(Wishing(store, SystemClock()))[call](args)
