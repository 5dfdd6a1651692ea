"""What a process holds that nobody else could take back: RssAnon + VmSwap of /proc/PID/status.

Plain RSS also counts the model file's own pages, which come and go with the page cache, and misses what was swapped
out: a leak hides in it.
"""

from __future__ import annotations

from pathlib import Path


def held_kb(pid: int) -> int | None:
    """Anonymous memory in kB, resident and swapped; None when the process is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    held = [int(line.split()[1]) for line in status.splitlines() if line.startswith(("RssAnon:", "VmSwap:"))]
    return sum(held) if held else None  # a zombie has neither line


def total_mb() -> int:
    """Memory of the machine in MB; 0 when it does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemTotal:"):
                return int(line.split()[1]) // 1024
    except OSError:
        return 0
    return 0
