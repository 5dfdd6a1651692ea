"""What happens in the sample: where the wearer looks and when, what is said, and what is true about it.

The film, its sound and truth.json are all made from these tables, so they cannot disagree.
Times are seconds from the start of the recording.
"""

from __future__ import annotations

from dataclasses import dataclass

from tools.sample_speech import Sentence

START_UTC = "2026-03-02T09:00:00Z"
START_LOCAL = (
    "2026-03-02T09:00:00+00:00"  # London in winter: local time equals UTC, so every machine shows the clock's hour
)
LENGTH = 615.0


@dataclass(frozen=True, slots=True)
class Look:
    """From `start` the camera turns for `move` seconds to a view of a room and then rests; a cut has a quick whip."""

    start: float
    room: str
    view: str
    move: float


@dataclass(frozen=True, slots=True)
class Scene:
    """A stay at one place."""

    name: str
    start: float
    end: float
    about: str


SCENES = [
    Scene("kitchen", 0, 91, "a kitchen in the morning; bread goes into the oven, coffee is made"),
    Scene("study", 91, 242, "a desk with a screen, a cork board, a cat; keys are put down"),
    Scene("living room", 242, 331, "a television, a poster, a wall clock"),
    Scene("kitchen", 331, 421, "the kitchen again; the oven is still on, a second coffee"),
    Scene("hall", 421, 511, "coat, umbrella and the flat's door; the wearer leaves"),
    Scene("stairwell", 511, 615, "brick walls, a lift out of order, the door under the exit sign"),
]

LOOKS = [
    Look(0, "kitchen", "door", 0),
    Look(0.6, "kitchen", "wide", 3.0),
    Look(22, "kitchen", "oven", 2.6),
    Look(46, "coffee", "near", 0.6),
    Look(60, "coffee", "nearer", 1.6),
    Look(68, "kitchen", "note", 0.6),
    Look(91, "study", "door", 0.6),
    Look(91.6, "study", "desk", 3.2),
    Look(118, "study", "board", 2.6),
    Look(150, "study", "keys", 2.8),
    Look(178, "cat", "near", 0.6),
    Look(190, "cat", "nearer", 1.6),
    Look(200, "study", "folder", 0.6),
    Look(224, "study", "desk", 2.4),
    Look(242, "living", "door", 0.6),
    Look(242.6, "living", "wide", 3.0),
    Look(268, "living", "tv", 2.2),
    Look(290, "living", "poster", 2.6),
    Look(312, "living", "clock", 2.6),
    Look(331, "kitchen", "door", 0.6),
    Look(331.6, "kitchen", "wide", 3.0),
    Look(354, "coffee", "again", 0.6),
    Look(382, "kitchen", "oven", 0.6),
    Look(402, "kitchen", "wide", 2.4),
    Look(421, "hall", "start", 0.6),
    Look(421.6, "hall", "door", 3.0),
    Look(448, "hall", "coat", 2.6),
    Look(480, "hall", "note", 2.6),
    Look(511, "stairwell", "start", 0.6),
    Look(511.6, "stairwell", "wide", 3.0),
    Look(540, "stairwell", "lift", 2.6),
    Look(570, "stairwell", "exit", 2.8),
    Look(598, "stairwell", "door", 4.0),
]

SPEECH = [
    Sentence(6, "wearer", "Good morning. It is going to be a busy day."),
    Sentence(27, "wearer", "The oven is on. I have just put the bread in."),
    Sentence(50, "wearer", "The coffee is ready."),
    Sentence(74, "wearer", "I have to take the blue folder with me before I leave."),
    Sentence(124, "other", "The meeting is in room four on Friday at ten o'clock."),
    Sentence(130, "wearer", "Thank you. Room four, on Friday at ten."),
    Sentence(156, "wearer", "I put my keys next to the keyboard."),
    Sentence(181, "other", "Did you feed the cat?"),
    Sentence(185, "wearer", "Yes, the cat had her breakfast."),
    Sentence(272, "wearer", "The rocket launch is at three this afternoon."),
    Sentence(317, "wearer", "My train leaves at half past nine."),
    Sentence(358, "wearer", "One more cup of coffee."),
    Sentence(427, "wearer", "I am leaving now."),
    Sentence(516, "other", "Good morning. The lift is out of order until Sunday."),
    Sentence(522, "wearer", "Thank you. The stairs are fine."),
]

# What can be read and seen while the camera rests on a view: whole words of at least about 28 pixels, and things.
# Names of things that a COCO detector knows are its names.
TEXTS: dict[tuple[str, str], list[str]] = {
    ("kitchen", "wide"): ["OVEN ON 180 C", "BUY MILK", "AND EGGS"],
    ("kitchen", "oven"): ["OVEN ON 180 C"],
    ("kitchen", "note"): ["BUY MILK", "AND EGGS"],
    ("study", "desk"): ["LAUNCH REVIEW", "PHOTO CLUB"],
    ("study", "board"): ["MEETING", "ROOM 4", "FRIDAY", "PHOTO CLUB"],
    ("study", "folder"): ["CONTRACT"],
    ("living", "wide"): ["SPACE MUSEUM", "OPEN DAY 14 MARCH", "LAUNCH AT 15:03"],
    ("living", "tv"): ["LAUNCH AT 15:03"],
    ("living", "poster"): ["SPACE MUSEUM", "OPEN DAY 14 MARCH"],
    ("hall", "door"): ["BINS GO OUT", "ON MONDAY"],
    ("hall", "note"): ["BINS GO OUT", "ON MONDAY"],
    ("stairwell", "wide"): ["EXIT", "LIFT OUT", "OF ORDER", "UNTIL SUNDAY", "GROUND", "FLOOR"],
    ("stairwell", "lift"): ["LIFT OUT", "OF ORDER", "UNTIL SUNDAY"],
    ("stairwell", "exit"): ["EXIT"],
}

THINGS: dict[tuple[str, str], list[str]] = {
    ("kitchen", "wide"): ["refrigerator", "oven", "bottle", "cup", "potted plant", "kettle", "window"],
    ("kitchen", "oven"): ["oven", "bottle", "potted plant", "window"],
    ("kitchen", "note"): ["refrigerator", "kettle"],
    ("coffee", "near"): ["cup", "spoon", "saucer", "dining table"],
    ("coffee", "nearer"): ["cup", "spoon", "saucer", "dining table"],
    ("coffee", "again"): ["cup", "spoon", "saucer", "dining table"],
    ("study", "desk"): ["tv", "keyboard", "mouse", "cup", "keys", "folder", "book", "potted plant", "desk"],
    ("study", "board"): ["cork board", "person"],
    ("study", "keys"): ["keyboard", "keys", "mouse", "desk"],
    ("study", "folder"): ["folder", "mouse", "cup", "keyboard", "desk"],
    ("cat", "near"): ["cat"],
    ("cat", "nearer"): ["cat"],
    ("living", "wide"): ["tv", "clock", "person", "potted plant", "book"],
    ("living", "tv"): ["tv", "clock", "book"],
    ("living", "poster"): ["person"],
    ("living", "clock"): ["clock"],
    ("hall", "door"): ["door", "coat", "umbrella"],
    ("hall", "coat"): ["coat", "umbrella", "door"],
    ("hall", "note"): ["door"],
    ("stairwell", "wide"): ["door", "exit sign"],
    ("stairwell", "lift"): ["notice"],
    ("stairwell", "exit"): ["exit sign", "door"],
    ("stairwell", "door"): ["door", "window"],
}

INTENTION = {
    "speaker": "wearer",
    "said_at": 74.0,
    "quote": "I have to take the blue folder with me before I leave.",
    "what": "take the blue folder",
    "when": "before leaving",
    "done": False,
    "seen": [
        {
            "object": "blue folder with the label CONTRACT",
            "where": "on the desk in the study",
            "start": 200.6,
            "end": 224.0,
        }
    ],
}

RETURN = {"to": "kitchen", "first": [0.0, 91.0], "again": [331.0, 421.0], "away_s": 240.0}

# When help is welcome. A reminder is early when the stating moment is less than five minutes back, late once the wearer
# is gone; in a stay where one must come, the first is right and a second is a nag.
ALERTS = [
    {
        "type": "task_reminder",
        "must": True,
        "not_before": 374.0,
        "best_from": 421.0,
        "not_after": 615.0,
        "mentions": ["folder"],
        "why": "said at 74 s, still open, and the wearer puts on the coat, says so and leaves",
    },
    {
        "type": "resource_reminder",
        "must": False,
        "not_before": 421.0,
        "best_from": 421.0,
        "not_after": 615.0,
        "mentions": ["oven"],
        "why": "the oven's panel still reads ON at 382-402 s, and the wearer leaves",
    },
]

QUESTIONS = [
    {"question": "What do I have to take before I leave?", "answer_has": ["blue folder"], "evidence": [74.0, 78.0]},
    {"question": "Where did I put my keys?", "answer_has": ["keyboard"], "evidence": [156.0, 160.0]},
    {"question": "When is the meeting?", "answer_has": ["Friday"], "evidence": [120.6, 150.0]},
    {"question": "In which room is the meeting?", "answer_has": ["4", "four"], "any": True, "evidence": [120.6, 150.0]},
    {"question": "What did the note on the fridge say?", "answer_has": ["MILK", "EGGS"], "evidence": [68.6, 91.0]},
    {"question": "When does my train leave?", "answer_has": ["half past nine"], "evidence": [317.0, 321.0]},
    {"question": "How long is the lift out of order?", "answer_has": ["Sunday"], "evidence": [514.0, 570.0]},
    {"question": "Which animal did I see?", "answer_has": ["cat"], "evidence": [178.6, 200.0]},
]
