"""Stratum E: closed episodes.  All its SQL is here."""

from __future__ import annotations

from storage import vectors
from storage.connect import Connection
from storage.corrections import Amend, unamended
from storage.errors import NotFound
from storage.records import Episode, Us
from storage.vectors import Vector

_EPISODE = (
    "SELECT r.name, e.t_start, e.t_end, e.offset_s, e.subject, e.summary, e.keywords, e.description, e.place, "
    "e.first_window, e.last_window, e.cut, e.known, e.made_by, e.id FROM episode e "
    "JOIN recording r ON r.id = e.recording_id "
)


class EpisodeReader:
    """Reads of E as known at `until`."""

    def __init__(self, db: Connection, until: Us, amend: Amend = unamended) -> None:
        self._db, self._until, self._amend = db, until, amend

    def get(self, episode_id: int) -> Episode:
        """One episode.  Raises NotFound."""
        found = self._rows("WHERE e.id = ? AND e.known <= ?", (episode_id, self._until))
        if not found:
            raise NotFound(f"There is no episode e{episode_id} at that time.")
        return found[0]

    def many(self, ids: list[int]) -> dict[int, Episode]:
        """Episodes by id, those that are known."""
        found: dict[int, Episode] = {}
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ",".join("?" * len(part))
            for episode in self._rows(f"WHERE e.id IN ({marks}) AND e.known <= ?", (*part, self._until)):
                found[episode.id] = episode
        return found

    def between(self, start: Us | None = None, end: Us | None = None, limit: int | None = None) -> list[Episode]:
        """Episodes that overlap [start, end), oldest first."""
        low = -(2**62) if start is None else start
        high = 2**62 if end is None else end
        return self._rows(
            "WHERE e.known <= ? AND e.t_end > ? AND e.t_start < ? ORDER BY e.t_start, e.id LIMIT ?",
            (self._until, low, high, -1 if limit is None else limit),
        )

    def recent(self, count: int) -> list[Episode]:
        """The newest episodes, oldest first."""
        return self._rows("WHERE e.known <= ? ORDER BY e.t_start DESC, e.id DESC LIMIT ?", (self._until, count))[::-1]

    def last(self, recording: str) -> Episode | None:
        """The newest episode of a recording, if any."""
        found = self._rows(
            "WHERE r.name = ? AND e.known <= ? ORDER BY e.last_window DESC LIMIT 1", (recording, self._until)
        )
        return found[0] if found else None

    def of_window(self, window_id: int) -> Episode | None:
        """The episode a window belongs to, if it is closed."""
        found = self._rows(
            "WHERE e.first_window <= ? AND e.last_window >= ? AND e.known <= ? "
            "AND e.recording_id = (SELECT recording_id FROM window WHERE id = ?) LIMIT 1",
            (window_id, window_id, self._until, window_id),
        )
        return found[0] if found else None

    def since(self, window_id: int, limit: int) -> list[Episode]:
        """The newest episodes that end after that window, in the order they were stored."""
        return self._rows(
            "WHERE e.last_window > ? AND e.known <= ? ORDER BY e.id DESC LIMIT ?", (window_id, self._until, limit)
        )[::-1]

    def count(self) -> int:
        """How many episodes are known."""
        return int(self._db.execute("SELECT count(*) FROM episode WHERE known <= ?", (self._until,)).fetchone()[0])

    def vectors(self, ids: list[int]) -> dict[int, Vector]:
        """Embeddings of episodes, shape (dim,) each."""
        return vectors.get(self._db, "episode_vec", ids, "episode.known", self._until)

    def _rows(self, where: str, values: tuple[object, ...]) -> list[Episode]:
        found = [_episode(row) for row in self._db.execute(_EPISODE + where, values)]
        amend = self._amend() if found else None
        return amend.episodes(found) if amend else found


class EpisodeWriter:
    """Writes of E, inside one transaction of the store."""

    def __init__(self, db: Connection, dim: int) -> None:
        self._db, self._dim = db, dim

    def add(self, episode: Episode, vector: Vector) -> int:
        """Store a closed episode; returns its id."""
        row = self._db.execute(
            "INSERT INTO episode(recording_id, t_start, t_end, offset_s, subject, summary, keywords, description, place, "
            "first_window, last_window, cut, known, made_by) "
            "VALUES ((SELECT id FROM recording WHERE name = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                episode.recording,
                episode.t_start,
                episode.t_end,
                episode.offset_s,
                episode.subject,
                episode.summary,
                "\n".join(episode.keywords),
                episode.description,
                episode.place,
                episode.first_window,
                episode.last_window,
                episode.cut,
                episode.known,
                episode.made_by,
            ),
        ).lastrowid
        vectors.put(self._db, "episode_vec", int(row), vector, self._dim)
        return int(row)

    def rewrite(self, episode: Episode, vector: Vector) -> None:
        """Put other words in place of a stored episode's own: its subject, summary, keywords, and who made them.

        The one row that is changed where it stands: the words by rules can be made again from its windows at any time.
        """
        self._db.execute(
            "UPDATE episode SET subject = ?, summary = ?, keywords = ?, made_by = ? WHERE id = ?",
            (episode.subject, episode.summary, "\n".join(episode.keywords), episode.made_by, episode.id),
        )
        self._db.execute("DELETE FROM episode_vec WHERE rowid = ?", (episode.id,))
        vectors.put(self._db, "episode_vec", episode.id, vector, self._dim)


def _episode(row: tuple[object, ...]) -> Episode:
    values = list(row)
    values[6] = tuple(k for k in str(row[6]).split("\n") if k)
    return Episode(*values)  # type: ignore[arg-type]
