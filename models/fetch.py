"""Downloading one model file so that what arrives under its name is the file we vouch for, or nothing.

Bytes go to NAME.part and are continued from there after a break (HTTP Range); only when size and sha256 are right does
the part take the name. An HTML page (a login wall, an error page) is refused at its first bytes, and room on the disk is
checked before the first byte is asked for.
"""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from models.errors import FetchError, HashMismatchError, ModelCancelledError, ModelError, NoSpaceError, NotAModelError
from models.manifest import ModelFile

BLOCK = 1 << 20
TIMEOUT_S = 30.0  # without a byte
ATTEMPTS = 3
MARGIN = 64 << 20  # bytes left free on the disk for the rest of the runtime


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one file is, in bytes."""

    name: str
    done: int
    total: int


OnProgress = Callable[[Progress], None]
FreeSpace = Callable[[Path], int]


def sha256_of(path: Path) -> str:
    """Hex digest of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def looks_like_a_page(head: bytes) -> bool:
    """Whether these first bytes are HTML or a Git LFS pointer, the two things most often saved as a model."""
    start = head[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"version https://git-lfs"))


def check_content(path: Path, wanted: ModelFile) -> str:
    """Give the sha256 of `path` if it is the wanted file. Raises NotAModelError or HashMismatchError."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        if looks_like_a_page(stream.read(512)):
            raise NotAModelError(
                f"{path} is a web page or a pointer, not the model file {wanted.name}; delete it and pull again."
            )
    if size < wanted.size:
        raise NotAModelError(f"{path} is cut short: {size} of {wanted.size} bytes; delete it and pull again.")
    digest = sha256_of(path)
    if size != wanted.size or digest != wanted.sha256:
        raise HashMismatchError(
            f"{path} is not the {wanted.name} we vouch for (sha256 {digest[:12]}…, expected {wanted.sha256[:12]}…); "
            "delete it and pull again."
        )
    return digest


def check_room(folder: Path, needed: int, free_space: FreeSpace) -> None:
    """Raise NoSpaceError unless `folder`'s disk can take `needed` bytes and keep its margin."""
    free = free_space(folder)
    if free < needed + MARGIN:
        raise NoSpaceError(
            f"{needed / 1e6:.0f} MB are needed in {folder}, {free / 1e6:.0f} MB are free "
            f"({MARGIN / 1e6:.0f} MB are kept for the runtime); make room and pull again."
        )


def download(
    urls: list[str],
    target: Path,
    wanted: ModelFile,
    *,
    on_progress: OnProgress | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> None:
    """Fetch `wanted` from `urls` (its parts in order, or one address) into `target`.

    Raises FetchError (the part stays, the next call continues it), NotAModelError, HashMismatchError, ModelCancelledError.
    """
    part = target.with_name(target.name + ".part")
    resumed = part.exists() and part.stat().st_size > 0
    _fill(urls, part, wanted, on_progress, cancelled)
    try:
        check_content(part, wanted)
    except (HashMismatchError, NotAModelError):
        part.unlink()
        if not resumed:
            raise
        # The remains of an earlier try may be of another version: once more, from nothing.
        _fill(urls, part, wanted, on_progress, cancelled)
        try:
            check_content(part, wanted)
        except ModelError:
            part.unlink()
            raise
    part.replace(target)


def _fill(
    urls: list[str], part: Path, wanted: ModelFile, on_progress: OnProgress | None, cancelled: Callable[[], bool] | None
) -> None:
    """Append to `part` until all of it is there. A file in pieces starts at the piece the part's size falls into."""
    if len(urls) > 1:
        part.unlink(missing_ok=True)  # where one piece ends is only known while reading it
    for number, url in enumerate(urls):
        base = part.stat().st_size if number else 0
        for attempt in range(1, ATTEMPTS + 1):
            try:
                _append(url, part, base, wanted, on_progress, cancelled)
                break
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, urllib.error.HTTPError):
                    error.close()  # it is also the open response
                if isinstance(error, urllib.error.HTTPError) and 400 <= error.code < 500:
                    raise FetchError(f"{url} answered {error.code} {error.reason}; check the address.") from error
                if attempt == ATTEMPTS:
                    raise FetchError(
                        f"The download of {wanted.name} from {url} broke off ({error}); pull again to continue it."
                    ) from error


def _append(
    url: str,
    part: Path,
    base: int,
    wanted: ModelFile,
    on_progress: OnProgress | None,
    cancelled: Callable[[], bool] | None,
) -> None:
    have = part.stat().st_size - base if part.exists() else 0
    if base == 0 and have >= wanted.size:
        if have == wanted.size:
            return
        part.unlink()
        have = 0
    request = urllib.request.Request(url, headers={"User-Agent": "grove-edge", "Accept-Encoding": "identity"})  # noqa: S310  the manifest allows http and https only
    if have:
        request.add_header("Range", f"bytes={have}-")
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310
        if "text/html" in response.headers.get("Content-Type", ""):
            raise NotAModelError(f"{url} answers with a web page instead of {wanted.name}; check the address.")
        length = response.headers.get("Content-Length")
        with part.open("ab") as out:
            if response.status != http.HTTPStatus.PARTIAL_CONTENT and have:
                out.truncate(base)  # the server cannot continue: begin again
                have = 0
            got = _copy(response, out, base + have, url, wanted, on_progress, cancelled)
    if length is not None and got < int(length):
        raise ConnectionError(f"{got} of {length} bytes came")


def _copy(
    response: BinaryIO,
    out: BinaryIO,
    done: int,
    url: str,
    wanted: ModelFile,
    on_progress: OnProgress | None,
    cancelled: Callable[[], bool] | None,
) -> int:
    start = done
    while block := response.read(BLOCK):
        if done == 0 and looks_like_a_page(block):
            raise NotAModelError(f"{url} answers with a web page instead of {wanted.name}; check the address.")
        if done + len(block) > wanted.size:
            raise HashMismatchError(f"{url} sends more than the {wanted.size} bytes of {wanted.name}.")
        out.write(block)
        done += len(block)
        if on_progress is not None:
            on_progress(Progress(wanted.name, done, wanted.size))
        if cancelled is not None and cancelled():
            raise ModelCancelledError(f"The download of {wanted.name} was stopped; pull again to continue it.")
    return done - start
