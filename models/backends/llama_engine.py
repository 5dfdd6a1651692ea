"""llama.cpp itself, in the child process: loads a model, answers one request after the other.

Only models/backends/llama_child.py imports this, so that nothing llama.cpp does can reach the runtime.
Vision goes through llama-cpp-python's MTMDChatHandler, which uses the model file's own chat template.
"""

from __future__ import annotations

import codecs
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

_ONE_FOR_EACH = "grove-edge-one-for-each"

Emit = Callable[[str], None]
Cancelled = Callable[[], bool]


class Engine:
    """One loaded model.  `spec` holds the keys of models/backends/llama_settings.py:spec_of."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        """Raises EngineMissingError, LoadError."""
        try:
            # By name, so that types are checked alike where the library is installed and where it is not.
            llama_cpp: Any = import_module("llama_cpp")
            chat_format: Any = import_module("llama_cpp.llama_chat_format")
        except ImportError as error:
            raise EngineMissingError(f"llama-cpp-python is not installed ({error}); see docs/install.md.") from error
        self._cpp = llama_cpp
        self._cancelled: Cancelled = lambda: False
        self._images: dict[str, bytes] = {}
        self._checked: dict[str, None] = {}
        self._emit: Emit | None = None
        self._answer: dict[str, Any] = {}
        engine = self

        class Watched(llama_cpp.Llama):  # type: ignore[misc]  # untyped library
            """Reads in batches and writes token by token, looking in between whether it is still wanted."""

            def eval(self, tokens: Sequence[int]) -> None:
                for start in range(0, len(tokens), self.n_batch):
                    engine.check()
                    super().eval(tokens[start : start + self.n_batch])

            def create_completion(self, prompt: list[int], **options: Any) -> dict[str, Any]:
                return engine.write(prompt, options)

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
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._llm.model)
        self._template = str(self._llm.metadata.get("tokenizer.chat_template", ""))

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
        self._cancelled, self._emit = cancelled, emit
        self._images = {f"frame://{i}/": image for i, image in enumerate(images)}
        try:
            return self._generate(request)
        except ValueError as error:  # llama-cpp-python's word for a prompt that is too long, a picture it cannot read
            raise InputError(f"llama.cpp refuses the request: {error}.") from error
        finally:
            if images:
                # The cache finds its beginning again by token ids, and pictures have none: a later prompt could be
                # taken for this one and be answered about this picture.
                self._llm.reset()
                self._llm._ctx.kv_cache_clear()  # noqa: SLF001
            self._images, self._emit = {}, None
            self._cancelled = lambda: False

    def close(self) -> None:
        """Free everything."""
        self._llm.close()

    def write(self, prompt: list[int], options: Mapping[str, Any]) -> dict[str, Any]:
        """Generate after the prompt; called by llama-cpp-python's chat code in place of its own completion.

        Its own holds back what it cannot decode, so that neither a piece nor a look at the deadline comes for a while,
        and drops invalid bytes, so that a text gets shorter than the grammar made it.  So would dropping control tokens:
        the grammar takes them for the letters of their names.
        """
        llm, room = self._llm, self._llm.n_ctx() - len(prompt) - 1
        if room < 1:
            raise InputError(f"The prompt of {len(prompt)} tokens exceeds the model's context of {llm.n_ctx()}.")
        most = min(int(options["max_tokens"]), room)
        llm.set_seed(int(options["seed"]))
        data, finish, count = bytearray(), "length", 0
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        tokens = llm.generate(prompt, temp=options["temperature"], repeat_penalty=1.0, grammar=options["grammar"])
        try:
            for token in tokens:
                self.check()
                if self._cpp.llama_vocab_is_eog(self._vocabulary, token):
                    finish = "stop"
                    break
                piece = llm.detokenize([token], special=options["grammar"] is not None)
                data += piece
                count += 1
                if self._emit is not None and (text := decoder.decode(piece)):
                    self._emit(text)
                if count >= most:
                    break
        except RuntimeError as error:  # llama_decode: no room left, which pictures fill faster than positions tell
            if not count:
                raise InputError(f"The prompt does not fit the model's context ({error}).") from error
        finally:
            tokens.close()
        if self._emit is not None and (text := decoder.decode(b"", final=True)):
            self._emit(text)
        self._answer = {
            "text": bytes(data).decode("utf-8", "replace" if options["grammar"] is None else _ONE_FOR_EACH), "finish": finish, "prompt_tokens": len(prompt),
            "completion_tokens": count,
        }  # fmt: skip
        return {
            "id": "", "object": "text_completion", "created": 0, "model": "",
            "choices": [{"text": "", "index": 0, "logprobs": None, "finish_reason": finish}],
            "usage": {"prompt_tokens": len(prompt), "completion_tokens": count, "total_tokens": len(prompt) + count},
        }  # fmt: skip

    def _generate(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._llm.create_chat_completion(
            messages=self._messages(request["messages"]),
            grammar=self._grammar(request.get("grammar")),
            max_tokens=request["max_tokens"],
            temperature=request["temperature"],
            seed=request["seed"],
        )
        return self._answer

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
        if "enable_thinking" in self._template:
            say_at_once(made)
        return made

    def _grammar(self, text: str | None) -> Any:
        """A grammar that llama.cpp has accepted: it would silently go on without one that it refuses."""
        if text is None:
            return None
        if text not in self._checked:
            sampler = self._cpp.llama_sampler_init_grammar(self._vocabulary, text.encode(), b"root")
            if not sampler:
                raise GrammarError("llama.cpp does not accept the grammar of this schema; simplify the schema.")
            self._cpp.llama_sampler_free(sampler)
            if len(self._checked) >= _GRAMMARS_KEPT:
                self._checked.pop(next(iter(self._checked)))
            self._checked[text] = None
        return self._cpp.LlamaGrammar.from_string(text, verbose=False)


def say_at_once(messages: Sequence[dict[str, Any]]) -> None:
    """Ask a Qwen3 model not to think aloud first: its words for that, at the end of what the user said last."""
    for message in reversed(messages):
        if message["role"] == "user":
            if isinstance(message["content"], str):
                message["content"] += " /no_think"
            else:
                message["content"].append({"type": "text", "text": " /no_think"})
            return


def _one_for_each(error: UnicodeError) -> tuple[str, int]:
    """Decode an invalid sequence to one character, as the grammar has counted it: the lead byte says how long it is."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    lead = error.object[error.start]
    length = 4 if lead >= 0xF0 else 3 if lead >= 0xE0 else 2 if lead >= 0xC0 else 1
    return "\ufffd", min(error.start + length, len(error.object))


codecs.register_error(_ONE_FOR_EACH, _one_for_each)


def harmless(text: str) -> str:
    """Text that cannot end a turn or stand for a picture: what was read off a wall goes into prompts too."""
    return _SPECIAL.sub(r"<\1>", text).replace(_MARKER, "<media>").replace("frame://", "frame:/")
