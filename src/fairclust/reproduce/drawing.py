"""The figures as pictures, PNG and SVG, with matplotlib. Colours are told apart by colour-blind people, shapes too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .._files import atomic
from ..errors import MissingExtraError
from .figures import TITLES, Drawn

# Okabe and Ito's palette.
BLUE, ORANGE, GREEN, PURPLE, BLACK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000"
_LAMBDA = "fairness weight λ"


def draw_all(panels: dict[str, list[Drawn]], folder: Path) -> list[Path]:
    """Draw every figure whose data are there.

    Parameters
    ----------
    panels : dict
        From :func:`fairclust.reproduce.figures.compute`.
    folder : Path

    Returns
    -------
    paths : list of Path
        The pictures, PNG and SVG.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(
            "figures need matplotlib, which is not installed. Run `pip install 'fairclust[plot]'`."
        ) from error
    draw = {
        "convergence": _convergence,
        "tradeoff": _tradeoff,
        "clusters-number": _numbers,
        "clusters-weight": _clusters,
    }
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    # The same input gives the same file: no date, no random ids.
    with mpl.rc_context({"svg.hashsalt": "fairclust", "font.size": 9}):
        for name, function in draw.items():
            shown = [panel for panel in panels[name] if "missing" not in panel]
            if not shown:
                continue
            figure = function(Figure, shown)
            for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None})):
                path = folder / f"{name}{suffix}"
                with atomic(path) as temporary:
                    figure.savefig(temporary, format=suffix[1:], dpi=110, metadata=metadata)
                paths.append(path)
    return paths


def _grid(Figure: Any, n_rows: int, n_columns: int, size: tuple[float, float], **kwargs: Any) -> tuple[Any, Any]:
    figure = Figure(figsize=(size[0] * n_columns, size[1] * n_rows), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, **kwargs)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _convergence(Figure: Any, panels: list[Drawn]) -> Any:
    """Energy against outer iteration, both solvers."""
    figure, axes = _grid(Figure, -(-len(panels) // 3), 3, (3.3, 2.7))
    # Where the two agree, the open squares stand around the dots.
    styles = {
        "bound": {
            "color": ORANGE,
            "marker": "s",
            "markersize": 7,
            "fillstyle": "none",
            "label": "the paper's algorithm",
        },
        "dual": {"color": BLUE, "marker": "o", "markersize": 3.5, "label": "dual solver (default)"},
    }
    for panel, ax in zip(panels, axes.flat, strict=True):
        for solver, style in styles.items():
            energy = panel["curves"][solver]
            ax.plot(range(1, len(energy) + 1), energy, **style)
        longest = max(len(curve) for curve in panel["curves"].values())
        ax.set_xticks(_whole_ticks(longest))
        ax.set_title(f"{TITLES[panel['objective']]}, {panel['data']}, λ = {panel['weight']:g}")
        ax.set_xlabel("outer iteration")
        ax.set_ylabel("energy")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _whole_ticks(longest: int) -> list[int]:
    step = max(1, -(-longest // 6))
    return list(range(1, longest + 1, step))


def _tradeoff(Figure: Any, panels: list[Drawn]) -> Any:
    """Objective above, Σ KL below, over the same λ."""
    figure, axes = _grid(Figure, 2, len(panels), (3.1, 2.3), sharex="col")
    for panel, (upper, lower) in zip(panels, axes.T, strict=True):
        weights = np.array(panel["weights"])
        smallest = weights[weights > 0].min()
        upper.plot(weights, panel["objectives"], "o-", color=BLUE, markersize=4)
        lower.plot(weights, panel["errors"], "s-", color=ORANGE, markersize=4)
        for ax in (upper, lower):
            ax.set_xscale("symlog", linthresh=smallest, linscale=0.5)
            ax.set_xlim(-0.4 * smallest, weights.max() * 1.6)
        decades = np.arange(np.ceil(np.log10(smallest)), np.floor(np.log10(weights.max())) + 1)
        shown = decades[:: max(1, -(-len(decades) // 4))]
        lower.set_xticks([0.0, *10.0**shown], ["0", *(f"$10^{{{int(d)}}}$" for d in shown)])
        lower.minorticks_off()
        upper.set_title(f"{TITLES[panel['objective']]}, {panel['data']}")
        lower.set_xlabel(_LAMBDA)
        lower.set_ylim(bottom=0)
        if np.ptp(panel["objectives"]) == 0:  # no negative numbers about a constant
            upper.set_ylim(0, 2 * panel["objectives"][0] or 1.0)
    axes[0, 0].set_ylabel("clustering objective", color=BLUE)
    axes[1, 0].set_ylabel("fairness error, Σ KL", color=ORANGE)
    figure.align_ylabels(axes[:, 0])
    return figure


def _numbers(Figure: Any, panels: list[Drawn]) -> Any:
    """Objective against K, with and without fairness."""
    figure, axes = _grid(Figure, 1, len(panels), (3.3, 2.9))
    for panel, ax in zip(panels, axes[0], strict=True):
        ax.plot(panel["numbers"], panel["plain"], "o-", color=GREEN, markersize=4, label="without fairness")
        ax.plot(panel["numbers"], panel["fair"], "s--", color=PURPLE, markersize=4, label="with fairness, λ fixed")
        ax.set_title(f"{TITLES[panel['objective']]}, {panel['data']}, λ = {panel['weight']:g}")
        ax.set_xlabel("number of clusters K")
        ax.set_ylabel("clustering objective")
        ax.set_xticks(panel["numbers"])
        ax.set_ylim(bottom=0)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _clusters(Figure: Any, panels: list[Drawn]) -> Any:
    """Groups, then clusters for rising λ; the shape of a point is its group, its colour its cluster."""
    figure, axes = _grid(Figure, len(panels), 1 + len(panels[0]["panels"]), (2.5, 2.7), sharex="row", sharey="row")
    markers = ("o", "x")
    for panel, row in zip(panels, axes, strict=True):
        X, groups = np.array(panel["X"]), np.array(panel["groups"])
        names = np.unique(groups)
        for name, marker, color in zip(names, markers, (BLACK, "#8C8C8C"), strict=True):
            row[0].scatter(*X[groups == name].T, s=16, c=color, marker=marker, label=f"group {name}")
        row[0].set_title(f"{panel['data']}: groups")
        row[0].set_ylabel("second feature")
        for weight, fit, ax in zip(panel["weights"], panel["panels"], row[1:], strict=True):
            labels = np.array(fit["labels"])
            for k, color in enumerate((BLUE, ORANGE)):
                for name, marker in zip(names, markers, strict=True):
                    chosen = (labels == k) & (groups == name)
                    ax.scatter(*X[chosen].T, s=16, c=color, marker=marker, label=f"cluster {k + 1}, group {name}")
            ax.set_title(f"λ = {weight:g}\nΣ KL {fit['error']:.2f}, balance {fit['balance']:.2f}", fontsize=8.5)
        for ax in row:
            ax.set_xlabel("first feature")
    groups_shown, clusters_shown = (ax.get_legend_handles_labels() for ax in axes[0, :2])
    figure.legend(
        groups_shown[0] + clusters_shown[0],
        groups_shown[1] + clusters_shown[1],
        loc="outside lower center",
        ncols=3,
        frameon=False,
    )
    return figure
