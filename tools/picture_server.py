"""A camera of one's own: Motion JPEG over HTTP on loopback whose picture can be changed at any moment.

For benchmarks and tests that must know when a picture was first to be seen.
"""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import cv2

HOST = "127.0.0.1"
BOUNDARY = "picture"


class PictureServer:
    """Shows one picture, `fps` times a second, to every reader; use as a context."""

    def __init__(self, image: Any, fps: float = 20.0) -> None:
        self._fps = fps
        self._jpeg = b""
        self._stop = threading.Event()
        self.show(image)
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # the name http.server calls
                self.send_response(200)
                self.send_header("Content-Type", f"multipart/x-mixed-replace; boundary={BOUNDARY}")
                self.end_headers()
                while not server._stop.wait(1 / server._fps):
                    picture = server._jpeg
                    head = f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(picture)}\r\n\r\n"
                    try:
                        self.wfile.write(head.encode() + picture + b"\r\n")
                    except OSError:
                        return  # the reader has gone

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer((HOST, 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://{HOST}:{self._server.server_address[1]}/camera"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def show(self, image: Any) -> None:
        """Show another picture from the next frame on."""
        ok, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 92])
        if not ok:
            raise ValueError("The picture cannot be written as JPEG.")
        self._jpeg = bytes(data)

    def __enter__(self) -> PictureServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
