"""Write what follows from firmware_bridge/protocol.py: the tables of docs/firmware.md and of the C reference.

python tools/gen_firmware_doc.py            rewrite the parts between the GENERATED marks
python tools/gen_firmware_doc.py --check    exit 1 when a file is not what it would write
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from firmware_bridge import fields, frames, protocol, scenario, update  # noqa: E402

C_KINDS = {
    "u8": "K_U8", "u16": "K_U16", "u32": "K_U32", "u64": "K_U64", "i16": "K_I16", "i64": "K_I64", "bool": "K_BOOL",
    "enum": "K_ENUM", "percent": "K_PERCENT", "u16?": "K_OPT_U16", "i16?": "K_OPT_I16", "bytes32": "K_BYTES32",
    "text": "K_VIEW", "blob": "K_VIEW", "samples": "K_SAMPLES",
}  # fmt: skip
WAYS = {protocol.Way.BOTH: "both", protocol.Way.TO_HOST: "device to host", protocol.Way.TO_DEVICE: "host to device"}


def snake(name: str) -> str:
    """``TimePing`` as ``time_ping``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def enums() -> list[type]:
    """Every enumeration of the protocol, in order of first use."""
    found: dict[str, type] = {}
    for layout in protocol.LAYOUTS.values():
        for choices in layout.enums:
            if choices is not None:
                found.setdefault(choices.__name__, choices)
    return list(found.values())


def c_header() -> str:
    """Constants, enumerations and one struct per message."""
    out = [f"#define GB_VERSION {protocol.VERSION}u", f"#define GB_VERSION_MIN {protocol.VERSION_MIN}u", ""]
    out.append("enum {")
    out += [f"    GB_{snake(r.message.__name__).upper()} = 0x{r.number:02X}," for r in protocol.TABLE]
    out += ["};", ""]
    for choices in enums():
        prefix = f"GB_{choices.__name__.upper()}_"
        out.append("enum { " + ", ".join(f"{prefix}{c.name} = {c.value}" for c in choices) + " };")
    out.append("")
    out += [f"#define GB_CAN_{c.name} 0x{c.value:04X}u" for c in protocol.Capability]
    for row in protocol.TABLE:
        layout = protocol.LAYOUTS[row.message]
        out += ["", f"typedef struct {{ /* {(row.message.__doc__ or '').splitlines()[0]} */"]
        for name, kind, doc in zip(layout.names, layout.kinds, layout.docs, strict=True):
            size = "[32]" if kind == "bytes32" else ""
            out.append(f"    {fields.KINDS[kind].c_type} {name}{size}; /* {doc.replace('µ', 'u')} */")
        out.append(f"}} gb_{snake(row.message.__name__)};")
    names = [snake(row.message.__name__) for row in protocol.TABLE]
    out += ["", "#define GB_BODIES \\"]
    out += [f"    gb_{name} {name}; \\" for name in names[:-1]] + [f"    gb_{names[-1]} {names[-1]};"]
    return "\n".join(out)


def c_tables() -> str:
    """Where each field lies in its struct, and the message table."""
    out = []
    for row in protocol.TABLE:
        layout, name = protocol.LAYOUTS[row.message], snake(row.message.__name__)
        out.append(f"static const gb_field f_{name}[] = {{")
        for field, kind, choices in zip(layout.names, layout.kinds, layout.enums, strict=True):
            last = 0 if choices is None else len(choices) - 1
            out.append(f"    {{{C_KINDS[kind]}, {last}, offsetof(gb_{name}, {field})}},")
        out.append("};")
    out += ["", "static const gb_row rows[] = {"]
    for row in protocol.TABLE:
        name, count = snake(row.message.__name__), len(protocol.LAYOUTS[row.message].names)
        number = f"GB_{name.upper()}"
        out.append(f"    {{{number}, WAY_{row.way.name}, DELIVERY_{row.delivery.name}, {count}, f_{name}}},")
    out.append("};")
    return "\n".join(out)


def doc_frame() -> str:
    """The byte table of a frame."""
    return "\n".join(
        [
            "| bytes | type | field | meaning |",
            "|---|---|---|---|",
            "| 0 | u8 | type | number of the message |",
            f"| 1 | u8 | flags | {frames.ASSURED} assured, {frames.RESENT} sent before (statistics only), others 0 |",
            "| 2-3 | u16 | session | low 16 bits of the sender's nonce |",
            "| 4-7 | u32 | seq | assured: place in the sender's queue; datagram: counts up; link messages: 0 |",
            f"| 8- | | payload | 0 to {fields.MAX_PAYLOAD} bytes |",
            "| last 4 | u32 | crc | CRC-32 (zlib, Ethernet) of everything before it |",
        ]
    )


def doc_overview() -> str:
    """One line per message."""
    out = ["| number | message | way | delivery | needs | what |", "|---|---|---|---|---|---|"]
    for row in protocol.TABLE:
        needs = row.needs.name.lower() if row.needs else ""
        what = (row.message.__doc__ or "").splitlines()[0].removesuffix(".")
        name, way, delivery = row.message.__name__, WAYS[row.way], row.delivery.name.lower()
        out.append(f"| 0x{row.number:02X} | {name} | {way} | {delivery} | {needs} | {what} |")
    return "\n".join(out)


def doc_messages() -> str:
    """The byte table of every message."""
    out = []
    for row in protocol.TABLE:
        out += [
            f"#### 0x{row.number:02X} {row.message.__name__}",
            "",
            " ".join((row.message.__doc__ or "").split()),
            "",
        ]
        out += ["| byte | type | field | meaning |", "|---|---|---|---|"]
        for offset, kind, name, meaning in protocol.LAYOUTS[row.message].rows():
            out.append(f"| {offset} | {kind} | {name} | {meaning} |")
        out.append("")
    return "\n".join(out).rstrip()


def doc_capabilities() -> str:
    """The bits of Hello.capabilities."""
    rows = [f"| 0x{c.value:04X} | {c.name.lower()} |" for c in protocol.Capability]
    return "\n".join(["| bit | the device has |", "|---|---|", *rows])


def doc_golden() -> str:
    """A few whole frames, to check a new implementation against."""
    session, rows = 0x0005, []
    for message, flags, seq in EXAMPLES:
        number, payload = protocol.pack(message)
        wire = frames.encode_frame(frames.Frame(number, flags, session, seq, payload))
        rows.append(f"| `{type(message).__name__}` seq {seq} | `{wire.hex()}` |")
    return "\n".join(["| message, session 0x0005 | bytes on the wire |", "|---|---|", *rows])


def doc_limits() -> str:
    """Numbers the device's update obeys."""
    return (
        f"Refused under {update.BATTERY_LEAST} % battery (or when the percent is unknown) and above "
        f"{update.TEMP_MOST_DC / 10:g} degrees Celsius, at UpdateBegin and again at UpdateFinish; images up to "
        f"{update.SLOT_BYTES >> 10} KiB; chunks of at most {update.CHUNK_MOST} bytes; a trial image that nobody confirms "
        f"within {update.CONFIRM_US // 1_000_000} s of its boot is taken back."
    )


def doc_actions() -> str:
    """What a scenario's events can do."""
    rows = [f"| `{name}` | {what} |" for name, what in scenario.ACTIONS.items()]
    return "\n".join(["| do | what happens |", "|---|---|", *rows])


EXAMPLES = (
    (protocol.Ack(7, 0), 0, 0),
    (protocol.KeepAlive(1_000), 0, 0),
    (protocol.Worn(1_500_000, worn=True), 1, 3),
    (protocol.SetLed(protocol.Led.RECORDING, protocol.LedMode.ON, 0), 1, 1),
)

GOLDEN = "tests/golden/firmware_frames.txt"


def sample(row: protocol.Row) -> object:
    """A message with telling values in all its fields: none is zero, numbers use all their bytes."""
    values = []
    layout = protocol.LAYOUTS[row.message]
    for index, (kind, choices) in enumerate(zip(layout.kinds, layout.enums, strict=True)):
        size = fields.KINDS[kind].size
        number = int.from_bytes(bytes(0x11 * (index % 6 + 1) + i for i in range(size)), "little")
        made = {
            "bool": True,
            "percent": 42,
            "i16": -1_234 - index,
            "i16?": None if index % 2 else -300,
            "u16?": None if index % 2 else 3_912,
            "i64": -number,
            "bytes32": bytes(range(32)),
            "text": "grün ✓",
            "blob": bytes(range(20)),
            "samples": ((1, -2, 1_000, 4, -5, 32_767), (-32_768, 0, 0, 0, 0, 0)),
        }
        values.append(choices(len(choices) - 1) if choices is not None else made.get(kind, number))
    return row.message(*values)


def golden(text: str) -> str:
    """The golden file with lines for messages that it lacks; a line once written is never changed by this tool."""
    known = {line.split()[0] for line in text.splitlines() if line and not line.startswith("#")}
    if not text:
        text = "# message, sequence number, bytes on the wire (session 0xBEEF); both codecs are held to these\n"
    for row in protocol.TABLE:
        if row.message.__name__ not in known:
            number, payload = protocol.pack(sample(row))
            flags = frames.ASSURED if row.delivery == protocol.Delivery.ASSURED else 0
            wire = frames.encode_frame(frames.Frame(number, flags, 0xBEEF, 0x01020300 + number, payload))
            text += f"{row.message.__name__} {0x01020300 + number} {wire.hex()}\n"
    return text


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "firmware_bridge/reference/grove_bridge.h": {"": c_header},
    "firmware_bridge/reference/grove_bridge.c": {"": c_tables},
    "docs/firmware.md": {
        " frame": doc_frame,
        " overview": doc_overview,
        " messages": doc_messages,
        " capabilities": doc_capabilities,
        " golden": doc_golden,
        " update": doc_limits,
        " actions": doc_actions,
    },
}


def filled(path: str, text: str) -> str:
    """``text`` with all its generated parts as they should be; raises KeyError for a file without its marks."""
    comment = ("<!-- ", " -->") if path.endswith(".md") else ("/* ", " */")
    for name, make in PARTS[path].items():
        begin, end = (f"{comment[0]}{word} GENERATED{name}{comment[1]}" for word in ("BEGIN", "END"))
        head, mark, rest = text.partition(begin + "\n")
        _, closing, tail = rest.partition(end)
        if not mark or not closing:
            raise KeyError(f"{path} lacks {begin} ... {end}")
        gap = "\n" if path.endswith(".md") else ""
        text = f"{head}{begin}\n{gap}{make()}\n{gap}{end}{tail}"
    return text


def main() -> int:
    """Rewrite or check; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, exit 1 when a file is out of date")
    check = parser.parse_args().check
    stale = []
    for path in (*PARTS, GOLDEN):
        file = ROOT / path
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        new = golden(text) if path == GOLDEN else filled(path, text)
        if new != text:
            stale.append(path)
            if not check:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(new, encoding="utf-8")
    for path in stale:
        print(f"{path}: {'out of date, run tools/gen_firmware_doc.py' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
