"""The bus: publish a message, and every subscriber of its topic gets it, within the topic's bound and policy.

Thread-safe and free of any event loop, so that a capture driver, a model and the asyncio side can all use it.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from edge.config import private_dir
from edge.errors import ConfigError
from edge.messages import Message
from edge.topics import BY_NAME, BY_TYPE, Topic
from storage.cipher import Spool

_SPOOL = Spool()  # what is spilled can be read by this process alone, and by nobody once it has gone


class Subscription:
    """One reader's queue of one topic."""

    def __init__(self, topic: Topic, spool: Path | None, stopped: threading.Event) -> None:
        self.topic = topic
        self.dropped = 0
        self.spilled = 0
        self._queue: deque[Message] = deque()
        self._spill: deque[Path | Message] = deque()  # on the disk, or in memory while it takes nothing
        self._spool = spool
        self._seq = 0
        self._ready = threading.Condition()
        self._stopped = stopped

    def put(self, message: Message) -> None:
        """Queue a message; when the queue is full the topic's policy says what gives way."""
        with self._ready:
            if len(self._queue) < self.topic.capacity and not self._spill:
                self._queue.append(message)
            elif self.topic.policy == "keep_latest":
                self.dropped += len(self._queue)
                self._queue.clear()
                self._queue.append(message)
            elif self.topic.policy == "drop_oldest":
                self._queue.popleft()
                self.dropped += 1
                self._queue.append(message)
            elif self._spool is None:
                self._queue.append(message)  # no disk to spill to (replay): the caller takes one at a time
            else:
                self._set_aside(message)
            self._ready.notify()

    def get(self, timeout: float | None = None) -> Message | None:
        """The next message, or None when the time is over or the bus was closed."""
        with self._ready:
            if not self._queue and not self._spill and not self._stopped.is_set():
                self._ready.wait(timeout)
            message = self._queue.popleft() if self._queue else None
            while self._spill and len(self._queue) < self.topic.capacity:
                self._queue.append(self._taken_up(self._spill.popleft()))
            if message is None and self._queue:
                message = self._queue.popleft()
            self._ready.notify_all()
            return message

    def backlog(self) -> int:
        """How many messages wait, on disk too."""
        with self._ready:
            return len(self._queue) + len(self._spill)

    def wait_below(self, count: int, timeout: float) -> bool:
        """Back-pressure for sources that can wait (a file): true once fewer than `count` messages wait."""
        with self._ready:
            return self._ready.wait_for(
                lambda: len(self._queue) + len(self._spill) < count or self._stopped.is_set(), timeout
            )

    def wake(self) -> None:
        """Let every waiter look again."""
        with self._ready:
            self._ready.notify_all()

    def _set_aside(self, message: Message) -> None:
        """Onto the disk; while the disk takes nothing, into memory, where the oldest gives way beyond the topic's bound."""
        try:
            self._spill.append(self._write(message))
            self.spilled += 1
            return
        except (OSError, ConfigError):
            held = [i for i, waiting in enumerate(self._spill) if not isinstance(waiting, Path)]
        if len(held) >= self.topic.held:
            del self._spill[held[0]]
            self.dropped += 1
        self._spill.append(message)

    def _taken_up(self, waiting: Path | Message) -> Message:
        if not isinstance(waiting, Path):
            return waiting
        # Only this process writes the spool, into a folder that is the user's alone (0700).
        message: Message = pickle.loads(_SPOOL.open(waiting.read_bytes()))  # noqa: S301
        waiting.unlink()
        return message

    def _write(self, message: Message) -> Path:
        assert self._spool is not None
        private_dir(self._spool)
        self._seq += 1
        path = self._spool / f"{self.topic.name}-{id(self):x}-{self._seq:09d}.spill"
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(_SPOOL.seal(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)))
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path


class Bus:
    """All topics; `spool` is the folder never_drop topics spill to (None: they grow in memory)."""

    def __init__(self, spool: Path | None = None) -> None:
        self._spool = spool
        self._stopped = threading.Event()
        self._subscribers: dict[str, list[Subscription]] = {name: [] for name in BY_NAME}
        if spool is not None and spool.exists():
            for left in spool.glob("*.spill"):  # of a run that died: the source or the camera has moved on
                left.unlink()

    def subscribe(self, topic: str) -> Subscription:
        """A queue of one topic's messages from now on."""
        subscription = Subscription(BY_NAME[topic], self._spool, self._stopped)
        self._subscribers[topic].append(subscription)
        return subscription

    def publish(self, messages: Message | Iterable[Message]) -> None:
        """Hand one message or several to every subscriber of their topics."""
        if not isinstance(messages, Iterable):
            messages = (messages,)
        for message in messages:
            for subscription in self._subscribers[BY_TYPE[type(message)].name]:
                subscription.put(message)

    def close(self) -> None:
        """Wake every reader; `get` returns what is left and then None."""
        self._stopped.set()
        for subscriptions in self._subscribers.values():
            for subscription in subscriptions:
                subscription.wake()

    def backlog(self) -> dict[str, int]:
        """Waiting messages by topic, those that have any."""
        counts = {name: sum(s.backlog() for s in subs) for name, subs in self._subscribers.items()}
        return {name: n for name, n in counts.items() if n}

    def dropped(self) -> dict[str, int]:
        """Messages that gave way, by topic, those that have any."""
        counts = {name: sum(s.dropped for s in subs) for name, subs in self._subscribers.items()}
        return {name: n for name, n in counts.items() if n}
