"""A camera of one's own: Motion JPEG over HTTP on loopback whose picture can be changed at any moment.

For benchmarks and tests that must know when a picture was first to be seen.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from typing import Any

import cv2

from tools.camera_servers import HOST, mjpeg_handler


class PictureServer:
    """Shows one picture, `fps` times a second, to every reader; use as a context."""

    def __init__(self, image: Any, fps: float = 20.0) -> None:
        self._fps = fps
        self._jpeg = b""
        self._stop = threading.Event()
        self.show(image)
        self._server = ThreadingHTTPServer((HOST, 0), mjpeg_handler(self._pictures))
        self._server.daemon_threads = True
        self.url = f"http://{HOST}:{self._server.server_address[1]}/camera"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def show(self, image: Any) -> None:
        """Show another picture from the next frame on."""
        ok, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 92])
        if not ok:
            raise ValueError("The picture cannot be written as JPEG.")
        self._jpeg = bytes(data)

    def _pictures(self) -> Iterator[bytes]:
        while not self._stop.wait(1 / self._fps):
            yield self._jpeg

    def __enter__(self) -> PictureServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
