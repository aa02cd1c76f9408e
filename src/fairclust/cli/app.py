"""The commands and their options. What they do is in the modules beside this one, loaded when a command runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from .. import __version__
from .config import config_text, read_config
from .goals import AuditCommand, GoalCommand, PathCommand, asked_goal
from .requests import (
    Method,
    Prediction,
    Source,
    Streaming,
    Wanted,
    parse_clusters,
    parse_size,
    parse_sizes,
    parse_target,
    read_groups_options,
)
from .screen import guarded, say

Record = TypeVar("Record", Source, Method)

app = typer.Typer(
    name="fairclust",
    help="Fair clustering: clusters whose make-up by group matches a target. "
    "'Fair' means proportional representation in every cluster, and nothing more.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

File = Annotated[Path, typer.Argument(help="CSV, TSV or Parquet file, one row per person.", metavar="FILE")]
Sensitive = Annotated[
    str, typer.Option("--sensitive", help="Column with the groups; with several (a,b) each of them is balanced.")
]
Intersections = Annotated[
    bool, typer.Option("--intersections", help="With several sensitive columns: balance their combinations instead.")
]
MissingGroups = Annotated[
    str,
    typer.Option(
        help="Rows without a group: 'error' (see --missing), 'own' (a group of their own) or 'ignore' (not counted)."
    ),
]
UnknownGroups = Annotated[
    str,
    typer.Option(
        help="People of a group that the fit did not see, when they are labelled later: 'error', or 'nearest' centre."
    ),
]
Bins = Annotated[
    list[str] | None, typer.Option(help="Cut a sensitive column of numbers into ranges of about equal size: age=4.")
]
Clusters = Annotated[int, typer.Option("-k", "--clusters", help="Number of clusters.")]
ClustersOrAuto = Annotated[str, typer.Option("-k", "--clusters", help="Number of clusters; auto: choose, and say why.")]
Features = Annotated[
    str | None, typer.Option(help="Columns to cluster by: a,b,c. Without it: every numeric column that makes sense.")
]
Encode = Annotated[
    str | None, typer.Option(help="Text columns to turn into 0/1 features, one per value: a,b, or 'all'.")
]
Exclude = Annotated[str | None, typer.Option(help="Columns not to cluster by: a,b.")]
Missing = Annotated[
    str,
    typer.Option(
        help="Missing values: 'error', 'drop' (rows get no cluster), 'impute' or 'observed' (they cost nothing)."
    ),
]
Standardize = Annotated[
    bool, typer.Option("--standardize/--no-standardize", help="Give every feature mean 0 and variance 1.")
]
Objective = Annotated[str, typer.Option(help="kmeans, kmedian or ncut.")]
Target = Annotated[
    list[str] | None,
    typer.Option(
        help="Wanted shares: F=0.5,M=0.5 (with several columns sex=F=0.5,…). Without it: their shares of all rows."
    ),
]
Sizes = Annotated[
    str | None, typer.Option(help="Sizes of the clusters: 'equal' up to one row, or rows of each: 100,200,50.")
]
SmallestSize = Annotated[
    str | None, typer.Option(help="Smallest cluster: rows (100), or a share of all of them (0.05).")
]
LargestSize = Annotated[str | None, typer.Option(help="Largest cluster, in the same way.")]
Weight = Annotated[str | None, typer.Option(help="Column with the weight of each row; 2 is the same as the row twice.")]
Seed = Annotated[int, typer.Option(help="Seed: the same seed gives the same clusters.")]
Starts = Annotated[int | None, typer.Option("--n-init", help="Number of starts; the best is kept.")]
Iterations = Annotated[int, typer.Option(help="Most outer iterations of a fit.")]
Jobs = Annotated[int | None, typer.Option(help="Threads; all cores without it. The clusters do not depend on it.")]
Delimiter = Annotated[str | None, typer.Option(help="What separates cells: , ; | or tab. Found out without it.")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of the text, such as cp1252. Found out without it.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal sign, . or a comma. Found out without it.")]
Report = Annotated[Path | None, typer.Option(help="Where a report for the browser goes, as one HTML file.")]
Suppress = Annotated[float | None, typer.Option(help="For privacy: do not show counts below this (5 is usual).")]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        callback=read_config,
        is_eager=True,
        help="TOML file with these options: max-fairness-error = 0.02. What is typed goes before it.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print a summary as JSON on stdout, and nothing else there.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]
SafeCsv = Annotated[
    bool, typer.Option("--safe-csv", help="Put an apostrophe before text that a spreadsheet would run as a formula.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback when something fails.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"fairclust {__version__}")
        raise typer.Exit()


@app.callback()
def _fairclust(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    pass


def _asked(context: typer.Context, options: Mapping[str, Any], n_clusters: int | None) -> tuple[Source, Method]:
    """What a command is to read and to fit, from its options by name; those it does not have keep their defaults."""
    parsed = {
        "groups": read_groups_options(options),
        "n_clusters": n_clusters,
        "goal": asked_goal(context),
        "target": parse_target(options["target"]),
        "cluster_sizes": parse_sizes(options.get("sizes")),
        "min_cluster_size": parse_size(options.get("min_cluster_size"), "--min-cluster-size"),
        "max_cluster_size": parse_size(options.get("max_cluster_size"), "--max-cluster-size"),
    }
    given = {**options, **parsed}

    def record(kind: type[Record]) -> Record:
        return kind(**{field.name: given[field.name] for field in fields(kind) if field.name in given})

    return record(Source), record(Method)


@app.command()
@guarded
def demo(
    out: Annotated[Path, typer.Option("--out", help="Directory for the picture.")] = Path("demo"),
    debug: Debug = False,
) -> None:
    """Fair clustering on built-in data: no file, no network, a picture at the end."""
    from .demo import run_demo

    run_demo(out)


@app.command(cls=GoalCommand)
@guarded
def fit(
    context: typer.Context,
    file: File,
    sensitive: Sensitive,
    clusters: ClustersOrAuto,
    out: Annotated[
        Path | None, typer.Option(help="Where the rows with their cluster go: .csv, .tsv (also .gz), .parquet.")
    ] = None,
    report: Report = None,
    model: Annotated[
        Path | None, typer.Option(help="Where the model goes, for fairclust predict: people.fairclust.")
    ] = None,
    moves: Annotated[
        Path | None, typer.Option(help="Where a row per person goes: cluster without and with fairness, and how far.")
    ] = None,
    features: Features = None,
    encode: Encode = None,
    exclude: Exclude = None,
    weight: Weight = None,
    missing: Missing = "error",
    standardize: Standardize = True,
    objective: Objective = "kmeans",
    sizes: Sizes = None,
    min_cluster_size: SmallestSize = None,
    max_cluster_size: LargestSize = None,
    target: Target = None,
    intersections: Intersections = False,
    missing_groups: MissingGroups = "error",
    unknown_groups: UnknownGroups = "error",
    bins: Bins = None,
    label_column: Annotated[str, typer.Option(help="Name of the new column.")] = "cluster",
    soft: Annotated[bool, typer.Option("--soft", help="Also write how much each row belongs to each cluster.")] = False,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Also cluster without fairness, and tell its price and who moved: six more fits. "
            "--report and --moves include it.",
        ),
    ] = False,
    stability: Annotated[
        int | None, typer.Option(help="How sure: fit so often again, from other seeds and on other samples: 5.")
    ] = None,
    seed: Seed = 0,
    n_init: Starts = None,
    max_iter: Iterations = 300,
    jobs: Jobs = None,
    out_of_core: Annotated[
        bool | None,
        typer.Option("--out-of-core/--in-memory", help="Read Parquet block by block. Default: if it would not fit."),
    ] = None,
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    suppress_below: Suppress = None,
    config: Config = None,
    json: Json = False,
    safe_csv: SafeCsv = False,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Cluster the rows of a file, with every group's share of each cluster near its target."""
    source, method = _asked(context, locals(), parse_clusters(clusters))
    wanted = Wanted(
        out=out,
        report=report,
        moves=moves,
        model=model,
        label_column=label_column,
        soft=soft,
        compare=compare,
        stability=stability,
        suppress_below=suppress_below,
        json=json,
        force=force,
        config=config_text(context),
        safe_csv=safe_csv,
    )
    from .fit import run_fit

    run_fit(source, method, wanted, Streaming(out_of_core, dask))


@app.command()
@guarded
def predict(
    file: File,
    model: Annotated[Path, typer.Option(help="A model that fairclust fit --model, or model.save in Python, wrote.")],
    out: Annotated[
        Path | None, typer.Option(help="Where the rows with their cluster go: .csv, .tsv (also .gz), .parquet.")
    ] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="Label all rows together, so that the goal of the fit holds among them.")
    ] = False,
    groups: Annotated[
        bool, typer.Option("--groups/--no-groups", help="Use the rows' groups; without: the nearest centre.")
    ] = True,
    missing: Missing = "error",
    label_column: Annotated[str, typer.Option(help="Name of the new column.")] = "cluster",
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    suppress_below: Suppress = None,
    json: Json = False,
    safe_csv: SafeCsv = False,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Label new rows by a model: by its prices, one row at a time, or as a batch that meets its goal."""
    from .predicting import run_predict

    run_predict(
        Prediction(
            file, model, out, batch, groups, missing, label_column, delimiter, encoding, decimal, suppress_below, json,
            force, safe_csv,
        )
    )  # fmt: skip


@app.command(cls=GoalCommand)
@guarded
def choose(
    context: typer.Context,
    file: File,
    sensitive: Sensitive,
    clusters: Annotated[str, typer.Option("-k", "--clusters", help="Numbers of clusters: 2..15, or 2,4,8.")] = "2..15",
    report: Report = None,
    out: Annotated[Path | None, typer.Option(help="Where the table of scores goes: .csv, .tsv or .parquet.")] = None,
    features: Features = None,
    encode: Encode = None,
    exclude: Exclude = None,
    weight: Weight = None,
    missing: Missing = "error",
    standardize: Standardize = True,
    objective: Objective = "kmeans",
    min_cluster_size: SmallestSize = None,
    target: Target = None,
    intersections: Intersections = False,
    missing_groups: MissingGroups = "error",
    bins: Bins = None,
    seed: Seed = 0,
    n_init: Starts = None,
    max_iter: Iterations = 300,
    jobs: Jobs = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    config: Config = None,
    json: Json = False,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Tell what speaks for each number of clusters, with and without the goal."""
    from .choosing import parse_numbers, run_choose

    source, method = _asked(context, locals(), None)
    wanted = Wanted(report=report, json=json, force=force, config=config_text(context))
    run_choose(source, method, wanted, parse_numbers(clusters), out)


@app.command(cls=PathCommand)
@guarded
def path(
    context: typer.Context,
    file: File,
    sensitive: Sensitive,
    clusters: Clusters,
    report: Annotated[Path | None, typer.Option(help="Where the page to explore goes, as one HTML file.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where the table of scores goes: .csv, .tsv or .parquet.")] = None,
    weights: Annotated[str | None, typer.Option(help="Fairness weights: 0,10,100. A grid of 20 without it.")] = None,
    features: Features = None,
    encode: Encode = None,
    exclude: Exclude = None,
    weight: Weight = None,
    missing: Missing = "error",
    standardize: Standardize = True,
    objective: Objective = "kmeans",
    target: Target = None,
    intersections: Intersections = False,
    missing_groups: MissingGroups = "error",
    bins: Bins = None,
    seed: Seed = 0,
    n_init: Starts = None,
    max_iter: Iterations = 300,
    jobs: Jobs = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
    suppress_below: Suppress = None,
    config: Config = None,
    json: Json = False,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Show the whole trade-off between tight and fair clusters, with a page to explore it."""
    source, method = _asked(context, locals(), clusters)
    wanted = Wanted(report=report, suppress_below=suppress_below, json=json, force=force, config=config_text(context))
    from .pathing import run_path

    run_path(source, method, wanted, weights, out)


@app.command(cls=AuditCommand)
@guarded
def audit(
    context: typer.Context,
    file: File,
    sensitive: Sensitive,
    labels: Annotated[str, typer.Option(help="Column with the clusters, from any algorithm.")] = "cluster",
    report: Report = None,
    target: Target = None,
    weight: Weight = None,
    missing: Annotated[str, typer.Option(help="Rows without a cluster or group: 'error' or 'drop'.")] = "error",
    intersections: Intersections = False,
    missing_groups: MissingGroups = "error",
    bins: Bins = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    suppress_below: Suppress = None,
    config: Config = None,
    json: Json = False,
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Report how each group is represented in each cluster of a file."""
    from .auditing import run_audit

    run_audit(
        file,
        labels=labels,
        sensitive=sensitive,
        target=parse_target(target),
        missing=missing,
        groups=read_groups_options(locals()),
        goal=asked_goal(context),
        suppress_below=suppress_below,
        as_json=json,
        delimiter=delimiter,
        encoding=encoding,
        weight=weight,
        report=report,
        force=force,
        config=config_text(context),
    )


@app.command()
@guarded
def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            help="table1 (K-median), table2 (K-means), table3 (Ncut), figures or all of the paper; or field: every "
            "protocol by every method.",
            metavar="WHAT",
        ),
    ] = "all",
    out: Annotated[
        Path, typer.Option("--out", help="Directory for the results; what is there already is used again.")
    ] = Path("reproduction"),
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="Where the real data are, or are downloaded to.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The synthetic sets only: a minute or two, no network.")
    ] = False,
    seeds: Annotated[int, typer.Option(help="Seeds of ours and of the paper's algorithm.")] = 3,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute again what is there already.")] = False,
    add: Annotated[
        list[Path] | None,
        typer.Option("--add", help="field: a method (.py) or protocol (.toml) of your own. Repeatable."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="field: rows that are run at a time; 0: one for each core.")] = 0,
    debug: Debug = False,
) -> None:
    """The paper's tables and figures from real data, ours beside the paper's and the rivals'; or the whole field."""
    from .reproducing import run_reproduce

    run_reproduce(what, out, data_dir, quick=quick, seeds=seeds, fresh=fresh, more=add or [], jobs=jobs)
