"""Replays a trace and compares the memory with a reference, line by line.

    python tools/replay_diff.py TRACE REFERENCE            exit 1 and a diff when they differ
    python tools/replay_diff.py TRACE REFERENCE --update   write the reference anew: the change is meant

A reference is the canonical dump of the memory.  It shows what a change of the rules does to what is remembered.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from edge.config import Config
from edge.engines import Engines
from edge.replay import replay
from storage import EmbeddingSpace, Store


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--update", action="store_true", help="write the reference")
    options = parser.parse_args()
    model = Engines(Config()).text_embedding()
    with Store.open(None, space=EmbeddingSpace(model.id, model.dim)) as store:
        replay(options.trace, store, model.embed, Config())
        now = list(store.dump())
    if options.update:
        options.reference.write_text("\n".join(now) + "\n", encoding="utf-8")
        return 0
    before = options.reference.read_text(encoding="utf-8").splitlines()
    changes = list(difflib.unified_diff(before, now, "reference", "now", lineterm="", n=0))
    for line in changes[:200]:
        print(line[:240])
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main())
