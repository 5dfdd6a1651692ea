"""A remote model as Language and VisionLanguage: never needed, never trusted, never waited for in vain.

What may leave the device is fixed when it is made (`may_send`) and every call that sends something is logged with its
bytes.  A call gets three tries within its deadline; nothing within the first seconds means no answer; after some failures
the breaker leaves the remote alone.  An answer under a schema is checked as strictly as one of our own: mended by
json-repair, else asked for once more, else it is an error.
"""

from __future__ import annotations

import base64
import json
import logging
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from models.answers import checked, spoken
from models.backends.llama_model import jpeg_of
from models.backends.openai_client import Broken, Busy, Client, LoopThread, Refused, Reply
from models.backends.streamed import streamed
from models.breaker import US, Breaker, Mono
from models.errors import (
    InputError,
    ModelCancelledError,
    ModelDownError,
    ModelError,
    ModelTimeoutError,
    NotAllowedError,
    OutputError,
)
from models.roles import DEFAULT_CALL, CallOptions, Frame, JsonSchema, Message, Usage
from models.schema import problems_of

log = logging.getLogger(__name__)

Share = Literal["nothing", "text", "text+frames"]

_FORMS = 3  # of asking for JSON: by schema, as an object, in words
_ONLY_JSON = "Answer with one JSON object that is valid under this JSON schema, and with nothing else:\n{schema}"
_AGAIN = "That cannot be used: {problem} Send the whole object again, corrected, and nothing else."


@dataclass(frozen=True, slots=True)
class RemoteSettings:
    """Where it is and how patient we are.  `frames_px`: longer side of the frames that are sent."""

    url: str
    model: str
    key: str = ""
    may_send: Share = "text"
    first_byte_s: float = 5.0
    idle_s: float = 15.0  # between two pieces
    tries: int = 3
    backoff_s: float = 0.5  # before the second try, doubled with each, half of it by chance
    frames_px: int = 768
    watts: float = 2.0  # of the radio and the waiting board, for the meter


class OpenAIRemote:
    """One endpoint; thread-safe.  `mono` gives monotonic microseconds; `chance` numbers in 0..1 for the jitter."""

    def __init__(
        self,
        settings: RemoteSettings,
        *,
        mono: Mono,
        breaker: Breaker | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.id = f"remote:{settings.model}"
        self.repaired = 0  # answers that json-repair or a second request put right
        self._settings, self._mono, self._chance = settings, mono, chance
        self.breaker = breaker or Breaker(f"The remote model {settings.model}", mono=mono)
        self._loop = LoopThread()
        self._client: Client | None = None
        self._form = 0
        self._usage_asked = True
        self._closed = threading.Event()

    @property
    def watts(self) -> float:
        """The device's power while it waits, for the meter's joules."""
        return self._settings.watts

    def health(self) -> dict[str, Any]:
        """For /health."""
        return {"state": self.breaker.state, "last_error": self.breaker.why, "repaired": self.repaired}

    def close(self) -> None:
        """Break off what is under way and close the connections."""
        self._closed.set()
        if self._client is not None:
            client, self._client = self._client, None
            try:
                self._loop.run(client.close(), 2.0, self._mono, None)
            except ModelTimeoutError:
                log.warning("The connection to the remote model did not close in time")
        self._loop.close()

    def complete(
        self, messages: Sequence[Message], schema: JsonSchema | None = None, options: CallOptions = DEFAULT_CALL
    ) -> dict[str, Any] | str:
        """See roles.Language.  Raises NotAllowedError too."""
        return self._complete([{"role": m.role, "content": m.content} for m in messages], 0, schema, options)

    def describe(
        self, frames: Sequence[bytes | Frame], prompt: str, schema: JsonSchema, options: CallOptions = DEFAULT_CALL
    ) -> dict[str, Any]:
        """See roles.VisionLanguage.  Raises NotAllowedError too."""
        if self._settings.may_send != "text+frames":
            raise NotAllowedError("The settings do not let frames leave the device (llm.remote.vision_may_send).")
        if not frames:
            raise InputError("There is no frame to look at.")
        parts: list[dict[str, Any]] = []
        for i, frame in enumerate(frames):
            picture = base64.b64encode(jpeg_of(frame, self._settings.frames_px)).decode("ascii")
            parts.append({"type": "text", "text": f"Frame {i + 1}:"})
            parts.append({"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{picture}"}})
        content = [*parts, {"type": "text", "text": prompt}]
        answer = self._complete([{"role": "user", "content": content}], len(frames), schema, options)
        assert isinstance(answer, dict)
        return answer

    def stream(self, messages: Sequence[Message], options: CallOptions = DEFAULT_CALL) -> Iterator[str]:
        """See roles.Language.  A second try is made only while nothing was given yet."""
        request = [{"role": m.role, "content": m.content} for m in messages]

        def call(put: Callable[[str], None], cancelled: Callable[[], bool]) -> None:
            self._metered(request, 0, None, options, on_piece=put, cancelled=cancelled)

        yield from streamed(call, options, "remote-stream")

    # --- one answer ---------------------------------------------------------------------------------------------------

    def _complete(
        self, messages: list[dict[str, Any]], images: int, schema: JsonSchema | None, options: CallOptions
    ) -> dict[str, Any] | str:
        began = self._mono()
        text = self._metered(messages, images, schema, options, cancelled=options.cancelled)
        if schema is None:
            return spoken(text)
        try:
            return checked(_bare(text), schema)
        except OutputError as error:
            mended = _mended(text, schema)
            if mended is not None:
                self.repaired += 1
                return mended
            problem = str(error)
        left = options.timeout_s - (self._mono() - began) / US
        again = [*messages, {"role": "assistant", "content": text[:8000]},
                 {"role": "user", "content": _AGAIN.format(problem=problem)}]  # fmt: skip
        text = self._metered(again, images, schema, options, cancelled=options.cancelled, timeout_s=left)
        try:
            answer = checked(_bare(text), schema)
        except OutputError:
            found = _mended(text, schema)
            if found is None:
                raise
            answer = found
        self.repaired += 1
        return answer

    def _metered(
        self,
        messages: list[dict[str, Any]],
        images: int,
        schema: JsonSchema | None,
        options: CallOptions,
        *,
        on_piece: Callable[[str], None] | None = None,
        cancelled: Callable[[], bool] | None,
        timeout_s: float | None = None,
    ) -> str:
        if self._settings.may_send == "nothing":
            raise NotAllowedError("The settings do not let anything leave the device for this role (llm.remote).")
        began, reply = self._mono(), Reply()
        try:
            self._tried(messages, schema, options, reply, on_piece, cancelled, timeout_s or options.timeout_s)
        finally:
            seconds = (self._mono() - began) / US
            if reply.bytes_sent:
                log.info("Sent to %s: %d bytes with %d frames", self.id, reply.bytes_sent, images)
            if options.meter is not None:
                written = reply.completion_tokens or reply.pieces
                options.meter(Usage(reply.prompt_tokens, written, images, seconds, reply.bytes_sent))
        return reply.text

    def _tried(
        self,
        messages: list[dict[str, Any]],
        schema: JsonSchema | None,
        options: CallOptions,
        reply: Reply,
        on_piece: Callable[[str], None] | None,
        cancelled: Callable[[], bool] | None,
        timeout_s: float,
    ) -> None:
        """Up to `tries` requests within the time; tells the breaker how it went."""
        until = self._mono() + round(timeout_s * US)
        self.breaker.enter()
        tries = 0
        try:
            while True:
                reply.text, reply.finish, reply.pieces = "", "", 0
                left = (until - self._mono()) / US
                if left <= 0:
                    raise ModelTimeoutError("The remote model did not answer in time.")
                try:
                    body = self._body(messages, schema, options)
                    self._loop.run(self._asked(body, reply, on_piece), left, self._mono, cancelled)
                except Refused:
                    if not self._plainer(schema):
                        raise
                    continue
                except (Busy, Broken) as error:
                    tries += 1
                    pause = self._settings.backoff_s * 2 ** (tries - 1) * (0.5 + self._chance() / 2)
                    wanted = error.after_s if isinstance(error, Busy) and error.after_s is not None else pause
                    given = on_piece is not None and reply.pieces > 0
                    if tries >= self._settings.tries or given or wanted >= (until - self._mono()) / US:
                        raise
                    self._pause(wanted, cancelled)
                else:
                    self.breaker.passed()
                    return
        except ModelCancelledError:
            self.breaker.left()
            raise
        except Refused as error:  # it is there, and it does not want this
            self.breaker.passed()
            raise InputError(str(error)) from error
        except ModelError as error:
            self.breaker.failed(str(error), rest_s=error.after_s if isinstance(error, Busy) else None)
            raise
        except BaseException:
            self.breaker.left()
            raise

    async def _asked(self, body: dict[str, Any], reply: Reply, on_piece: Callable[[str], None] | None) -> None:
        if self._client is None:
            s = self._settings
            self._client = Client(s.url, s.key, first_byte_s=s.first_byte_s, idle_s=s.idle_s)
        await self._client.ask(body, reply, on_piece)

    def _body(self, messages: list[dict[str, Any]], schema: JsonSchema | None, options: CallOptions) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._settings.model, "messages": messages, "max_tokens": options.max_tokens,
            "temperature": options.temperature, "seed": options.seed,
        }  # fmt: skip
        if self._usage_asked:
            body["stream_options"] = {"include_usage": True}
        if schema is None:
            return body
        if self._form == 0:
            named = {"name": "answer", "schema": closed(schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        else:
            words = _ONLY_JSON.format(schema=json.dumps(closed(schema), ensure_ascii=False))
            body["messages"] = [{"role": "system", "content": words}, *messages]
            if self._form == 1:
                body["response_format"] = {"type": "json_object", "schema": closed(schema)}
        return body

    def _plainer(self, schema: JsonSchema | None) -> bool:
        """Ask in a form more servers understand, from now on; false when there is none left."""
        if self._usage_asked and (schema is None or self._form == _FORMS - 1):
            self._usage_asked = False
            return True
        if schema is None or self._form == _FORMS - 1:
            return False
        self._form += 1
        return True

    def _pause(self, seconds: float, cancelled: Callable[[], bool] | None) -> None:
        until = self._mono() + round(seconds * US)
        while (left := (until - self._mono()) / US) > 0:
            if self._closed.wait(min(0.05, left)):
                raise ModelDownError("The remote model was closed.")
            if cancelled is not None and cancelled():
                raise ModelCancelledError("The request was taken back.")


def closed(schema: JsonSchema) -> dict[str, Any]:
    """The schema with every object said to have no other keys, as strict servers demand."""

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(n) for n in node]
        if not isinstance(node, dict):
            return node
        made = {k: walk(v) for k, v in node.items()}
        if made.get("type") == "object":
            made.setdefault("additionalProperties", False)
        return made

    walked: dict[str, Any] = walk(dict(schema))
    return walked


def _bare(text: str) -> str:
    """The JSON of an answer that was wrapped in thinking or in a code fence."""
    text = spoken(text)
    if text.startswith("```"):
        text = text.split("\n", 1)[-1].rsplit("```", 1)[0]
    return text.strip()


def _mended(text: str, schema: JsonSchema) -> dict[str, Any] | None:
    """What json-repair makes of it, if that is valid."""
    try:
        import json_repair
    except ImportError:
        log.warning("The package json-repair is not installed: broken answers are asked for again")
        return None
    value = json_repair.loads(_bare(text), skip_json_loads=True)
    return value if isinstance(value, dict) and not problems_of(value, schema) else None
