"""Write the reference pages that follow from the code: commands, settings, errors, schema, alerts, tools.

python tools/gen_docs.py            rewrite docs/cli.md, settings.md, errors.md, schema.md, alerts.md and tools.md
python tools/gen_docs.py --check    exit 1 when one of them is not what it would write
"""

from __future__ import annotations

import argparse
import ast
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import typer.main  # noqa: E402
from pydantic import BaseModel  # noqa: E402

from edge.cli import app  # noqa: E402
from edge.config import ENV_PREFIX, Config  # noqa: E402
from edge.power import MODES  # noqa: E402
from edge.proactive.alerts import PATIENCE, TABLE, Alert, speak  # noqa: E402
from storage import EmbeddingSpace, Store  # noqa: E402

WIDTH = 100
MADE = "<!-- Made from the code by tools/gen_docs.py: edit there, not here. -->"
PACKAGES = ("edge", "storage", "models", "firmware_bridge")
# A line of a drawn tree: class, code, meaning.
BRANCH = re.compile(r"^[\s│├└─]*([A-Z]\w+) +([a-z][a-z_.]*)(?: {2,}(\S.*))?$", re.MULTILINE)


def commands() -> Iterator[tuple[str, Any, Any]]:
    """(name, command, context) of every command, in the order of the help."""

    def walk(command: Any, context: Any) -> Iterator[tuple[str, Any, Any]]:
        inner = getattr(command, "commands", None)
        if inner is None:
            yield context.command_path, command, context
            return
        for name, sub in inner.items():
            yield from walk(sub, type(context)(sub, info_name=name, parent=context, terminal_width=WIDTH))

    root = typer.main.get_command(app)
    yield from walk(root, root.context_class(root, info_name="grove-edge", terminal_width=WIDTH))


def cli() -> str:
    """docs/cli.md: the help of every command."""
    parts = [
        "# Commands",
        MADE,
        (
            "Exit status: 0 fine; 1 the input or the machine is at fault; 2 the command was used wrongly; 3 from `doctor` when "
            "something is degraded. Every error is one line on stderr, `code: sentence` ([errors](errors.md)); `--json` prints "
            "what programs read."
        ),
    ]
    for name, command, context in commands():
        parts.append(f"## {name}\n\n```\n{_bare(command.get_help(context))}\n```")
    return "\n\n".join(parts) + "\n"


def settings() -> str:
    """docs/settings.md: every key with its type, default and meaning."""
    parts = [
        "# Settings",
        MADE,
        (
            "They lie in `~/.config/grove-edge/grove-edge.toml` (`GROVE_EDGE_CONFIG` names another file); `grove-edge setup` "
            f"writes the first ones. An environment variable `{ENV_PREFIX}SECTION__KEY` overrides a key, as in "
            f"`{ENV_PREFIX}MEMORY__PROFILE=clip`; `{ENV_PREFIX}OWNER_NAME` and `{ENV_PREFIX}OWNER_ZONE` are short forms. A key "
            "that is not listed here is refused."
        ),
    ]
    for name, model, told in _sections(Config, ""):
        rows = [
            f"| `{key}` | {_type(field)} | {_default(value)} | {field.description} |"
            for key, field, value in _keys(model, told)
        ]
        about = (model.__doc__ or "").strip().splitlines()[0]
        parts.append(
            f"## [{name}]\n\n{about}\n\n| key | value | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows)
        )
    return "\n\n".join(parts) + "\n"


def errors() -> str:
    """docs/errors.md: every code with what it means."""
    parts = ["# Errors", MADE, "A code is stable: programs may match on it. The sentence beside it says what to do."]
    meanings = {(package, name): told for package, tree in trees().items() for name, _, told in tree}
    for package in PACKAGES:
        rows = []
        for cls in sorted(error_classes(package), key=lambda c: c.code):
            told = meanings.get((package, cls.__name__)) or _first_line(cls)
            rows.append(f"| `{cls.code}` | {cls.__name__} | {told} |")
        parts.append(f"## {package}\n\n| code | class | meaning |\n|---|---|---|\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def schema() -> str:
    """docs/schema.md: the SQL of a fresh memory."""
    with Store.open(None, space=EmbeddingSpace("wordllama-256", 256)) as store:
        rows = store.schema()
    virtual = {name for name, sql in rows if "VIRTUAL TABLE" in sql}
    shown = [(n, sql) for n, sql in rows if not any(n.startswith(f"{v}_") and "TRIGGER" not in sql for v in virtual)]
    blocks = "\n\n".join(f"{re.sub(r' *$', '', sql, flags=re.MULTILINE)};" for _, sql in shown)
    return (
        f"# Schema\n\n{MADE}\n\nTimes are integer microseconds UTC, `offset_s` the wearer's UTC offset at that moment in "
        "seconds. `known` is the time of the last observation a row was made from: a snapshot at t shows rows with "
        f"`known <= t`. Embeddings are float32; their length is that of the model in `meta`.\n\n```sql\n{blocks}\n```\n"
    )


def alerts() -> str:
    """docs/alerts.md: what may be said, how often, and in which power mode."""
    said = [
        f"| `{row.type}` | {row.priority} | {_sample(row)} | {row.cooldown_s} | {row.staleness_s} | {_passes(row)} |"
        for row in TABLE
    ]
    often = [
        f"| `{name}` | {row.min_priority} | {row.gap_s} | "
        f"{', '.join(f'{count} in {_span(seconds)}' for seconds, count in row.spans)} | {row.daily} |"
        for name, row in PATIENCE.items()
    ]
    modes = [
        f"| `{name}` | {row.interval:g} x | {row.glance_s:g} | {row.tier} | {row.vlm:.0%} | {'yes' if row.offload else 'no'} | "
        f"{' '.join(row.experts) or 'none'} | {row.min_priority} | {row.tts} | {row.asr} | {row.sync} |"
        for name, row in MODES.items()
    ]
    return "\n\n".join([
        "# Alerts",
        MADE,
        (
            "What the device says by itself. Experts ask; the arbiter decides, and keeps its reason: `grove-edge alerts` lists what "
            "was asked for, `grove-edge why a3` tells what it rests on. A type speaks when its cooldown is over (only a delivery "
            "spends it), before it is stale, not over your own words or an answer, within what the frequency, quiet hours and "
            "snoozes allow. What is dismissed gets rarer, down to a floor for danger."
        ),
        "| type | priority | sounds like | cooldown s | stale after s | |\n|---|---|---|---|---|---|\n" + "\n".join(said),
        ("## How often\n\n`grove-edge frequency LEVEL`. Priorities below the least one stay silent; what is marked above "
        "is not counted."),
        "| frequency | least priority | pause s | at most | a day |\n|---|---|---|---|---|\n" + "\n".join(often),
        ("## Power modes\n\nBattery, charging, heat and wear choose the mode, `grove-edge power` overrides. Danger is looked "
        "for in every mode but off the head. Interval: of the frames. Glance: seconds between looks for danger alone. "
        "VLM: share of windows that a vision-language model describes, if there is one."),
        "| mode | interval | glance s | perception | VLM | remote | experts | least priority | voice | speech | deferred work |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|\n" + "\n".join(modes),
    ]) + "\n"  # fmt: skip


def _sample(row: Alert) -> str:
    return speak(row.type, **dict(row.sample))


def _passes(row: Alert) -> str:
    marks = ((row.critical, "critical: always passes"), (row.asked, "asked for: not counted"), (row.unbudgeted, "not counted"), (row.once_a_day, "once a day"))  # fmt: skip
    return ", ".join(text for on, text in marks if on)


def _span(seconds: int) -> str:
    return "an hour" if seconds == 3600 else f"{seconds // 3600} hours"


def tools() -> str:
    """docs/tools.md: every program of tools/, by what it tells of itself."""
    parts = [
        "# Tools",
        MADE,
        (
            "Programs for whoever builds, measures or ports the device; they are in the repository, not in the wheel, and run "
            "from its root with the environment of `tools/test.sh`. What these pages say in figures comes from them."
        ),
    ]
    for path in sorted((ROOT / "tools").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.If) and "__main__" in ast.unparse(node.test) for node in tree.body):
            head, _, told = (ast.get_docstring(tree) or "").partition("\n\n")
            parts.append(f"## {path.name}\n\n{head}" + (f"\n\n```\n{told}\n```" if told else ""))
    return "\n\n".join(parts) + "\n"


def trees() -> dict[str, list[tuple[str, str, str]]]:
    """The trees drawn at the top of each errors.py: package -> (class, code, meaning)."""
    found = {}
    for package in PACKAGES:
        text = importlib.import_module(f"{package}.errors").__doc__ or ""
        found[package] = [(m[1], m[2], (m[3] or "").strip()) for m in BRANCH.finditer(text)]
    return found


def error_classes(package: str) -> list[type[Any]]:
    """Every error class of a package that has a code of its own, wherever it is defined."""
    bases: dict[str, str] = {
        "edge": "GroveError", "storage": "StorageError", "models": "ModelError", "firmware_bridge": "BridgeError",
    }  # fmt: skip
    _import_all(package)
    base: type[Any] = getattr(importlib.import_module(f"{package}.errors"), bases[package])

    def below(cls: type[Any]) -> Iterator[type[Any]]:
        yield cls
        for sub in cls.__subclasses__():
            yield from below(sub)

    return [c for c in dict.fromkeys(below(base)) if "code" in vars(c) and c.__module__.split(".")[0] in PACKAGES]


PAGES = {
    "cli.md": cli,
    "settings.md": settings,
    "errors.md": errors,
    "schema.md": schema,
    "alerts.md": alerts,
    "tools.md": tools,
}


def _import_all(package: str) -> None:
    """Every module: a class is known once its module was read."""
    module = importlib.import_module(package)
    for found in pkgutil.walk_packages(module.__path__, f"{package}."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)


def _sections(model: type[BaseModel], name: str, told: BaseModel | None = None) -> Iterator[tuple[str, Any, BaseModel]]:
    """The sections below a model, each with its defaults, in the order of the file."""
    value: Any = told if told is not None else model()
    for key, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            where = f"{name}.{key}".lstrip(".")
            inner = getattr(value, key)
            if any(True for _ in _keys(field.annotation, inner)):
                yield where, field.annotation, inner
            yield from _sections(field.annotation, where, inner)


def _keys(model: type[BaseModel], told: BaseModel) -> Iterator[tuple[str, Any, object]]:
    for key, field in model.model_fields.items():
        if not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            yield key, field, getattr(told, key)


def _type(field: Any) -> str:
    annotation = field.annotation
    if get_origin(annotation) is not None and not isinstance(annotation, type):
        return " \\| ".join(f"`{a}`" for a in get_args(annotation))
    return {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}.get(
        getattr(annotation, "__name__", ""), str(annotation)
    )


def _default(value: object) -> str:
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def _first_line(cls: type[Any]) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0].rstrip(".") if cls.__doc__ else ""


def _bare(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 when a page is not up to date")
    check = parser.parse_args().check
    stale = []
    for name, make in PAGES.items():
        path, text = ROOT / "docs" / name, make()
        if (path.read_text(encoding="utf-8") if path.exists() else "") != text:
            stale.append(name)
            if not check:
                path.write_text(text, encoding="utf-8")
    if stale:
        print(
            f"{'not up to date' if check else 'written'}: {', '.join(stale)}", file=sys.stderr if check else sys.stdout
        )
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
