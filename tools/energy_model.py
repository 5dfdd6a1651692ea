"""What the device draws in each power mode: a table of components, each figure with its source, and the work of a mode.

The work comes from the product's own table (edge.power.MODES) and from timings of its own models; the watts come from
public measurements.  Nothing here was measured on a board of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edge.power import MODES, TIERS, Mode


@dataclass(frozen=True, slots=True)
class Component:
    """One consumer: watts while it works, and where the figure is from."""

    name: str
    watts: float
    source: str


# Watts at the battery's side of the host: a Jetson Orin Nano module on a small carrier, glasses with camera by cable.
COMPONENTS: tuple[Component, ...] = (
    Component("board", 2.6, "whole carrier, idle, tuned: forums.developer.nvidia.com/t/348662 (Joulescope, JetPack 6.2)"),
    Component("vision model", 8.8, "11.4 W on average while a 1-4B model answers, GPU 99 %, less the idle board: "
              "github.com/ID-Robots/clawbox/pull/273 (tegrastats, 176 samples)"),
    Component("core", 1.0, "one A78AE core at work; 6 W for six under load: vendor-style budget at "
              "gitea.vayrette.com/seb/saltylab-firmware, docs/power-budget.md (an estimate)"),
    Component("camera", 0.17, "209 mA at 3.3 V for four IMX219 streaming 1080p: camerafmc.com/docs/rpi-camera-fmc/specifications"),
    Component("camera interface", 0.25, "ISP and CSI receiver of one stream; four take up to 1.5 W: saltylab budget, as above (an estimate)"),
    Component("sound", 0.03, "microphone and codec: two digital microphones of 0.6 mA and a codec of 8 mA at 3.3 V, usual datasheet values"),
    Component("link", 0.025, "6.65 mA at 3.7 V while a wearable streams over BLE: omi's published figure"),
    Component("speaker", 0.5, "small class-D amplifier and speaker at speech level, usual datasheet value"),
)  # fmt: skip
WATTS: dict[str, float] = {c.name: c.watts for c in COMPONENTS}

PACK_WH = 37.0  # 10 Ah at 3.7 V, as in a usual pocket pack
USABLE = 0.85  # of it, after conversion and the part that is never used
ORIN_SLOWER = 2.5  # one A78AE core at 1.5 GHz against the x86 core the timings below were taken on (an assumption)
# Seconds on an x86 core (the project's own measurements).
DETECTOR_S, READER_S, ASR_SHARE, VAD_SHARE, THUMB_S = 0.051, 0.326, 0.12, 0.008, 0.003
PASSES = 4.0  # of the detector for one whole look: straight, mirrored, and the closer looks
VLM_TOKENS = 700  # of one window's description: six captions, entities, events and a summary as JSON
VLM_TOKENS_S = 26.0  # a 2B model on the same board at the same draw: clawbox, as above
VLM_IMAGE_S = 0.25  # per frame, 75-420 ms published for an Orin Nano
VLM_FRAMES = 6
VLM_MOST = 0.8  # of a window: the runtime's own patience
WINDOW_S, INTERVAL_S = 30.0, 5.0


@dataclass(frozen=True, slots=True)
class Hour:
    """What an hour of the day is like: shares of frames that show something new, of sound that is speech, spoken seconds."""

    new: float
    speech: float
    said_s: float


# A modelled day of wear, hour by hour from 7 to 23: quiet work, meals with company, errands, an evening.
DAY: tuple[Hour, ...] = (
    Hour(0.7, 0.10, 4), Hour(0.8, 0.20, 6), Hour(0.4, 0.10, 3), Hour(0.3, 0.05, 2), Hour(0.3, 0.15, 3), Hour(0.7, 0.40, 6),
    Hour(0.4, 0.10, 3), Hour(0.3, 0.05, 2), Hour(0.3, 0.20, 3), Hour(0.4, 0.10, 3), Hour(0.9, 0.15, 6), Hour(0.8, 0.15, 6),
    Hour(0.7, 0.40, 6), Hour(0.4, 0.30, 4), Hour(0.3, 0.20, 2), Hour(0.2, 0.10, 1),
)  # fmt: skip


def draw(mode: Mode, hour: Hour, watts: Mapping[str, float] = WATTS) -> dict[str, float]:
    """Mean watts of each component in one mode during such an hour."""
    row = MODES[mode]
    tier = TIERS[row.tier]
    if row.tier == "off":
        return {"board": watts["board"], "link": watts["link"]}
    frames = WINDOW_S / (INTERVAL_S * row.interval)
    looks = min(max(1.0, frames * hour.new), tier.frames)
    reads = min(looks, tier.texts)
    glances = 0.0 if not row.glance_s else WINDOW_S / row.glance_s
    work = looks * PASSES * DETECTOR_S + reads * READER_S + glances * (THUMB_S + hour.new * DETECTOR_S)
    if row.asr != "off":
        work += WINDOW_S * (VAD_SHARE + hour.speech * ASR_SHARE)
    vision = row.vlm * min(VLM_MOST, (VLM_TOKENS / VLM_TOKENS_S + min(looks, VLM_FRAMES) * VLM_IMAGE_S) / WINDOW_S)
    return {
        "board": watts["board"],
        "vision model": vision * watts["vision model"],
        "core": work * ORIN_SLOWER / WINDOW_S * watts["core"],
        "camera": watts["camera"],
        "camera interface": watts["camera interface"],
        "sound": watts["sound"],
        "link": watts["link"],
        "speaker": hour.said_s / 3600 * watts["speaker"],
    }


def mean_watts(mode: Mode, watts: Mapping[str, float] = WATTS) -> float:
    """Mean draw over the modelled day in one mode."""
    return sum(sum(draw(mode, hour, watts).values()) for hour in DAY) / len(DAY)


def hours(mode: Mode, watts: Mapping[str, float] = WATTS) -> float:
    """Hours of wear on one charge when a mode is kept all day."""
    return PACK_WH * USABLE / mean_watts(mode, watts)
