"""Voice, recogniser, voice detector and wake word on real engines: what one says the others hear."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from voice_support import calm

import models
from models.backends.espeak import find_program, phonemes
from models.backends.piper import _clauses
from models.backends.speech_text import sentences
from models.errors import EngineMissingError, InputError


def words(text: str) -> list[str]:
    return re.sub(r"[^a-z0-9 ]", "", text.lower().replace("3", "three")).split()


def test_what_the_voice_says_is_understood(loader: models.Loader, spoken: NDArray[np.float32], sentence: str) -> None:
    segments = loader.load(models.ASR).model.transcribe(spoken)
    assert words(" ".join(s.text for s in segments)) == words(sentence)
    assert all(0 <= s.start_s < s.end_s for s in segments)
    assert all(0.3 < s.confidence <= 1 for s in segments)


def test_nobody_speaks_in_silence_and_noise(loader: models.Loader) -> None:
    asr, vad = loader.load(models.ASR).model, loader.load(models.VAD).model
    noise = (np.random.default_rng(0).normal(size=48_000) * 0.02).astype(np.float32)
    for sound in (np.zeros(48_000, np.float32), noise, np.zeros(100, np.float32), np.zeros(0, np.float32)):
        assert asr.transcribe(sound) == ()
        assert vad.speech_spans(sound) == ()


def test_speech_is_found_where_it_is(loader: models.Loader, spoken: NDArray[np.float32]) -> None:
    vad = loader.load(models.VAD).model
    silence = np.zeros(32_000, np.float32)
    spans = vad.speech_spans(np.concatenate([silence, spoken, silence, spoken[:20_000]]))
    assert len(spans) >= 2
    assert 1.7 < spans[0][0] < 2.4
    length = len(spoken) / 16_000
    assert all(2 - 0.3 < a < b for a, b in spans)
    assert not any(a < 2 + length + 1 < b for a, b in spans), "the pause between the two is silent"


def test_the_stream_and_the_whole_agree(loader: models.Loader, spoken: NDArray[np.float32]) -> None:
    vad = loader.load(models.VAD).model
    vad.reset()
    chances = [vad.probability(spoken[i : i + 512]) for i in range(0, len(spoken) - 511, 512)]
    spans = vad.speech_spans(spoken)
    inside = [p for i, p in enumerate(chances) if any(a + 0.2 < i * 0.032 < b - 0.3 for a, b in spans)]
    assert np.mean(inside) > 0.8
    vad.reset()
    assert vad.probability(spoken[:512]) == chances[0], "a new stream has forgotten the old one"
    with pytest.raises(InputError, match="512"):
        vad.probability(spoken[:100])


def test_a_voice_is_known_again(loader: models.Loader, spoken: NDArray[np.float32], to_16k: Callable) -> None:
    speaker = loader.load(models.SPEAKER_EMBEDDING).model
    other = to_16k(
        list(loader.load(models.TTS, "espeak-ng").model.synthesize("The meeting is at noon. Bring the book."))
    )
    half = len(spoken) // 2
    a, b, quiet, c = (speaker.embed_voice(s) for s in (spoken[:half], spoken[half:], spoken[half:] * 0.1, other))
    assert np.linalg.norm(a) == pytest.approx(1, abs=1e-5)
    assert a @ b > 0.75
    assert a @ quiet > 0.75
    assert a @ c < 0.6
    for nothing in (np.zeros(0, np.float32), np.zeros(32_000, np.float32), spoken[:4_000]):
        assert not speaker.embed_voice(nothing).any()


@pytest.mark.parametrize("said", ["Hey Jarvis!", "Where did I leave my keys?", "Alexa!"])
def test_wake_word_hears_its_own_phrase_alone(loader: models.Loader, said: str, to_16k: Callable) -> None:
    sound = to_16k(list(calm(loader).synthesize(said)))
    pad = np.zeros(16_000, np.int16)
    pcm = np.concatenate([pad, (sound * 32767).astype(np.int16), pad])
    wake = loader.load(models.WAKE_WORD).model
    wake.reset()
    heard = [h for i in range(0, len(pcm), 777) if (h := wake.feed(pcm[i : i + 777]))]
    assert heard == (["Hey Jarvis"] if "Jarvis" in said else [])


@pytest.mark.parametrize(
    ("means", "given"),
    [
        ([0.6, 0.9, 0.996], [None, None, True]),  # climbs at once
        ([0.9, 0.975, 0.992], [None, None, True]),  # a step later
        ([0.9, 0.975, 0.98, 0.996, 0.7, 0.996], [None, None, False, None, None, True]),  # stays; then comes anew
        ([0.9, 0.96, 0.95, 0.93, 0.9], [None, None, None, False, None]),  # turns back under the cutoff
        ([0.5, 0.8, 0.7, 0.3], [None] * 4),
    ],
)
def test_a_wake_word_that_climbs_slowly_or_turns_back_is_not_sure(
    loader: models.Loader, means: list[float], given: list[bool | None]
) -> None:
    wake = loader.load(models.WAKE_WORD).model
    wake.reset()
    assert [wake.sure if wake._judge(mean) else None for mean in means] == given


def test_the_voice_speaks_by_sentence(loader: models.Loader) -> None:
    for name in ("piper-en-us-joe", "espeak-ng"):
        voice = loader.load(models.TTS, name).model
        chunks = list(voice.synthesize("First one. Then another one! And the last?"))
        assert len(chunks) == 3
        for chunk in chunks:
            assert chunk.pcm.dtype == np.int16
            assert 0.3 < len(chunk.pcm) / chunk.rate < 4
            assert np.abs(chunk.pcm.astype(int)).max() > 5000
        assert list(voice.synthesize("  ** ... 😀 \n")) == []
        one = next(iter(voice.synthesize("--help; $(reboot) `x` | rm")))
        assert len(one.pcm)


def test_a_missing_espeak_is_named_and_the_reason_kept(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("m")
    monkeypatch.setenv("PATH", str(folder))
    with pytest.raises(EngineMissingError, match="apt install espeak-ng"):
        find_program()
    lonely = models.Loader(models.Registry(folder, folder))
    with pytest.raises(EngineMissingError):
        lonely.load(models.TTS)
    (row,) = lonely.status()
    assert row.model_id is None
    assert len(row.problems) == 2


def test_the_plain_voice_stands_in(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path_factory.mktemp("m")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    lonely = models.Loader(models.Registry(folder, folder))
    loaded = lonely.load(models.TTS)
    assert loaded.id == "espeak-ng"
    assert loaded.fell_back[0].startswith("piper-en-us-joe: onnxruntime is not installed")
    assert lonely.status() == (models.RoleStatus("tts", "espeak-ng", loaded.fell_back),)
    with pytest.raises(EngineMissingError):
        lonely.load(models.TTS, "piper-en-us-joe")


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("It is 3:45 p.m. on 12 May. Go!", ["It is 3:45 p.m. on 12 May.", "Go!"]),
        ("Dr. Who came.  He left", ["Dr. Who came.", "He left"]),
        ("**Bold** _it_\n\n- item", ["Bold it", "- item"]),
        ("Café 😀 ok", ["Café ok"]),
        ("...", []),
        ("", []),
    ],
)
def test_text_becomes_sentences(text: str, pieces: list[str]) -> None:
    assert sentences(text) == pieces


def test_long_sentences_break_at_clauses() -> None:
    text = ", ".join(["the quick brown fox jumps over the lazy dog"] * 12)
    pieces = sentences(text)
    assert len(pieces) > 1
    assert max(map(len, pieces)) <= 200
    assert " ".join(pieces) == text


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        ("Stop, it is 3:45!", [("Stop", ","), ("it is 3:45", "!")]),
        ("No mark", [("No mark", ".")]),
        ('He said: "go"?', [("He said", ":"), ("go", "?")]),
    ],
)
def test_clauses_keep_their_mark(sentence: str, clauses: list[tuple[str, str]]) -> None:
    assert _clauses(sentence) == clauses


def test_each_clause_has_its_phonemes() -> None:
    given = phonemes(find_program(), ["Hello", "p.m. or a.m. etc. and so on", "the world"], "en-us")
    assert len(given) == 3
    assert given[0].startswith("həl")
    assert given[2].endswith("ld")


@pytest.mark.parametrize("sound", [np.zeros(9, np.int16), np.zeros((2, 9), np.float32), np.full(9, np.nan, np.float32)])
def test_what_is_no_speech_is_refused(loader: models.Loader, sound: np.ndarray) -> None:
    with pytest.raises(InputError):
        loader.load(models.ASR).model.transcribe(sound)
    with pytest.raises(InputError):
        loader.load(models.VAD).model.speech_spans(sound)
