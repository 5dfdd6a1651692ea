"""llama.cpp itself, in the child process: loads a model, answers one request after the other.

Only models/backends/llama_child.py imports this, so that nothing llama.cpp does can reach the runtime.
Vision goes through llama-cpp-python's MTMDChatHandler, which uses the model file's own chat template.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from models.errors import EngineMissingError, InputError, LoadError, ModelCancelledError
from models.grammar import GrammarError

_GGML_TYPES = {"f16": 1, "q8_0": 8, "q4_0": 2}  # of ggml.h, for the key-value cache
_SPECIAL = re.compile(r"<\|([^|<>]{1,40})\|>")
_MARKER = "<__media__>"
_GRAMMARS_KEPT = 64

Emit = Callable[[str], None]
Cancelled = Callable[[], bool]


class Engine:
    """One loaded model.  `spec` holds the keys of models/backends/llama_settings.py:spec_of."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        """Raises EngineMissingError, LoadError."""
        try:
            # By name, so that types are checked alike where the library is installed and where it is not.
            llama_cpp = import_module("llama_cpp")
            chat_format = import_module("llama_cpp.llama_chat_format")
        except ImportError as error:
            raise EngineMissingError(f"llama-cpp-python is not installed ({error}); see docs/install.md.") from error
        self._cpp = llama_cpp
        self._cancelled: Cancelled = lambda: False
        self._images: dict[str, bytes] = {}
        self._checked: dict[str, None] = {}
        engine = self

        class Watched(llama_cpp.Llama):  # type: ignore[misc]  # untyped library
            """Reads a long prompt in batches and looks in between whether it is still wanted."""

            def eval(self, tokens: Sequence[int]) -> None:
                for start in range(0, len(tokens), self.n_batch):
                    engine.check()
                    super().eval(tokens[start : start + self.n_batch])

        class Frames(chat_format.MTMDChatHandler):  # type: ignore[misc]
            """Takes pictures from the request instead of from addresses."""

            def load_image(self, image_url: str) -> bytes:
                engine.check()
                return engine.image(image_url)

        handler = None
        try:
            if spec.get("mmproj"):
                handler = Frames(clip_model_path=spec["mmproj"], verbose=False, use_gpu=spec["gpu_layers"] != 0)
            self._llm = Watched(
                model_path=spec["model"],
                n_ctx=spec["context"],
                n_batch=spec["batch"],
                n_ubatch=spec["batch"],
                n_threads=spec["threads"],
                n_threads_batch=spec["threads"],
                n_gpu_layers=spec["gpu_layers"],
                flash_attn=spec["flash"],
                type_k=_GGML_TYPES[spec["kv"]],
                type_v=_GGML_TYPES[spec["kv"]],
                chat_handler=handler,
                verbose=False,
            )
            if handler is not None:
                # Now rather than at the first request: a wrong file shows here.
                handler._init_mtmd_context(self._llm)  # noqa: SLF001
        except (ValueError, RuntimeError, OSError, AssertionError) as error:
            raise LoadError(f"llama.cpp refuses {spec['model']}: {error}.") from error
        self.vision = handler is not None
        self._template = "tokenizer.chat_template" in self._llm.metadata

    def image(self, address: str) -> bytes:
        """A picture of the request being answered."""
        return self._images[address]

    def check(self) -> None:
        """Raises ModelCancelledError once the request is no longer wanted."""
        if self._cancelled():
            raise ModelCancelledError("The request was taken back.")

    def answer(
        self, request: Mapping[str, Any], images: Sequence[bytes], cancelled: Cancelled, emit: Emit | None
    ) -> dict[str, Any]:
        """Text and counts of one answer.  Raises InputError, GrammarError, ModelCancelledError."""
        if images and not self.vision:
            raise InputError("This model cannot look at frames: it has no mmproj file.")
        if not self._template:
            raise InputError("The model file has no chat template; take an instruct model.")
        self._cancelled = cancelled
        self._images = {f"frame://{i}/": image for i, image in enumerate(images)}
        try:
            return self._generate(request, emit)
        except ValueError as error:  # llama-cpp-python's word for a prompt that is too long, a picture it cannot read
            raise InputError(f"llama.cpp refuses the request: {error}.") from error
        finally:
            self._images = {}
            self._cancelled = lambda: False

    def close(self) -> None:
        """Free everything."""
        self._llm.close()

    def _generate(self, request: Mapping[str, Any], emit: Emit | None) -> dict[str, Any]:
        llm = self._llm
        chunks = llm.create_chat_completion(
            messages=self._messages(request["messages"]),
            grammar=self._grammar(request.get("grammar")),
            max_tokens=request["max_tokens"],
            temperature=request["temperature"],
            seed=request["seed"],
            repeat_penalty=1.0,
            stream=True,
        )
        parts: list[str] = []
        finish, prompt_tokens = "stop", 0
        try:
            for chunk in chunks:
                self.check()
                choice = chunk["choices"][0]
                piece = choice["delta"].get("content") or ""
                if piece and not prompt_tokens:
                    prompt_tokens = llm.n_tokens
                if piece:
                    parts.append(piece)
                    if emit is not None:
                        emit(piece)
                finish = choice["finish_reason"] or finish
        finally:
            chunks.close()
        written = max(0, llm.n_tokens - prompt_tokens) if prompt_tokens else 0
        return {
            "text": "".join(parts), "finish": finish, "prompt_tokens": prompt_tokens or llm.n_tokens,
            "completion_tokens": written,
        }  # fmt: skip

    def _messages(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        for message in messages:
            content = message["content"]
            if isinstance(content, str):
                made.append({"role": message["role"], "content": harmless(content)})
                continue
            parts: list[dict[str, Any]] = [
                {"type": "image_url", "image_url": {"url": f"frame://{part['frame']}/"}}
                if "frame" in part
                else {"type": "text", "text": harmless(part["text"])}
                for part in content
            ]
            made.append({"role": message["role"], "content": parts})
        return made

    def _grammar(self, text: str | None) -> Any:
        """A grammar that llama.cpp has accepted: it would silently go on without one that it refuses."""
        if text is None:
            return None
        if text not in self._checked:
            vocabulary = self._cpp.llama_model_get_vocab(self._llm.model)
            sampler = self._cpp.llama_sampler_init_grammar(vocabulary, text.encode(), b"root")
            if not sampler:
                raise GrammarError("llama.cpp does not accept the grammar of this schema; simplify the schema.")
            self._cpp.llama_sampler_free(sampler)
            if len(self._checked) >= _GRAMMARS_KEPT:
                self._checked.pop(next(iter(self._checked)))
            self._checked[text] = None
        return self._cpp.LlamaGrammar.from_string(text, verbose=False)


def harmless(text: str) -> str:
    """Text that cannot end a turn or stand for a picture: what was read off a wall goes into prompts too."""
    return _SPECIAL.sub(r"<\1>", text).replace(_MARKER, "<media>").replace("frame://", "frame:/")
