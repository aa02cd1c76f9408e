"""``fairclust demo``: the main job on the built-in data, told in plain words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.preprocessing import StandardScaler

from .._audit.audit import AuditReport, audit_each
from .._fit.path import fairness_path
from .._typing import AnyArray, FloatArray
from ..datasets import make_census_like, make_synthetic
from ..errors import MissingExtraError
from ..estimators import FairKMeans
from ..report import check_extras, model_report, path_report
from .screen import note, percent, say, show_table

_GOAL = 0.01  # the default, spelled out for the text
_PICTURE = "fairclust-demo.png"
_REPORT = "fairclust-demo.html"
_EXPLORER = "fairclust-demo-path.html"


def run_demo(out: Path) -> None:
    """Cluster the synthetic data with and without fairness, compare, and draw both.

    Parameters
    ----------
    out : Path
        Directory for the picture; made where it is missing.
    """
    blobs = make_synthetic()
    X: FloatArray = StandardScaler().fit_transform(blobs.data)
    groups: AnyArray = blobs.sensitive_features
    plain = FairKMeans(blobs.n_clusters, goal=None, random_state=0).fit(X, sensitive_features=groups)
    fair = FairKMeans(blobs.n_clusters, goal=_GOAL, random_state=0).fit(X, sensitive_features=groups)
    before, after = (audit_each(model.labels_, groups)["group"] for model in (plain, fair))
    say(
        f"{len(X)} made-up people in two groups of equal size, A and B, with two features. Both features are put on "
        "the same scale, then the people are split into two clusters: once by plain K-means, once by fair K-means."
    )
    say()
    _show_composition("Plain K-means", before)
    _show_composition("Fair K-means", after)
    _tell(before, after, plain.objective_, fair.objective_)
    say()
    try:
        path = _draw(X, groups, (("Plain K-means", plain, before), ("Fair K-means", fair, after)), out)
    except MissingExtraError as error:
        note(f"No picture: {error}", style="yellow")
    else:
        say(f"Picture: {path}", style="bold")
    _write_pages(X, groups, fair, blobs.feature_names, out)
    say("Your own data: fairclust fit people.csv --sensitive sex -k 10 --out labels.csv")


def _write_pages(X: FloatArray, groups: AnyArray, fair: FairKMeans, names: list[str], out: Path) -> None:
    try:
        check_extras()
    except MissingExtraError as error:
        note(f"No pages for the browser: {error}", style="yellow")
        return
    fair.compare_to_plain(X, sensitive_features=groups)
    report = model_report(fair, X, groups, feature_names=names, title="Fair clusters of made-up people")
    crowd = make_census_like(2000)
    path = fairness_path(FairKMeans(6, random_state=0), crowd.data, sensitive_features=crowd.sensitive_features)
    explorer = path_report(
        path,
        crowd.data,
        crowd.sensitive_features,
        feature_names=crowd.feature_names,
        title="The price of fair clusters: 2,000 made-up people",
    )
    out.mkdir(parents=True, exist_ok=True)
    say(f"Report: {report.save(out / _REPORT, overwrite=True)}", style="bold")
    say(f"Trade-off to explore: {explorer.save(out / _EXPLORER, overwrite=True)}", style="bold")


def _show_composition(title: str, report: AuditReport) -> None:
    header = ["cluster", "people", *(f"group {name}" for name in report.group_names), "fairness error"]
    rows = [
        [str(name), f"{size:.0f}", *(percent(share) for share in shares), f"{error:.4f}"]
        for name, size, shares, error in zip(
            report.cluster_names, report.sizes, report.proportions, report.fairness_errors, strict=True
        )
    ]
    wanted = ["wanted", "", *(percent(share) for share in report.target_proportions), f"at most {_GOAL}"]
    show_table(title, header, [*rows, wanted])


def _tell(before: AuditReport, after: AuditReport, plain_cost: float, fair_cost: float) -> None:
    largest = before.proportions.max()
    say(
        f"Plain K-means makes a cluster that is {largest:.0%} one group, though each group is half of the people. "
        f"In the fair clusters no share is more than {np.abs(after.deviations).max() * 100:.1f} percentage points from "
        "the wanted one."
    )
    say(
        f"What that costs: the sum of squared distances rises from {plain_cost:.1f} to {fair_cost:.1f} "
        f"({100 * (fair_cost / plain_cost - 1):+.1f} %)."
    )
    say(
        "'Fair' means proportional representation: each group's share of every cluster matches the target. It does not "
        "mean that people are treated alike, nor that what is done with the clusters is right."
    )


def _draw(X: FloatArray, groups: AnyArray, panels: tuple[tuple[str, FairKMeans, AuditReport], ...], out: Path) -> Path:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib is not installed. Run `pip install 'fairclust[plot]'`.") from error
    colors = ("#0072B2", "#D55E00")
    shades = ("#A6DBA0", "#C2A5CF")  # groups: never a cluster's colour
    figure = Figure(figsize=(9, 6.2), layout="constrained")
    axes = figure.subplots(2, len(panels), height_ratios=(3, 1))
    for (title, model, report), points, bars in zip(panels, axes[0], axes[1], strict=True):
        for k, color in enumerate(colors):
            for name, marker in zip(report.group_names, "ox", strict=True):
                rows = (model.labels_ == k) & (groups == name)
                points.scatter(*X[rows].T, s=22, c=color, marker=marker, alpha=0.75, label=f"cluster {k}, group {name}")
        points.set_title(f"{title} (cost {model.objective_:.1f})")
        points.set_xlabel("feature x (standardised)")
        points.set_ylabel("feature y (standardised)")
        left = np.zeros(len(report.sizes))
        for j, name in enumerate(report.group_names):
            shares = report.proportions[:, j]
            bars.barh([f"cluster {k}" for k in report.cluster_names], shares, left=left, color=shades[j])
            for k, share in enumerate(shares):
                if share > 0.1:
                    bars.text(left[k] + 0.02, k, f"group {name}: {share:.0%}", va="center", fontsize=9)
            left += shares
        bars.axvline(report.target_proportions[0], color="black", linestyle="--", linewidth=1.2)
        bars.set_xlim(0, 1)
        bars.set_xticks([0, 0.5, 1], ["0 %", "50 % (wanted)", "100 %"])
        bars.invert_yaxis()
        bars.spines[["top", "right"]].set_visible(False)
        points.spines[["top", "right"]].set_visible(False)
    handles, labels = axes[0][0].get_legend_handles_labels()
    more, others = axes[0][1].get_legend_handles_labels()
    by_label = dict(zip([*labels, *others], [*handles, *more], strict=True))
    by_label = {label: by_label[label] for label in sorted(by_label)}
    figure.legend(by_label.values(), by_label.keys(), loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle("The same people, clustered without and with fairness", fontsize=14)
    out.mkdir(parents=True, exist_ok=True)
    path = out / _PICTURE
    figure.savefig(path, dpi=120)
    return path
