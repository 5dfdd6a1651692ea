"""Several models for one role, tried in order, and the counting of what each call cost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from models.breaker import US, Mono
from models.errors import InputError, ModelCancelledError, ModelError, ModelTimeoutError
from models.meter import Meter
from models.roles import DEFAULT_CALL, CallOptions, Frame, JsonSchema, Message, Usage

log = logging.getLogger(__name__)

T = TypeVar("T")


class FirstOf:
    """A Language and VisionLanguage made of others: the first that answers.  The deadline is one for all of them.

    `fell_back` is the sentence of the last failure that made a later one answer; "" when the first did.
    """

    def __init__(self, members: Sequence[Any], *, mono: Mono) -> None:
        assert members
        self._members, self._mono = tuple(members), mono
        self.fell_back = ""

    @property
    def id(self) -> str:
        """All of them."""
        return " then ".join(m.id for m in self._members)

    def health(self) -> dict[str, Any]:
        """For /health: each member's own."""
        return {m.id: m.health() for m in self._members if hasattr(m, "health")}

    def close(self) -> None:
        """Close all of them."""
        for member in self._members:
            member.close()

    def complete(
        self, messages: Sequence[Message], schema: JsonSchema | None = None, options: CallOptions = DEFAULT_CALL
    ) -> dict[str, Any] | str:
        """See roles.Language."""
        answer: dict[str, Any] | str = self._first(lambda m, o: m.complete(messages, schema, o), options)
        return answer

    def describe(
        self, frames: Sequence[bytes | Frame], prompt: str, schema: JsonSchema, options: CallOptions = DEFAULT_CALL
    ) -> dict[str, Any]:
        """See roles.VisionLanguage."""
        return self._first(lambda m, o: m.describe(frames, prompt, schema, o), options)

    def stream(self, messages: Sequence[Message], options: CallOptions = DEFAULT_CALL) -> Iterator[str]:
        """See roles.Language; once something was said, the next one cannot take over."""

        def begin(member: Any, given: CallOptions) -> tuple[str, Iterator[str]]:
            pieces = member.stream(messages, given)
            return next(pieces, ""), pieces

        first, rest = self._first(begin, options)
        yield first
        yield from rest

    def _first(self, call: Callable[[Any, CallOptions], T], options: CallOptions) -> T:
        until = self._mono() + round(options.timeout_s * US)
        failure: ModelError | None = None
        for member in self._members:
            left = (until - self._mono()) / US
            if left <= 0:
                break
            try:
                answer = call(member, replace(options, timeout_s=left))
            except (ModelCancelledError, InputError):
                raise
            except ModelError as error:
                failure = error
                continue
            told = "" if failure is None else str(failure)
            if bool(told) != bool(self.fell_back):  # one line when it begins and one when it ends
                log.log(
                    logging.WARNING if told else logging.INFO, "%s answers%s", member.id, f": {told}" if told else ""
                )
            self.fell_back = told
            return answer
        raise failure or ModelTimeoutError("No model answered in time.")


class Metered:
    """A model whose every call is entered in a meter under a role; otherwise the model itself."""

    def __init__(self, model: Any, role: str, where: str, meter: Meter) -> None:
        self._model, self._role, self._where, self._meter = model, role, where, meter

    @property
    def id(self) -> str:
        """The model's."""
        return str(self._model.id)

    def health(self) -> dict[str, Any]:
        """The model's."""
        return dict(self._model.health()) if hasattr(self._model, "health") else {}

    def close(self) -> None:
        """Close the model."""
        self._model.close()

    def complete(
        self, messages: Sequence[Message], schema: JsonSchema | None = None, options: CallOptions = DEFAULT_CALL
    ) -> dict[str, Any] | str:
        """See roles.Language."""
        answer: dict[str, Any] | str = self._counted(lambda o: self._model.complete(messages, schema, o), options)
        return answer

    def describe(
        self, frames: Sequence[bytes | Frame], prompt: str, schema: JsonSchema, options: CallOptions = DEFAULT_CALL
    ) -> dict[str, Any]:
        """See roles.VisionLanguage."""
        answer: dict[str, Any] = self._counted(lambda o: self._model.describe(frames, prompt, schema, o), options)
        return answer

    def stream(self, messages: Sequence[Message], options: CallOptions = DEFAULT_CALL) -> Iterator[str]:
        """See roles.Language."""
        costs: list[Usage] = []
        try:
            yield from self._model.stream(messages, replace(options, meter=costs.append))
        except ModelError:
            self._enter(costs, options, failed=True)
            raise
        self._enter(costs, options, failed=False)

    def _counted(self, call: Callable[[CallOptions], T], options: CallOptions) -> T:
        costs: list[Usage] = []
        try:
            answer = call(replace(options, meter=costs.append))
        except ModelError:
            self._enter(costs, options, failed=True)
            raise
        self._enter(costs, options, failed=False)
        return answer

    def _enter(self, costs: Sequence[Usage], options: CallOptions, *, failed: bool) -> None:
        watts = float(getattr(self._model, "watts", 0.0))
        self._meter.enter(self._role, self._where, self.id, costs, failed=failed, watts=watts)
        if options.meter is not None:
            for cost in costs:
                options.meter(cost)
