"""The graph: people, things, places and topics, and the typed edges between them.  All its SQL is here.

A node is known from the earliest that is told of it, its other names from when they were met; a recording that comes
later but tells of an earlier time moves both back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from storage.connect import Connection
from storage.context_records import Node, NodeKind, Relation, RelationType
from storage.errors import NotFound
from storage.records import Us

_RELATION = "SELECT source, type, label, target, episode_id, window_id, t, count, known, id FROM relation "


class GraphReader:
    """Reads of the graph as known at `until`."""

    def __init__(self, db: Connection, until: Us) -> None:
        self._db, self._until = db, until

    def get(self, node_id: int) -> Node:
        """One node.  Raises NotFound."""
        found = self.nodes([node_id])
        if not found:
            raise NotFound(f"There is no node n{node_id} at that time.")
        return found[node_id]

    def nodes(self, ids: Iterable[int]) -> dict[int, Node]:
        """Nodes by id, those that are known."""
        wanted = list(ids)
        found: dict[int, Node] = {}
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ",".join("?" * len(part))
            aliases: dict[int, list[str]] = {}
            for owner, name in self._db.execute(
                f"SELECT node_id, name FROM alias WHERE node_id IN ({marks}) AND known <= ? ORDER BY id",
                (*part, self._until),
            ):
                aliases.setdefault(owner, []).append(name)
            for row in self._db.execute(
                f"SELECT kind, name, known, id FROM node WHERE id IN ({marks}) AND known <= ?", (*part, self._until)
            ):
                found[row[3]] = Node(row[0], row[1], row[2], tuple(aliases.get(row[3], ())), row[3])
        return found

    def find(self, name: str, kind: NodeKind | None = None) -> list[Node]:
        """The nodes of that very name or with it as another name (case does not count), in the order they came."""
        key = " ".join(name.split())
        rows = self._db.execute(
            "SELECT id FROM node WHERE name = ? AND known <= ? UNION SELECT node_id FROM alias WHERE name = ? AND known <= ?",
            (key, self._until, key, self._until),
        )
        found = self.nodes(sorted(row[0] for row in rows))
        return [n for n in found.values() if kind is None or n.kind == kind]

    def relations(
        self,
        node_ids: Sequence[int],
        types: Sequence[RelationType] = (),
        start: Us | None = None,
        end: Us | None = None,
        limit: int = 200,
    ) -> list[Relation]:
        """The newest edges from or to these nodes with start <= t < end, newest first."""
        low = -(2**62) if start is None else start
        high = 2**62 if end is None else end
        kinds = f" AND type IN ({','.join('?' * len(types))})" if types else ""
        found: dict[int, Relation] = {}
        for node in node_ids:
            for side in ("source", "target"):
                for row in self._db.execute(
                    f"{_RELATION}WHERE {side} = ? AND t >= ? AND t < ? AND known <= ?{kinds} ORDER BY t DESC, id DESC LIMIT ?",
                    (node, low, high, self._until, *types, limit),
                ):
                    found[row[9]] = Relation(*row)
        return sorted(found.values(), key=lambda r: (-r.t, -r.id))[:limit]

    def of_episode(self, episode_id: int) -> list[Relation]:
        """The edges an episode brought, in the order of its time."""
        return self._rows("WHERE episode_id = ? AND known <= ? ORDER BY t, id", (episode_id, self._until))

    def of_windows(self, window_ids: Sequence[int]) -> list[Relation]:
        """The edges anchored to these windows, in the order of their time."""
        found: list[Relation] = []
        for start in range(0, len(window_ids), 500):
            part = window_ids[start : start + 500]
            marks = ",".join("?" * len(part))
            found += self._rows(f"WHERE window_id IN ({marks}) AND known <= ?", (*part, self._until))
        return sorted(found, key=lambda r: (r.t, r.id))

    def around(self, window_ids: Sequence[int], limit: int = 40, fan_out: int = 12) -> dict[int, int]:
        """One hop from windows over what they share: window id -> how many edges lead there, the given ones left out.

        From each node of their edges the newest `fan_out` edges are followed, so that the cost does not grow.
        """
        given = set(window_ids)
        nodes = {n for r in self.of_windows(list(window_ids)) for n in (r.source, r.target)}
        people = {n.id for n in self.nodes(nodes).values() if n.kind == "person"}
        reached: dict[int, int] = {}
        for relation in self._hop(nodes - people, fan_out):
            if relation.window_id not in given:
                reached[relation.window_id] = reached.get(relation.window_id, 0) + 1
        best = sorted(reached.items(), key=lambda x: (-x[1], -x[0]))[:limit]
        return dict(best)

    def count(self) -> tuple[int, int]:
        """How many nodes and edges are known."""
        nodes, edges = (
            int(self._db.execute(f"SELECT count(*) FROM {table} WHERE known <= ?", (self._until,)).fetchone()[0])
            for table in ("node", "relation")
        )
        return nodes, edges

    def _hop(self, nodes: Iterable[int], fan_out: int) -> list[Relation]:
        found: list[Relation] = []
        for node in sorted(nodes):
            found += self.relations([node], limit=fan_out)
        return found

    def _rows(self, where: str, values: tuple[object, ...]) -> list[Relation]:
        return [Relation(*row) for row in self._db.execute(_RELATION + where, values)]


class GraphWriter:
    """Writes of the graph, inside one transaction of the store."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def node(self, kind: NodeKind, name: str, window_id: int, known: Us, alias: str = "") -> int:
        """The id of a node, made at its first use; `alias` is the name it went by in that window, if another."""
        row = self._db.execute("SELECT id FROM node WHERE name = ? AND kind = ?", (name, kind)).fetchone()
        if row is None:
            made = self._db.execute("INSERT INTO node(kind, name, known) VALUES (?, ?, ?)", (kind, name, known))
            node_id = int(made.lastrowid)
        else:
            node_id = int(row[0])
            self._db.execute("UPDATE node SET known = ? WHERE id = ? AND known > ?", (known, node_id, known))
        if alias and alias.casefold() != name.casefold():
            self._db.execute(
                "INSERT INTO alias(node_id, name, window_id, known) VALUES (?, ?, ?, ?) "
                "ON CONFLICT(name, node_id) DO UPDATE SET known = excluded.known, window_id = excluded.window_id "
                "WHERE excluded.known < known",
                (node_id, alias, window_id, known),
            )
        return node_id

    def relate(self, relations: Iterable[Relation]) -> None:
        """Append edges."""
        self._db.executemany(
            "INSERT INTO relation(source, type, label, target, episode_id, window_id, t, count, known) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (r.source, r.type, r.label, r.target, r.episode_id, r.window_id, r.t, r.count, r.known)
                for r in relations
            ],
        )
