"""``fairclust fit`` for files beyond memory, or on a Dask cluster: Parquet in, Parquet out, block by block."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars

from .. import __version__
from .._audit.audit import AuditReport, AuditReports
from .._checks import resolve_threads
from .._files import scratch_directory
from .._people.attributes import read_options
from .._typing import IntArray
from ..errors import FairclustError, InvalidInputError, MissingExtraError
from ..metrics import Composition
from ..scaling import DaskParquet, ParquetBlocks, fits_in_memory, open_blocks
from ..scaling.blocks import opened, require_pyarrow
from ..scaling.labels import complete_file
from ..scaling.memory import SHARE, free_memory
from .columns import Choice, choose_features, names_in
from .objectives import WORDS, find_estimator
from .predicting import Recipe
from .requests import Method, Source, Streaming, Wanted
from .screen import note, say, warnings_as_notes
from .summary import audits_as_json, goal_sentence, listed, print_json, show_audits, told_of_goal
from .tables import FileTable, is_parquet
from .timing import Stages, peak_memory_mb

_HEAD = 100_000  # rows that the choice of features looks at
_WRITTEN_AT_ONCE = 1 << 17  # rows, a row group of the result
_HELD_TWICE = 2.0  # a fit in memory holds the file's columns and the features made of them


def is_streamed(file: Path, how: Streaming, n_clusters: int) -> bool:
    """Whether to go through the rows block by block: asked for, a directory, or a Parquet file that does not fit."""
    if how.is_wanted is not None or how.dask is not None:
        return bool(how.is_wanted) or how.dask is not None
    if file.is_dir():
        return any(file.glob("*.parquet"))
    if not _has_parquet_mark(file):
        return False
    try:
        with opened(file) as parquet:
            data = parquet.metadata
            n_bytes = sum(data.row_group(i).total_byte_size for i in range(data.num_row_groups))
    except FairclustError:  # no pyarrow, or damaged: the usual reader will say so
        return False
    fits = fits_in_memory(data.num_rows, 0, itemsize=4, n_clusters=n_clusters)
    return not fits or _HELD_TWICE * n_bytes > SHARE * free_memory()


def _has_parquet_mark(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as head:
        return head.read(4) == b"PAR1"


def run_streamed(source: Source, method: Method, wanted: Wanted, how: Streaming) -> None:
    """Read, fit, tell, write, a block at a time.

    Parameters
    ----------
    source, method, wanted
        As for ``run_fit``.
    how : Streaming
    """
    _check(source, method, wanted)
    parameters = method.parameters()
    stages = Stages()
    files = ParquetBlocks(source.file).files
    head = _head(files[0])
    if wanted.label_column in head.column_names:
        raise InvalidInputError(
            f"{source.file.name} has a column {wanted.label_column!r} already. "
            "Name the new one with --label-column, for example --label-column fair_cluster."
        )
    sensitive = names_in(source.sensitive, head)
    head.check_columns(sensitive, "--sensitive")
    choice = choose_features(head, features=source.features, encode=None, exclude=source.exclude, sensitive=sensitive)
    if not wanted.json:
        note(f"{source.file.name}: {_n_rows(files)} rows, read block by block" + (" by Dask." if how.dask else "."))
        note(f"Features: {listed(choice.numeric)}.")
    kind = ParquetBlocks if how.dask is None else DaskParquet
    place = wanted.out.absolute().parent if wanted.out is not None else Path(tempfile.gettempdir())
    with _client(how.dask), scratch_directory(place) as scratch, warnings_as_notes():
        blocks, recipe = _standardised(kind, source, choice, sensitive, scratch, stages, method)
        with stages.stage("fit", "Clustering") as stage:
            model = find_estimator(method.objective)(**parameters, verbose=stage.follow)
            model.fit(blocks, sensitive_features=sensitive)
            model.set_params(verbose=0)
        if wanted.out is not None:
            with stages.stage("write", f"Writing {wanted.out.name}"):
                _write(files, model.labels_, wanted.out, wanted.label_column)
        if wanted.model is not None:
            model.save(wanted.model, notes=recipe.notes())
        audit = _audit(model, wanted.suppress_below)
        n_rows = int(model.labels_.shape[0])
        del blocks
    _tell(model, audit, choice, sensitive, n_rows, source, method, wanted, stages)


def _check(source: Source, method: Method, wanted: Wanted) -> None:
    refused = {
        "--objective ncut": method.objective if method.objective == "ncut" else None,
        "--report": wanted.report,
        "--soft": wanted.soft or None,
        "--moves": wanted.moves,
        "--stability": wanted.stability,
        "--weight": source.weight,
        "--compare": wanted.compare or None,
        "--encode": source.encode,
        "--missing": source.missing if source.missing != "error" else None,
    }
    for option, value in refused.items():
        if value is not None:
            raise InvalidInputError(
                f"{option} needs all rows in memory, and these are read block by block. Leave it out, or use "
                "--in-memory on a machine with room for them."
            )
    if not source.file.is_dir() and not _has_parquet_mark(source.file):
        raise InvalidInputError(
            f"{source.file} is not a Parquet file, and only these can be read block by block. Convert it first, for "
            "example with polars: polars.scan_csv('people.csv').sink_parquet('people.parquet')."
        )
    if wanted.out is not None and not is_parquet(wanted.out):
        raise InvalidInputError(f"--out {wanted.out}: rows that are read block by block are written as .parquet only.")


def _head(file: Path) -> FileTable:
    try:
        return FileTable(file, polars.read_parquet(file, n_rows=_HEAD, glob=False), None)
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise InvalidInputError(f"{file} is damaged or is not a Parquet file ({first}).") from error


def _n_rows(files: list[Path]) -> int:
    total = 0
    for file in files:
        with opened(file) as parquet:
            total += parquet.metadata.num_rows
    return total


def _client(address: str | None) -> AbstractContextManager[Any]:
    if address is None:
        return nullcontext()
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError("--dask needs Dask. Run: pip install 'fairclust[dask]'") from error
    try:
        client: AbstractContextManager[Any] = Client(address)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise FairclustError(f"--dask {address}: no Dask scheduler answers there ({error}).") from error
    return client


def _standardised(
    kind: type[ParquetBlocks],
    source: Source,
    choice: Choice,
    sensitive: list[str],
    scratch: Path,
    stages: Stages,
    method: Method,
) -> tuple[ParquetBlocks, Recipe]:
    """The file's features, with mean 0 and variance 1 unless that is not wanted; one pass finds the moments."""
    offset = scale = None
    if source.standardize:
        with stages.stage("measure", "Measuring the features"):
            raw = kind(source.file, columns=choice.numeric, dtype=np.float64)
            with np.errstate(over="ignore", invalid="ignore"):
                offset, scale = open_blocks(raw, sensitive, None, resolve_threads(method.jobs)).moments
            for name, value in zip(choice.numeric, scale.tolist(), strict=True):
                if not np.isfinite(value):
                    raise InvalidInputError(
                        f"column {name!r} has values whose squares are too large for floating-point numbers. Divide it "
                        "by a constant, or leave it out with --exclude."
                    )
            scale = np.where(scale > 0, scale, 1.0)
    labels_to = scratch / "labels.npy" if kind is ParquetBlocks else None
    groups = read_options(source.groups)
    recipe = Recipe(
        choice.numeric, means=offset, stds=scale, sensitive=tuple(sensitive),
        missing_groups=groups.missing, bins=tuple(groups.bins or ()),
    )  # fmt: skip
    return kind(source.file, columns=choice.numeric, offset=offset, scale=scale, labels_to=labels_to), recipe


def _write(files: list[Path], labels: Any, out: Path, column: str) -> None:
    """All rows with their cluster, some rows at a time."""
    pa, pq = require_pyarrow("pyarrow"), require_pyarrow()
    parts = _labels_by_block(labels)
    held = next(parts, np.empty(0, dtype=np.int32))
    with complete_file(out) as temporary:
        writer = None
        for file in files:
            with opened(file) as parquet:
                for batch in parquet.iter_batches(batch_size=_WRITTEN_AT_ONCE, use_threads=False):
                    while len(held) < batch.num_rows:
                        held = np.concatenate((held, next(parts)))
                    own, held = held[: batch.num_rows], held[batch.num_rows :]
                    table = pa.Table.from_batches([batch]).append_column(column, pa.array(np.asarray(own), pa.int32()))
                    writer = writer or pq.ParquetWriter(temporary, table.schema)
                    writer.write_table(table)
        assert writer is not None
        writer.close()


def _labels_by_block(labels: Any) -> Iterator[IntArray]:
    if isinstance(labels, np.ndarray):
        yield labels
        return
    for i in range(labels.numblocks[0]):
        yield labels.blocks[i].compute()


def _audit(model: Any, suppress_below: float | None) -> AuditReports:
    """The make-up of the clusters, from the tables of the fit."""
    counts, reports, first = model.proportions_ * model.cluster_sizes_[:, None], {}, 0
    for attribute in model.attributes_:
        own = slice(first, first + attribute.n_groups)
        first += attribute.n_groups
        table = Composition(
            cluster_names=np.arange(len(counts)),
            group_names=attribute.names,
            counts=np.round(counts[:, own]),
            target=attribute.target,
            attribute=attribute.name,
        )
        n_rows = round(float(model.cluster_sizes_.sum()))
        reports[attribute.name] = AuditReport(table, n_rows, suppress_below=suppress_below)
    return AuditReports(reports)


def _tell(
    model: Any,
    audit: AuditReports,
    choice: Choice,
    sensitive: list[str],
    n_rows: int,
    source: Source,
    method: Method,
    wanted: Wanted,
    stages: Stages,
) -> None:
    if wanted.json:
        print_json(
            {
                "fairclust": __version__,
                "file": str(source.file),
                "n_rows": n_rows,
                "n_rows_used": n_rows,
                "features": list(choice.numeric),
                "left_out": choice.ignored,
                "sensitive": sensitive,
                "settings": method.settings() | {"out_of_core": True},
                "objective": float(model.objective_),
                **told_of_goal(model),
                "n_iter": int(model.n_iter_),
                "stop_reason": str(model.stop_reason_),
                "audit": audits_as_json(audit),
                "seconds": stages.seconds,
                "peak_memory_mb": peak_memory_mb(),
                "written": {
                    name: str(path) for name, path in (("out", wanted.out), ("model", wanted.model)) if path is not None
                },
            }
        )
        return
    show_audits(audit, f"{model.n_clusters} clusters, fair {WORDS[method.objective][0]}")
    say(f"{goal_sentence(model)} Seed: {method.seed}. Stopped: {model.stop_reason_}.")
    say(stages.in_words)
    if wanted.model is not None:
        say(f"Model: {wanted.model}", style="bold")
    if wanted.out is not None:
        say(f"Labels: {wanted.out}", style="bold")
    elif wanted.model is None:
        note("Nothing was saved. Add --out labels.parquet for the clusters.")
