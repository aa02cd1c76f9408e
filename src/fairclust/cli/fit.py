"""``fairclust fit``: a file of people in, the same rows with a cluster out."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars

from .. import __version__
from .._audit.audit import AuditReports, audit_each
from .._checks import DEFAULT_MAX_FAIRNESS_ERROR
from .._typing import AnyArray
from ..errors import InvalidInputError
from ..report import Page, check_extras, model_report
from .columns import (
    MISSING_POLICIES,
    Choice,
    Grouping,
    Prepared,
    choose_features,
    group_arrays,
    names_in,
    prepare,
    read_groups,
    rows_without_group,
)
from .files import check_output
from .objectives import WORDS, find_estimator, watched
from .predicting import recipe_of
from .screen import note, say, told_warnings
from .streaming import Streaming, is_streamed, run_streamed
from .summary import audits_as_json, listed, print_json, show_audits
from .tables import Table, read_table, write_table
from .timing import Stages, peak_memory_mb

_COMPARED_BY_DEFAULT = 200_000  # rows up to which a plain fit is made as well, to tell what fairness cost


@dataclass(frozen=True)
class Source:
    """Where the people are, and how their columns are read."""

    file: Path
    sensitive: str
    features: str | None = None
    encode: str | None = None
    exclude: str | None = None
    missing: str = "error"
    standardize: bool = True
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    grouping: Grouping = field(default_factory=Grouping)


@dataclass(frozen=True)
class People:
    """The rows of a file, ready to be clustered."""

    table: Table
    choice: Choice
    prepared: Prepared
    groups: dict[str, AnyArray]
    sensitive: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Method:
    """What is fitted."""

    n_clusters: int
    objective: str = "kmeans"
    fairness_weight: float | None = None
    max_fairness_error: float | None = None
    target: dict[str, float] | None = None
    seed: int = 0
    n_init: int | None = None
    max_iter: int = 300
    jobs: int | None = None
    grouping: Grouping = field(default_factory=Grouping)

    def parameters(self) -> dict[str, Any]:
        """Arguments of the estimator."""
        if self.fairness_weight is not None and self.max_fairness_error is not None:
            raise InvalidInputError("--fairness-weight and --max-fairness-error are both given. Give one of them.")
        goal = DEFAULT_MAX_FAIRNESS_ERROR if self.max_fairness_error is None else self.max_fairness_error
        return {
            "n_clusters": self.n_clusters,
            "fairness_weight": "auto" if self.fairness_weight is None else self.fairness_weight,
            "max_fairness_error": goal,
            "target_proportions": self.target,
            "n_init": "auto" if self.n_init is None else self.n_init,
            "max_iter": self.max_iter,
            "random_state": self.seed,
            "n_jobs": self.jobs,
        } | self.grouping.options()


@dataclass(frozen=True)
class Wanted:
    """What should come out."""

    out: Path | None = None
    report: Path | None = None
    label_column: str = "cluster"
    soft: bool = False
    compare: bool | None = None
    suppress_below: float | None = None
    json: bool = False
    force: bool = False
    model: Path | None = None


@dataclass
class Fitted:
    """A fit, the plain one beside it where there is one, and the audits of both."""

    model: Any
    audit: AuditReports
    plain: Any = None
    plain_audit: AuditReports | None = None
    stages: Stages = field(default_factory=Stages)


def run_fit(source: Source, method: Method, wanted: Wanted, how: Streaming | None = None) -> None:
    """Read, fit, tell, write; block by block where that is asked for or the file does not fit in memory."""
    estimator = find_estimator(method.objective)
    parameters = method.parameters()
    outputs = ((wanted.out, "--out"), (wanted.report, "--report"), (wanted.model, "--model"))
    for path, argument in outputs:
        check_output(path, force=wanted.force, argument=argument, inputs=(source.file,) if source.file.exists() else ())
    named = [(path.resolve(), argument) for path, argument in outputs if path is not None]
    for (first, one), (second, other) in combinations(named, 2):
        if first == second:
            raise InvalidInputError(f"{one} and {other} both name {first}. Give them different names.")
    if wanted.report is not None:
        check_extras()  # before the work, not after it
    if how is not None and is_streamed(source.file, how, method.n_clusters):
        run_streamed(source, method, wanted, how)
        return
    stages = Stages()
    people = load_people(source, stages)
    if wanted.label_column in people.table.column_names:
        raise InvalidInputError(
            f"{source.file.name} has a column {wanted.label_column!r} already. "
            "Name the new one with --label-column, for example --label-column fair_cluster."
        )
    if not wanted.json:
        tell_people(people)
    fitted = _fit(people, estimator, parameters, wanted, stages)
    written = _write(people, fitted, source, method, wanted)
    if wanted.json:
        print_json(_summary(people, fitted, method, wanted, written))
    else:
        _tell(fitted, method, wanted, written)


def load_people(source: Source, stages: Stages) -> People:
    """Read the file and turn its columns into numbers and groups."""
    if source.missing not in MISSING_POLICIES:
        raise InvalidInputError(f"--missing {source.missing!r} is not known. Choose {', '.join(MISSING_POLICIES)}.")
    with stages.stage("read", f"Reading {source.file.name}"):
        table = read_table(source.file, delimiter=source.delimiter, encoding=source.encoding, decimal=source.decimal)
    with stages.stage("prepare", "Preparing the columns"):
        sensitive = tuple(names_in(source.sensitive, table))
        groups, remarks = read_groups(table, sensitive, source.grouping)
        choice = choose_features(
            table, features=source.features, encode=source.encode, exclude=source.exclude, sensitive=sensitive
        )
        no_group = rows_without_group(groups, source.grouping)
        prepared = prepare(table, choice, no_group, missing=source.missing, standardize=source.standardize)
        used = group_arrays(groups if prepared.used.all() else groups.filter(polars.Series(prepared.used)))
    return People(table, choice, prepared, used, sensitive, remarks)


def tell_people(people: People) -> None:
    """Say which columns were used, which were not and why, and what was done to them."""
    dialect = people.table.dialect
    written = ""
    if dialect is not None:
        sign = {"\t": "tab", " ": "space"}.get(dialect.delimiter, dialect.delimiter)
        comma = ", decimal comma" if dialect.decimal_comma else ""
        written = f" (delimiter {sign}, {dialect.encoding.replace('utf-8-sig', 'utf-8')}{comma})"
    note(f"{people.table.path.name}: {people.table.frame.height} rows, {people.table.frame.width} columns{written}.")
    note(f"Features: {listed(people.choice.numeric + people.choice.encoded)}.")
    by_reason: dict[str, list[str]] = {}
    for name, reason in people.choice.ignored.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        if reason != "sensitive":
            hint = " (--encode turns each value into a 0/1 feature)" if reason == "text" else ""
            note(f"Left out, {reason}: {listed(names)}{hint}.")
    for remark in (*people.remarks, *people.choice.remarks, *people.prepared.remarks):
        note(remark)


def remarks_on(people: People) -> list[str]:
    """Give every sentence on what was done to the data, for reports."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in people.choice.ignored.items():
        by_reason.setdefault(reason, []).append(name)
    left_out = [f"Left out, {reason}: {listed(names, 30)}." for reason, names in by_reason.items()]
    features = f"Features: {listed(people.choice.numeric + people.choice.encoded, 40)}."
    return [features, *left_out, *people.remarks, *people.choice.remarks, *people.prepared.remarks]


def typed_command() -> str:
    """Give the command line of this process, ready to be pasted."""
    return shlex.join(["fairclust", *sys.argv[1:]])


def _fit(people: People, estimator: type[Any], parameters: dict[str, Any], wanted: Wanted, stages: Stages) -> Fitted:
    X, groups = people.prepared.X, people.groups
    with told_warnings(), stages.stage("fit", "Clustering") as stage:
        model = watched(estimator, lambda i, energy: stage.tell(f"iteration {i}, energy {energy:.6g}"))(**parameters)
        model.fit(X, sensitive_features=groups)
    report = _audited(model.labels_, groups, parameters, wanted)
    compare = wanted.compare
    if compare is None:
        compare = wanted.report is not None or len(X) <= _COMPARED_BY_DEFAULT
    if not compare:
        return Fitted(model, report, stages=stages)
    with stages.stage("compare", "Clustering without fairness, to compare"):
        plain = estimator(**(parameters | {"fairness_weight": 0.0, "max_fairness_error": DEFAULT_MAX_FAIRNESS_ERROR}))
        with told_warnings(silent=True):
            plain.fit(X, sensitive_features=groups)
    return Fitted(model, report, plain, _audited(plain.labels_, groups, parameters, wanted), stages)


def _audited(labels: AnyArray, groups: dict[str, AnyArray], parameters: dict[str, Any], wanted: Wanted) -> AuditReports:
    return audit_each(
        labels,
        groups,
        target_proportions=parameters["target_proportions"],
        suppress_below=wanted.suppress_below,
        **{name: parameters[name] for name in Grouping().options()},
    )


def _write(people: People, fitted: Fitted, source: Source, method: Method, wanted: Wanted) -> dict[str, str]:
    written = {}
    if wanted.out is not None:
        with fitted.stages.stage("write", f"Writing {wanted.out.name}"):
            write_table(_with_labels(people, fitted.model, wanted), wanted.out, people.table.dialect)
        written["out"] = str(wanted.out)
    if wanted.report is not None:
        with fitted.stages.stage("report", f"Writing {wanted.report.name}"):
            _report(people, fitted, source, wanted).save(wanted.report, overwrite=True)
        written["report"] = str(wanted.report)
    if wanted.model is not None:
        recipe = recipe_of(
            people.table, people.choice, people.prepared, people.sensitive, source.grouping,
            missing=source.missing, standardize=source.standardize,
        )  # fmt: skip
        fitted.model.save(wanted.model, notes=recipe.notes())
        written["model"] = str(wanted.model)
    return written


def _report(people: People, fitted: Fitted, source: Source, wanted: Wanted) -> Page:
    means, stds = people.prepared.raw_means, people.prepared.raw_stds
    return model_report(
        fitted.model,
        people.prepared.X,
        people.groups,
        plain=fitted.plain,
        feature_names=people.prepared.feature_names,
        units=(means, stds) if source.standardize else None,
        title=f"Fair clusters of {source.file.name} by {', '.join(people.sensitive)}",
        suppress_below=wanted.suppress_below,
        remarks=remarks_on(people),
        command=typed_command(),
    )


def _with_labels(people: People, model: Any, wanted: Wanted) -> polars.DataFrame:
    """Give the input rows plus their cluster; rows that took no part have none."""
    used = people.prepared.used
    columns = {wanted.label_column: _spread(model.labels_.astype(np.int32), used)}
    if wanted.soft:
        if not hasattr(model, "predict_proba"):
            raise InvalidInputError("--soft: this objective has no soft assignments. Leave --soft out.")
        soft = model.predict_proba(people.prepared.X, sensitive_features=people.groups)
        for k in range(soft.shape[1]):
            name = f"{wanted.label_column}_{k}"
            if name in people.table.column_names:
                raise InvalidInputError(f"--soft: there is a column {name!r} already. Use --label-column.")
            columns[name] = _spread(soft[:, k], used)
    return people.table.frame.with_columns(**columns)


def _spread(values: AnyArray, used: AnyArray) -> polars.Series:
    column = polars.Series(values)
    if used.all():
        return column
    places = np.cumsum(used) - 1
    return column.gather(np.maximum(places, 0)).set(polars.Series(~used), None)


def _tell(fitted: Fitted, method: Method, wanted: Wanted, written: dict[str, str]) -> None:
    model, words = fitted.model, WORDS[method.objective]
    show_audits(fitted.audit, f"{model.n_clusters} clusters, fair {words[0]}")
    if fitted.plain is not None and fitted.plain_audit is not None and wanted.suppress_below is None:
        rise = _rise(model.objective_, fitted.plain.objective_)
        say(
            f"What fairness cost: {words[1]} is {model.objective_:.6g}, against {fitted.plain.objective_:.6g} without "
            f"fairness ({rise:+.1%}). The worst cluster's fairness error is {fitted.audit.max_fairness_error:.4g}, "
            f"against {fitted.plain_audit.max_fairness_error:.4g}."
        )
    say(f"Fairness weight λ: {model.fairness_weight_:.6g}. Seed: {method.seed}. Stopped: {model.stop_reason_}.")
    say(fitted.stages.in_words)
    for name, path in written.items():
        say(f"{'Labels' if name == 'out' else name.capitalize()}: {path}", style="bold")
    if not written:
        note("Nothing was saved. Add --out labels.csv for the clusters, --report report.html for a report.")


def _rise(fair: float, plain: float) -> float:
    return fair / plain - 1.0 if plain > 0 else 0.0


def _summary(people: People, fitted: Fitted, method: Method, wanted: Wanted, written: dict[str, str]) -> dict[str, Any]:
    model, plain = fitted.model, fitted.plain
    beside = fitted.plain_audit if wanted.suppress_below is None else None
    return {
        "fairclust": __version__,
        "file": str(people.table.path),
        "n_rows": people.table.frame.height,
        "n_rows_used": int(people.prepared.used.sum()),
        "features": people.prepared.feature_names,
        "left_out": people.choice.ignored,
        "sensitive": list(people.sensitive),
        "remarks": [*people.remarks, *people.choice.remarks, *people.prepared.remarks],
        "settings": method.parameters() | {"objective": method.objective},
        "objective": float(model.objective_),
        "plain_objective": None if plain is None else float(plain.objective_),
        "plain_max_fairness_error": None if beside is None else beside.max_fairness_error,
        "fairness_weight": float(model.fairness_weight_),
        "fairness_goal_met": bool(model.fairness_goal_met_),
        "n_iter": int(model.n_iter_),
        "stop_reason": str(model.stop_reason_),
        "audit": audits_as_json(fitted.audit),
        "seconds": fitted.stages.seconds,
        "peak_memory_mb": peak_memory_mb(),
        "written": written,
    }
