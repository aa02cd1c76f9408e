"""Files of rows in and out: CSV, TSV and Parquet, read by polars. Knows nothing of clusters."""

from __future__ import annotations

import codecs
import csv
import difflib
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import polars

from .._files import atomic
from ..errors import FairclustError, InvalidInputError
from ..scaling.memory import free_memory
from .screen import note

csv.field_size_limit(1 << 24)  # characters in one cell; Python's own limit of 131,072 is met by free text
_HEAD = 1 << 18  # bytes looked at to learn how a text file is written
_DELIMITERS = (",", ";", "\t", "|")
_DELIMITER_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|", "space": " "}
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive or an Excel workbook. Save the sheet as CSV"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook. Save the sheet as CSV"),
    (b"%PDF", "a PDF. Export the table as CSV"),
    (b"\x89PNG", "a picture"),
)
_UNPACKED_AT_ONCE = 1 << 24  # bytes
_TOLD_FROM = 1 << 27  # bytes
_SHARE_UNPACKED = 0.25  # of the free memory: the text, its copy in UTF-8 and the table have to fit
_FORMULA = r"^[\t\r\n ]*[=+\-@|]"  # how cells begin that a spreadsheet may run
_NUMBER = r"^\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*%?$"
_POINT = re.compile(r"[+-]?\d+\.\d+")
_COMMA = re.compile(r"[+-]?\d+,\d+")
_TEXT = (".csv", ".tsv", ".tab", ".txt")
_LEADING_ZERO = re.compile(r"[+-]?0\d+")


@dataclass(frozen=True)
class Dialect:
    """How a text file is written."""

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal_comma: bool = False


@dataclass(frozen=True)
class FileTable:
    """The rows of a file, and how they were written (None: Parquet)."""

    path: Path
    frame: polars.DataFrame
    dialect: Dialect | None

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in the file's order."""
        return self.frame.columns

    def check_columns(self, names: Sequence[str], argument: str) -> None:
        """Every name must be a column; a wrong one brings a suggestion."""
        for name in names:
            if name not in self.column_names:
                raise InvalidInputError(f"column {name!r} ({argument}) is not in {self.path.name}. {self._hint(name)}")

    def _hint(self, name: str) -> str:
        lowered = {column.lower(): column for column in self.column_names}
        close = difflib.get_close_matches(name.lower(), lowered, n=1)
        if close:
            return f"Did you mean {lowered[close[0]]!r}?"
        listed = ", ".join(repr(column) for column in self.column_names[:12])
        more = len(self.column_names) - 12
        return f"Its columns are {listed}{f' and {more} more' if more > 0 else ''}."


def read_table(
    path: Path, *, delimiter: str | None = None, encoding: str | None = None, decimal: str | None = None
) -> FileTable:
    """Read a CSV, TSV or Parquet file.

    Parameters
    ----------
    path : Path
        The file; ``.gz`` is unpacked on the way.
    delimiter, encoding, decimal : str or None
        How the text is written. None: found out from the file's beginning.

    Returns
    -------
    table : FileTable
    """
    head = _head_of(path)
    try:
        if head.startswith(b"PAR1"):
            frame, dialect = polars.read_parquet(path, glob=False), None
        else:
            dialect = _dialect(path, head, delimiter, encoding, decimal)
            frame = _with_plain_names(_read_text(path, head, dialect), head, dialect)
    except polars.exceptions.PanicException as error:
        raise InvalidInputError(f"{path.name} is damaged ({_first_line(error)}). Copy or export it again.") from error
    except (csv.Error, polars.exceptions.PolarsError, UnicodeError, LookupError, EOFError, OSError) as error:
        why = _ragged_line(path, head) or _first_line(error)
        if 'could not parse `"' in why or isinstance(error, csv.Error):
            why = f"{why}. Is a quote opened and never closed?"
        raise InvalidInputError(f"{path.name} could not be read as a table: {why}") from error
    if not frame.width or not frame.height:
        raise InvalidInputError(f"{path.name} has {frame.height} rows below its header. Give a file with data.")
    return FileTable(path, frame, dialect)


def write_table(frame: polars.DataFrame, path: Path, like: Dialect | None, *, safe: bool = False) -> None:
    """Write rows as Parquet (``.parquet``, ``.pq``), TSV (``.tsv``, ``.tab``) or CSV, in UTF-8, whole or not at all.

    Parameters
    ----------
    frame : polars.DataFrame
    path : Path
        Its suffix says the format; text with ``.gz`` behind it is packed.
    like : Dialect or None
        How the input was written; CSV keeps its delimiter and decimal sign.
    safe : bool
        Put an apostrophe before cells and names of CSV and TSV that a spreadsheet would run.
    """
    check_writable(path, "--out")
    like = like or Dialect()
    frame = _without_formulas(frame) if safe and not is_parquet(path) else frame
    try:
        with atomic(path) as temporary:
            if is_parquet(path):
                frame.write_parquet(temporary)
                return
            separator = "\t" if _text_suffix(path) in (".tsv", ".tab") else like.delimiter
            decimal_comma = like.decimal_comma and separator != ","
            is_packed = path.suffix.lower() == ".gz"
            with gzip.open(temporary, "wb") if is_packed else temporary.open("wb") as file:
                target = cast("IO[bytes]", file)
                # The header by hand: polars does not quote names that need it.
                target.write(_header(frame.columns, separator).encode())
                frame.write_csv(target, separator=separator, decimal_comma=decimal_comma, include_header=False)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        raise FairclustError(f"{path} could not be written: {_first_line(error)}") from error


def check_writable(path: Path | None, argument: str) -> None:
    """Refuse a name whose ending promises a format that is not written.

    Parameters
    ----------
    path : Path or None
        None is always fine.
    argument : str
        The option, for messages.
    """
    if path is None or is_parquet(path) or _text_suffix(path) in _TEXT:
        return
    raise InvalidInputError(
        f"{argument} {path}: {''.join(path.suffixes[-2:]) or 'a name without an ending'} is not written. "
        "Use .csv, .tsv (also with .gz behind it) or .parquet."
    )


def _text_suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return suffixes[-2] if len(suffixes) > 1 and suffixes[-1] == ".gz" else suffixes[-1] if suffixes else ""


def _header(names: Sequence[str], separator: str) -> str:
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\n").writerow(names)
    return line.getvalue()


def tell_formulas(frame: polars.DataFrame, path: Path, *, safe: bool) -> None:
    """Say what a spreadsheet would run, or what was done about it."""
    n_cells = 0 if is_parquet(path) else count_formulas(frame)
    if not n_cells:
        return
    what, begin = (f"{n_cells} cells or names", "begin") if n_cells > 1 else ("1 cell or name", "begins")
    if safe:
        note(f"--safe-csv: {what} that a spreadsheet would run {begin} with an apostrophe now.")
    else:
        note(
            f"{path.name}: {what} {begin} with = + - @ or |, as in the input, and a spreadsheet may run them as "
            "formulas. Add --safe-csv if people will open the file in one.",
            style="yellow",
        )


def count_formulas(frame: polars.DataFrame) -> int:
    """Cells and names that a spreadsheet may run when it opens the file as CSV."""
    names = polars.Series(frame.columns, dtype=polars.String)
    return sum(int(_is_formula(column).sum()) for column in (names, *_texts(frame)))


def _texts(frame: polars.DataFrame) -> list[polars.Series]:
    return [column.cast(polars.String) for column in frame if column.dtype in _TEXT_KINDS]


def _is_formula(column: polars.Series) -> polars.Series:
    return (column.str.contains(_FORMULA) & ~column.str.contains(_NUMBER)).fill_null(False)


def _without_formulas(frame: polars.DataFrame) -> polars.DataFrame:
    def safe(column: polars.Series) -> polars.Series:
        marked = polars.select(polars.concat_str(polars.lit("'"), column)).to_series()
        return marked.zip_with(_is_formula(column), column).alias(column.name)

    frame = frame.with_columns(safe(column) for column in _texts(frame))
    return frame.rename(dict(zip(frame.columns, safe(polars.Series("", frame.columns)).to_list(), strict=True)))


_TEXT_KINDS = (polars.String, polars.Categorical, polars.Enum)


def is_parquet(path: Path) -> bool:
    """Whether a file of this name is written as Parquet."""
    return path.suffix.lower() in (".parquet", ".pq")


def _head_of(path: Path) -> bytes:
    if path.is_dir():
        raise InvalidInputError(f"{path} is a directory. Give a CSV, TSV or Parquet file.")
    if not path.exists():
        raise InvalidInputError(f"{path} does not exist. {_similar_file(path)}")
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if _is_gzip(head):
        head = _unpacked(path, _HEAD)
    if not head.strip():
        raise InvalidInputError(f"{path.name} is empty. Give a file with a header and rows.")
    for magic, what in _FOREIGN:
        if head.startswith(magic):
            raise InvalidInputError(f"{path.name} is {what}; CSV, TSV and Parquet can be read.")
    is_wide = any(head.startswith(mark) for mark, name in _BYTE_ORDER_MARKS if name != "utf-8-sig")
    if b"\x00" in head and not head.startswith(b"PAR1") and not is_wide:
        raise InvalidInputError(f"{path.name} is a binary file. CSV, TSV and Parquet can be read.")
    return head


def _unpacked(path: Path, most: int | None = None) -> bytes:
    """The text of a ``.gz``, or so many bytes of it; never more than there is room for."""
    room = int(_SHARE_UNPACKED * free_memory())
    parts, n_bytes = [], 0
    try:
        with gzip.open(path) as file:
            while part := file.read(_UNPACKED_AT_ONCE if most is None else most - n_bytes):
                parts.append(part)
                n_bytes += len(part)
                if n_bytes == most:
                    break
                if n_bytes > room:
                    raise InvalidInputError(
                        f"{path.name} has {path.stat().st_size / 1e6:.1f} MB and unpacks to more than "
                        f"{room / 1e6:.0f} MB, a quarter of the free memory. Convert it to Parquet first, which is "
                        "read block by block."
                    )
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInputError(f"{path.name} is damaged: {_first_line(error)}. Copy it again.") from error
    if most is None and n_bytes > _TOLD_FROM:
        note(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, unpacked {n_bytes / 1e6:.0f} MB.")
    return b"".join(parts)


def _similar_file(path: Path) -> str:
    try:
        names = [file.name for file in path.parent.iterdir() if file.is_file()]
    except OSError:
        names = []
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"Did you mean {path.parent / close[0]}?" if close else "Check the path."


def _dialect(path: Path, head: bytes, delimiter: str | None, encoding: str | None, decimal: str | None) -> Dialect:
    encoding = _encoding(head, encoding)
    # The beginning may end inside a character.
    lines = codecs.getincrementaldecoder(encoding)(errors="replace").decode(head).splitlines()
    lines = lines[:-1] if len(head) == _HEAD and len(lines) > 1 else lines
    if delimiter is not None:
        delimiter = _DELIMITER_NAMES.get(delimiter.lower(), delimiter)
        if len(delimiter.encode()) != 1:
            raise InvalidInputError(f"--delimiter {delimiter!r} is not one character. Use , ; | or tab.")
    elif path.suffix.lower() in (".tsv", ".tab"):
        delimiter = "\t"
    else:
        delimiter = _likely_delimiter(lines)
    if decimal is not None and decimal not in (".", ","):
        raise InvalidInputError(f"--decimal {decimal!r} is not a decimal sign. Use . or a comma.")
    decimal_comma = decimal == "," or (decimal is None and _has_decimal_comma(lines, delimiter))
    if decimal_comma and delimiter == ",":
        raise InvalidInputError("--decimal , needs another delimiter than the comma. Give it with --delimiter.")
    return Dialect(delimiter, encoding, decimal_comma)


def _encoding(head: bytes, wanted: str | None) -> str:
    if wanted is not None:
        try:
            name = codecs.lookup(wanted).name
        except LookupError:
            raise InvalidInputError(f"--encoding {wanted!r} is not known. Try utf-8, cp1252 or utf-16.") from None
        return "utf-8-sig" if name == "utf-8" else name
    for mark, name in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _likely_delimiter(lines: Sequence[str]) -> str:
    """Take the sign that splits the first lines into the same number of cells, and into the most of them."""
    rows = {sign: [len(row) for row in csv.reader(lines[:50], delimiter=sign) if row] for sign in _DELIMITERS}
    return max(
        _DELIMITERS, key=lambda sign: (rows[sign][0] > 1, -len(set(rows[sign])), rows[sign][0]) if rows[sign] else ()
    )


def _has_decimal_comma(lines: Sequence[str], delimiter: str) -> bool:
    if delimiter == ",":
        return False
    cells = [cell.strip() for row in csv.reader(lines[1:200], delimiter=delimiter) for cell in row]
    return any(map(_COMMA.fullmatch, cells)) and not any(map(_POINT.fullmatch, cells))


def _read_text(path: Path, head: bytes, dialect: Dialect) -> polars.DataFrame:
    source: Path | io.BytesIO = path
    with path.open("rb") as file:
        packed = _is_gzip(file.read(2))
    if packed or dialect.encoding != "utf-8-sig":
        raw = _unpacked(path) if packed else path.read_bytes()
        source = io.BytesIO(raw.decode(dialect.encoding).encode())

    def read(rows_to_guess_from: int | None, source: Path | io.BytesIO) -> polars.DataFrame:
        return polars.read_csv(
            source,
            separator=dialect.delimiter,
            decimal_comma=dialect.decimal_comma,
            infer_schema_length=rows_to_guess_from,
            glob=False,  # a * in a file's name is a *
            schema_overrides=dict.fromkeys(_codes_with_zeros(head, dialect), polars.String),
        )

    try:
        return read(10_000, source)
    except polars.exceptions.ComputeError as error:
        if "utf-8" in str(error).lower() or "utf8" in str(error).lower():
            # Text that is not UTF-8 further down than the beginning.
            return read(None, io.BytesIO(path.read_bytes().decode("cp1252").encode()))
        if isinstance(source, io.BytesIO):
            source.seek(0)
        return read(None, source)  # a column that looked like numbers is text further down


def _with_plain_names(frame: polars.DataFrame, head: bytes, dialect: Dialect) -> polars.DataFrame:
    """Name columns as the header does: polars leaves doubled quotes in quoted names as they are."""
    text = codecs.getincrementaldecoder(dialect.encoding)(errors="replace").decode(head)
    header = next(csv.reader(io.StringIO(text), delimiter=dialect.delimiter), [])
    if len(header) == frame.width:
        times = Counter(header)  # names that repeat or are empty stay as polars tells them apart
        names = [name if name and times[name] == 1 else own for name, own in zip(header, frame.columns, strict=True)]
        if len(set(names)) == len(names):
            frame.columns = names
    return frame


def _ragged_line(path: Path, head: bytes) -> str:
    """Name the first line with another number of cells than the header, if that is what is wrong."""
    if head.startswith(b"PAR1"):
        return ""
    try:
        dialect = _dialect(path, head, None, None, None)
        text = codecs.getincrementaldecoder(dialect.encoding)(errors="replace").decode(head)
        rows = csv.reader(io.StringIO(text), delimiter=dialect.delimiter)
        width = len(next(rows, []))
        for row in rows:
            if row and len(row) > width:
                return f"line {rows.line_num} has {len(row)} cells, but the header has {width}."
    except (csv.Error, InvalidInputError):
        pass
    return ""


def _codes_with_zeros(head: bytes, dialect: Dialect) -> list[str]:
    """Find columns of codes such as 00742: read as numbers they would come back as 742."""
    text = codecs.getincrementaldecoder(dialect.encoding)(errors="replace").decode(head)
    rows = csv.reader(text.splitlines()[:2000], delimiter=dialect.delimiter)
    header = next(rows, [])
    found = {header[i] for row in rows for i, cell in enumerate(row[: len(header)]) if _LEADING_ZERO.fullmatch(cell)}
    return [name for name in header if name in found and header.count(name) == 1]


def _is_gzip(head: bytes) -> bool:
    return head.startswith(b"\x1f\x8b")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
