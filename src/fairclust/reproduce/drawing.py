"""The figures as pictures, PNG and SVG, with matplotlib. Colours are told apart by colour-blind people, shapes too."""

from __future__ import annotations

from collections.abc import Callable
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
    draw = {
        "convergence": _convergence,
        "tradeoff": _tradeoff,
        "clusters-number": _numbers,
        "clusters-weight": _clusters,
    }
    return _drawn({name: (function, panels[name]) for name, function in draw.items()}, folder)


def draw_field(panels: dict[str, list[Drawn]], folder: Path) -> list[Path]:
    """Draw cost above plain against seconds, a picture for each protocol of the field.

    Parameters
    ----------
    panels : dict
        From :func:`fairclust.reproduce.field.page.panels`.
    folder : Path

    Returns
    -------
    paths : list of Path
        The pictures, PNG and SVG.
    """
    return _drawn({name: (_prices, shown) for name, shown in panels.items()}, folder)


def _drawn(wanted: dict[str, tuple[Callable[..., Any], list[Drawn]]], folder: Path) -> list[Path]:
    """Draw pictures by name; panels whose data are missing are left out."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(
            "figures need matplotlib, which is not installed. Run `pip install 'fairclust[plot]'`."
        ) from error
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    # The same input gives the same file: no date, no random ids.
    with mpl.rc_context({"svg.hashsalt": "fairclust", "font.size": 9}):
        for name, (function, panels) in wanted.items():
            shown = [panel for panel in panels if "missing" not in panel]
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


_SHAPES = "osD^vP<>hX"
_SHADES = (BLUE, GREEN, ORANGE, PURPLE, "#56B4E9", "#E69F00", "#8C8C8C", "#882255", "#44AA99", "#999933")
_NEAR_ZERO = 0.1  # per cent; below it the axis is even
_FASTEST = 1e-3  # seconds: less is not measured


def _prices(Figure: Any, panels: list[Drawn]) -> Any:
    """Cost above plain, in per cent, against processor seconds; one panel per data set, open where a goal is missed."""
    n_columns = min(len(panels), 3)
    figure, axes = _grid(Figure, -(-len(panels) // n_columns), n_columns, (3.6, 3.0))
    names = list(dict.fromkeys(point["method"] for panel in panels for point in panel["points"]))
    looks = {name: (_SHAPES[i % len(_SHAPES)], _SHADES[i % len(_SHADES)]) for i, name in enumerate(names)}
    handles: dict[str, Any] = {}
    for panel, ax in zip(panels, axes.flat[: len(panels)], strict=True):
        for point in panel["points"]:
            shape, shade = ("x", BLACK) if point["is_printed"] else looks[point["method"]]
            face = shade if point["is_met"] or point["is_printed"] else "none"
            where = max(point["seconds"], _FASTEST), point["above"]
            edges = {} if shape in "x" else {"facecolors": face, "edgecolors": shade}
            drawn = ax.scatter(*where, s=28, marker=shape, **(edges or {"c": shade}))
            if point["is_met"] or point["is_printed"]:
                handles.setdefault("printed" if point["is_printed"] else point["method"], drawn)
        ax.set_xscale("log")
        seconds = [max(point["seconds"], _FASTEST) for point in panel["points"]]
        # Whole decades, each with a label; labels between them would overlap.
        ax.set_xlim(10.0 ** np.floor(np.log10(0.8 * min(seconds))), 10.0 ** np.ceil(np.log10(1.25 * max(seconds))))
        ax.tick_params(axis="x", which="minor", labelbottom=False)
        ax.set_yscale("symlog", linthresh=_NEAR_ZERO)
        ax.axhline(0.0, color="#8C8C8C", linewidth=0.8)
        heights = [point["above"] for point in panel["points"]]
        ax.set_ylim(min(2 * min(heights), -0.3 * _NEAR_ZERO), 2 * max(*heights, _NEAR_ZERO))
        ax.set_title(panel["data"])
        ax.set_xlabel("processor seconds")
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("cost above plain, %")
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=min(4 if n_columns > 1 else 1, len(handles) or 1),
        frameon=False,
    )
    return figure
