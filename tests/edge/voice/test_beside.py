"""The device beside its own loudspeaker, through a real sound server that leads the speaker into the microphone."""

from __future__ import annotations

import pytest
from sound_room import sound_room

from models import Loader


@pytest.mark.audio
@pytest.mark.slow
@pytest.mark.parametrize("echo_db", [0.0, -10.0, -20.0])
def test_it_hears_a_person_over_it_and_not_itself(echo_db: float, loader: Loader, virtual_audio: object) -> None:
    with sound_room(loader, echo_db) as room:
        assert room.alone(17) == []
        took = room.interrupted(7)
    assert sum(ms is not None for ms in took) >= 6
