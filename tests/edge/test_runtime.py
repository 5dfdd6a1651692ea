"""An alert on its way from the arbiter to the voice."""

from __future__ import annotations

from edge.proactive.alerts import TABLE
from edge.runtime import VOICE_PRIORITY
from edge.voice.queue import ANSWER, CRITICAL


def test_every_alert_has_a_place_beside_answers() -> None:
    assert list(VOICE_PRIORITY) == sorted(VOICE_PRIORITY)
    for row in TABLE:
        spoken = VOICE_PRIORITY[row.priority]
        assert (spoken == CRITICAL) == row.critical, row.type
        assert spoken != ANSWER
    assert VOICE_PRIORITY[4] > ANSWER > VOICE_PRIORITY[3]
