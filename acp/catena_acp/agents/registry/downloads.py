"""Files from `https:` and `file:` addresses, for the command line alone.

A download's TLS stays out of the process that draws the screen. A redirection to anything but https is refused.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from catena_acp.errors import DownloadFailed

MOST_BYTES = 2 << 30
_SECONDS = 30.0  # without a byte
_PIECE = 1 << 18
_CREDENTIALS = re.compile(r"://[^/@]*@")

Progress = Callable[[int, int | None], None]


def checked_address(address: str) -> str:
    """An address that may be fetched: https, or a file on this machine. Raises DownloadFailed."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme == "https" and parts.hostname:
        return address
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path.startswith("/"):
        return address
    raise DownloadFailed(f"{shown_address(address)}: only https:// addresses and files can be fetched")


def file_name(address: str) -> str:
    """The name of the file at an address."""
    return urllib.parse.unquote(urllib.parse.urlsplit(address).path).rpartition("/")[2]


def size_of_download(address: str) -> int | None:
    """The size of a download at an address, in bytes; None if the server does not tell. Raises DownloadFailed."""
    with _opened(address, method="HEAD") as answer:
        return _length(answer)


def read_address(address: str, most_bytes: int) -> bytes:
    """The content at an address. Raises DownloadFailed, also if it is larger than ``most_bytes``."""
    with _opened(address) as answer:
        try:
            data: bytes = answer.read(most_bytes + 1)
        except (OSError, http.client.HTTPException) as error:
            raise _failed(address, error) from error
    if len(data) > most_bytes:
        raise DownloadFailed(f"{shown_address(address)}: it is larger than {most_bytes >> 20} MB")
    return data


def download(
    address: str, path: Path, *, sha256: str | None, progress: Progress, most_bytes: int = MOST_BYTES
) -> None:
    """Write what is at an address to a new file, whose digest is ``sha256`` if that is known.

    Raises DownloadFailed, and OSError where the file cannot be written.
    """
    digest, size = hashlib.sha256(), 0
    with _opened(address) as answer, path.open("xb") as file:
        whole = _length(answer)
        while piece := _piece(answer, address):
            size += len(piece)
            if size > most_bytes:
                raise DownloadFailed(f"{shown_address(address)}: it is larger than {most_bytes >> 20:,} MB")
            file.write(piece)
            digest.update(piece)
            progress(size, whole)
        file.flush()
        os.fsync(file.fileno())
    if whole is not None and size != whole:
        raise DownloadFailed(f"{shown_address(address)}: it ended after {size:,} of {whole:,} bytes")
    if sha256 is not None and digest.hexdigest() != sha256:
        raise DownloadFailed(
            f"{shown_address(address)}: it is not what the registry names: its SHA-256 is {digest.hexdigest()}, "
            f"not {sha256}"
        )


class SecureRedirects(urllib.request.HTTPRedirectHandler):
    """Redirections that stay encrypted."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if urllib.parse.urlsplit(newurl).scheme != "https":
            raise DownloadFailed(f"{shown_address(req.full_url)}: it redirects to an address without https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opened(address: str, method: str = "GET") -> Any:
    request = urllib.request.Request(
        checked_address(address), method=method, headers={"User-Agent": "catena"}
    )
    try:
        return urllib.request.build_opener(SecureRedirects).open(request, timeout=_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadFailed(
            f"{shown_address(address)}: the server answered {error.code} {error.reason}"
        ) from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _failed(address, error) from error


def _piece(answer: Any, address: str) -> bytes:
    try:
        piece: bytes = answer.read(_PIECE)
    except (OSError, http.client.HTTPException) as error:
        raise _failed(address, error) from error
    return piece


def _length(answer: Any) -> int | None:
    told = answer.headers.get("Content-Length")
    return int(told) if told and re.fullmatch("[0-9]{1,18}", told) else None


def _failed(address: str, error: Exception) -> DownloadFailed:
    reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
    words = getattr(reason, "strerror", None) or reason
    return DownloadFailed(f"{shown_address(address)}: {words}")


def shown_address(address: str) -> str:
    """An address without a password in it."""
    return _CREDENTIALS.sub("://", address)
