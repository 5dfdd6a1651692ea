"""Speech: times, joins, who spoke, and nothing that nobody said."""

from __future__ import annotations

import numpy as np
import pytest

from edge.messages import Sound
from edge.perception.speech import OTHER, WEARER, Heard, hear, join, level, room_level, who

RATE = 16_000
T = 1_772_438_400_000_000
US = 1_000_000


def sound(*spans, length=10.0, noise=0.0005, start=T):
    """Hum of the given loudness in the given spans (start, end, amplitude) over a quiet room."""
    rng = np.random.default_rng(1)
    pcm = rng.normal(0, noise, round(length * RATE)).astype(np.float32)
    for begin, end, loud in spans:
        t = np.arange(round((end - begin) * RATE)) / RATE
        pcm[round(begin * RATE) : round(begin * RATE) + len(t)] += (loud * np.sin(2 * np.pi * 180 * t)).astype(
            np.float32
        )
    return Sound(start, 0, pcm)


def test_a_span_becomes_an_utterance_at_its_start(world):
    (said,) = hear(sound((2, 4, 0.3)), world.LoudVAD(), world.ListASR([("remind me to call", 0.9)]), T, T + 10 * US)
    assert (said.speaker, said.text) == (WEARER, "remind me to call")
    assert said.t == pytest.approx(T + 2 * US, abs=20_000)


def test_the_louder_of_two_is_the_wearer(world):
    asr = world.ListASR([("where are the keys", 0.9), ("on the table", 0.9), ("thank you", 0.9)])
    said = hear(sound((1, 2, 0.3), (4, 5, 0.02), (7, 8, 0.25)), world.LoudVAD(), asr, T, T + 10 * US)
    assert [u.speaker for u in said] == [WEARER, OTHER, WEARER]


def test_a_faint_voice_alone_is_somebody_else():
    assert who([Heard(0, 1, -52.0, "x")], -58.0) == [OTHER]
    assert who([Heard(0, 1, -25.0, "x")], -58.0) == [WEARER]
    assert who([], -60.0) == []


def test_small_differences_are_one_speaker():
    heard = [Heard(0, 1, -25.0, "a"), Heard(1, 2, -28.0, "b"), Heard(2, 3, -23.0, "c")]
    assert who(heard, -60.0) == [WEARER] * 3


@pytest.mark.parametrize(
    "made_up", [("", 0.9), ("[BLANK_AUDIO]", 0.9), ("(music)", 0.9), ("♪ ♪", 0.9), ("...", 0.9), ("Thank you.", 0.2)]
)
def test_noises_blanks_and_doubts_are_not_speech(world, made_up):
    assert hear(sound((2, 3, 0.3)), world.LoudVAD(), world.ListASR([made_up]), T, T + 10 * US) == ()


def test_a_noise_inside_a_sentence_is_taken_out(world):
    (said,) = hear(sound((2, 3, 0.3)), world.LoudVAD(), world.ListASR([("wait [coughs]  for me", 0.9)]), T, T + 10 * US)
    assert said.text == "wait for me"


def test_silence_costs_no_transcription(world):
    assert hear(sound(), world.LoudVAD(), world.ListASR([]), T, T + 10 * US) == ()
    assert hear(Sound(T, 0, np.zeros(0, np.float32)), world.LoudVAD(), world.ListASR([]), T, T + US) == ()


def test_times_are_cut_to_the_window(world):
    early = sound((0, 1, 0.3), start=T - 3 * US)
    (said,) = hear(early, world.LoudVAD(), world.ListASR([("hello", 0.9)]), T, T + 10 * US)
    assert said.t == T


def test_a_sentence_with_pauses_is_one_utterance_and_endless_talk_is_not():
    assert join([(0.0, 1.0, -20.0), (1.6, 2.6, -23.0), (4.0, 5.0, -20.0)]) == [(0.0, 2.6, -21.5), (4.0, 5.0, -20.0)]
    assert len(join([(0.0, 20.0, -20.0), (20.1, 30.0, -20.0)])) == 2
    assert join([]) == []


def test_an_answer_right_after_a_question_is_another_utterance(world):
    asr = world.ListASR([("where are the keys", 0.9), ("on the table", 0.9)])
    said = hear(sound((1, 2, 0.3), (2.3, 3.3, 0.02)), world.LoudVAD(), asr, T, T + 10 * US)
    assert [(u.speaker, u.text) for u in said] == [(WEARER, "where are the keys"), (OTHER, "on the table")]


def test_levels_in_decibels():
    t = np.arange(RATE) / RATE
    tone = np.sin(2 * np.pi * 200 * t).astype(np.float32)
    assert level(tone) == pytest.approx(-3.0, abs=0.2)
    assert level(tone * 0.1) == pytest.approx(-23.0, abs=0.2)
    half = np.concatenate([tone, np.zeros(RATE, np.float32)])
    assert level(half) == pytest.approx(-3.0, abs=0.3)
    assert room_level(half) == -90.0
    assert level(np.zeros(0, np.float32)) == -90.0
