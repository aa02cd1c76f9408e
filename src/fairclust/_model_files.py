"""Fitted estimators as files: NumPy arrays and JSON in one zip. Nothing in such a file is ever run.

A file holds ``model.json`` (what it is, its arguments, what was fitted) and one ``.npy`` per array. JSON says what it
can say; everything else is an object with one key that begins with ``$``: an array, a number that JSON lacks, a tuple,
a record of one of the kinds that are listed here. No other kind can be written or read, so opening a file cannot do
more than make the values that it holds. Members are not compressed: what they need in memory is what they take on disk.
"""

from __future__ import annotations

import errno
import io
import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ._checks import check_sparse
from ._files import atomic
from ._fit.loop import StopReason
from ._people.attributes import Attribute, Attributes, Column, Groups
from ._table.features import Category, Features, LearnedFeatures, Number
from .errors import InvalidInputError
from .goals import GOALS, Goal
from .solvers import BoundOptimization, Dual

FORMAT = 1
"""Number of the layout. Higher numbers are refused; each lower one keeps a reader."""

_TEXT = "model.json"
_RECORDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Attribute, Attributes, Column, LearnedFeatures, Number, Category, Groups, Features, Dual, BoundOptimization,
        *(goal for goal in GOALS.values() if goal.__module__.startswith("fairclust.")),  # users' goals are code
    )
}  # fmt: skip
_PLAIN = "biufU"  # kinds of arrays that a .npy holds as they are
_LONGEST_TEXT = 1 << 28  # bytes of JSON; names of groups and features are in it, rows are not
_DATE = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes


@dataclass(frozen=True)
class StoredModel:
    """What a file holds.

    Attributes
    ----------
    kind : str
        Name of the estimator's class.
    parameters, fitted : dict
        The constructor's arguments, and what ``fit`` learnt.
    notes : dict
        What else was put in, for example how a table became X.
    version : str
        Of the package that wrote the file.
    """

    kind: str
    parameters: dict[str, Any]
    fitted: dict[str, Any]
    notes: dict[str, Any] = field(default_factory=dict)
    version: str = ""


def write_model(model: StoredModel, path: Path) -> None:
    """Write a file, whole or not at all.

    Parameters
    ----------
    model : StoredModel
    path : Path
        Replaced where it exists.
    """
    writer = _Writer()
    text = {
        "format": FORMAT,
        "fairclust": model.version,
        "kind": model.kind,
        "parameters": {name: writer.encoded(value, name) for name, value in model.parameters.items()},
        "fitted": {name: writer.encoded(value, name) for name, value in model.fitted.items()},
        "notes": {name: writer.encoded(value, name) for name, value in model.notes.items()},
    }
    with atomic(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_TEXT, _DATE), json.dumps(text, indent=1, allow_nan=False))
        for name, array in writer.arrays.items():
            with archive.open(zipfile.ZipInfo(name, _DATE), "w", force_zip64=array.nbytes > 1 << 30) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_model(path: Path) -> StoredModel:
    """Read a file and check it; what is wrong with it is said in a sentence."""
    if not path.is_file():
        raise InvalidInputError(f"{path} is no file. Give a model that was saved with model.save(path).")
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, path)
    except (zipfile.BadZipFile, EOFError, UnicodeError, json.JSONDecodeError, RecursionError) as error:
        raise _damaged(path, error) from error
    except InvalidInputError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, NotImplementedError, OverflowError) as error:
        raise _damaged(path, error) from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # the disk's fault; a place before the file's beginning is the file's
            raise
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> InvalidInputError:
    return InvalidInputError(
        f"{path.name} is no fairclust model, or it is damaged ({error}). Copy it again, or save the model again."
    )


def _read(archive: zipfile.ZipFile, path: Path) -> StoredModel:
    members = {member.filename: member for member in archive.infolist()}
    if len(members) != len(archive.infolist()) or _TEXT not in members:
        raise zipfile.BadZipFile(f"there is no {_TEXT} in it")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members.values()):
        raise zipfile.BadZipFile("its parts are compressed")
    if sum(member.file_size for member in members.values()) > path.stat().st_size:
        raise zipfile.BadZipFile("its parts are larger than the file")
    if members[_TEXT].file_size > _LONGEST_TEXT:
        raise zipfile.BadZipFile(f"{_TEXT} has {members[_TEXT].file_size} bytes")
    text = json.loads(archive.read(_TEXT).decode("utf-8"))
    if not isinstance(text, dict) or not isinstance(text.get("format"), int):
        raise zipfile.BadZipFile(f"{_TEXT} has no format")
    if not 1 <= text["format"] <= FORMAT:
        raise InvalidInputError(
            f"{path.name} has format {text['format']}, written by fairclust {text.get('fairclust')!s:.20}, but this "
            f"fairclust reads formats up to {FORMAT}. Upgrade it: pip install --upgrade fairclust."
        )
    reader = _Reader(archive, members)
    parts = {name: {str(key): reader.made(value) for key, value in text[name].items()} for name in _PARTS}
    return StoredModel(str(text["kind"]), **parts, version=str(text["fairclust"]))


_PARTS = ("parameters", "fitted", "notes")


class _Writer:
    """Turns values into JSON; arrays are put aside."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}

    def encoded(self, value: Any, name: str) -> Any:
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, StopReason):
            return {"$stop": value.name}
        if isinstance(value, np.generic) and value.dtype.kind in _PLAIN:
            return {"$scalar": self._array(np.asarray(value), name)}
        if isinstance(value, np.random.RandomState):
            return {"$random": [self.encoded(part, name) for part in value.get_state(legacy=True)]}
        if isinstance(value, np.ndarray):
            return self._encoded_array(value, name)
        if sparse.issparse(value):
            parts = [self._array(part, name) for part in _csr_parts(value)]
            return {"$csr": [*parts, *value.shape]}
        if isinstance(value, list):
            return [self.encoded(part, name) for part in value]
        if isinstance(value, tuple):
            return {"$tuple": [self.encoded(part, name) for part in value]}
        if isinstance(value, Mapping):
            return {"$dict": [[self.encoded(key, name), self.encoded(part, name)] for key, part in value.items()]}
        if is_dataclass(value) and type(value) is _RECORDS.get(type(value).__name__):
            own = {item.name: self.encoded(getattr(value, item.name), name) for item in fields(value)}
            return {f"${type(value).__name__}": own}
        if hasattr(value, "compute"):  # a Dask array
            return self.encoded(np.asarray(value), name)
        if isinstance(value, Goal):
            raise InvalidInputError(
                f"{name} is {type(value).__name__}, a goal of your own. A model file holds no code, so it could not be "
                "read back. Keep this model with pickle or joblib, or fit with one of fairclust's goals."
            )
        raise InvalidInputError(
            f"{name} is {type(value).__name__}, which a model file cannot hold. Set it to a plain value before saving, "
            "for example with set_params: what was fitted stays as it is."
        )

    def _encoded_array(self, array: Any, name: str) -> Any:
        array = np.asarray(array)
        if array.dtype.kind in _PLAIN:
            return {"$array": self._array(array, name)}
        if array.dtype.kind == "O":
            return {
                "$objects": [self.encoded(part, name) for part in array.ravel().tolist()],
                "shape": list(array.shape),
            }
        raise InvalidInputError(f"{name} is an array of {array.dtype}, which a model file cannot hold.")

    def _array(self, array: Any, name: str) -> str:
        member = f"{len(self.arrays):03d}-{name}.npy"
        self.arrays[member] = np.asarray(array, order="C")
        return member


class _Reader:
    """Makes values of JSON and arrays."""

    def __init__(self, archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]) -> None:
        self._archive, self._members = archive, members

    def made(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.made(part) for part in value]
        if not isinstance(value, dict):
            return value
        kind = next(iter(value), "")
        content: Any = value.get(kind)
        if kind == "$array":
            return self._array(content)
        if kind == "$scalar":
            return self._array(content)[()]
        if kind == "$float":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content]
        if kind == "$stop":
            return StopReason[content]
        if kind == "$tuple":
            return tuple(self.made(part) for part in content)
        if kind == "$dict":
            return {self.made(key): self.made(part) for key, part in content}
        if kind == "$objects":
            made = np.empty(len(content), dtype=object)
            made[:] = [self.made(part) for part in content]
            return made.reshape([int(n) for n in value["shape"]])
        if kind == "$csr":
            data, indices, indptr = (self._array(part) for part in content[:3])
            return check_sparse(sparse.csr_array((data, indices, indptr), shape=tuple(int(n) for n in content[3:])))
        if kind == "$random":
            random_state = np.random.RandomState()
            random_state.set_state(tuple(self.made(part) for part in content))
            return random_state
        record = _RECORDS.get(kind.removeprefix("$"))
        if record is None or not kind.startswith("$"):
            raise ValueError(f"{kind[:40]!r} is not known")
        return record(**{str(name): self.made(part) for name, part in content.items()})

    def _array(self, name: str) -> Any:
        member = self._members[name]
        with self._archive.open(member) as file:
            raw = io.BytesIO(file.read())
        version = np.lib.format.read_magic(raw)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = read_header[version](raw)
        if dtype.kind not in _PLAIN or any(n < 0 for n in shape):
            raise ValueError(f"{name[:60]} holds {dtype}")
        if math.prod(shape) * dtype.itemsize != member.file_size - raw.tell():
            raise ValueError(f"{name[:60]} is not as long as it says")
        raw.seek(0)
        return np.lib.format.read_array(raw, allow_pickle=False)


def _csr_parts(matrix: Any) -> tuple[Any, Any, Any]:
    matrix = matrix.tocsr()
    return matrix.data, matrix.indices, matrix.indptr
