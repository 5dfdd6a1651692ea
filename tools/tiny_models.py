"""Make tiny language and vision models of random weights in the real file format and the real architectures.

    python -m tools.tiny_models --kind qwen3vl --output FOLDER       about 1 MB, under a second

The runtime takes the same path with them as with a real model: GGUF, chat template, picture encoder, grammar.  What they
write is noise, so that whatever survives is the work of our own code.  Needs `pip install gguf`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["qwen3vl", "smolvlm", "text"]
KINDS: tuple[Kind, ...] = ("qwen3vl", "smolvlm", "text")

# One turn a line; parts of a turn are texts, among them the marker the picture is put in for.
TEMPLATE = (
    "{%- for turn in messages -%}<|im_start|>{{ turn.role }}\n"
    "{%- if turn.content is string -%}{{ turn.content }}"
    "{%- else -%}{%- for part in turn.content -%}{{ part.text }}{%- endfor -%}{%- endif -%}"
    "<|im_end|>\n{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|im_start|>assistant\n{% endif -%}"
)
CONTROL = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
    "<|vision_pad|>", "<fake_token_around_image>", "<global-img>", "<image>",
    *(f"<row_{r}_col_{c}>" for r in range(1, 7) for c in range(1, 7)),
]  # fmt: skip
MERGES = ["Ġ t", "h e", "i n", "o n", "Ċ Ċ"]  # the last is looked up by the idefics3 projector

TEXT_WIDTH, LAYERS, HEADS, KV_HEADS, TEXT_FF = 64, 4, 2, 1, 128
EYE_WIDTH, EYE_LAYERS, EYE_HEADS, EYE_FF, PATCH, IMAGE = 64, 3, 2, 128, 16, 64
SPREAD = 0.08  # of the weights


@dataclass(frozen=True, slots=True)
class Made:
    """The files of one model; `mmproj` is None for a text model."""

    model: Path
    mmproj: Path | None


class _File:
    """A GGUF file in the making, with random tensors by name."""

    def __init__(self, path: Path, architecture: str, rng: np.random.Generator) -> None:
        import gguf

        self.gguf = gguf
        self.writer = gguf.GGUFWriter(str(path), architecture)
        self._rng = rng

    def random(self, *shape: int) -> NDArray[np.float32]:
        return (self._rng.standard_normal(shape) * SPREAD).astype(np.float32)

    def q8(self, name: str, *shape: int) -> None:
        kind = self.gguf.GGMLQuantizationType.Q8_0
        self.writer.add_tensor(name, self.gguf.quants.quantize(self.random(*shape), kind), raw_dtype=kind)

    def half(self, name: str, *shape: int) -> None:
        self.writer.add_tensor(name, self.random(*shape).astype(np.float16))

    def full(self, name: str, *shape: int) -> None:
        self.writer.add_tensor(name, self.random(*shape))

    def ones(self, name: str, size: int) -> None:
        self.writer.add_tensor(name, np.ones(size, np.float32))

    def norm(self, name: str, size: int) -> None:
        self.ones(f"{name}.weight", size)
        self.writer.add_tensor(f"{name}.bias", np.zeros(size, np.float32))

    def linear(self, name: str, out: int, into: int) -> None:
        self.half(f"{name}.weight", out, into)
        self.full(f"{name}.bias", out)

    def save(self) -> None:
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def make(folder: Path, kind: Kind, *, seed: int = 7, context: int = 8192) -> Made:
    """Write the files of one model into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    model = folder / f"tiny-{kind}-Q8_0.gguf"
    _text(model, kind, rng, context)
    if kind == "text":
        return Made(model, None)
    mmproj = folder / f"mmproj-tiny-{kind}-F16.gguf"
    _eye(mmproj, kind, rng)
    return Made(model, mmproj)


def _text(path: Path, kind: Kind, rng: np.random.Generator, context: int) -> None:
    qwen = kind == "qwen3vl"
    file = _File(path, "qwen3vl" if qwen else "llama", rng)
    w, head = file.writer, TEXT_WIDTH // HEADS
    w.add_name(f"tiny random {kind}")
    w.add_context_length(context)
    w.add_embedding_length(TEXT_WIDTH)
    w.add_block_count(LAYERS)
    w.add_feed_forward_length(TEXT_FF)
    w.add_head_count(HEADS)
    w.add_head_count_kv(KV_HEADS)
    w.add_key_length(head)
    w.add_value_length(head)
    w.add_layer_norm_rms_eps(1e-6)
    w.add_rope_freq_base(1e6 if qwen else 1e5)
    if qwen:  # positions in time, height and width, and pictures that enter at several layers
        w.add_rope_dimension_sections([head // 2 - 2 * (head // 6), head // 6, head // 6, 0])
        w.add_num_deepstack_layers(1)
    else:
        w.add_rope_dimension_count(head)
    w.add_file_type(file.gguf.LlamaFileType.MOSTLY_Q8_0)
    words = _vocabulary(file)
    w.add_vocab_size(words)
    file.q8("token_embd.weight", words, TEXT_WIDTH)
    file.ones("output_norm.weight", TEXT_WIDTH)
    file.q8("output.weight", words, TEXT_WIDTH)
    for i in range(LAYERS):
        block = f"blk.{i}."
        file.ones(block + "attn_norm.weight", TEXT_WIDTH)
        file.ones(block + "ffn_norm.weight", TEXT_WIDTH)
        file.q8(block + "attn_q.weight", HEADS * head, TEXT_WIDTH)
        file.q8(block + "attn_k.weight", KV_HEADS * head, TEXT_WIDTH)
        file.q8(block + "attn_v.weight", KV_HEADS * head, TEXT_WIDTH)
        file.q8(block + "attn_output.weight", TEXT_WIDTH, HEADS * head)
        if qwen:
            file.ones(block + "attn_q_norm.weight", head)
            file.ones(block + "attn_k_norm.weight", head)
        file.q8(block + "ffn_gate.weight", TEXT_FF, TEXT_WIDTH)
        file.q8(block + "ffn_up.weight", TEXT_FF, TEXT_WIDTH)
        file.q8(block + "ffn_down.weight", TEXT_WIDTH, TEXT_FF)
    file.save()


def _vocabulary(file: _File) -> int:
    """Every byte as a token, a few merges, the control tokens; returns the size, a multiple of 32."""
    kinds = file.gguf.TokenType
    tokens = [*_bytes(), *(m.replace(" ", "") for m in MERGES)]
    types = [kinds.NORMAL] * len(tokens)
    ids = {word: len(tokens) + i for i, word in enumerate(CONTROL)}
    tokens += CONTROL
    types += [kinds.CONTROL] * len(CONTROL)
    while len(tokens) % 32:
        tokens.append(f"<|unused{len(tokens)}|>")
        types.append(kinds.UNUSED)
    w = file.writer
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("qwen2")
    w.add_token_list(tokens)
    w.add_token_types(types)
    w.add_token_merges(MERGES)
    w.add_bos_token_id(ids["<|endoftext|>"])
    w.add_add_bos_token(False)
    w.add_eos_token_id(ids["<|im_end|>"])
    w.add_pad_token_id(ids["<|endoftext|>"])
    w.add_chat_template(TEMPLATE)
    return len(tokens)


def _bytes() -> list[str]:
    """The 256 bytes as GPT-2 writes them: printable ones as themselves, the others from U+0100 on."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    names = {b: chr(b) if b in printable else "" for b in range(256)}
    return [*(names[b] for b in sorted(printable)), *(chr(next(others)) for b in range(256) if not names[b])]


def _eye(path: Path, kind: Kind, rng: np.random.Generator) -> None:
    qwen = kind == "qwen3vl"
    file = _File(path, "clip", rng)
    w = file.writer
    w.add_type("mmproj")
    w.add_file_type(file.gguf.LlamaFileType.MOSTLY_F16)
    w.add_bool("clip.has_vision_encoder", True)
    w.add_string("clip.projector_type", "qwen3vl_merger" if qwen else "idefics3")
    w.add_bool("clip.use_gelu", True)
    numbers = {
        "embedding_length": EYE_WIDTH, "feed_forward_length": EYE_FF, "block_count": EYE_LAYERS,
        "projection_dim": TEXT_WIDTH, "attention.head_count": EYE_HEADS, "image_size": IMAGE, "patch_size": PATCH,
    }  # fmt: skip
    for key, value in numbers.items():
        w.add_uint32(f"clip.vision.{key}", value)
    w.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-6)
    w.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
    w.add_array("clip.vision.image_std", [0.5, 0.5, 0.5])
    if qwen:
        w.add_uint32("clip.vision.spatial_merge_size", 2)
    else:
        w.add_uint32("clip.vision.projector.scale_factor", 2)
        w.add_uint32("clip.vision.preproc_image_size", IMAGE * 4)
    file.half("v.patch_embd.weight", EYE_WIDTH, 3, PATCH, PATCH)
    if qwen:
        file.half("v.patch_embd.weight.1", EYE_WIDTH, 3, PATCH, PATCH)
    file.full("v.patch_embd.bias", EYE_WIDTH)
    file.full("v.position_embd.weight", (IMAGE // PATCH) ** 2, EYE_WIDTH)
    for i in range(EYE_LAYERS):
        _eye_layer(file, f"v.blk.{i}.", together=qwen)
    file.norm("v.post_ln", EYE_WIDTH)
    merged = 4 * EYE_WIDTH
    if qwen:
        w.add_array("clip.vision.is_deepstack_layers", [i == 1 for i in range(EYE_LAYERS)])
        file.norm("v.deepstack.1.norm", merged)
        file.linear("v.deepstack.1.fc1", merged, merged)
        file.linear("v.deepstack.1.fc2", TEXT_WIDTH, merged)
        file.linear("mm.0", merged, merged)
        file.linear("mm.2", TEXT_WIDTH, merged)
    else:
        file.half("mm.model.fc.weight", TEXT_WIDTH, merged)
    file.save()


def _eye_layer(file: _File, block: str, *, together: bool) -> None:
    file.norm(block + "ln1", EYE_WIDTH)
    file.norm(block + "ln2", EYE_WIDTH)
    if together:
        file.linear(block + "attn_qkv", 3 * EYE_WIDTH, EYE_WIDTH)
    else:
        for name in "qkv":
            file.linear(f"{block}attn_{name}", EYE_WIDTH, EYE_WIDTH)
    file.linear(block + "attn_out", EYE_WIDTH, EYE_WIDTH)
    file.linear(block + "ffn_up", EYE_FF, EYE_WIDTH)
    file.linear(block + "ffn_down", EYE_WIDTH, EYE_FF)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Make tiny random models in GGUF.")
    parser.add_argument("--kind", choices=KINDS, default="qwen3vl")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)
    made = make(given.output, given.kind, seed=given.seed)
    files: list[Any] = [p for p in (made.model, made.mmproj) if p is not None]
    print(json.dumps({str(p): p.stat().st_size for p in files}))


if __name__ == "__main__":
    main()
