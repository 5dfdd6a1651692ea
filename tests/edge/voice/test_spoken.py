from __future__ import annotations

import pytest

from edge.voice.spoken import number_words, ordinal_words, sentences, speakable, time_words, year_words

TABLE = [
    # times of day
    ("You left the keys at 14:05.", "You left the keys at two oh five p m."),
    ("At 09:30:15 it said OPEN", "At nine thirty a m and fifteen seconds it said OPEN"),
    ("12:00, 00:00, 00:30 and 12:30", "noon, midnight, twelve thirty a m and twelve thirty p m"),
    ("9 am, 9:05 pm, 9 p.m. sharp", "nine a m, nine oh five p m, nine p m sharp"),
    ("Done at 9 p.m. Then home.", "Done at nine p m. Then home."),
    ("from 14:05-14:20", "from two oh five p m to two twenty p m"),
    ("10:00\u201311:30", "ten a m to eleven thirty a m"),
    ("25:70 is no time, nor is 16:9 a.", "twenty five to seventy is no time, nor is sixteen to nine a."),
    # dates
    ("on 2026-03-02.", "on March second, twenty twenty six."),
    ("2026-03-02T09:00:00+01:00", "March second, twenty twenty six, nine a m"),
    ("2026-03-02 14:05", "March second, twenty twenty six, two oh five p m"),
    ("March 2, 2026 or 2 Mar 2026", "March second, twenty twenty six or March second, twenty twenty six"),
    ("the 5th of May", "May fifth"),
    ("03/02/2026", "zero three slash zero two slash two thousand twenty six"),
    ("in 1984, in 2007, since 1905", "in nineteen eighty four, in two thousand seven, since nineteen oh five"),
    # quantities
    ("1 kg, 3.5 kg, -5 °C, 50%", "one kilogram, three point five kilograms, minus five degrees Celsius, fifty percent"),
    ("2 h 5 min, 1 min 30 s", "two hours five minutes, one minute thirty seconds"),
    ("5 km/h for 100 m", "five kilometers per hour for one hundred meters"),
    ("$5.20, €1, 10€, £3,000", "five dollars twenty, one euro, ten euros, three thousand pounds"),
    ("3-5 eggs, a 2-minute walk", "three to five eggs, a two-minute walk"),
    ("1,234 steps", "one thousand two hundred thirty four steps"),
    ("0041 79 123 45 67", "zero zero four one seven nine one two three four five six seven"),
    ("code 007, room B12", "code zero zero seven, room B twelve"),
    ("the 3rd time, the 21st", "the third time, the twenty first"),
    ("version 1.2.3", "version one point two point three"),
    ("Top: 10, 9, 8.", "Top: ten, nine, eight."),
    ("either/or, 1/2", "either or or, one slash two"),
    # not for the ear
    ("On the table [window 12, m:3].", "On the table."),
    ("On the table (episode 4).", "On the table."),
    ("Alert #12 and id 550e8400-e29b-41d4-a716-446655440000", "Alert and id"),
    ("see https://a.example/c?d=e. Then", "see a link. Then"),
    ("**Bold**, `code`, [text](https://a.example)", "Bold, code, text"),
    ("- first\n- second", "first second"),
    ("He said “hello” ☕", "He said hello"),
    ("a & b → c \u2014 d", "a and b to c, d"),
    ("e.g. Dr. Smith vs. Jones", "for example Doctor Smith versus Jones"),
    # left alone
    ("A well-known T-shirt isn't cheap.", "A well-known T-shirt isn't cheap."),
    ("I saw cups (left) and plates.", "I saw cups left and plates."),
    ("", ""),
]


@pytest.mark.parametrize(("text", "words"), TABLE)
def test_text_becomes_words(text: str, words: str) -> None:
    assert speakable(text) == words


@pytest.mark.parametrize("text", [text for text, _ in TABLE])
def test_saying_it_again_changes_nothing(text: str) -> None:
    assert speakable(speakable(text)) == speakable(text)


def test_no_digit_is_ever_left_to_the_voice() -> None:
    for text in (
        "1",
        "1.",
        ".5",
        "1,2",
        "1.2,3",
        "12:345",
        "4K",
        "a1b2",
        "²",
        "2026-13-45",
        "99:99:99",
        "1e9",
        "007",
        "-1",
    ):
        assert not any("0" <= letter <= "9" for letter in speakable(text)), text


def test_every_minute_of_the_day_is_told_apart() -> None:
    said = {time_words(hour, minute) for hour in range(24) for minute in range(60)}
    assert len(said) == 24 * 60
    assert time_words(12, 5, half="am") == "twelve oh five a m"
    assert time_words(0, 0, 7) == "twelve a m and seven seconds"
    assert time_words(1, 0, 1) == "one a m and one second"


def test_numbers_are_told_apart() -> None:
    numbers = [*range(2_000), 10**6, 10**9 + 1, 999_999_999_999]
    assert len({number_words(number) for number in numbers}) == len(numbers)
    assert number_words(-3) == "minus three"
    assert number_words(10**12).split() == ["one"] + ["zero"] * 12
    assert [ordinal_words(number) for number in (1, 12, 20, 101)] == [
        "first",
        "twelfth",
        "twentieth",
        "one hundred first",
    ]
    assert [year_words(year) for year in (1066, 1900, 2000, 2026)] == [
        "one thousand sixty six", "nineteen hundred", "two thousand", "twenty twenty six",
    ]  # fmt: skip


def test_sentences_are_cut_where_a_voice_pauses() -> None:
    text = "One. Two? Three! " + "A clause of some length, " * 12 + "the end."
    parts = sentences(text)
    assert parts[:3] == ["One.", "Two?", "Three!"]
    assert all(len(part) <= 140 for part in parts)
    assert " ".join(parts) == text
    assert sentences("Mind the stove, it is still on, and you are leaving the kitchen now. Yes, yes.") == [
        "Mind the stove, it is still on,", "and you are leaving the kitchen now.", "Yes, yes.",
    ]  # fmt: skip
    assert sentences("   ") == []
    assert sentences("x" * 500) == ["x" * 500]
