"""What is said to the device is understood quickly; on real recordings, where they are beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from voice_support import RATE, Mouth, silence

from models import ASR, Loader
from tools.bench_voice import distance, plain, sound_of
from tools.bench_wake import Judge


def test_the_short_view_of_a_sentence_gives_its_words(loader: Loader) -> None:
    asr, say = loader.load(ASR, "whisper-tiny.en").model, Mouth(loader)
    for text in ("When did I last open the fridge?", "Remind me to call my mother tomorrow.", "Stop."):
        (segment,) = asr.utterance(say(text))
        assert distance(plain(text), plain(segment.text)) <= 1
        assert 0 < segment.confidence <= 1
    rng = np.random.default_rng(0)
    for nothing in (silence(2), (rng.normal(size=2 * RATE) * 0.02).astype(np.float32), silence(0.05)):
        assert asr.utterance(nothing) == ()
    long = np.concatenate([say("This goes on for a very long time."), silence(29)])
    assert "long time" in asr.utterance(long)[0].text  # beyond what one view can hold


def test_the_words_of_real_speakers(loader: Loader, recorded: Path) -> None:
    media = recorded / "media"
    rows = [r for r in json.loads((media / "media.json").read_text()) if "transcript" in r]
    asr, wrong, total = loader.load(ASR, "whisper-tiny.en").model, 0, 0
    for row in rows:
        heard = " ".join(s.text for s in asr.utterance(sound_of(media / row["file"])))
        wrong += distance(plain(row["transcript"]), plain(heard))
        total += len(plain(row["transcript"]))
    assert wrong / total <= 0.15


def test_nobody_of_them_calls_the_device(loader: Loader, recorded: Path) -> None:
    judge = Judge(loader)
    files = sorted(p for p in (recorded / "media").iterdir() if p.suffix in {".wav", ".mp4"})
    assert +judge.row((p.name, pcm) for p in files if len(pcm := sound_of(p))).which == {}
    called = np.concatenate([silence(0.5), Mouth(loader)("Hey Jarvis!"), silence(0.5)])
    assert judge.row([("called", called)]).which == {"called": 1}
