"""Full-text tables of the first step.  The search index of m007 took their place, and that step takes them away.

The first step is released, so it still makes them; nothing reads them.
"""

from __future__ import annotations

from storage.connect import Connection

# FTS table -> (owner table, columns)
_TEXTS = {
    "item_fts": ("item", ("text",)),
    "window_fts": ("window", ("description", "scene")),
    "moment_fts": ("moment", ("text", "keywords")),
    "episode_fts": ("episode", ("subject", "summary", "keywords", "description")),
    "pattern_fts": ("pattern_version", ("title", "summary", "keywords")),
}


def make(db: Connection) -> None:
    """External-content indexes over columns of tables whose rows come and go whole, kept by triggers."""
    for fts, (table, columns) in _TEXTS.items():
        names = ", ".join(columns)
        new, old = (", ".join(f"{which}.{c}" for c in columns) for which in ("new", "old"))
        db.execute(
            f"CREATE VIRTUAL TABLE {fts} USING fts5({names}, content='{table}', content_rowid='id', "
            "tokenize='porter unicode61 remove_diacritics 2')"
        )
        db.execute(
            f"CREATE TRIGGER {fts}_add AFTER INSERT ON {table} BEGIN "
            f"INSERT INTO {fts}(rowid, {names}) VALUES (new.id, {new}); END"
        )
        db.execute(
            f"CREATE TRIGGER {fts}_drop AFTER DELETE ON {table} BEGIN "
            f"INSERT INTO {fts}({fts}, rowid, {names}) VALUES ('delete', old.id, {old}); END"
        )


def drop(db: Connection) -> None:
    """Take them away with their triggers; the connection deletes securely, so the pages they stood on become zeros."""
    for fts in _TEXTS:
        for end in ("add", "drop"):
            db.execute(f"DROP TRIGGER {fts}_{end}")
        db.execute(f"DROP TABLE {fts}")
