"""How llama.cpp is run on which board: one table, overridden by the settings.

The figures are memory budgets worked out from the model files' sizes and the key-value cache; only x86 was measured.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from models.child.memory import total_mb

KvType = Literal["f16", "q8_0", "q4_0"]
BoardName = Literal["orin-nano", "orin-nx", "agx", "pi5", "x86"]
BOARD_NAMES: tuple[BoardName, ...] = ("orin-nano", "orin-nx", "agx", "pi5", "x86")


@dataclass(frozen=True, slots=True)
class LlamaSettings:
    """`gpu_layers` -1: all; `threads` 0: all but one of the cores; `memory_mb` 0: 60 % of the machine's.

    `image_side_px`: frames are scaled to it before they are sent; `watts`: the board's load power, for the joules of
    the meter.
    """

    context: int = 4096  # tokens
    batch: int = 512  # tokens computed together; a picture's tokens must fit
    threads: int = 0
    gpu_layers: int = 0
    kv: KvType = "f16"
    flash: bool = False
    image_side_px: int = 512
    memory_mb: int = 0
    idle_s: float = 300.0  # without a request, then unloaded; 0: never
    load_s: float = 120.0
    watts: float = 15.0


# A quantized value cache needs flash attention, which wants a GPU to pay.
BOARDS: Mapping[BoardName, LlamaSettings] = {
    "orin-nano": LlamaSettings(gpu_layers=-1, kv="q8_0", flash=True, threads=4, image_side_px=448, watts=10.0),
    "orin-nx": LlamaSettings(
        context=8192, gpu_layers=-1, kv="q8_0", flash=True, threads=6, image_side_px=640, watts=18.0
    ),
    "agx": LlamaSettings(
        context=16384, batch=1024, gpu_layers=-1, flash=True, threads=8, image_side_px=768, watts=40.0
    ),
    "pi5": LlamaSettings(context=2048, batch=256, threads=4, image_side_px=384, watts=8.0),
    "x86": LlamaSettings(),
}
_MODELS_OF_BOARDS: tuple[tuple[str, BoardName], ...] = (
    ("orin nano", "orin-nano"),
    ("orin nx", "orin-nx"),
    ("agx orin", "agx"),
    ("raspberry pi 5", "pi5"),
)


def board(device_tree: Path = Path("/proc/device-tree/model")) -> BoardName:
    """The board we run on, by the name its firmware gives it; x86 for anything unknown."""
    try:
        name = device_tree.read_text(encoding="utf-8", errors="replace").lower()
    except OSError:
        return "x86"
    return next((found for part, found in _MODELS_OF_BOARDS if part in name), "x86")


def resolved(settings: LlamaSettings) -> LlamaSettings:
    """The settings with what was left to us filled in."""
    threads = settings.threads or max(1, (os.cpu_count() or 2) - 1)
    return replace(settings, threads=threads, memory_mb=settings.memory_mb or max(1024, total_mb() * 6 // 10))


def spec_of(settings: LlamaSettings, model: Path, mmproj: Path | None) -> dict[str, Any]:
    """What the child needs to load the model.  Without a GPU its private memory gets a hard ceiling too."""
    limit = 0 if settings.gpu_layers else settings.memory_mb + 512
    return {
        **asdict(settings), "model": str(model), "mmproj": None if mmproj is None else str(mmproj),
        "data_limit_mb": limit,
    }  # fmt: skip
