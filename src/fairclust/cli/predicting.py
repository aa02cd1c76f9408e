"""``fairclust predict``: new rows get the clusters of a model that ``fairclust fit --model`` kept.

A model file of the command line also holds its *recipe*: which columns become which numbers, by the means, spreads,
categories and fill values of the rows that were fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars

from .. import __version__
from .._audit.audit import AuditReport, AuditReports
from .._model_files import read_model
from .._people.attributes import Cells, Groups, read_options
from .._typing import AnyArray, FloatArray, IntArray
from ..errors import InvalidInputError
from ..estimators import restored
from ..metrics import Composition
from .columns import Choice, Prepared, as_numbers, group_arrays, read_groups, without_markers
from .files import check_output
from .requests import MISSING_POLICIES, Prediction
from .screen import note, say, warnings_as_notes
from .summary import audits_as_json, print_json, show_audits
from .tables import FileTable, check_writable, read_table, tell_formulas, write_table
from .timing import Stages

_NOTE = "table"  # under which name a model file keeps the recipe


@dataclass(frozen=True)
class Recipe:
    """How the columns of a table become the features of a model.

    Attributes
    ----------
    numeric : tuple of str
        Columns that are numbers.
    categories : dict of tuple of str
        Columns of text, and the values that have a 0/1 feature each.
    fill : dict
        What gaps of a column are filled with, where they were when the model was fitted.
    means, stds : ndarray of shape (n_features,) or None
        Features are standardised by these; None: taken as they are.
    sensitive : tuple of str
        Columns of groups.
    missing_groups : str
    bins : tuple of str
        Columns of groups that are numbers, cut into ranges.
    """

    numeric: tuple[str, ...]
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    fill: dict[str, Any] = field(default_factory=dict)
    means: FloatArray | None = None
    stds: FloatArray | None = None
    sensitive: tuple[str, ...] = ()
    missing_groups: str = "error"
    bins: tuple[str, ...] = ()

    def notes(self) -> dict[str, Any]:
        """Give it as plain values, for a model file."""
        return {_NOTE: asdict(self)}

    def features(self, table: FileTable, missing: str) -> tuple[FloatArray, AnyArray]:
        """Numbers of the rows that can be used, and which rows these are."""
        table.check_columns([*self.numeric, *self.categories], "of the model")
        columns = []
        for name in self.numeric:
            numbers = as_numbers(table.frame[name])
            if numbers is None:
                raise InvalidInputError(f"column {name!r} of {table.path.name} holds no numbers, as the model's did.")
            columns.append(numbers)
        coded = [without_markers(table.frame[name]).cast(polars.String) for name in self.categories]
        used = self._used(table, [*columns, *coded], missing)
        values = [self._filled(column, missing).to_numpy().astype(np.float64, copy=False) for column in columns]
        for column, known in zip(coded, self.categories.values(), strict=True):
            filled = self._filled(column, missing)
            gap = np.nan if missing == "observed" else 0.0
            values += [(filled == value).cast(polars.Float64).fill_null(gap).to_numpy() for value in known]
        X = np.empty((int(used.sum()), len(values)), dtype=np.float64)
        for i, own in enumerate(values):
            own = own if used.all() else own[used]
            X[:, i] = own if self.means is None or self.stds is None else (own - self.means[i]) / self.stds[i]
        return X, used

    def _filled(self, column: polars.Series, missing: str) -> polars.Series:
        return column.fill_null(self.fill[column.name]) if missing == "impute" and column.null_count() else column

    def _used(self, table: FileTable, columns: Sequence[polars.Series], missing: str) -> AnyArray:
        gaps = {c.name: int(c.null_count()) for c in columns if c.null_count()}
        n_rows = table.frame.height
        if not gaps:
            return np.ones(n_rows, dtype=bool)
        where = ", ".join(f"{name}: {count}" for name, count in list(gaps.items())[:4])
        if missing == "error":
            raise InvalidInputError(
                f"{table.path.name} has missing values ({where}). Add --missing drop (these rows get no cluster) or "
                "--missing impute (gaps are filled as when the model was fitted)."
            )
        if missing == "observed":
            return np.ones(n_rows, dtype=bool)
        if missing == "impute":
            unknown = [name for name in gaps if name not in self.fill]
            if unknown:
                raise InvalidInputError(
                    f"column {unknown[0]!r} has gaps, and the model does not know what to fill them with: it was "
                    "fitted without --missing impute. Use --missing drop."
                )
            return np.ones(n_rows, dtype=bool)
        gap = np.zeros(n_rows, dtype=bool)
        for column in columns:
            gap |= column.is_null().to_numpy()
        if gap.all():
            raise InvalidInputError(f"every row of {table.path.name} has a missing value ({where}).")
        return ~gap


def recipe_of(
    table: FileTable, choice: Choice, prepared: Prepared, sensitive: Sequence[str], groups: Groups, *,
    missing: str, standardize: bool,
) -> Recipe:  # fmt: skip
    """What a fit did with the columns of its table."""
    names, categories = prepared.feature_names[len(choice.numeric) :], {}
    for name in choice.encoded:
        own = [feature for feature in names if feature.startswith(f"{name}=")]
        categories[name] = tuple(feature.removeprefix(f"{name}=") for feature in own)
    fill: dict[str, Any] = {}
    if missing == "impute":
        for name in choice.numeric:
            numbers = as_numbers(table.frame[name])
            fill[name] = None if numbers is None else float(numbers.median())  # type: ignore[arg-type]
        for name in choice.encoded:
            fill[name] = without_markers(table.frame[name]).cast(polars.String).drop_nulls().mode().sort()[0]
    means, stds = (prepared.raw_means, prepared.raw_stds) if standardize else (None, None)
    return Recipe(
        tuple(choice.numeric), categories, fill, means, stds, tuple(sensitive), groups.missing,
        tuple(groups.bins or ()),
    )  # fmt: skip


def run_predict(asked: Prediction) -> None:
    """Read the model and the rows, label them, tell, write."""
    check_output(asked.out, force=asked.force, argument="--out", inputs=(asked.file, asked.model))
    check_writable(asked.out, "--out")
    if asked.missing not in MISSING_POLICIES:
        raise InvalidInputError(f"--missing {asked.missing!r} is not known. Choose {', '.join(MISSING_POLICIES)}.")
    if asked.batch and not asked.groups:
        raise InvalidInputError("--batch needs the groups of the rows. Leave out --no-groups.")
    stages = Stages()
    with stages.stage("read", f"Reading {asked.file.name}"):
        model, recipe = open_model(asked.model)
        table = read_table(
            asked.file, delimiter=asked.delimiter, encoding=asked.encoding, decimal=asked.decimal
        )  # fmt: skip
    if asked.label_column in table.column_names:
        raise InvalidInputError(
            f"{asked.file.name} has a column {asked.label_column!r} already. "
            "Name the new one with --label-column, for example --label-column fair_cluster."
        )
    with stages.stage("prepare", "Preparing the columns"):
        X: Any
        X, used = recipe.features(table, asked.missing)
        if hasattr(model, "feature_names_in_"):
            X = polars.DataFrame(X, schema=model.feature_names_in_.tolist())
        groups = _groups(table, recipe, used) if asked.groups and recipe.sensitive else None
    with stages.stage("label", "Labelling"), warnings_as_notes():
        together = asked.batch and groups is not None
        labels = model.predict_batch(X, groups) if together else model.predict(X, groups)
    report = None if groups is None else _audit(model, labels, model.attributes_.encode(groups), asked.suppress_below)
    if asked.out is not None:
        with stages.stage("write", f"Writing {asked.out.name}"):
            column = polars.Series(_spread(labels, used))
            labelled = table.frame.with_columns(**{asked.label_column: column})
            write_table(labelled, asked.out, table.dialect, safe=asked.safe_csv)
        tell_formulas(labelled, asked.out, safe=asked.safe_csv)
    if asked.json:
        print_json(_summary(asked, table, used, labels, len(model.cluster_sizes_), report, stages))
        return
    if report is not None:
        show_audits(report, f"{asked.file.name} by {asked.model.name}")
    else:
        note("Every row goes to the nearest centre: no groups were given, so no prices apply.")
    say(stages.in_words)
    if asked.out is not None:
        say(f"Labels: {asked.out}", style="bold")
    else:
        note("Nothing was saved. Add --out labels.csv for the clusters.")


def open_model(path: Path) -> tuple[Any, Recipe]:
    """The model of a file, and its recipe; a model that was saved from Python takes the columns it was fitted on."""
    stored = read_model(path)
    model = restored(stored, path)
    if not hasattr(model, "predict"):
        raise InvalidInputError(
            f"{path.name} holds a {stored.kind}, which has no centres, so it cannot label rows outside its graph. "
            "Use --objective kmeans or kmedian."
        )
    if _NOTE in stored.notes:
        try:
            return model, Recipe(**stored.notes[_NOTE])
        except TypeError as error:
            raise InvalidInputError(f"{path.name} has a recipe of another version ({error}). Fit it again.") from error
    if not hasattr(model, "feature_names_in_"):
        raise InvalidInputError(
            f"{path.name} does not say which columns it was fitted on. Make it with fairclust fit --model, or fit it "
            "on a data frame."
        )
    sensitive = tuple(column.name for attribute in model.attributes_ for column in attribute.columns)
    binned = tuple(c.name for attribute in model.attributes_ for c in attribute.columns if c.edges is not None)
    missing = read_options(model.groups).missing
    return model, Recipe(
        tuple(model.feature_names_in_.tolist()), sensitive=sensitive, missing_groups=missing, bins=binned
    )


def _groups(table: FileTable, recipe: Recipe, used: AnyArray) -> dict[str, AnyArray]:
    absent = [name for name in recipe.sensitive if name not in table.column_names]
    if absent:
        raise InvalidInputError(
            f"column {absent[0]!r}, whose groups the model balances, is not in {table.path.name}. Add it, or add "
            "--no-groups to send every row to the nearest centre."
        )
    options = Groups(missing=recipe.missing_groups, bins=dict.fromkeys(recipe.bins, 2))
    groups, _ = read_groups(table, recipe.sensitive, options)
    return group_arrays(groups if used.all() else groups.filter(polars.Series(used)))


def _spread(labels: IntArray, used: AnyArray) -> polars.Series:
    column = polars.Series(labels.astype(np.int32))
    if used.all():
        return column
    return column.gather(np.maximum(np.cumsum(used) - 1, 0)).set(polars.Series(~used), None)


def _audit(model: Any, labels: IntArray, cells: Cells, suppress_below: float | None) -> AuditReports:
    """The make-up of the new rows' clusters, against the model's target."""
    n_clusters = len(model.cluster_sizes_)
    keys = labels.astype(np.int64) * cells.n_cells + cells.codes
    masses = np.bincount(keys, minlength=n_clusters * cells.n_cells).reshape(n_clusters, -1)
    masses = masses @ (cells.membership * cells.is_known[:, None])
    filled, reports, first = np.flatnonzero(np.bincount(labels, minlength=n_clusters)), {}, 0
    for attribute in model.attributes_:
        own = masses[filled, first : first + attribute.n_columns]
        first += attribute.n_columns
        table = Composition(
            cluster_names=filled,
            group_names=attribute.names,
            counts=own[:, : attribute.n_groups],
            target=attribute.target if attribute.target.ndim == 1 else attribute.target[filled],
            attribute=attribute.name,
            everyone=own[:, -1] if attribute.is_overlapping else None,
        )
        reports[attribute.name] = AuditReport(table, len(labels), suppress_below=suppress_below)
    return AuditReports(reports)


def _summary(
    asked: Prediction,
    table: FileTable,
    used: AnyArray,
    labels: IntArray,
    n_clusters: int,
    report: AuditReports | None,
    stages: Stages,
) -> dict[str, Any]:
    return {
        "fairclust": __version__,
        "file": str(asked.file),
        "model": str(asked.model),
        "n_rows": table.frame.height,
        "n_rows_used": int(used.sum()),
        "sizes": np.bincount(labels, minlength=n_clusters).tolist(),
        "batch": asked.batch,
        "audit": None if report is None else audits_as_json(report),
        "seconds": stages.seconds,
        "written": {} if asked.out is None else {"out": str(asked.out)},
    }
