"""A full-text index beside a table, kept by triggers: what steps of the schema share."""

from __future__ import annotations

from storage.connect import Connection

TOKENIZER = "porter unicode61 remove_diacritics 2"


def fts_table(db: Connection, fts: str, table: str, columns: tuple[str, ...]) -> None:
    """An external-content index over columns of a table whose rows come and go whole; it can be rebuilt."""
    names = ", ".join(columns)
    new, old = (", ".join(f"{which}.{c}" for c in columns) for which in ("new", "old"))
    db.execute(
        f"CREATE VIRTUAL TABLE {fts} USING fts5({names}, content='{table}', content_rowid='id', tokenize='{TOKENIZER}')"
    )
    db.execute(
        f"CREATE TRIGGER {fts}_add AFTER INSERT ON {table} BEGIN "
        f"INSERT INTO {fts}(rowid, {names}) VALUES (new.id, {new}); END"
    )
    db.execute(
        f"CREATE TRIGGER {fts}_drop AFTER DELETE ON {table} BEGIN "
        f"INSERT INTO {fts}({fts}, rowid, {names}) VALUES ('delete', old.id, {old}); END"
    )
