"""Where data files come from: a folder on disk, or else a download into it. Knows nothing of what is inside a table.

The folder is the `data_home` argument, else the environment variable FAIRCLUST_DATA, else `fairclust` in the user's
cache folder. A file is used only after its SHA-256 was checked, and it appears under its name only when complete.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import time
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fairclust._files import claimed
from fairclust.errors import DataUnavailableError

ENVIRONMENT_VARIABLE = "FAIRCLUST_DATA"
_CHUNK = 1 << 20  # bytes read at a time
_TIMEOUT = 30.0  # seconds without a byte
_PAUSES = (1.0, 3.0)  # seconds between attempts; one attempt more than pauses


@dataclass(frozen=True)
class DataFile:
    """A file of a data set.

    Parameters
    ----------
    folder, name : str
        Place below the data folder: `<folder>/<name>`.
    url : str or None
        Public address; None if there is no stable one.
    sha256 : str or None
        Expected hash; None if not known, in which case the reader of the file must check its content.
    member, member_sha256 : str or None
        A file inside a zip whose hash is as good as that of the zip (a server may pack the same file again).
    """

    folder: str
    name: str
    url: str | None
    sha256: str | None
    member: str | None = None
    member_sha256: str | None = None


class _FatalError(OSError):
    """A failure that trying again cannot mend."""


def data_folder(data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that holds the data files; it need not exist."""
    chosen = data_home if data_home is not None else os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "fairclust"


def path_of(file: DataFile, data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return where `file` belongs, whether it is there or not."""
    return data_folder(data_home) / file.folder / file.name


def locate(
    file: DataFile,
    data_home: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    verbose: bool | None = None,
) -> Path:
    """Return the path of a checked copy of `file`, downloading it if it is absent.

    Parameters
    ----------
    file : DataFile
        What to look for.
    data_home : path-like or None
        Data folder; see the top of this module for the default.
    download : bool
        False forbids the network.
    verbose : bool or None
        Progress on stderr; None: only if stderr is a terminal.
    """
    path = path_of(file, data_home)
    if path.is_file():
        _require_hash(file, path, f"Delete {path} and try again.")
        return path
    if not download:
        raise DataUnavailableError(f"{path} is absent and download=False forbids fetching it. {_way_out(file, path)}")
    if file.url is None:
        raise DataUnavailableError(f"{path} is absent and has no stable public address. {_way_out(file, path)}")
    _fetch(file, path, verbose=sys.stderr.isatty() if verbose is None else verbose)
    return path


def _way_out(file: DataFile, path: Path) -> str:
    source = f" (from {file.url})" if file.url else ""
    place = f"{file.folder}/{file.name}"
    return f"Put the file{source} at {path}, or set {ENVIRONMENT_VARIABLE} to a folder that holds {place}."


def _require_hash(file: DataFile, path: Path, advice: str) -> None:
    if file.sha256 is None:
        return
    found = _sha256(path)
    if found != file.sha256 and not _has_good_member(file, path):
        raise DataUnavailableError(f"{path} has SHA-256 {found}, expected {file.sha256}. {advice}")


def _has_good_member(file: DataFile, path: Path) -> bool:
    if file.member is None or not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive, archive.open(file.member) as member:
            return hashlib.file_digest(member, "sha256").hexdigest() == file.member_sha256  # type: ignore[arg-type]
    except (KeyError, zipfile.BadZipFile, OSError):
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fetch(file: DataFile, path: Path, *, verbose: bool) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with claimed(path.with_name(path.name + ".part")) as part:
            _download_with_retries(str(file.url), part, verbose=verbose)
            try:
                advice = f"The server at {file.url} sent other bytes. Try again. {_way_out(file, path)}"
                _require_hash(file, part, advice)
            except DataUnavailableError:
                part.unlink()  # complete but wrong: to resume it would fail for ever
                raise
            os.replace(part, path)
    except DataUnavailableError:
        raise
    except (OSError, http.client.HTTPException) as reason:
        raise DataUnavailableError(f"Could not download {file.url}: {reason}. {_way_out(file, path)}") from reason


def _download_with_retries(url: str, part: Path, *, verbose: bool) -> None:
    for pause in _PAUSES:
        try:
            return _download_once(url, part, verbose=verbose)
        except _FatalError:
            raise
        except (OSError, http.client.HTTPException):
            time.sleep(pause)
    return _download_once(url, part, verbose=verbose)


def _download_once(url: str, part: Path, *, verbose: bool) -> None:
    """Bring `part` to full length, going on from the bytes it has if the server agrees."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "fairclust"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
            start = have if _continues_at(response, have) else 0
            with part.open("ab" if start else "wb") as stream:
                _copy(response, stream, start, label=part.stem, verbose=verbose)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:  # nothing beyond what we hold: the part is of another file, so begin again
            part.unlink(missing_ok=True)
            raise OSError(f"HTTP 416 for a partial file of {have} bytes") from error
        failure = OSError if error.code >= 500 or error.code in (408, 429) else _FatalError
        raise failure(f"HTTP {error.code} {error.reason}") from error


def _continues_at(response: Any, have: int) -> bool:
    return bool(response.status == 206) and str(response.headers.get("Content-Range")).startswith(f"bytes {have}-")


def _copy(response: Any, stream: IO[bytes], start: int, *, label: str, verbose: bool) -> None:
    length = response.headers.get("Content-Length")
    total = start + int(length) if length else None
    done = start
    while chunk := response.read(_CHUNK):
        stream.write(chunk)
        done += len(chunk)
        if verbose:
            _show_progress(label, done, total)
    if verbose:
        print(file=sys.stderr)
    if total is not None and done != total:
        raise OSError(f"the connection closed after {done} of {total} bytes")


def _show_progress(label: str, done: int, total: int | None) -> None:
    goal = f" of {total / 1e6:.1f} MB ({done / total:.0%})" if total else " MB"
    print(f"\r{label}: {done / 1e6:.1f}{goal}", end="", file=sys.stderr, flush=True)
