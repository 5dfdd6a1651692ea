"""A call that blocks, as an iterator of text: the call runs in a thread and hands over its pieces as they come."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from models.answers import Spoken
from models.errors import ModelError
from models.roles import CallOptions

# call(on_piece, cancelled): blocks until the answer is complete
Call: TypeAlias = Callable[[Callable[[str], None], Callable[[], bool]], object]

_END = object()


def streamed(call: Call, options: CallOptions, name: str) -> Iterator[str]:
    """What the model says, piece by piece, without its thinking; raises what the call raises.

    Dropping the iterator cancels the call.
    """
    pieces: queue.Queue[Any] = queue.Queue()
    dropped = threading.Event()

    def cancelled() -> bool:
        return dropped.is_set() or (options.cancelled is not None and options.cancelled())

    def run() -> None:
        try:
            call(pieces.put, cancelled)
            pieces.put(_END)
        except ModelError as error:
            pieces.put(error)

    worker = threading.Thread(target=run, name=name, daemon=True)
    worker.start()
    shown = Spoken()
    try:
        while (piece := pieces.get()) is not _END:
            if isinstance(piece, ModelError):
                raise piece
            if text := shown.feed(piece):
                yield text
        if text := shown.end():
            yield text
    finally:
        dropped.set()
        worker.join(options.timeout_s)
