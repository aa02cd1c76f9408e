"""``fairclust fit``: a file of people in, the same rows with a cluster out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars

from .. import __version__
from .._audit.audit import AuditReports, audit_encoded
from .._audit.moves import Moves, compare_encoded
from .._people.attributes import Population, read_options
from .._typing import AnyArray
from ..errors import InvalidInputError
from ..estimators import N_SEEDS, PlainBaseline, Stability, plain_baseline, stability
from ..report import Page, check_extras, model_report
from .files import check_outputs
from .objectives import WORDS, find_estimator
from .people import People, load_people, remarks_on, tell_people, typed_command
from .predicting import recipe_of
from .requests import Method, Source, Streaming, Wanted
from .screen import note, say, warnings_as_notes
from .streaming import is_streamed, run_streamed
from .summary import audits_as_json, goal_sentence, print_json, show_audits, told_of_goal
from .tables import check_writable, tell_formulas, write_table
from .timing import Stages, peak_memory_mb


@dataclass
class Fitted:
    """A fit, the plain one beside it where there is one, and the audits of both."""

    model: Any
    audit: AuditReports
    baseline: PlainBaseline | None = None
    plain_audit: AuditReports | None = None
    moves: Moves | None = None
    stability: Stability | None = None
    stages: Stages = field(default_factory=Stages)


def run_fit(source: Source, method: Method, wanted: Wanted, how: Streaming | None = None) -> None:
    """Read, fit, tell, write; block by block where that is asked for or the file does not fit in memory."""
    estimator = find_estimator(method.objective)
    parameters = method.parameters()
    outputs = {"--out": wanted.out, "--report": wanted.report, "--moves": wanted.moves, "--model": wanted.model}
    check_outputs(outputs, force=wanted.force, inputs=(source.file,) if source.file.exists() else ())
    check_writable(wanted.out, "--out")
    check_writable(wanted.moves, "--moves")
    if wanted.report is not None:
        check_extras()  # before the work, not after it
    if source.weight is not None and method.objective == "ncut":
        raise InvalidInputError("--weight: Ncut knows no weights of rows. Use --objective kmeans or kmedian.")
    if how is not None and is_streamed(source.file, how, method.n_clusters or 10):
        if method.n_clusters is None:
            raise InvalidInputError("-k auto needs rows in memory. Choose on a sample of the rows: fairclust choose.")
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
    if people.prepared.has_gaps and method.objective != "kmeans":
        raise InvalidInputError("--missing observed needs --objective kmeans. Use --missing drop or impute.")
    if method.n_clusters is None:
        from .choosing import chosen_number

        choice = chosen_number(people, method, stages)
        method = replace(method, n_clusters=choice.n_clusters)
        parameters = method.parameters()
        people = replace(people, remarks=(*people.remarks, f"-k auto: {choice.reason}"))
        if not wanted.json:
            note(people.remarks[-1])
    fitted = _fit(people, estimator, parameters, wanted, stages)
    written = _write(people, fitted, source, wanted)
    if wanted.json:
        print_json(_summary(people, fitted, method, wanted, written))
    else:
        _tell(fitted, method, wanted, written)


def _fit(people: People, estimator: type[Any], parameters: dict[str, Any], wanted: Wanted, stages: Stages) -> Fitted:
    X, weighted = people.prepared.X, {} if people.weights is None else {"sample_weight": people.weights}
    with warnings_as_notes(), stages.stage("fit", "Clustering") as stage:
        model = estimator(**parameters, **people.prepared.options, verbose=stage.follow)
        model.fit(X, sensitive_features=people.groups, **weighted)
        model.set_params(verbose=0)
    everyone = Population(model.attributes_, model.attributes_.encode(people.groups))  # encoded once, counted often
    counting: dict[str, Any] = {"sample_weight": people.weights, "suppress_below": wanted.suppress_below}
    fitted = Fitted(model, audit_encoded(model.labels_, everyone, **counting), stages=stages)
    if wanted.compare or wanted.report is not None or wanted.moves is not None:
        with stages.stage("compare", "Clustering without fairness, to compare", total=N_SEEDS + 1) as stage:
            baseline = plain_baseline(model, X, sample_weight=people.weights, on_fit=stage.advance)
        fitted.baseline = baseline
        fitted.plain_audit = audit_encoded(baseline.model.labels_, everyone, **counting)
        fitted.moves = compare_encoded(
            baseline.model.labels_, model.labels_, everyone, X=people.prepared.filled, **counting
        )
    if wanted.stability is not None:
        n_fits = wanted.stability * (2 if hasattr(model, "predict") else 1)
        with stages.stage("stability", "Clustering other samples, to see what stays", total=n_fits) as stage:
            fitted.stability = stability(
                model,
                X,
                sensitive_features=people.groups,
                n_runs=wanted.stability,
                sample_weight=people.weights,
                on_fit=stage.advance,
            )
    return fitted


def _write(people: People, fitted: Fitted, source: Source, wanted: Wanted) -> dict[str, str]:
    written = {}
    if wanted.out is not None:
        with fitted.stages.stage("write", f"Writing {wanted.out.name}"):
            labelled = _with_labels(people, fitted.model, wanted)
            write_table(labelled, wanted.out, people.table.dialect, safe=wanted.safe_csv)
        tell_formulas(labelled, wanted.out, safe=wanted.safe_csv)
        written["out"] = str(wanted.out)
    if wanted.report is not None:
        with fitted.stages.stage("report", f"Writing {wanted.report.name}"):
            _report(people, fitted, source, wanted).save(wanted.report, overwrite=True)
        written["report"] = str(wanted.report)
    if wanted.moves is not None and fitted.moves is not None:
        with fitted.stages.stage("moves", f"Writing {wanted.moves.name}"):
            write_table(_one_row_each(people, fitted.moves, wanted), wanted.moves, people.table.dialect)
        written["moves"] = str(wanted.moves)
    if wanted.model is not None:
        recipe = recipe_of(
            people.table, people.choice, people.prepared, people.sensitive, read_options(source.groups),
            missing=source.missing, standardize=source.standardize,
        )  # fmt: skip
        fitted.model.save(wanted.model, notes=recipe.notes())
        written["model"] = str(wanted.model)
    return written


def _one_row_each(people: People, moves: Moves, wanted: Wanted) -> polars.DataFrame:
    """Who was moved, a row per person; without the groups where small counts must not be shown."""
    columns: dict[str, Any] = {"row": np.flatnonzero(people.prepared.used) + 1}
    if wanted.suppress_below is None:
        columns |= {name: polars.Series(values.tolist(), strict=False) for name, values in people.groups.items()}
    taken = {"row", "before", "after", "moved", "extra_distance"}
    columns = {f"{name} (group)" if name in taken and name != "row" else name: v for name, v in columns.items()}
    for name, values in moves.people().items():
        columns[name] = polars.Series(values.tolist(), strict=False) if values.dtype == object else values
    return polars.DataFrame(columns)


def _report(people: People, fitted: Fitted, source: Source, wanted: Wanted) -> Page:
    means, stds = people.prepared.raw_means, people.prepared.raw_stds
    return model_report(
        fitted.model,
        people.prepared.filled,
        people.groups,
        baseline=fitted.baseline,
        moves=fitted.moves,
        stability=fitted.stability,
        sample_weight=people.weights,
        feature_names=people.prepared.feature_names,
        units=(means, stds) if source.standardize else None,
        title=f"Fair clusters of {source.file.name} by {', '.join(people.sensitive)}",
        suppress_below=wanted.suppress_below,
        remarks=remarks_on(people),
        command=typed_command(),
        config=wanted.config,
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
    for sentence in _costs(fitted, words[1], wanted):
        say(sentence)
    for sentence in [] if fitted.stability is None else fitted.stability.sentences():
        say(sentence)
    gap = getattr(model, "assignment_gap_", None)
    if gap is not None and np.isfinite(gap):
        say(f"The labels are within {100 * gap:.2g} % of the cheapest possible for these centres and this goal.")
    say(f"{goal_sentence(model)} Seed: {method.seed}. Stopped: {model.stop_reason_}.")
    say(fitted.stages.in_words)
    for name, path in written.items():
        say(f"{_FILES[name]}: {path}", style="bold")
    if fitted.baseline is None:
        note("What fairness cost, and who was moved, is told with --compare: six more fits, without fairness.")
    if not written:
        note("Nothing was saved. Add --out labels.csv for the clusters, --report report.html for a report.")


_FILES = {"out": "Labels", "report": "Report", "moves": "Who was moved", "model": "Model"}


def _costs(fitted: Fitted, objective: str, wanted: Wanted) -> list[str]:
    """What fairness cost, and who paid."""
    baseline, moves = fitted.baseline, fitted.moves
    if baseline is None or moves is None or fitted.plain_audit is None:
        return []
    rise, unlucky = baseline.cost_range
    cost = (
        f"What fairness cost: {objective} is {baseline.fair_objective:.6g}, against {baseline.objective:.6g} for the "
        f"best plain clustering found ({rise:+.1%}); plain clustering from one of {len(baseline.objectives)} seeds "
        f"costs up to {baseline.objectives.max():.6g} ({unlucky:+.1%})."
    )
    if wanted.suppress_below is None:
        cost += (
            f" The worst cluster's fairness error is {fitted.audit.max_fairness_error:.4g}, against "
            f"{fitted.plain_audit.max_fairness_error:.4g}."
        )
    return [cost, *moves.sentences()]


def _summary(people: People, fitted: Fitted, method: Method, wanted: Wanted, written: dict[str, str]) -> dict[str, Any]:
    model, baseline = fitted.model, fitted.baseline
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
        "settings": method.settings(),
        "objective": float(model.objective_),
        "plain_objective": None if baseline is None else baseline.objective,
        "plain_objectives": None if baseline is None else baseline.objectives.tolist(),
        "cost_of_fairness": None if baseline is None else baseline.cost_of_fairness,
        "plain_max_fairness_error": None if beside is None else beside.max_fairness_error,
        "stability": None if fitted.stability is None else fitted.stability.to_dict(),
        "moves": None if fitted.moves is None else fitted.moves.to_dict(),
        **told_of_goal(model),
        "assignment_gap": _number(getattr(model, "assignment_gap_", None)),
        "lower_bound": _number(getattr(model, "lower_bound_", None)),
        "n_iter": int(model.n_iter_),
        "stop_reason": str(model.stop_reason_),
        "audit": audits_as_json(fitted.audit),
        "seconds": fitted.stages.seconds,
        "peak_memory_mb": peak_memory_mb(),
        "written": written,
    }


def _number(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)
