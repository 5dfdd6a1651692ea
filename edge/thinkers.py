"""Who thinks for which role: local model, remote model, one after the other, or nobody (rules).

Each role is chosen in the settings (section llm).  Every call is metered by role and day; what a remote may be sent is
fixed here from the settings and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from edge import config as settings
from edge.clock import Clock, local
from edge.errors import ConfigError, sentence_of
from edge.logs import Log
from models import LANGUAGE, VISION_LANGUAGE, Loader, roles
from models.backends.llama_settings import BOARDS, LlamaSettings, board
from models.backends.openai_remote import OpenAIRemote, RemoteSettings
from models.errors import ModelError, NotAllowedError
from models.fallback import FirstOf, Metered
from models.meter import Meter

_log = Log("models")

ThinkingRole: TypeAlias = Literal["consolidation", "matching", "boundary", "experts", "agent"]
COSTS = "model-costs.json"


def llama_settings(llm: settings.Llm) -> LlamaSettings:
    """The board's defaults with what the settings name."""
    base = BOARDS[board() if llm.board == "auto" else llm.board]
    return replace(
        base,
        gpu_layers=base.gpu_layers if llm.gpu_layers is None else llm.gpu_layers,
        threads=base.threads if llm.threads is None else llm.threads,
        context=llm.context or base.context,
        kv=llm.kv or base.kv,
        flash=base.flash or llm.kv not in (None, "f16"),  # a quantized value cache needs it
        memory_mb=llm.memory_mb,
        idle_s=llm.idle_s,
    )


class _Gated:
    """A remote model that is asked only while `opened` says so; otherwise it fails as one that may not be used."""

    def __init__(self, model: Any, opened: Callable[[], bool]) -> None:
        self._model, self._opened = model, opened

    def __getattr__(self, name: str) -> Any:
        if name in ("complete", "describe", "stream") and not self._opened():
            raise NotAllowedError("The power mode asks no remote model: charge the device, or choose another mode.")
        return getattr(self._model, name)


class Thinkers:
    """The language models of a session; made when first asked for, closed by `close`."""

    def __init__(self, llm: settings.Llm, loader: Loader, clock: Clock) -> None:
        self._llm, self._loader, self._clock = llm, loader, clock
        self._remotes: dict[str, OpenAIRemote] = {}
        self._made: dict[str, Any] = {}
        self._local: dict[str, Any] = {}
        self.offload = True  # whether remote models may be asked now: the power mode sets it
        self.problems: dict[str, str] = {}  # by role: why it is not what the settings ask for
        self.meter = Meter(settings.state_dir() / COSTS, lambda: local(clock.now(), clock.offset()).date().isoformat())

    def language(self, role: ThinkingRole) -> roles.Language | None:
        """Who thinks for a role; None when rules do.  Raises ModelError, ConfigError."""
        choice = self._choices()[role]
        if choice == "rules":
            return None
        made: roles.Language = self._chosen(
            role, choice, lambda: self._loader.load(LANGUAGE, self._llm.language_model).model
        )
        return made

    def vision(self) -> roles.VisionLanguage | None:
        """Who describes frames; None when nobody does.  Raises ModelError, ConfigError."""
        if self._llm.vision == "off":
            return None
        made: roles.VisionLanguage = self._chosen(
            "vision", self._llm.vision, lambda: self._loader.load(VISION_LANGUAGE, self._llm.vision_model).model
        )
        return made

    @property
    def exact_vision(self) -> bool:
        """Whether what looks at frames is held to its schema by a grammar."""
        return self._llm.vision == "local"

    def unload(self) -> None:
        """Give the memory of local models back (saver mode); the next call loads them again."""
        for model in self._local.values():
            model.unload()

    def health(self) -> dict[str, Any]:
        """For /health: who is chosen for which role and whether anybody asked for it, each model's state, today's costs."""
        states = {name: model.health() for name, model in {**self._local, **self._remotes}.items()}
        today = local(self._clock.now(), self._clock.offset()).date().isoformat()
        roles_ = {
            role: {"choice": choice, "in_use": role in self._made, "problem": self.problems.get(role, "")}
            for role, choice in self._choices().items()
            if choice not in ("off", "rules")
        }
        return {
            "policies": self._choices(),
            "roles": roles_,
            "models": states,
            "costs_today": [r for r in self.meter.rows() if r["day"] == today],
        }

    def close(self) -> None:
        """Close the remotes and keep the costs; local models belong to the loader."""
        for remote in self._remotes.values():
            remote.close()
        self.meter.close()

    def _choices(self) -> dict[str, str]:
        llm = self._llm
        return {
            "vision": llm.vision, "consolidation": llm.consolidation, "matching": llm.matching, "boundary": llm.boundary,
            "experts": llm.experts, "agent": llm.agent,
        }  # fmt: skip

    def _chosen(self, role: str, choice: str, load: Callable[[], Any]) -> Any:
        if role not in self._made:
            members: list[Any] = []
            if choice.startswith("remote"):
                members.append(_Gated(Metered(self._remote(role), role, "remote", self.meter), lambda: self.offload))
            if choice.endswith("local"):
                try:
                    members.append(Metered(self._kept(load()), role, "local", self.meter))
                except ModelError as error:
                    self.problems[role] = sentence_of(error)
                    if not members:
                        raise
                    _log.warning("fell_back", part=role, cause=error)
            self._made[role] = members[0] if len(members) == 1 else FirstOf(members, mono=self._clock.mono)
        return self._made[role]

    def _kept(self, model: Any) -> Any:
        if hasattr(model, "unload"):
            self._local[model.id] = model
        return model

    def _remote(self, role: str) -> OpenAIRemote:
        remote = self._llm.remote
        share = {
            "vision": remote.vision_may_send, "consolidation": remote.consolidation_may_send,
            "matching": remote.matching_may_send, "boundary": remote.consolidation_may_send,
            "experts": remote.experts_may_send, "agent": remote.agent_may_send,
        }[role]  # fmt: skip
        if not remote.url or not remote.model:
            raise ConfigError(f"llm.{role} names a remote model: set llm.remote.url and llm.remote.model.")
        if share == "nothing" or (role == "vision" and share != "text+frames"):
            wanted = "text+frames" if role == "vision" else "text"
            raise ConfigError(
                f"llm.{role} names a remote model, but llm.remote.{role}_may_send does not let it have {wanted}: "
                "set it, or choose local."
            )
        if role not in self._remotes:
            name = (remote.vision_model or remote.model) if role == "vision" else remote.model
            key = os.environ.get(remote.key_env, "") if remote.key_env else ""
            chosen = RemoteSettings(
                url=remote.url, model=name, key=key, may_send=share, first_byte_s=remote.first_byte_s,
                tries=remote.tries, frames_px=remote.frames_px,
            )  # fmt: skip
            _log.info("may_leave_the_device", role=role, what=share, model=name)
            self._remotes[role] = OpenAIRemote(chosen, mono=self._clock.mono)
        return self._remotes[role]
