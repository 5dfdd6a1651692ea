"""The picture of a day: what is read for it, where things stand, and that it is drawn with few and with many episodes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from storage import EmbeddingSpace, Store
from storage.records import Caption, Decision, Edge, Episode, Pattern, Service, Window
from tools import day_chart, plot_day

US = 1_000_000
OFFSET_S = 7200
ROOT = Path(__file__).resolve().parents[2]
SPACE = EmbeddingSpace("t-4", 4)
NONE = np.zeros(4, dtype=np.float32)
MORNING = 1_772_431_200 * US  # 2026-03-02T08:00 at UTC+2
HOUR, DAY = 3600 * US, 86_400 * US


class Life:
    """A memory in which episodes of five minutes are put into patterns by name."""

    def __init__(self, store: Store) -> None:
        self.store, self.patterns = store, dict[str, Pattern]()

    def live(self, t: int, subject: str, pattern: str = "") -> int:
        with self.store.transaction() as tx:
            end = t + 300 * US
            window = tx.trace.add(Window("r", t, end, OFFSET_S, (Caption(t, subject),), subject), NONE)
            made = Episode("r", t, end, OFFSET_S, subject, "", (), "", "", window, window, "cap", end)
            episode = tx.episodes.add(made, NONE)
            if pattern:
                known = self.patterns.get(pattern)
                count = 1 if known is None else known.recurrence + 1
                number = 0 if known is None else known.id
                kept = Pattern("routine", pattern, "", (), 1.0, count, count, 1.0, 485, 5, end, id=number)
                number = tx.patterns.put(kept, NONE)
                tx.patterns.link(Edge(number, episode, "core", 1.0, end))
                self.patterns[pattern] = tx.snapshot().patterns.get(number)
            return episode

    def alert(self, t: int, kind: str, decision: str) -> None:
        with self.store.transaction() as tx:
            number = tx.services.add(Service(kind, t, OFFSET_S, "Mind the $5 and the $6.", (), kind, t))
            if decision:
                tx.services.decide(Decision(number, t, decision, ""))  # type: ignore[arg-type]


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """A Monday of three episodes after a Sunday of one; a memory on disk."""
    with Store.open(tmp_path / "m.db", space=SPACE) as store:
        made = Life(store)
        made.live(MORNING - DAY, "Brushing teeth", "Teeth")
        made.live(MORNING, "Brushing teeth", "Teeth")
        made.live(MORNING + 300 * US, "Paying $20 for $3 bread", "Shopping")
        made.live(MORNING + 9 * HOUR, "Nothing noticed")
        yield made


def test_a_day_is_read_with_its_threads_and_alerts(life: Life) -> None:
    life.alert(MORNING + 60 * US, "habit_coaching", "defer")
    life.alert(MORNING - 8 * HOUR - US, "safety", "deliver")  # one second before local midnight
    with life.store.snapshot() as snapshot:
        day = plot_day.collect(snapshot)
        assert plot_day.collect(snapshot, date(2026, 3, 1)).threads[0].after
    assert (day.day, day.offset_s) == (date(2026, 3, 2), OFFSET_S)
    assert [e.subject for e in day.episodes] == ["Brushing teeth", "Paying $20 for $3 bread", "Nothing noticed"]
    assert day.stretches == ((MORNING, MORNING + 600 * US), (MORNING + 9 * HOUR, MORNING + 9 * HOUR + 300 * US))
    assert [(t.pattern.title, len(t.episodes), t.before, t.after) for t in day.threads] == [
        ("Teeth", 1, True, False), ("Shopping", 1, False, False),
    ]  # fmt: skip
    assert [(s.type, decision) for s, decision in day.alerts] == [("habit_coaching", "defer")]


def test_a_pause_is_shortened_and_time_stays_in_order() -> None:
    axis = day_chart.Axis([(0, 600 * US), (1000 * HOUR, 1000 * HOUR + 400 * US)])
    ((low, high, long),) = axis.gaps
    assert (low, high, long) == (600 * US, 630 * US, 1000 * HOUR - 600 * US)
    assert [axis(t) for t in (0, 300 * US, 600 * US, 500 * HOUR, 1000 * HOUR)] == [0, 3e8, 6e8, 6e8, 6.3e8]
    assert axis.end == axis(1000 * HOUR + 400 * US) == 1030 * US
    assert [label for _, label in axis.ticks(0, 10)] == ["00:00", "00:02", "00:04", "00:06", "00:08", "00:10", "16:02", "16:04", "16:06"]  # fmt: skip


def test_words_get_room_and_stay_near() -> None:
    assert day_chart.spread([0, 5, 9], 2, 0, 10) == [0, 5, 9]
    assert day_chart.spread([3, 3, 3], 2, 0, 10) == [3, 5, 7]
    assert day_chart.spread([9, 9, 10], 2, 0, 10) == [6, 8, 10]


def test_three_episodes_are_drawn(life: Life, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "plot_day.py", tmp_path / "m.db", "--out", tmp_path / "day.png"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, str(tmp_path / "day.png")), done.stderr
    picture = (tmp_path / "day.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert int.from_bytes(picture[16:20], "big") == 2240


def test_sixty_episodes_are_drawn_with_their_words(life: Life, tmp_path: Path) -> None:
    begin = MORNING + 2 * DAY
    for n in range(60):
        life.live(begin + n * 300 * US + (n > 30) * HOUR, f"Doing number {n}", f"Job {n % 20}" if n % 7 else "")
    for n, decision in enumerate(("deliver", "suppress", "defer", "")):
        life.alert(begin + n * 900 * US, ("safety", "memory_recall")[n % 2], decision)
    with life.store.snapshot() as snapshot:
        day_chart.draw(plot_day.collect(snapshot), tmp_path / "day.svg")
    text = (tmp_path / "day.svg").read_text(encoding="utf-8")
    told = [n for n in range(60) if f">Doing number {n}<" in text]
    assert told == [n for n in range(60) if n % 7], "each episode of a pattern has its subject"
    assert sum(f">Job {n}<" in text for n in range(20)) == day_chart.LANES
    for words in ("Wednesday 4 March 2026", "6 more, in grey", "memory recall", "Mind the $5 and the $6.", "alert kept back",
                  "not recorded", "1:00 h", "3\u00d7 on 3 days, about 08:05", "4 alerts, 1 spoken", "UTC+02:00"):  # fmt: skip
        assert words in text, words


def test_a_day_that_is_not_there_is_refused_with_those_that_are(
    life: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    life.live(MORNING + 5 * DAY, "Late", "Teeth")

    def told(*options: str) -> str:
        monkeypatch.setattr("sys.argv", ["plot_day.py", *options])
        assert plot_day.main() == 1
        return capsys.readouterr().err

    db = str(tmp_path / "m.db")
    assert "There is nothing on 2026-03-04. Days that can be drawn: 2026-03-01 to 2026-03-02, 2026-03-07." in told(
        db, "--day", "2026-03-04"
    )
    assert "neither .png nor .svg" in told(db, "--out", str(tmp_path / "day.gif"))
    assert "no memory" in told(str(tmp_path / "none.db"))
    assert "cannot be written" in told(db, "--out", str(tmp_path / "nowhere" / "day.svg"))
    with Store.open(tmp_path / "new.db", space=SPACE) as store:
        store.close()
    assert "no day yet" in told(str(tmp_path / "new.db"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install" in told(db, "--out", str(tmp_path / "day.svg"))
