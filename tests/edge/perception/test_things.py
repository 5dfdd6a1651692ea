"""Objects: three looks must agree, the wearer's arms are no persons, colours and places are measured."""

from __future__ import annotations

import numpy as np
import pytest

from edge.perception.hands import HAND, NEAR_HAND, arms, hands_of
from edge.perception.looks import at_place, colours_of, light_of, place_word, size_word, skin_mask
from edge.perception.things import agree, look, overlap, sort_out, unmirror
from models.roles import Detection, DetectorResult

SKIN = (120, 160, 210)  # BGR


class Script:
    """Gives prepared detections, call by call."""

    id, embedding_dim = "script", 2

    def __init__(self, *looks):
        self.looks = list(looks)

    def detect(self, frame):
        found = self.looks.pop(0) if self.looks else ()
        return DetectorResult(tuple(found), np.ones(2, np.float32))

    def close(self) -> None:
        pass


def d(label, score, *box):
    return Detection(label, score, tuple(float(v) for v in box))


def test_a_painted_cup_is_found_with_colour_and_place(world, detector):
    sight = look(detector, world.paint(world.room(), "cup", 270, 20), 0.45)
    (cup,) = sight.things
    assert (cup.name, cup.place, cup.attributes) == ("cup", "upper right", ("red",))
    assert cup.box == (270, 20, 310, 60)
    assert detector.looks == 3


def test_what_only_one_look_sees_is_not_stated_but_known_as_weak():
    frame = np.zeros((100, 100, 3), np.uint8)
    sight = look(Script([d("cup", 0.9, 10, 10, 30, 30)], []), frame, 0.45)
    assert sight.things == ()
    assert sight.weak == {"cup"}


def test_what_the_closer_look_does_not_confirm_is_not_stated():
    frame = np.zeros((100, 100, 3), np.uint8)
    twice = [d("bowl", 0.6, 40, 40, 60, 60)]
    assert look(Script(twice, twice, [d("cup", 0.6, 7, 7, 27, 27)]), frame, 0.45).things == ()
    assert look(Script(twice, twice, [d("bowl", 0.6, 7, 7, 27, 27)]), frame, 0.45).things[0].name == "bowl"


def test_agreement_is_by_class_and_place_and_scores_are_averaged():
    straight = [d("cup", 0.8, 0, 0, 20, 20), d("cup", 0.6, 50, 0, 70, 20), d("book", 0.7, 30, 30, 60, 60)]
    mirrored = [d("cup", 0.6, 80, 0, 100, 20), d("chair", 0.7, 40, 30, 70, 60)]
    (found,) = agree(straight, unmirror(mirrored, 100))
    assert (found.label, found.box) == ("cup", (0, 0, 20, 20))
    assert found.score == pytest.approx(0.7)


def test_rare_and_doubtful_classes_and_frame_fillers_need_more():
    found = [d("bird", 0.6, 0, 0, 9, 9), d("cup", 0.5, 20, 0, 29, 9), d("tv", 0.55, 40, 0, 49, 9), d("bed", 0.7, 60, 0, 69, 9),
             d("dining table", 0.5, 0, 0, 100, 90)]  # fmt: skip
    kept, _ = sort_out(found, 100, 100, 0.45, worn=True)
    assert [k.label for k in kept] == ["cup", "bed"]


def test_two_names_for_one_box_leave_the_better_one():
    kept, _ = sort_out([d("cup", 0.7, 10, 10, 40, 40), d("vase", 0.6, 11, 11, 40, 41)], 100, 100, 0.45, worn=True)
    assert [k.label for k in kept] == ["cup"]


def test_who_may_be_the_wearer_is_no_person_and_somebody_opposite_is():
    arms_taken_for_one = d("person", 0.55, 120, 70, 220, 180)
    assert sort_out([arms_taken_for_one], 320, 180, 0.45, worn=True) == ([], [arms_taken_for_one])
    assert sort_out([arms_taken_for_one], 320, 180, 0.45, worn=False) == ([arms_taken_for_one], [])
    for somebody in (d("person", 0.5, 100, 20, 150, 170), d("person", 0.8, 60, 0, 260, 180)):
        assert sort_out([somebody], 320, 180, 0.45, worn=True) == ([somebody], [])


def cloth() -> np.ndarray:
    return np.full((180, 320, 3), (160, 90, 40), np.uint8)


def arm() -> np.ndarray:
    """A forearm that comes in from below, over a blue cloth."""
    frame = cloth()
    frame[80:180, 150:190] = SKIN
    return frame


def test_an_arm_is_skin_that_enters_at_an_edge():
    assert arms(arm()) == [(150.0, 80.0, 190.0, 180.0)]
    from_the_side = cloth()
    from_the_side[100:140, 180:320] = SKIN
    assert len(arms(from_the_side)) == 1
    floating, ribbon, wall = cloth(), cloth(), np.full((180, 320, 3), SKIN, np.uint8)
    floating[60:120, 120:160] = SKIN
    ribbon[160:180, :] = SKIN
    assert arms(floating) == arms(ribbon) == arms(wall) == arms(cloth()) == []


def test_a_hand_needs_both_skin_and_suspicion():
    suspect, elsewhere = d("person", 0.3, 120, 60, 220, 180), d("person", 0.9, 0, 0, 60, 60)
    assert hands_of(arm(), [suspect], []) == [d(HAND, 0.3, 150, 80, 190, 180)]
    assert hands_of(arm(), [elsewhere], []) == []
    assert hands_of(arm(), [], []) == []
    assert hands_of(cloth(), [suspect], [suspect]) == []


def test_arms_that_both_looks_take_for_a_person_are_a_hand_when_there_is_skin():
    sleeve = cloth()
    sleeve[80:130, 140:200] = SKIN  # the sleeve below it keeps the skin from the edge
    body = d("person", 0.55, 120, 70, 220, 180)
    assert hands_of(sleeve, [body], [body]) == [d(HAND, 0.55, 120, 70, 220, 180)]
    assert hands_of(sleeve, [body], [d("person", 0.35, 120, 70, 220, 180)]) == []
    assert hands_of(sleeve, [body], [d("person", 0.55, 120, 70, 220, 160)]) == []


def test_a_thing_at_the_fingers_is_near_a_hand_and_one_apart_is_not():
    near, far = d("cup", 0.7, 150, 50, 185, 90), d("book", 0.7, 10, 10, 60, 60)
    person = d("person", 0.55, 120, 70, 220, 180)
    mirrored = unmirror([near, far, person], 320)
    detector = Script([near, far, person], mirrored, [d("cup", 0.7, 12, 14, 47, 54)], [d("book", 0.7, 10, 10, 60, 60)])
    things = {t.name: t for t in look(detector, arm(), 0.45).things}
    assert NEAR_HAND in things["cup"].attributes
    assert NEAR_HAND not in things["book"].attributes
    assert (things[HAND].place, things[HAND].attributes) == ("", ())
    assert set(things) == {"cup", "book", HAND}


def test_the_arm_of_somebody_who_is_stated_is_not_the_wearers():
    somebody = d("person", 0.75, 130, 20, 210, 180)
    detector = Script([somebody], unmirror([somebody], 320), [d("person", 0.75, 28, 20, 108, 180)])
    assert [t.name for t in look(detector, arm(), 0.45).things] == ["person"]


@pytest.mark.parametrize(
    ("colour", "word"),
    [((20, 20, 200), "red"), ((200, 40, 30), "blue"), ((40, 160, 40), "green"), ((245, 245, 245), "white"), ((10, 10, 10), "black"),
     ((120, 120, 120), "gray"), ((30, 220, 230), "yellow"), ((20, 130, 240), "orange"), ((30, 70, 120), "brown"), ((20, 20, 90), "red")],
)  # fmt: skip
def test_colours_by_their_plain_names(colour, word):
    frame = np.full((60, 60, 3), colour, np.uint8)
    assert colours_of(frame, (10, 10, 50, 50)) == (word,)


def test_a_mixture_of_colours_has_no_name_and_a_pair_has_two():
    frame = np.zeros((60, 60, 3), np.uint8)
    frame[:, :35], frame[:, 35:] = (20, 20, 200), (245, 245, 245)
    assert colours_of(frame, (0, 0, 60, 60)) == ("red", "white")
    patches = np.kron(np.arange(36).reshape(6, 6) % 4, np.ones((10, 10), int))
    palette = np.array([(20, 20, 200), (245, 245, 245), (200, 40, 30), (40, 160, 40)], np.uint8)
    assert colours_of(palette[patches], (0, 0, 60, 60)) == ()
    assert colours_of(frame, (5, 5, 5, 5)) in ((), ("red",))


def test_places_cover_the_frame():
    assert [place_word((x, y, x, y), 90, 90) for y in (10, 45, 80) for x in (10, 45, 80)] == [
        "upper left", "top", "upper right", "left", "centre", "right", "lower left", "bottom", "lower right",
    ]  # fmt: skip
    assert at_place("left") == "on the left"
    assert at_place("upper left") == "at the upper left"
    assert at_place("centre") == "in the centre"


def test_size_and_light_words():
    assert size_word((0, 0, 50, 50), 100, 100) == "large in view"
    assert size_word((0, 0, 5, 5), 100, 100) == "small in view"
    assert size_word((0, 0, 20, 20), 100, 100) == ""
    assert light_of(np.full((50, 50, 3), 20, np.uint8)).word == "dark"
    assert (
        light_of(np.full((50, 50, 3), 240, np.uint8)).word,
        light_of(np.full((50, 50, 3), 240, np.uint8)).colour,
    ) == ("bright", "white")


def test_skin_is_skin_and_cloth_is_not():
    assert skin_mask(np.full((2, 2, 3), SKIN, np.uint8)).all()
    assert not skin_mask(np.full((2, 2, 3), (160, 90, 40), np.uint8)).any()


def test_overlap():
    assert overlap((0, 0, 10, 10), (0, 0, 10, 10)) == 1.0
    assert overlap((0, 0, 10, 10), (5, 0, 15, 10)) == pytest.approx(1 / 3)
    assert overlap((0, 0, 10, 10), (20, 20, 30, 30)) == 0.0
    assert overlap((0, 0, 0, 0), (0, 0, 0, 0)) == 0.0
