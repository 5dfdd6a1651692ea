"""First set-up: the owner's answers into the settings file, and a look at camera and sound."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from edge.capture.v4l2 import devices
from edge.config import Owner, Quiet, parse, private_dir
from edge.errors import ConfigError
from edge.voice.player import open_player

_QUIET = re.compile(r"^\s*(\d{1,2}:\d{2})\s*-\s*(\d{1,2}:\d{2})\s*$")

WHAT_IS_STORED = """grove-edge keeps, on this device only: keyframes, what was seen, read and said, and what it made of
that. It keeps no sound. Tell the people around you that it records; pause with `grove-edge pause`. See docs/privacy.md."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What the owner said; None is "not asked"."""

    name: str | None = None
    zone: str | None = None
    quiet: str | None = None
    consent: bool = False


def ask_owner(
    given: Answers, prompt: Callable[..., Any], confirm: Callable[..., Any], echo: Callable[[str], Any]
) -> Answers:
    """Ask for what was not given on the command line."""
    echo(WHAT_IS_STORED)
    consent = given.consent or bool(confirm("Have you read that, and do you agree?", default=False))
    name = given.name if given.name is not None else str(prompt("Your name, as others say it", default=""))

    def asked(question: str, problem: Callable[[str], str]) -> str:
        while told := problem(answer := str(prompt(question, default="")).strip()):
            echo(told)
        return answer

    zone, quiet = given.zone, given.quiet
    if zone is None:
        zone = asked("Time zone, as Europe/Zurich (empty: the machine's)", _zone_problem)
    if quiet is None:
        quiet = asked("Quiet hours, as 22:00-07:00 (empty: none)", _quiet_problem)
    return replace(given, name=name, zone=zone, quiet=quiet, consent=consent)


def _zone_problem(text: str) -> str:
    try:
        Owner(zone=text)
    except ValidationError:
        return f"There is no time zone {text[:40]!r}: write it as Europe/Zurich."
    return ""


def _quiet_problem(text: str) -> str:
    match = _QUIET.match(text)
    try:
        if text and match is None:
            raise ValueError(text)
        if match is not None:
            Quiet(start=match[1].zfill(5), end=match[2].zfill(5))
    except ValueError:  # a ValidationError is one
        return f"{text[:40]!r} are no hours: write them as 22:00-07:00."
    return ""


def write_settings(answers: Answers, path: Path) -> Path:
    """Put the answers into the settings file, keeping every other line of it; 0600.

    Raises ConfigError, also when the file would be one that cannot be read; then it stays as it was.
    """
    values: dict[str, dict[str, str]] = {"owner": {}, "alerts.quiet": {}}
    if answers.name is not None:
        values["owner"]["name"] = _quoted(answers.name)
    if answers.zone is not None:
        values["owner"]["zone"] = _quoted(answers.zone)
    if answers.consent:
        values["owner"]["consent"] = "true"
    if answers.quiet:
        match = _QUIET.match(answers.quiet)
        if match is None:
            raise ConfigError(f"{answers.quiet!r} are no hours: write them as 22:00-07:00.")
        values["alerts.quiet"] = {"start": _quoted(match[1].zfill(5)), "end": _quoted(match[2].zfill(5))}
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read ({error}): correct it or move it away.") from error
    parse(text, path)  # a file that is wrong already is its owner's to mend
    for section, keys in values.items():
        for key, value in keys.items():
            text = _set(text, section, key, value)
    parse(text, path)
    private_dir(path.parent)
    part = path.with_suffix(".part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): check its folder.") from error
    return path


def check_senses() -> dict[str, str]:
    """A look at camera and sound, in words."""
    return {"camera": camera_told()[1], "sound": sound_told()[1]}


def camera_told() -> tuple[bool, str, str]:
    """(there is one, what was found, what to do)."""
    found = devices()
    if found:
        return True, ", ".join(str(d) for d in found), ""
    if importlib.util.find_spec("picamera2") is not None:
        return True, "Raspberry Pi camera (picamera2)", ""
    return False, "no camera found", "plug one in (capture begins when it appears), or give --source a file or URL"


def sound_told() -> tuple[bool, str, str]:
    """(sound can be played, what was found, what to do)."""
    player = open_player("default")
    try:
        if player.problem:
            return False, player.problem, "or give --mic and --speaker a WAV file or none"
        return True, player.name, ""
    finally:
        player.close()


def _set(text: str, section: str, key: str, value: str) -> str:
    """One key of one section of a TOML text, changed in place or added."""
    header = f"[{section}]"
    lines = text.splitlines()
    try:
        begin = next(i for i, line in enumerate(lines) if line.partition("#")[0].strip() == header)
    except StopIteration:
        return "\n".join([*lines, *([""] if lines else []), header, f"{key} = {value}"]) + "\n"
    end = next((i for i in range(begin + 1, len(lines)) if lines[i].lstrip().startswith("[")), len(lines))
    for i in range(begin + 1, end):
        if re.match(rf"\s*{re.escape(key)}\s*=", lines[i]):
            lines[i] = f"{key} = {value}"
            return "\n".join(lines) + "\n"
    lines.insert(begin + 1, f"{key} = {value}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else " " for c in escaped) + '"'
