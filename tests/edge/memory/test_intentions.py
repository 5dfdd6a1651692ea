"""What counts as an intention, and what shows that it is done."""

from __future__ import annotations

import pytest

from edge.clock import US
from edge.memory import intentions
from storage.records import Caption, Event, Intention, Utterance, Window

WEARER = frozenset({"wearer", "ann"})


def window(text: str = "", speaker: str = "wearer", *, deed: tuple[str, str] | None = None, t: int = 0) -> Window:
    speech = (Utterance(t * US, speaker, text),) if text else ()
    events = (Event((t + 5) * US, "wearer", *deed),) if deed else ()
    return Window("r", t * US, (t + 30) * US, 0, speech=speech, events=events, id=1)


@pytest.mark.parametrize(
    ("said", "what", "due"),
    [
        ("I have to call the plumber.", "call the plumber", ""),
        ("Oh, remind me to buy milk tomorrow morning!", "buy milk", "tomorrow morning"),
        ("Don't let me forget to lock the back door before we leave.", "lock the back door", "before we leave"),
        ("I've got to return the library books on Friday", "return the library books", "on Friday"),
        ("I must take my pills at noon, but first some tea.", "take my pills", "at noon"),
        ("I need to charge the bike because the battery is low.", "charge the bike", ""),
        ("I promised to phone Maria.", "phone Maria", ""),
        ("I'll call the plumber tomorrow.", "call the plumber", "tomorrow"),
        ("I'm going to post the letter after lunch.", "post the letter", "after lunch"),
        ("We have to pay the rent.", "pay the rent", ""),
    ],
)
def test_a_stated_obligation_is_an_intention(said: str, what: str, due: str) -> None:
    (found,) = intentions.heard(window(said), WEARER)
    assert (found.what, found.due, found.quote, found.state) == (what, due, said, "open")


@pytest.mark.parametrize(
    "said",
    [
        "I have to say, this soup is good.",
        "I have to admit you were right.",
        "I wanted to show you this.",
        "Do I have a stain on my shirt?",
        "You have to see that film.",
        "He needs to call the plumber.",
        "I have two keys.",
        "I will think about it.",
        "I'll see.",
        "I'll take the red one.",
        "I want to visit the cliffs.",
        "",
    ],
)
def test_a_figure_of_speech_is_none(said: str) -> None:
    assert intentions.heard(window(said), WEARER) == []


@pytest.mark.parametrize(
    ("said", "what", "due"),
    [
        ("I have to call the plumber before noon.", "call the plumber", "before noon"),
        ("I need to pick up the kids from school at four.", "pick up the kids from school", "at four"),
        ("I've got to hand in the report by Friday.", "hand in the report", "by Friday"),
        ("I gotta feed the cat.", "feed the cat", ""),
        ("I got to charge my phone.", "charge my phone", ""),
        ("Remind me to take out the bins tonight.", "take out the bins", "tonight"),
        ("Can you remind me to call Anna when I get home?", "call Anna", "when I get home"),
        ("Please remind me about the dentist tomorrow.", "the dentist", "tomorrow"),
        ("Remind me at six to start the oven.", "start the oven", "at six"),
        ("When I get to the shop, remind me to buy eggs.", "buy eggs", "When I get to the shop"),
        ("Don't let me forget my umbrella.", "my umbrella", ""),
        ("I mustn't forget to lock the shed.", "lock the shed", ""),
        ("I must not forget to water the basil.", "water the basil", ""),
        ("I should call my mother tonight.", "call my mother", "tonight"),
        ("I'll send you the photos tomorrow.", "send you the photos", "tomorrow"),
        ("I'll bring your book back on Monday, I promise.", "bring your book back", "on Monday"),
        ("I promise to fix the bike this weekend.", "fix the bike", "this weekend"),
        ("I promised Tom to help him move on Saturday.", "help him move", "on Saturday"),
        ("I'm going to clean the garage on Sunday.", "clean the garage", "on Sunday"),
        ("I am planning to paint the fence next week.", "paint the fence", "next week"),
        ("I'm planning to bake a cake for Lea tomorrow.", "bake a cake for Lea", "tomorrow"),
        ("We need to book the flights this evening.", "book the flights", "this evening"),
        ("We should pay the rent before the first.", "pay the rent", "before the first"),
        ("Note to self: renew the passport.", "renew the passport", ""),
        ("Reminder to self, cancel the gym.", "cancel the gym", ""),
        ("I have an errand: I have to return the drill to Max.", "return the drill to Max", ""),
        ("Once the wash is done I need to hang it up.", "hang it up", "Once the wash is done"),
        ("After lunch I have to print the tickets.", "print the tickets", "After lunch"),
        ("Tomorrow I need to see the doctor.", "see the doctor", "Tomorrow"),
        ("I still have to wrap the present.", "wrap the present", ""),
        ("I really need to buy new shoes.", "buy new shoes", ""),
        ("I also need to get milk on the way home.", "get milk", "on the way home"),
        ("I'd better turn off the iron before I leave.", "turn off the iron", "before I leave"),
        ("I had better book a table.", "book a table", ""),
        ("I was supposed to call the bank.", "call the bank", ""),
        ("I'm supposed to take this pill at eight.", "take this pill", "at eight"),
        ("I can't forget to bring the keys.", "bring the keys", ""),
        ("Let me not forget to close the window.", "close the window", ""),
        ("I want to call grandma this afternoon.", "call grandma", "this afternoon"),
        ("I'll need to reorder the filters.", "reorder the filters", ""),
        ("Next time I'm at the office I have to water the plant.", "water the plant", "Next time I'm at the office"),
        ("I have to remember to sign the form.", "sign the form", ""),
        ("I need to remember to thank Paul for the flowers.", "thank Paul for the flowers", ""),
    ],
)
def test_what_people_really_say(said: str, what: str, due: str) -> None:
    assert [(i.what, i.due) for i in intentions.heard(window(said), WEARER)] == [(what, due)]


@pytest.mark.parametrize(
    "said",
    [
        "I have to say that was delicious.",
        "I need to think.",
        "You need to relax.",
        "Did I have to pay?",
        "Do I need to sign here?",
        "I don't have to work tomorrow.",
        "I didn't need to go to the shop.",
        "I'll have the soup, please.",
        "I'll be right back.",
        "I will never understand this.",
        "I would have to ask.",
        "If I have to wait another minute I'll scream.",
        "She said I have to be careful.",
        "I have to go now.",
        "I used to have to get up at five.",
        "I should have called her.",
        "I had to call the plumber yesterday.",
        "I'm going to bed.",
        "I want to know what happened.",
        "We'll see about that tomorrow.",
    ],
)
def test_what_people_say_without_meaning_to_do_it(said: str) -> None:
    assert intentions.heard(window(said), WEARER) == []


@pytest.mark.parametrize(
    ("wish", "later", "state"),
    [
        ("I have to call the plumber.", "I called the plumber.", "done"),
        ("Remind me to buy milk tomorrow.", "I've already bought the milk.", "done"),
        ("I need to pay the rent.", "I just paid the rent!", "done"),
        ("I have to call the plumber.", "I called the dentist.", None),
        ("I have to call the plumber.", "I still have to call the plumber.", None),
        ("I have to call the plumber.", "I decided to call the plumber.", None),
        ("I have to call the plumber.", "I don't need to call the plumber.", "dropped"),
        ("I have to call the plumber.", "Forget it.", "dropped"),
    ],
)
def test_the_wearers_own_later_words_settle_it(wish: str, later: str, state: str | None) -> None:
    (stated_one,) = intentions.heard(window(wish), WEARER)
    found = intentions.resolved(window(later, t=600), [stated_one], WEARER)
    assert [s for _, s in found] == ([state] if state else [])
    assert intentions.resolved(window(later, "other", t=600), [stated_one], WEARER) == []


def test_only_the_wearer_states_the_wearers_intentions() -> None:
    assert intentions.heard(window("I have to call the plumber.", "other"), WEARER) == []
    assert intentions.heard(window("I have to call the plumber.", "Ann"), WEARER)


def stated(said: str) -> Intention:
    return intentions.heard(window(said), WEARER)[0]


def test_the_act_with_its_object_shows_it_done() -> None:
    wish = stated("I have to water the tomatoes.")
    assert intentions.resolved(window(deed=("water", "tomatoes"), t=60), [wish], WEARER) == [(wish, "done")]
    assert intentions.resolved(window(deed=("water", "lawn"), t=60), [wish], WEARER) == []
    assert intentions.resolved(window(deed=("cut", "tomatoes"), t=60), [wish], WEARER) == []


def test_a_caption_shows_it_done_as_well() -> None:
    wish = stated("remind me to lock the back door")
    seen = Window("r", 60 * US, 90 * US, 0, captions=(Caption(70 * US, "the wearer locks the back door"),), id=2)
    assert intentions.resolved(seen, [wish], WEARER) == [(wish, "done")]


def test_what_happened_before_it_was_said_does_not_count() -> None:
    wish = stated("I have to water the tomatoes.")
    early = Window("r", 0, 30 * US, 0, events=(Event(0, "wearer", "water", "tomatoes"),), id=1)
    assert intentions.resolved(early, [wish], WEARER) == []


def test_the_wearer_can_drop_it() -> None:
    wish = stated("I need to post the letter.")
    assert intentions.resolved(window("I don't have to post the letter.", t=60), [wish], WEARER) == [(wish, "dropped")]
    assert intentions.resolved(window("Never mind.", t=60), [wish], WEARER) == [(wish, "dropped")]


@pytest.mark.parametrize(
    ("said", "what", "sort", "waits_for"),
    [
        ("Remind me to buy milk when I get to the shop.", "buy milk", "request", "place"),
        ("I promise to call you tomorrow.", "call you", "promise", "time"),
        ("I'll water the plants after lunch.", "water the plants", "promise", "activity"),
        ("Note to self: pay the rent before Friday.", "pay the rent", "reminder", "time"),
        ("I have to call him when I see the ladder.", "call him", "plan", "object"),
        ("I have to call the plumber.", "call the plumber", "plan", ""),
        ("I'm going to the dentist at 5.", "go to the dentist", "plan", "time"),
    ],
)
def test_how_it_was_meant_and_what_it_waits_for(said: str, what: str, sort: str, waits_for: str) -> None:
    (wish,) = intentions.heard(window(said), WEARER)
    assert (wish.what, intentions.sort_of(wish), intentions.waits_for(wish)) == (what, sort, waits_for)
