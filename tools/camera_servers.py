"""Cameras for tests: RTSP, Motion JPEG over HTTP and MPEG-TS over TCP on loopback, healthy or broken in a chosen way.

    python tools/camera_servers.py KIND PORT [--fault FAULT] [--fps N]

KIND is rtsp (needs python3-gi and GStreamer's RTSP server: run it with the system's python3), mjpeg or ts.
FAULT: none; hang (connects and never answers); freeze (answers, sends for three seconds, then nothing more);
wrong (no picture in it that can be decoded).  Killing the process is the fault "died".  It prints "ready" when it listens.
Addresses: rtsp://127.0.0.1:PORT/cam, http://127.0.0.1:PORT/cam, tcp://127.0.0.1:PORT.
"""

from __future__ import annotations

import argparse
import itertools
import random
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOST = "127.0.0.1"
WIDTH, HEIGHT = 320, 240
FREEZE_S = 3.0
BOUNDARY = "frame"
_PAUSE = threading.Event()  # never set: waiting on it is how time passes here


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description="Loopback cameras for tests.")
    parser.add_argument("kind", choices=("rtsp", "mjpeg", "ts"))
    parser.add_argument("port", type=int)
    parser.add_argument("--fault", choices=("none", "hang", "freeze", "wrong"), default="none")
    parser.add_argument("--fps", type=int, default=15)
    args = parser.parse_args()
    if args.fault == "hang":
        serve_tcp(args.port, _say_nothing)
    elif args.kind == "rtsp":
        serve_rtsp(args.port, args.fps, args.fault)
    elif args.kind == "mjpeg":
        serve_mjpeg(args.port, args.fps, args.fault)
    else:
        serve_tcp(args.port, lambda connection: _send_ts(connection, args.fps, args.fault))


def serve_rtsp(port: int, fps: int, fault: str) -> None:
    """GStreamer's RTSP server; "wrong" offers sound only."""
    import gi

    gi.require_version("Gst", "1.0")
    gi.require_version("GstRtspServer", "1.0")
    from gi.repository import GLib, Gst, GstRtspServer

    Gst.init(None)
    size = f"video/x-raw,width={WIDTH},height={HEIGHT},framerate={fps}/1"
    video = (
        f"( videotestsrc is-live=true pattern=ball ! {size} ! x264enc tune=zerolatency key-int-max={fps} "
        "! valve name=valve ! rtph264pay name=pay0 pt=96 )"
    )
    sound = "( audiotestsrc is-live=true ! audio/x-raw,rate=16000,channels=1 ! rtpL16pay name=pay0 pt=97 )"

    def shut(media: Any) -> bool:
        """Nothing passes any more, while the session lives on."""
        media.get_element().get_by_name("valve").set_property("drop", True)
        return False

    server = GstRtspServer.RTSPServer()
    server.set_address(HOST)
    server.set_service(str(port))
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_shared(True)
    factory.set_launch(sound if fault == "wrong" else video)
    if fault == "freeze":
        factory.connect("media-configure", lambda _, media: GLib.timeout_add(int(FREEZE_S * 1000), shut, media))
    server.get_mount_points().add_factory("/cam", factory)
    server.attach(None)
    _ready()
    GLib.MainLoop().run()


def mjpeg_handler(pictures: Callable[[], Iterable[bytes]]) -> type[BaseHTTPRequestHandler]:
    """Answers every request with a multipart stream as webcams give it; `pictures` is called for each reader."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name http.server calls
            self.send_response(200)
            self.send_header("Content-Type", f"multipart/x-mixed-replace; boundary={BOUNDARY}")
            self.end_headers()
            for picture in pictures():
                head = f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(picture)}\r\n\r\n"
                try:
                    self.wfile.write(head.encode() + picture + b"\r\n")
                except OSError:
                    return  # the reader has gone

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    return Handler


def serve_mjpeg(port: int, fps: int, fault: str) -> None:
    """A webcam; "wrong" fills the parts with noise."""
    handler = mjpeg_handler(lambda: _paced(_noise() if fault == "wrong" else _jpegs(), fps, fault))
    server = ThreadingHTTPServer((HOST, port), handler)
    _ready()
    server.serve_forever()


def serve_tcp(port: int, talk: Callable[[socket.socket], object]) -> None:
    """A plain socket server; `talk` has each connection in a thread of its own."""
    server = socket.create_server((HOST, port))
    _ready()
    while True:
        connection, _ = server.accept()
        threading.Thread(target=talk, args=(connection,), daemon=True).start()


def _say_nothing(connection: socket.socket) -> None:
    with connection:
        _PAUSE.wait()


def _send_ts(connection: socket.socket, fps: int, fault: str) -> None:
    with connection, connection.makefile("wb") as out:
        try:
            if fault == "wrong":
                for noise in _paced(_noise(), fps, fault):
                    out.write(noise)
                    out.flush()
            else:
                _write_ts(out, fps, fault)
        except OSError:
            return  # the reader has gone


def _write_ts(out: Any, fps: int, fault: str) -> None:
    import av

    with av.open(out, "w", format="mpegts") as container:
        stream = container.add_stream("mpeg2video", rate=max(24, fps))
        stream.width, stream.height, stream.pix_fmt, stream.gop_size = WIDTH, HEIGHT, "yuv420p", 5
        for number, picture in enumerate(_paced(_pictures(), fps, fault)):
            frame = av.VideoFrame.from_ndarray(picture, format="bgr24")
            frame.pts = number * max(24, fps) // fps
            container.mux(stream.encode(frame))
            out.flush()


def _paced(items: Iterator[Any], fps: int, fault: str) -> Iterator[Any]:
    """The items at their rate; "freeze" stops after a while and holds the connection."""
    for number, item in enumerate(items):
        if fault == "freeze" and number >= fps * FREEZE_S:
            _PAUSE.wait()
        yield item
        _PAUSE.wait(1 / fps)


def _pictures() -> Iterator[Any]:
    import numpy as np

    for number in itertools.count():
        picture = np.full((HEIGHT, WIDTH, 3), 60, dtype=np.uint8)
        x = number * 7 % (WIDTH - 40)
        picture[100:140, x : x + 40] = (30, 200, 240)
        yield picture


def _jpegs() -> Iterator[bytes]:
    import cv2

    for picture in _pictures():
        yield cv2.imencode(".jpg", picture)[1].tobytes()


def _noise() -> Iterator[bytes]:
    source = random.Random(7)
    while True:
        yield source.randbytes(188 * 40)


def _ready() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
