"""The stage behind closed episodes: in order, by a model or by rules in its place, upgraded, resumed, never in the way."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from tests_support import trace_of

from edge.clock import SystemClock
from edge.config import Config, Llm
from edge.growing import Growing, Minds, growing
from edge.memory.boundary import Judge
from edge.memory.consolidation import Consolidation
from edge.memory.consolidator import Consolidator
from edge.replay import replay
from edge.thinkers import Thinkers
from models import Loader, LoadOptions, Registry
from models.backends.llama_settings import LlamaSettings
from models.disk_queue import DiskQueue
from models.errors import ModelDownError, ModelTimeoutError, OutputError
from storage import EmbeddingSpace, Store

SPACE = EmbeddingSpace("wordllama-256", 256)
START = datetime(2026, 3, 2, 9, tzinfo=timezone.utc)
GIVEN = os.environ.get("GROVE_EDGE_TEST_LLM", "")


class Mind:
    """A Language that answers every question of growth sensibly; away while `down` says so."""

    id = "mind"

    def __init__(self) -> None:
        self.down, self.asked, self.nonsense = False, [], False
        self.belongs = 0

    def complete(self, messages: Sequence[Any], schema: Any = None, options: Any = None) -> dict[str, Any]:
        if self.down:
            raise ModelDownError("The model is away.")
        if self.nonsense:
            raise OutputError("?")
        asked = next(
            k for k in ("same_activity", "subject", "core", "belongs_to", "title", "facts") if k in schema["properties"]
        )
        self.asked.append(asked)
        told = messages[1].content
        words = told.split("09:", 1)[-1][:60]
        return {
            "same_activity": {
                "before": "x",
                "finished": False,
                "now": "y",
                "same_activity": "saw" not in told.split("Now:")[-1],
            },
            "subject": {"subject": "Told by the model", "summary": f"The wearer did: {words}.", "keywords": ["model"]},
            "core": {"core": [1], "context": []},
            "belongs_to": {"why": "", "belongs_to": self.belongs},
            "title": {"title": "Told by the model", "summary": "Told by the model again."},
            "facts": {"facts": []},
        }[asked]

    def close(self) -> None:
        pass


class Given(Minds):
    """Minds of a given model, in place of what the settings would load."""

    def __init__(self, mind: Mind, config: Config) -> None:
        self.mind = mind
        super().__init__(
            Thinkers(Llm(), Loader(Registry(Path("/nowhere"), Path("/nowhere")), LoadOptions()), SystemClock()), config
        )

    def _mind(self, role: Any, timeout_s: float) -> Consolidator | None:
        if self.resting():
            raise ModelDownError("Power is short.")
        return Consolidator(self.mind) if getattr(self._llm, role) != "rules" else None


ACTS = [
    [("stir", "soup"), ("taste", "soup")],
    [("hammer", "nail"), ("saw", "plank")],
    [("read", "book"), ("turn", "page")],
]


def trace(folder: Path, windows: int = 48) -> Path:
    return trace_of(folder, START, windows, lambda n: ACTS[n // 8 % 3])


def config(**llm: Any) -> Config:
    return Config(llm=Llm(**{"consolidation": "local", "matching": "local", **llm}))


def grown(
    path: Path, embed: Any, mind: Mind, made: Config, source: Path, *, inline: bool = True, until: Any = None
) -> Growing:
    with Store.open(path, space=SPACE) as store:
        minds = Given(mind, made)
        queue = DiskQueue(path.with_suffix(".waiting"))
        stage = Consolidation(store, embed, made.memory, minds, queue, upgrade=made.llm.upgrade)
        found = Growing(minds, stage, minds.judge(), inline=inline)
        replay(source, store, embed, made, growing=found, until=until)
    return found


@pytest.fixture
def mind() -> Mind:
    return Mind()


def rows(path: Path) -> list[tuple[str, str, list[int]]]:
    """(made_by, subject, patterns) of each episode."""
    with Store.open(path) as store, store.snapshot() as s:
        assert store.integrity() == []
        return [(e.made_by, e.subject, s.patterns.of_episode(e.id)) for e in s.episodes.between()]


def test_every_judgement_is_the_models_and_marked(embed: Any, mind: Mind, tmp_path: Path) -> None:
    stage = grown(tmp_path / "m.db", embed, mind, config(), trace(tmp_path)).stage
    assert stage is not None
    found = rows(tmp_path / "m.db")
    assert len(found) > 3
    assert all(r[:2] == ("llm", "Told by the model") and len(r[2]) == 1 for r in found)
    assert len({p for r in found for p in r[2]}) == len(found), "the model said that none belongs to another"
    assert set(mind.asked) == {"subject", "core", "belongs_to"}
    assert stage.health.by_model == len(found)
    with Store.open(tmp_path / "m.db") as store, store.snapshot() as s:
        assert {m.role for m in s.moments.between() if m.made_by == "llm"} == {"core", "detail"}
        assert s.search("episode", "told model"), "the index follows the new words"
        assert not s.search("episode", "zebra")


def test_a_yes_absorbs_and_the_pattern_is_told_anew(embed: Any, mind: Mind, tmp_path: Path) -> None:
    mind.belongs = 1
    grown(tmp_path / "m.db", embed, mind, config(), trace(tmp_path))
    found = rows(tmp_path / "m.db")
    assert {tuple(r[2]) for r in found} == {(1,)}
    with Store.open(tmp_path / "m.db") as store, store.snapshot() as s:
        assert s.patterns.get(1).title == "Told by the model"
        assert s.patterns.get(1).made_by == "llm"
        assert s.patterns.get(1).recurrence == len(found)


def test_the_same_recording_gives_the_same_memory(embed: Any, tmp_path: Path) -> None:
    dumps = []
    for n in range(2):
        grown(tmp_path / f"{n}.db", embed, Mind(), config(), trace(tmp_path))
        with Store.open(tmp_path / f"{n}.db") as store:
            dumps.append(list(store.dump()))
    assert dumps[0] == dumps[1]


def test_rules_stand_in_and_are_upgraded_in_order_when_the_model_is_back(
    embed: Any, mind: Mind, tmp_path: Path
) -> None:
    mind.down = True
    source, path, made = trace(tmp_path), tmp_path / "m.db", config()
    found = grown(path, embed, mind, made, source)
    assert found.stage is not None
    by_rules = rows(path)
    assert {r[0] for r in by_rules} == {"rules"}
    assert found.stage.queue.counts()["waiting"] == len(by_rules)
    assert all(r[2] for r in by_rules), "all that wait have their patterns by rules meanwhile"
    assert "away" in found.stage.health.waiting_for
    assert found.fell_back() == ["growth: The model is away."]
    mind.down = False
    with Store.open(path, space=SPACE) as store:
        stage = Consolidation(store, embed, made.memory, Given(mind, made), DiskQueue(path.with_suffix(".waiting")))
        assert stage.work(lambda: False)
        assert stage.queue.counts() == {"waiting": 0, "dead": 0}
        assert stage.health.waiting_for == ""
    assert {r[0] for r in rows(path)} == {"llm"}
    assert all(len(r[2]) == 1 for r in rows(path))


def test_without_upgrade_rules_do_it_and_nothing_waits(embed: Any, mind: Mind, tmp_path: Path) -> None:
    mind.down = True
    found = grown(tmp_path / "m.db", embed, mind, config(upgrade=False), trace(tmp_path))
    assert found.stage is not None
    assert found.stage.queue.counts() == {"waiting": 0, "dead": 0}
    assert {r[0] for r in rows(tmp_path / "m.db")} == {"rules"}
    assert all(r[2] for r in rows(tmp_path / "m.db"))
    with Store.open(tmp_path / "plain.db", space=SPACE) as store:
        replay(trace(tmp_path), store, embed, Config())
    assert rows(tmp_path / "plain.db") == rows(tmp_path / "m.db"), "as if there had never been a model"


def test_nonsense_leaves_the_words_of_the_rules(embed: Any, mind: Mind, tmp_path: Path) -> None:
    mind.nonsense = True
    grown(tmp_path / "m.db", embed, mind, config(), trace(tmp_path))
    assert {r[0] for r in rows(tmp_path / "m.db")} == {"rules"}
    assert all(r[2] for r in rows(tmp_path / "m.db"))


def test_power_that_is_short_leaves_it_to_the_rules(embed: Any, mind: Mind, tmp_path: Path) -> None:
    made = config()
    minds = Given(mind, made)
    minds.resting = lambda: True
    with Store.open(None, space=SPACE) as store:
        stage = Consolidation(store, embed, made.memory, minds, DiskQueue(tmp_path / "q"))
        replay(trace(tmp_path), store, embed, made, growing=Growing(minds, stage, None, inline=True))
    assert mind.asked == []
    assert "Power is short" in stage.health.waiting_for


def test_what_a_kill_left_between_closing_and_lining_up_is_lined_up(embed: Any, mind: Mind, tmp_path: Path) -> None:
    made, path, source = config(), tmp_path / "m.db", trace(tmp_path)
    with Store.open(path, space=SPACE) as store:  # closed, matched by nobody, and never lined up
        minds = Given(mind, made)
        replay(source, store, embed, made, growing=Growing(minds, None, None, inline=True))
        assert all(not store_patterns for *_, store_patterns in _patterns(store))
        stage = Consolidation(store, embed, made.memory, minds, DiskQueue(tmp_path / "q"))
        stage.catch_up()
        stage.work(lambda: False)
        stage.catch_up()
        assert stage.queue.counts()["waiting"] == 0, "nothing is lined up twice"
    assert {r[0] for r in rows(path)} == {"llm"}
    assert all(r[2] for r in rows(path))


class Cut(BaseException):
    """The power goes."""


class Talker(Mind):
    """One that says yes and finds a fact in what was said; away for the n-th question if told so."""

    def __init__(self, away_at: int = 0) -> None:
        super().__init__()
        self.belongs, self.away_at = 1, away_at

    def complete(self, messages: Sequence[Any], schema: Any = None, options: Any = None) -> dict[str, Any]:
        self.away_at -= 1
        if self.away_at == 0:
            raise ModelDownError("The model is away.")
        answer = super().complete(messages, schema, options)
        if "facts" in answer:
            tea = f"tea {messages[1].content.split('drink tea ', 1)[1][0]}"
            quote = f"Here we drink {tea}."
            answer["facts"] = [{"kind": "habit", "subject": "Ann", "relation": "drinks", "object": tea, "quote": quote}]
        return answer


@pytest.fixture
def unthought(embed: Any, tmp_path: Path) -> Path:
    """A memory whose episodes wait for the model: closed, matched by nobody, with something said in each."""
    source, path = trace(tmp_path, 16), tmp_path / "unthought.db"
    told = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    for n, row in enumerate(told):
        row["speech"] = [{"t": row["t_start"], "speaker": "Ann", "text": f"Here we drink tea {n // 8}."}]
    source.write_text("".join(json.dumps(row) + "\n" for row in told), encoding="utf-8")
    with Store.open(path, space=SPACE) as store:
        replay(source, store, embed, config(), growing=Growing(Given(Talker(), config()), None, None, inline=True))
    return path


def thought(path: Path, embed: Any, mind: Mind) -> Consolidation:
    """Let the model do what waits, as after a start."""
    made = config()
    with Store.open(path, space=SPACE, synchronous="off") as store:
        stage = Consolidation(store, embed, made.memory, Given(mind, made), DiskQueue(path.with_suffix(".waiting")))
        stage.catch_up()
        stage.work(lambda: False)
        assert store.integrity() == []
    return stage


def dump(path: Path, *tables: str) -> list[str]:
    with Store.open(path, read_only=True) as store:
        return [line for line in store.dump() if not tables or json.loads(line)["table"] in tables]


def test_a_cut_before_any_write_of_the_model_ends_the_same(
    unthought: Path, embed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = shutil.copy(unthought, tmp_path / "whole.db")
    thought(whole, embed, Talker())
    expected = dump(whole)
    assert {json.loads(line)["made_by"] for line in dump(whole, "episode")} == {"llm"}
    assert "llm" in {json.loads(line)["made_by"] for line in dump(whole, "fact")}
    n = 0
    while True:
        n += 1
        path = shutil.copy(unthought, tmp_path / f"{n}.db")
        real, left = Store.transaction, [n]

        def transaction(self: Store, real: Any = real, left: list[int] = left) -> Any:
            left[0] -= 1
            if left[0] == 0:
                raise Cut
            return real(self)

        with monkeypatch.context() as patch:
            patch.setattr(Store, "transaction", transaction)
            try:
                thought(path, embed, Talker())
            except Cut:
                pass
            else:
                break
        assert thought(path, embed, Talker()).queue.counts() == {"waiting": 0, "dead": 0}
        assert dump(path) == expected, f"cut before write {n}"
    assert n > 5


def test_a_model_that_goes_away_between_two_questions_is_asked_the_rest_later(
    unthought: Path, embed: Any, tmp_path: Path
) -> None:
    whole = shutil.copy(unthought, tmp_path / "whole.db")
    thought(whole, embed, mind := Talker())
    assert mind.asked[:3] == ["subject", "core", "facts"]
    kept = ("episode", "moment", "fact", "fact_support")  # patterns are matched by rules meanwhile
    for n in (2, 3):
        path = shutil.copy(unthought, tmp_path / f"{n}.db")
        assert thought(path, embed, Talker(away_at=n)).queue.counts()["waiting"] > 0
        assert thought(path, embed, Talker()).queue.counts() == {"waiting": 0, "dead": 0}
        assert dump(path, *kept) == dump(whole, *kept), f"away for question {n}"


def _patterns(store: Store) -> list[tuple[int, list[int]]]:
    with store.snapshot() as s:
        return [(e.id, s.patterns.of_episode(e.id)) for e in s.episodes.between()]


def test_an_episode_taken_back_meanwhile_is_left_alone(embed: Any, mind: Mind, tmp_path: Path) -> None:
    """Its end was no end: the recording goes on, and its place is taken by another episode of the same id."""
    made, path, source = config(), tmp_path / "m.db", trace(tmp_path)
    mind.down = True
    lines = source.read_text(encoding="utf-8").splitlines()
    part = tmp_path / "part.trace.jsonl"
    part.write_text("\n".join(lines[:12]) + "\n", encoding="utf-8")
    grown(path, embed, mind, made, part)
    grown(path, embed, mind, made, source)
    mind.down = False
    with Store.open(path, space=SPACE) as store:
        Consolidation(store, embed, made.memory, Given(mind, made), DiskQueue(path.with_suffix(".waiting"))).work(
            lambda: False
        )
    assert {r[0] for r in rows(path)} == {"llm"}
    assert all(len(r[2]) == 1 for r in rows(path))


def test_what_is_forgotten_while_the_model_thinks_is_not_written(embed: Any, mind: Mind, tmp_path: Path) -> None:
    made, path, source = config(), tmp_path / "m.db", trace(tmp_path)
    mind.down = True
    grown(path, embed, mind, made, source)
    mind.down = False
    with Store.open(path, space=SPACE) as store:
        stage = Consolidation(store, embed, made.memory, Given(mind, made), DiskQueue(path.with_suffix(".waiting")))
        told = mind.complete

        def complete(messages: Any, schema: Any = None, options: Any = None) -> Any:
            stage.renew()  # somebody forgets just now
            mind.complete = told  # type: ignore[method-assign]
            return told(messages, schema, options)

        mind.complete = complete  # type: ignore[method-assign]
        waiting = stage.queue.counts()["waiting"]
        stage.work(lambda: False)
        assert {r[0] for r in rows_of(store)} == {"rules"}
        assert stage.queue.counts()["waiting"] == waiting, "it is read again"
        stage.work(lambda: False)
        assert {r[0] for r in rows_of(store)} == {"llm"}


def rows_of(store: Store) -> list[tuple[str, str]]:
    with store.snapshot() as s:
        return [(e.made_by, e.subject) for e in s.episodes.between()]


# --- boundaries -----------------------------------------------------------------------------------------------------


def test_the_model_ends_episodes_in_place_of_the_rules(embed: Any, mind: Mind, tmp_path: Path) -> None:
    made = config(consolidation="rules", matching="rules", boundary="local")
    minds = Given(mind, made)
    with Store.open(None, space=SPACE) as store:
        found = Growing(minds, None, minds.judge(), inline=True)
        replay(trace(tmp_path), store, embed, made, growing=found)
        with store.snapshot() as s:
            cuts = [(e.first_window, e.cut) for e in s.episodes.between()]
    assert (9, "cap") not in cuts
    assert 9 in [first for first, _ in cuts], "the first window that saws"
    assert set(mind.asked) == {"same_activity"}


def test_a_model_that_fails_is_asked_ever_less(mind: Mind) -> None:
    mind.down = True
    judge = Judge(lambda: Consolidator(mind))
    answers = [judge.goes_on([], _window(), by_rules=n % 2 == 0) for n in range(40)]
    assert answers == [n % 2 == 0 for n in range(40)]
    assert judge.status() == {"by_model": 0, "by_rules": 40, "fell_back": "The model is away."}
    mind.down = False
    for _ in range(20):
        judge.goes_on([], _window(), by_rules=False)
    assert judge.status()["fell_back"] == ""
    assert judge.by_model > 0


def test_an_answer_that_cannot_be_read_means_it_goes_on(mind: Mind) -> None:
    mind.nonsense = True
    assert Judge(lambda: Consolidator(mind)).goes_on([], _window(), by_rules=False) is True
    mind.nonsense = False
    slow = Judge(_slow)
    assert slow.goes_on([], _window(), by_rules=False) is False


def _window() -> Any:
    from storage.records import Window

    return Window("r", 0, 30_000_000, 0)


def _slow() -> Consolidator:
    class Slow(Mind):
        def complete(self, messages: Any, schema: Any = None, options: Any = None) -> Any:
            raise ModelTimeoutError("No answer in time.")

    return Consolidator(Slow())


# --- real llama.cpp -------------------------------------------------------------------------------------------------

NO_ENGINE = any(importlib.util.find_spec(m) is None for m in ("llama_cpp", "gguf"))
needs_llama = pytest.mark.skipif(NO_ENGINE, reason="llama-cpp-python and gguf are not installed: see tools/llama.sh")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    from tools.tiny_models import make

    return make(tmp_path / "tiny", "text", context=16384).model


def by_local(model: Path, trace_file: Path, path: Path, embed: Any, **llm: Any) -> tuple[Growing, Any]:
    """Grow a memory with a GGUF through the real child process, as the settings would."""
    made = Config(llm=Llm(consolidation="local", matching="local", boundary="local", language_model=str(model), boundary_timeout_s=600,
                          thinking_timeout_s=1200, **llm))  # fmt: skip
    wall = SystemClock()
    loader = Loader(Registry(path.parent / "models", path.parent / "cache"),
                    LoadOptions(llama=LlamaSettings(context=16384, threads=1, batch=256), mono=wall.mono))  # fmt: skip
    thinkers = Thinkers(made.llm, loader, wall)
    try:
        with Store.open(path, space=SPACE) as store:
            found = growing(thinkers, store, embed, made, path, inline=True)
            assert found is not None
            report = replay(trace_file, store, embed, made, growing=found)
            assert store.integrity() == []
    finally:
        thinkers.close()
        loader.close()
    return found, report


@needs_llama
def test_a_tiny_model_runs_every_prompt_through_its_child(
    tiny: Path, day: Callable[..., Path], embed: Any, tmp_path: Path
) -> None:
    """Random weights: what is shown is that every answer has its form and that nothing made up is stored."""
    source = day(3, 6)
    found, report = by_local(tiny, source, tmp_path / "m.db", embed)
    assert found.stage is not None
    assert report.totals.windows == 6
    assert found.stage.health.by_model == len([r for r in rows(tmp_path / "m.db") if r[2]])
    assert found.stage.queue.counts() == {"waiting": 0, "dead": 0}
    told = found.minds.health()
    assert told["boundary"]["boundaries"] > 0
    assert told["matching"]["matches"] > 0
    writer = told["consolidation"]
    assert writer["summaries"] + writer["ungrounded"] + writer["unusable"] > 0
    assert writer["moments"] > 0
    assert all(r[2] for r in rows(tmp_path / "m.db") if r[1] != "Nothing noticed")


@needs_llama
@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_tiny_model_grows_a_whole_recording(tiny: Path, recorded: Path, embed: Any, tmp_path: Path) -> None:
    source = recorded / "open" / "locomo" / "locomo-30.trace.jsonl"
    found, report = by_local(tiny, source, tmp_path / "m.db", embed)
    print(json.dumps(found.health(), indent=1))
    assert report.totals.windows == len(source.read_text(encoding="utf-8").splitlines())
    assert found.stage is not None
    assert found.stage.queue.counts() == {"waiting": 0, "dead": 0}


@pytest.fixture
def good() -> Iterator[Path]:
    if not GIVEN:
        pytest.skip("GROVE_EDGE_TEST_LLM names no GGUF file: this test is about a real model's judgement")
    yield Path(GIVEN)


@pytest.mark.slow
@pytest.mark.timeout(14400)
def test_a_good_model_grows_twenty_minutes_to_be_read(good: Path, recorded: Path, embed: Any, tmp_path: Path) -> None:
    """Prints the memory it grew: to be read by a person."""
    lines = (recorded / "open" / "epic" / "epic-P01.trace.jsonl").read_text(encoding="utf-8").splitlines()[:40]
    source = tmp_path / "part.trace.jsonl"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found, report = by_local(good, source, tmp_path / "m.db", embed)
    print(json.dumps(found.health(), indent=1), report.totals)
    with Store.open(tmp_path / "m.db") as store, store.snapshot() as s:
        for e in s.episodes.between():
            print(f"\ne{e.id} {e.cut} {(e.t_end - e.t_start) // 1_000_000} s [{e.made_by}] {e.subject}\n   {e.summary}")
            core = [m.text for m in s.moments.of_episode(e.id) if m.role == "core"]
            print("   core:", "; ".join(core[:8]))
        for p in s.patterns.all():
            print(f"\np{p.id} {p.kind} x{p.recurrence} [{p.made_by}] {p.title}\n   {p.summary}")
        for f in s.facts.all():
            print(f"\nf{f.id} [{f.made_by}] {f.text}")
        made = [e.made_by for e in s.episodes.between()]
    assert made.count("llm") >= 0.8 * len(made)
