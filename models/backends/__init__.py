"""One file per engine. Nothing here is imported until `models.load` needs it, and each engine only in a constructor."""

from __future__ import annotations

import os

# From its release 1.32 on, ONNX Runtime keeps a device's id and a diary of its use, and sends them to its makers: it
# must be told before it is imported, also by another engine or in a child process.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
