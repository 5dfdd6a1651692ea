"""One request to an OpenAI-compatible endpoint, by the `openai` package: streamed, bounded in time and in bytes.

Everything runs on an event loop in a thread of its own, so that a caller's deadline or cancellation really ends the
connection.  A server that accepts and says nothing, drips, sends without end or breaks off costs its caller a typed
error and the device a few kilobytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, field
from typing import Any, TypeVar

from models.errors import (
    EngineMissingError,
    InputError,
    ModelCancelledError,
    ModelDownError,
    ModelError,
    ModelTimeoutError,
    NotAllowedError,
)

T = TypeVar("T")

ANSWER_MAX = 4 << 20  # bytes of one response
_POLL_S = 0.05
_NOT_UNDERSTOOD = (400, 404, 415, 422)
_FORM_WORDS = ("response_format", "json_schema", "stream_options")


class Busy(ModelDownError):
    """The endpoint asks for time; `after_s` when it says how much."""

    def __init__(self, sentence: str, after_s: float | None) -> None:
        super().__init__(sentence)
        self.after_s = after_s


class Broken(ModelDownError):
    """The connection failed or the endpoint had an error of its own: it may work the next time."""


class Refused(InputError):
    """The endpoint does not take this form of request (status 400, 404, 415, 422)."""


@dataclass(slots=True)
class Reply:
    """What came of one request; also filled in part when it failed."""

    text: str = ""
    finish: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    pieces: int = 0
    bytes_sent: int = 0
    headers: dict[str, str] = field(default_factory=dict)


class LoopThread:
    """An event loop in a daemon thread; started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(
        self,
        work: Coroutine[Any, Any, T],
        timeout_s: float,
        mono: Callable[[], int],
        cancelled: Callable[[], bool] | None,
    ) -> T:
        """Run to its end, to the deadline or to the caller's change of mind.

        Raises what the work raises, ModelTimeoutError, ModelCancelledError.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._started())
        until = mono() + round(timeout_s * 1_000_000)
        while True:
            try:
                return future.result(_POLL_S)
            except NotYet:
                if future.done():  # the work's own timeout
                    raise
            if cancelled is not None and cancelled():
                future.cancel()
                raise ModelCancelledError("The request was taken back.")
            if mono() >= until:
                future.cancel()
                raise ModelTimeoutError("The remote model did not answer in time.")

    def close(self) -> None:
        """Stop; requests under way are cancelled."""
        with self._lock:
            loop, thread, self._loop = self._loop, self._thread, None
        if loop is None or thread is None:
            return

        async def drain() -> None:
            others = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await loop.shutdown_asyncgens()

        with contextlib.suppress(NotYet):
            asyncio.run_coroutine_threadsafe(drain(), loop).result(5.0)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5.0)
        loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="remote-model", daemon=True)
                self._thread.start()
            return self._loop


class Client:
    """The `openai` client of one endpoint; made and used on one event loop."""

    def __init__(self, url: str, key: str, *, first_byte_s: float, idle_s: float) -> None:
        """Raises EngineMissingError."""
        try:
            import openai
        except ImportError as error:
            raise EngineMissingError(
                "The package openai is not installed: run `pip install -e '.[remote]'`."
            ) from error
        self._openai = openai
        self._first, self._idle = first_byte_s, idle_s
        self._sent = 0
        http = openai.DefaultAsyncHttpxClient(
            event_hooks={"request": [self._count], "response": [_bound]}, trust_env=not _local(url)
        )
        self._client = openai.AsyncOpenAI(
            base_url=url, api_key=key or "none", max_retries=0, timeout=max(first_byte_s, idle_s), http_client=http
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def ask(self, body: Mapping[str, Any], reply: Reply, on_piece: Callable[[str], None] | None) -> None:
        """One streamed request into `reply`.  Raises Busy, Broken, Refused, ModelTimeoutError, NotAllowedError."""
        openai = self._openai
        before = self._sent
        try:
            stream = await asyncio.wait_for(self._client.chat.completions.create(stream=True, **body), self._first)
            async with stream:
                await self._read(stream, reply, on_piece)
        except asyncio.TimeoutError as error:  # on 3.10 this is no TimeoutError
            raise ModelTimeoutError(f"The remote model sent nothing for {self._patience(reply)} s.") from error
        except openai.APITimeoutError as error:
            raise ModelTimeoutError(f"The remote model sent nothing for {self._patience(reply)} s.") from error
        except openai.APIStatusError as error:
            raise _told(error) from error
        except openai.APIError as error:
            raise Broken(f"The remote model cannot be reached or broke off ({_short(error)}).") from error
        except ModelError:
            raise
        except Exception as error:  # what the packages below openai raise on nonsense is not documented
            raise Broken(f"The remote model sent something unreadable ({_short(error)}).") from error
        finally:
            reply.bytes_sent += self._sent - before

    def _patience(self, reply: Reply) -> str:
        return f"{self._idle if reply.pieces else self._first:g}"

    async def _read(self, stream: Any, reply: Reply, on_piece: Callable[[str], None] | None) -> None:
        chunks = stream.__aiter__()
        while True:
            try:
                chunk = await asyncio.wait_for(chunks.__anext__(), self._idle if reply.pieces else self._first)
            except StopAsyncIteration:
                break
            if getattr(chunk, "usage", None) is not None:
                reply.prompt_tokens = chunk.usage.prompt_tokens or 0
                reply.completion_tokens = chunk.usage.completion_tokens or 0
            for choice in getattr(chunk, "choices", None) or ():
                piece = choice.delta.content if choice.delta is not None else None
                if piece:
                    reply.text += piece
                    reply.pieces += 1
                    if on_piece is not None:
                        on_piece(piece)
                reply.finish = choice.finish_reason or reply.finish
        if not reply.finish:
            raise Broken("The remote model broke off in the middle of its answer.")

    async def _count(self, request: Any) -> None:
        self._sent += len(request.content)


async def _bound(response: Any) -> None:
    """Let no response be longer than ANSWER_MAX, whatever the server sends."""
    inner = response.stream
    base = next(kind for kind in type(inner).__mro__ if kind.__name__ == "AsyncByteStream")

    class Bounded(base):  # type: ignore[misc,valid-type]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            total = 0
            async for part in inner:
                total += len(part)
                if total > ANSWER_MAX:
                    raise Broken(f"The remote model sent more than {ANSWER_MAX >> 20} MB for one answer.")
                yield part

        async def aclose(self) -> None:
            await inner.aclose()

    response.stream = Bounded()


def _told(error: Any) -> ModelError:
    status = error.status_code
    if status == 429 or (status == 503 and _after(error) is not None):
        return Busy(f"The remote model asks for time (status {status}).", _after(error))
    if status >= 500 and any(word in str(error) for word in _FORM_WORDS):
        # llama-cpp-python's server answers a form it does not know with 500 instead of 422.
        return Refused(f"The remote model does not take the request (status {status}: {_short(error)}).")
    if status >= 500:
        return Broken(f"The remote model has an error of its own (status {status}).")
    if status in (401, 403):
        return NotAllowedError(f"The remote model refuses us (status {status}): check its key in the settings.")
    if status in _NOT_UNDERSTOOD:
        return Refused(f"The remote model does not take the request (status {status}: {_short(error)}).")
    return Broken(f"The remote model answered with status {status}.")


def _after(error: Any) -> float | None:
    """Seconds of a Retry-After header; None when there is none or it is a date."""
    try:
        return max(0.0, float(error.response.headers.get("retry-after", "")))
    except ValueError:
        return None


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _local(url: str) -> bool:
    """Whether the endpoint is on this machine: no proxy stands between."""
    host = url.split("//", 1)[-1].split("/", 1)[0].rsplit("@", 1)[-1]
    return host.startswith(("127.", "localhost", "[::1]"))
