"""The converters behind the committed weights, on graphs small enough to check by hand."""

from __future__ import annotations

import base64
import io
import json
import pickle
import struct
import sys
from collections import OrderedDict

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is a development dependency")

from tools.convert_detector import Converter, load_graph  # noqa: E402
from tools.convert_voice import convert, read_torch  # noqa: E402


def text(value: str) -> dict[str, str]:
    return {"s": base64.b64encode(value.encode()).decode()}


def ints(*values: int) -> dict[str, dict[str, list[str]]]:
    return {"list": {"i": [str(v) for v in values]}}


def tfjs() -> tuple[bytes, bytes, np.ndarray, np.ndarray]:
    """pad 1, convolve 3x3 from 3 to 2 channels with stride 2, add a bias, leaky relu: channels last in the middle."""
    rng = np.random.default_rng(0)
    kernel = rng.normal(size=(3, 3, 3, 2)).astype(np.float16)
    bias = np.array([0.5, -0.25], np.float32)
    arrays = {
        "to_last": np.array([0, 2, 3, 1], np.int32),
        "to_first": np.array([0, 3, 1, 2], np.int32),
        "pads": np.array([[0, 0], [1, 1], [1, 1], [0, 0]], np.int32),
        "kernel": kernel,
        "bias": bias,
    }
    manifest = []
    for name, array in arrays.items():
        entry: dict[str, object] = {"name": name, "shape": list(array.shape), "dtype": str(array.dtype)}
        if array.dtype == np.float16:
            entry |= {"dtype": "float32", "quantization": {"dtype": "float16", "original_dtype": "float32"}}
        manifest.append(entry)
    one = ints(1, 1, 1, 1)
    nodes = [
        {"name": "input", "op": "Placeholder"},
        *({"name": n, "op": "Const"} for n in arrays),
        {"name": "last", "op": "Transpose", "input": ["input", "to_last"]},
        {"name": "padded", "op": "Pad", "input": ["last", "pads"]},
        {
            "name": "conv",
            "op": "Conv2D",
            "input": ["padded", "kernel"],
            "attr": {"padding": text("VALID"), "strides": ints(1, 2, 2, 1), "dilations": one},
        },
        {"name": "added", "op": "AddV2", "input": ["conv", "bias"]},
        {"name": "relu", "op": "LeakyRelu", "input": ["added"], "attr": {"alpha": {"f": 0.1}}},
        {"name": "first", "op": "Transpose", "input": ["relu", "to_first"]},
    ]
    graph = {"modelTopology": {"node": nodes}, "weightsManifest": [{"weights": manifest}]}
    return json.dumps(graph).encode(), b"".join(a.tobytes() for a in arrays.values()), kernel, bias


def test_a_channels_last_graph_becomes_one_convolution() -> None:
    import onnxruntime

    model, weights, kernel, bias = tfjs()
    converter = Converter(*load_graph(model, weights), half=True, centre=np.zeros(128))
    out = converter.stored_as(converter.get("first"), (0, 1, 2, 3))
    assert [n.op_type for n in converter.nodes] == ["Conv", "LeakyRelu"], "transposes, pads and the bias melt away"
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        converter.nodes,
        "t",
        [info("image", onnx.TensorProto.FLOAT, [1, 3, 6, 6])],
        [info(out.name, onnx.TensorProto.FLOAT, None)],
        converter.initializers,
    )
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    image = np.random.default_rng(1).normal(size=(1, 3, 6, 6)).astype(np.float32)
    (given,) = session.run(None, {"image": image})
    padded = np.pad(image[0].transpose(1, 2, 0), ((1, 1), (1, 1), (0, 0)))
    for y in range(3):
        for x in range(3):
            patch = padded[2 * y : 2 * y + 3, 2 * x : 2 * x + 3]
            raw = np.tensordot(patch, kernel.astype(np.float32), 3) + bias
            assert np.allclose(given[0, :, y, x], np.where(raw > 0, raw, 0.1 * raw), atol=1e-4)


def test_a_weights_file_of_the_wrong_length_is_refused() -> None:
    model, weights, *_ = tfjs()
    with pytest.raises(SystemExit, match="the manifest describes"):
        load_graph(model, weights + b"x")


def test_an_unknown_operation_is_named() -> None:
    graph = {"modelTopology": {"node": [{"name": "a", "op": "Softmax", "input": []}]}, "weightsManifest": []}
    with pytest.raises(SystemExit, match=r"Softmax \(a\)"):
        Converter(graph, {}, half=False, centre=np.zeros(128)).get("a")


class _Storage:
    def __init__(self, key: str) -> None:
        self.key = key


def old_torch_file(arrays: dict[str, np.ndarray]) -> bytes:
    """Write what torch.save wrote before version 1.6."""
    out = io.BytesIO()
    for value in (0x1950A86A20F9469CFC6C, 1001, {}):
        pickle.dump(value, out, protocol=2)

    torch_utils = type(sys)("torch._utils")
    torch_utils._rebuild_tensor_v2 = _rebuild
    _rebuild.__module__, _rebuild.__qualname__, _rebuild.__name__ = (
        "torch._utils",
        "_rebuild_tensor_v2",
        "_rebuild_tensor_v2",
    )
    sys.modules["torch"], sys.modules["torch._utils"] = type(sys)("torch"), torch_utils

    class Tensor:
        def __init__(self, key: str, array: np.ndarray) -> None:
            self.key, self.array = key, array

        def __reduce__(self) -> tuple[object, ...]:
            strides = tuple(s // 4 for s in self.array.strides)
            return _rebuild, (_Storage(self.key), 0, self.array.shape, strides, False, OrderedDict())

    class Writer(pickle.Pickler):
        def persistent_id(self, thing: object) -> object:
            return ("storage", "FloatStorage", thing.key, "cpu", 0, None) if isinstance(thing, _Storage) else None

    try:
        state = OrderedDict((name, Tensor(f"k{name}", array)) for name, array in arrays.items())
        Writer(out, protocol=2).dump({"model_state": state})
    finally:
        del sys.modules["torch"], sys.modules["torch._utils"]
    pickle.dump([f"k{n}" for n in arrays], out, protocol=2)
    for array in arrays.values():
        out.write(struct.pack("<q", array.size) + array.astype("<f4").tobytes())
    return out.getvalue()


def _rebuild(*arguments: object) -> None:
    raise AssertionError("only ever named in the file")


def lstm(x: np.ndarray, w: dict[str, np.ndarray], layer: int) -> np.ndarray:
    """Torch's LSTM, gate order input, forget, cell, output."""
    h = c = np.zeros(256)
    rows = []
    for step in x:
        gates = sum(
            w[f"lstm.weight_{p}_l{layer}"] @ v + w[f"lstm.bias_{p}_l{layer}"] for p, v in (("ih", step), ("hh", h))
        )
        i, f, g, o = np.split(gates, 4)
        sigmoid = [1 / (1 + np.exp(-z)) for z in (i, f, o)]
        c = sigmoid[1] * c + sigmoid[0] * np.tanh(g)
        h = sigmoid[2] * np.tanh(c)
        rows.append(h)
    return np.array(rows)


def test_the_voice_network_computes_what_torch_would() -> None:
    import onnxruntime

    rng = np.random.default_rng(0)
    shapes = {"linear.weight": (256, 256), "linear.bias": (256,)}
    for k in range(3):
        shapes |= {f"lstm.weight_ih_l{k}": (1024, 256 if k else 40), f"lstm.weight_hh_l{k}": (1024, 256)}
        shapes |= {f"lstm.bias_ih_l{k}": (1024,), f"lstm.bias_hh_l{k}": (1024,)}
    # values that 16 bits hold exactly
    arrays = {n: (rng.normal(size=s) * 0.1).astype(np.float16).astype(np.float32) for n, s in shapes.items()}
    weights = read_torch(io.BytesIO(old_torch_file(arrays)))
    assert all(np.array_equal(weights[n], a) for n, a in arrays.items())
    session = onnxruntime.InferenceSession(convert(weights).SerializeToString(), providers=["CPUExecutionProvider"])
    mels = rng.random((2, 160, 40)).astype(np.float32)
    (voice,) = session.run(None, {"mels": mels})
    for row, x in zip(voice, mels, strict=True):
        y: np.ndarray = x
        for k in range(3):
            y = lstm(y, arrays, k)
        assert np.allclose(row, np.maximum(0, arrays["linear.weight"] @ y[-1] + arrays["linear.bias"]), atol=1e-3)


def test_a_file_of_weights_cannot_run_code() -> None:
    out = io.BytesIO()
    for value in (0x1950A86A20F9469CFC6C, 1001, {}):
        pickle.dump(value, out, protocol=2)
    out.write(b"cbuiltins\nprint\n(Vhello\ntR.")
    out.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="does not belong"):
        read_torch(out)
    with pytest.raises(SystemExit, match="old format"):
        read_torch(io.BytesIO(pickle.dumps(1, protocol=2)))
