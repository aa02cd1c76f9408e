"""Damaged files of every kind into the commands that read them: one sentence and exit code 2, or a whole answer.

Bits are flipped, ends and middles cut off, parts repeated, encodings mixed, cells made endless. Commands run in this
process, as a user would type them; nothing but a whole ``--out`` may be left.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars

import fairclust
from fairclust.cli import main
from fairclust.errors import InvalidInputError

from . import runner
from .runner import BrokenPromise

FIT = ("--sensitive", "sex", "-k", "2", "--fairness-weight", "1")
_HUGE = 1 << 22  # characters of an endless cell


def people(rng: np.random.Generator, n: int = 60) -> polars.DataFrame:
    """A small table with names and words that need care."""
    return polars.DataFrame(
        {
            "a": rng.normal(size=n),
            "größe, m": rng.normal(size=n).round(2),
            "sex": rng.choice(["F", "M"], n),
            "note": rng.choice(["", "x,y", 'a "b"', "Zoë", "=1+1", "line\nbreak"], n),
        }
    )


# --- damage -----------------------------------------------------------------------------------------------------------


def _flip(raw: bytearray, rng: np.random.Generator) -> bytes:
    for place in rng.integers(0, len(raw), rng.integers(1, 5)):
        raw[place] ^= 1 << rng.integers(8)
    return bytes(raw)


def _truncate(raw: bytearray, rng: np.random.Generator) -> bytes:
    return bytes(raw[: rng.integers(0, len(raw))])


def _cut(raw: bytearray, rng: np.random.Generator) -> bytes:
    first, last = np.sort(rng.integers(0, len(raw), 2))
    return bytes(raw[:first] + raw[last:])


def _repeat(raw: bytearray, rng: np.random.Generator) -> bytes:
    first, last = np.sort(rng.integers(0, len(raw), 2))
    return bytes(raw[:last] + raw[first:])


def _zeros(raw: bytearray, rng: np.random.Generator) -> bytes:
    first = int(rng.integers(0, len(raw)))
    raw[first : first + int(rng.integers(1, 200))] = b"\0" * int(rng.integers(1, 200))
    return bytes(raw)


def _noise(raw: bytearray, rng: np.random.Generator) -> bytes:
    first = int(rng.integers(0, len(raw)))
    raw[first : first + 20] = rng.bytes(int(rng.integers(1, 60)))
    return bytes(raw)


def _wicked_text(raw: bytearray, rng: np.random.Generator) -> bytes:
    """Something that means something to a reader of text, in the middle of it."""
    words = [b'"', b'""', b"\r", b"\n\n", b",,,", b";", b"\t", b"\xff\xfe", b"\xef\xbb\xbf", b"NaN", b"inf", b"1e999",
             b"-", b"1,5", b"\x1a", b"\xc3", b"x" * 70_000, "\u202e".encode(), b"'", b"\\", b"#", b"0x1p3",
             b"9" * 400]  # fmt: skip
    place = int(rng.integers(0, len(raw)))
    return bytes(raw[:place]) + words[int(rng.integers(len(words)))] + bytes(raw[place:])


DAMAGE = [_flip, _flip, _truncate, _cut, _repeat, _zeros, _noise]


def _csv(rng: np.random.Generator) -> tuple[str, bytes]:
    """A text file, in one of several encodings and dialects, some of its cells endless."""
    table = people(rng)
    if rng.random() < 0.05:
        table = table.with_columns(polars.Series("note", ["x" * _HUGE, *table["note"].to_list()[1:]]))
    text = table.write_csv(separator=str(rng.choice([",", ";", "\t"])))
    text = text if rng.random() < 0.8 else text.replace("\n", "\r\n")
    encoding = str(
        rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1", "cp1252", "utf-7"])
    )
    raw = text.encode(encoding, errors="replace")
    for _ in range(int(rng.integers(0, 3))):
        raw = [_wicked_text, *DAMAGE][int(rng.integers(1 + len(DAMAGE)))](bytearray(raw or b"x"), rng)
    if rng.random() < 0.2:
        packed = bytearray(gzip.compress(raw))
        return "p.csv.gz", bytes(packed) if rng.random() < 0.4 else DAMAGE[int(rng.integers(7))](packed, rng)
    return str(rng.choice(["p.csv", "p.csv", "p.tsv", "p.parquet"])), raw


def _parquet(rng: np.random.Generator) -> tuple[str, bytes]:
    raw = io.BytesIO()
    codec = str(rng.choice(["zstd", "snappy", "gzip", "uncompressed"]))
    people(rng).write_parquet(raw, compression=codec, row_group_size=int(rng.choice([7, 100])))
    return "p.parquet", DAMAGE[int(rng.integers(len(DAMAGE)))](bytearray(raw.getvalue()), rng)


def _model(rng: np.random.Generator, place: Path) -> bytes:
    data = people(np.random.default_rng(0))
    model = fairclust.FairKMeans(2, random_state=0, goal=fairclust.Penalty(1.0))
    model.fit(data.select("a", "größe, m"), sensitive_features=data.select("sex"))
    model.save(place)
    raw = bytearray(place.read_bytes())
    return DAMAGE[int(rng.integers(len(DAMAGE)))](raw, rng)


# --- running ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _heard() -> Iterator[Path]:
    """Everything that is said on stdout and stderr, also by compiled code, goes to a file."""
    with tempfile.TemporaryDirectory() as folder:
        place, saved = Path(folder) / "said", [os.dup(1), os.dup(2)]
        handle = os.open(place, os.O_WRONLY | os.O_CREAT)
        try:
            for number in (1, 2):
                os.dup2(handle, number)
            with (
                os.fdopen(os.dup(handle), "w") as told,
                contextlib.redirect_stdout(told),
                contextlib.redirect_stderr(told),
            ):
                yield place
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, old in zip((1, 2), saved, strict=True):
                os.dup2(old, number)
                os.close(old)
            os.close(handle)


def _command(*arguments: str) -> tuple[int, str]:
    with _heard() as said:
        try:
            main([*arguments])
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        sys.stdout.flush()
        sys.stderr.flush()
        return code, said.read_text(errors="replace")


def case(number: int, tell: Callable[[str], None]) -> str:
    """Damage a file and read it."""
    rng = np.random.default_rng(number)
    kind = str(rng.choice(["csv", "csv", "parquet", "model"]))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        if kind == "model":
            tell("model")
            return _read_model(rng)
        name, raw = _csv(rng) if kind == "csv" else _parquet(rng)
        Path(name).write_bytes(raw)
        out = str(rng.choice(["out.csv", "out.parquet"]))
        commands = [
            ("fit", name, *FIT, "--out", out),
            ("fit", name, *FIT, "--out", out, "--out-of-core"),
            ("fit", name, *FIT, "--out", out, "--missing", "drop"),
            ("audit", name, "--labels", "note", "--sensitive", "sex"),
        ]
        command = commands[int(rng.integers(len(commands)))]
        tell(" ".join(command))
        code, said = _command(*command)
        _judge(code, said, name, out)
    return f"{kind} {'read' if code == 0 else 'refused'}"


def _judge(code: int, said: str, name: str, out: str) -> None:
    last = " ".join(said.split())[-400:]
    if code not in (0, 2):
        raise BrokenPromise(f"exit code {code}: {last}")
    for word in ("Traceback", "--debug"):  # polars itself prints what its threads panicked of
        if word in said:
            raise BrokenPromise(f"says {word!r}: {last}")
    if code == 2 and "Error: " not in said:
        raise BrokenPromise(f"no sentence: {last}")
    left = sorted(path.name for path in Path().iterdir())
    wanted = [[name], sorted((name, out))]
    if left not in (wanted[:1] if code else wanted):
        raise BrokenPromise(f"exit code {code} left {left}")


def _read_model(rng: np.random.Generator) -> str:
    place = Path("m.fairclust")
    place.write_bytes(_model(rng, place))
    try:
        model = fairclust.load(place)
    except InvalidInputError as error:
        if len(str(error)) < 20:
            raise BrokenPromise(f"a refusal without a reason: {error}") from error
        return "model refused"
    data = people(np.random.default_rng(0))
    labels = model.predict(data.select("a", "größe, m"), data.select("sex"))
    if not 0 <= labels.min() <= labels.max() < 2:
        raise BrokenPromise("a damaged model gives labels that are no clusters")
    return "model read"


if __name__ == "__main__":
    sys.exit(runner.main("files", case, per_process=100, seconds_per_process=120))
