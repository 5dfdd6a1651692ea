from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edge.capture.windows import Tick, WindowMaker, us_samples
from edge.clock import US, parse_time
from edge.config import Growth
from edge.messages import Frame, RawWindow, Sound
from storage.records import Gap

IMAGE = np.zeros((2, 2, 3), dtype=np.uint8)
WEAR = Growth()
T0 = parse_time("2026-03-02T09:00:00+01:00")[0]


def frame(s: float, offset_s: int = 3600) -> Frame:
    return Frame(T0 + round(s * US), offset_s, IMAGE)


def sound(s: float, seconds: float, level: float = 0.1) -> Sound:
    return Sound(T0 + round(s * US), 3600, np.full(round(seconds * 16_000), level, dtype=np.float32))


def tick(s: float) -> Tick:
    return Tick(T0 + round(s * US), 3600)


def spans(windows: list[RawWindow]) -> list[tuple[float, float]]:
    return [((w.t_start - T0) / US, (w.t_end - T0) / US) for w in windows]


def maker(**more: object) -> WindowMaker:
    return WindowMaker("r", WEAR, **more)  # type: ignore[arg-type]


def feed(made: WindowMaker, *items: object) -> list[RawWindow]:
    return [w for item in items for w in made.step(item)]  # type: ignore[arg-type]


def test_windows_are_counted_from_the_start_and_the_last_is_shorter() -> None:
    made = maker(start=T0, offset_s=3600)
    out = feed(made, *(frame(s) for s in range(0, 71, 5))) + made.flush(T0 + 71 * US)
    assert spans(out) == [(0, 30), (30, 60), (60, 71)]
    assert [len(w.frames) for w in out] == [6, 6, 3]
    assert all(w.offset_s == 3600 and w.sound is None and w.gaps == () for w in out)


def test_the_first_frame_of_each_interval_is_kept() -> None:
    made = maker(start=T0)
    out = feed(made, *(frame(s / 2) for s in range(121)))
    assert [[(f.t - T0) / US for f in w.frames] for w in out] == [
        [0, 5, 10, 15, 20, 25],
        [30, 35, 40, 45, 50, 55],
    ]


def test_no_window_crosses_local_midnight() -> None:
    before = parse_time("2026-03-02T23:59:50+01:00")[0]
    made = WindowMaker("r", WEAR, start=before, offset_s=3600)
    out = feed(made, *(Frame(before + s * US, 3600, IMAGE) for s in range(0, 50, 5))) + made.flush(before + 50 * US)
    assert [(w.t_end - w.t_start) // US for w in out] == [10, 30, 10]
    assert out[0].t_end == parse_time("2026-03-03T00:00:00+01:00")[0]


def test_midnight_is_the_wearers_not_utc() -> None:
    before = parse_time("2026-03-02T23:59:50+00:00")[0]
    made = WindowMaker("r", WEAR, start=before, offset_s=3600)
    out = feed(made, *(Frame(before + s * US, 3600, IMAGE) for s in range(0, 35, 5)))
    assert [(w.t_end - w.t_start) // US for w in out] == [30]


def test_a_long_gap_ends_the_window_and_the_next_begins_with_the_first_frame() -> None:
    made = maker(start=T0)
    gap = Gap("r", T0 + 12 * US, T0 + 101 * US, "camera: unplugged")
    out = feed(made, *(frame(s) for s in range(13)), gap, *(frame(s) for s in range(101, 132, 5)))
    assert spans(out) == [(0, 17), (101, 131)]
    assert out[0].gaps == ()
    assert out[1].gaps == (gap,)


def test_a_long_gap_within_one_long_window_cuts_it_too() -> None:
    made = WindowMaker("r", Growth(window_s=300), start=T0)
    out = feed(made, frame(0), frame(5), frame(100), frame(105)) + made.flush(T0 + 110 * US)
    assert spans(out) == [(0, 10), (100, 110)]


def test_after_a_gap_the_windows_are_counted_from_the_first_frame() -> None:
    made = maker(start=T0, grace_s=1)
    out = feed(made, *(tick(s) for s in range(62)), Gap("r", T0, T0 + 62 * US, "no camera"), frame(62), frame(67))
    out += made.flush(T0 + 70 * US)
    assert spans(out) == [(62, 70)]
    assert [g.reason for g in out[0].gaps] == ["no camera"]


def test_a_short_gap_stays_inside_its_window() -> None:
    made = maker(start=T0)
    out = feed(made, frame(0), frame(5), Gap("r", T0 + 5 * US, T0 + 25 * US, "why"), frame(25), frame(30))
    assert spans(out) == [(0, 30)]
    assert [g.reason for g in out[0].gaps] == ["why"]


def test_a_hole_nobody_told_of_is_told_once() -> None:
    made = maker(start=T0)
    out = feed(made, frame(0), frame(20), frame(25), frame(31))
    assert [(g.t_start - T0, g.t_end - T0, g.reason) for g in out[0].gaps] == [(0, 20 * US, "no frames")]
    assert made.gaps == list(out[0].gaps)


def test_an_outage_gives_no_empty_windows() -> None:
    made = maker(start=T0, grace_s=1)
    out = feed(made, frame(0), *(tick(s) for s in range(1, 400)))
    assert spans(out) == [(0, 5)]
    assert spans(feed(made, frame(400), tick(431)) + made.flush(T0 + 440 * US)) == [(400, 405)]
    assert [(g.t_start - T0, g.t_end - T0) for g in made.gaps] == [(0, 400 * US)]


def test_what_is_heard_keeps_the_windows_coming_without_frames() -> None:
    made = maker(start=T0, grace_s=1)
    out = feed(made, frame(0), *(x for s in range(1, 95) for x in (sound(s, 1), tick(s))))
    assert spans(out) == [(0, 30), (30, 60), (60, 90)]
    assert [len(w.frames) for w in out] == [1, 0, 0]


def test_silence_without_frames_makes_no_window() -> None:
    made = maker(start=T0, grace_s=1)
    assert feed(made, *(x for s in range(95) for x in (sound(s, 1, 0.0001), tick(s)))) == []


def test_sound_fits_the_window_to_the_sample() -> None:
    made = maker(start=T0)
    ramp = np.arange(0, 31 * 16_000, dtype=np.float32) / 1e6
    chunks = [Sound(T0 + i * 100_000, 3600, ramp[i * 1600 : (i + 1) * 1600]) for i in range(310)]
    out = feed(made, frame(0), *chunks[:300], frame(30), *chunks[300:]) + made.flush(T0 + 31 * US)
    assert [w.sound is not None and len(w.sound.pcm) for w in out] == [480_000, 16_000]
    np.testing.assert_array_equal(np.concatenate([w.sound.pcm for w in out if w.sound]), ramp)


def test_missing_sound_is_silence_at_its_place() -> None:
    made = maker(start=T0)
    out = feed(made, frame(0), sound(2, 1), frame(5), sound(29.5, 1), frame(30)) + made.flush(T0 + 31 * US)
    first, second = (w.sound.pcm for w in out if w.sound)
    assert np.flatnonzero(first)[[0, -1]].tolist() == [32_000, 479_999]
    assert np.count_nonzero(first) == 16_000 + 8_000
    assert np.count_nonzero(second) == 8_000


def test_sound_that_arrives_within_the_grace_still_counts() -> None:
    made = maker(start=T0, grace_s=1)
    out = feed(made, frame(0), frame(29), frame(30.2), tick(30.2), sound(29.9, 0.1), tick(31.5))
    assert spans(out) == [(0, 30)]
    assert out[0].sound is not None
    assert np.count_nonzero(out[0].sound.pcm) == 1600
    assert [(f.t - T0) / US for w in made.flush(T0 + 40 * US) for f in w.frames] == [30.2]


def test_frames_from_the_past_are_counted_not_used() -> None:
    made = maker(start=T0)
    assert feed(made, frame(-1), frame(0)) == []
    assert made.late == 1


def test_a_pause_flushes_and_goes_on() -> None:
    made = maker(start=T0)
    out = feed(made, frame(0), frame(5)) + made.flush(T0 + 8 * US)
    out += feed(made, Gap("r", T0 + 8 * US, T0 + 20 * US, "paused"), frame(20)) + made.flush(T0 + 22 * US)
    assert spans(out) == [(0, 8), (20, 22)]
    assert [g.reason for g in out[1].gaps] == ["paused"]


@pytest.mark.parametrize("fps", [1, 2, 7])
def test_frame_rate_does_not_change_the_windows(fps: int) -> None:
    made = maker(start=T0)
    out = feed(made, *(frame(i / fps) for i in range(60 * fps + 1)))
    assert spans(out) == [(0, 30), (30, 60)]
    assert [len(w.frames) for w in out] == [6, 6]


_items = st.lists(
    st.tuples(st.sampled_from("fstg"), st.integers(0, 40_000_000), st.booleans()), min_size=1, max_size=60
)


@settings(max_examples=150, deadline=None)
@example([("f", 10_000_000, False), ("g", 0, False), ("f", 1, False)], 1.0)
@example([("f", 10_000_000, False), ("f", 11_000_000, False)], 1.0)
@given(_items, st.sampled_from([0.0, 1.0]))
def test_windows_never_overlap_and_lose_no_interval(items: list[tuple[str, int, bool]], grace: float) -> None:
    """Whatever comes: windows are ordered, within bounds, hold their own frames, and every frame's interval is seen."""
    made = WindowMaker("r", Growth(window_s=10, frame_interval_s=2, gap_s=30), start=T0, grace_s=grace)
    out: list[RawWindow] = []
    given_frames: list[int] = []
    t = T0
    for kind, dt, loud in items:
        if kind == "f":
            t += dt
            given_frames.append(t)
            out += made.step(Frame(t, 0, IMAGE))
        elif kind == "s":
            out += made.step(Sound(t, 0, np.full(1600, 0.1 if loud else 0.0, dtype=np.float32)))
        elif kind == "t":
            out += made.step(Tick(t, 0))
        else:
            out += made.step(Gap("r", t, t + 1, "g"))
    out += made.flush(t + 1)
    assert all(0 < w.t_end - w.t_start <= 10 * US for w in out)
    assert all(a.t_end <= b.t_start for a, b in pairwise(out))
    for w in out:
        assert all(w.t_start <= f.t < w.t_end for f in w.frames)
        assert w.sound is None or len(w.sound.pcm) == us_samples(w.t_end - w.t_start)
    kept = {f.t for w in out for f in w.frames}
    for at in given_frames:  # a frame that was not kept has an earlier one of its interval in its window
        home = [w for w in out if w.t_start <= at < w.t_end]
        assert len(home) == 1
        slot = (at - home[0].t_start) // (2 * US)
        assert any((k - home[0].t_start) // (2 * US) == slot for k in kept if home[0].t_start <= k <= at)
