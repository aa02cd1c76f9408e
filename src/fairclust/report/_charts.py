"""The charts as Vega-Lite specifications, built with Altair. Text takes the page's colour: light, dark or print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._page import check_extras

Rows = list[dict[str, Any]]

SHAPES = ("circle", "cross", "diamond", "triangle-up", "square", "triangle-down", "triangle-left", "triangle-right")
# Two per decade; sums over many clusters go beyond a hundred.
_ERROR_TICKS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_GROUP_COLORS = (
    "#66a61e", "#8e7cc3", "#e6ab02", "#1b9e97", "#e7298a", "#a6761d", "#7fb2e5", "#d95f02", "#b3b3b3", "#5e8c61",
    "#c06c84", "#777777",
)  # fmt: skip
_CLUSTER_COLORS = (
    "#4c8eda", "#f28e2b", "#59a14f", "#e15759", "#9c6bc2", "#9c755f", "#f49ac1", "#8a8a8a", "#c2a500", "#2cb5c0",
    "#1f5fa8", "#ffbf7f", "#2e7d32", "#ff9d9a", "#c9a0e6", "#d4b59e", "#b0457b", "#c4c4c4", "#8c7a00", "#9edae5",
)  # fmt: skip


def altair() -> Any:
    """Give Altair, or say what to install."""
    check_extras()
    import altair

    return altair


def composition_chart(rows: Rows, clusters: Sequence[str], groups: Sequence[str], boundaries: Sequence[float]) -> Any:
    """Draw stacked bars, one per cluster, with lines where the groups should meet.

    Parameters
    ----------
    rows : list of dict
        ``cluster``, ``group``, ``share``, ``start``, ``end``, ``wanted``, ``count`` (text).
    clusters, groups : sequence of str
        Order of the bars and of the parts.
    boundaries : sequence of float
        Where one group's wanted share ends and the next begins.
    """
    alt = altair()
    longest = max([1.0, *(float(row["end"]) for row in rows)])
    scale = alt.Scale(domain=[0, longest])
    bars = (
        alt.Chart(alt.NamedData("composition"))
        .mark_bar(height={"band": 0.8})
        .encode(
            y=alt.Y("cluster:N", sort=list(clusters), title=None, axis=alt.Axis(labelLimit=180)),
            x=alt.X("start:Q", title="share of the cluster", scale=scale, axis=alt.Axis(format=".0%")),
            x2="end:Q",
            color=_colors(alt, "group", groups, _GROUP_COLORS),
            tooltip=[
                alt.Tooltip("cluster:N", title="cluster"),
                alt.Tooltip("group:N", title="group"),
                alt.Tooltip("share:Q", title="share", format=".1%"),
                alt.Tooltip("wanted:Q", title="wanted", format=".1%"),
                alt.Tooltip("count:N", title="count"),
            ],
        )
    )
    lines = (
        alt.Chart(alt.Data(values=[{"at": at} for at in boundaries]))
        .mark_rule(strokeDash=[5, 3], strokeWidth=2, color="currentColor")
        .encode(x=alt.X("at:Q", title="share of the cluster"))
    )
    return finish(
        (bars + lines).properties(width="container", height=24 * len(clusters)),
        "Stacked bars: the share of each group in every cluster; dashed lines where the target wants them to meet.",
        {"composition": rows},
    )


def cost_chart(rows: Rows) -> Any:
    """Draw the objective without and with fairness: ``what`` and ``value``."""
    alt = altair()
    order = [row["what"] for row in rows]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("what:N", sort=order, title=None, axis=alt.Axis(labelLimit=200)),
        x=alt.X(
            "value:Q",
            title="clustering objective (lower is tighter)",
            scale=alt.Scale(zero=True),
            axis=alt.Axis(tickCount=6),
        ),
    )
    bars = base.mark_bar(color="#7f9fc9", height={"band": 0.7})
    labels = base.mark_text(align="right", dx=-6, color="#101418").encode(text=alt.Text("shown:N"))
    return finish((bars + labels).properties(width="container", height=34 * len(rows)), "The clustering objective.")


def moved_chart(rows: Rows) -> Any:
    """Draw the share of each group that changed cluster: ``group``, ``share``, ``shown`` and ``count`` (text)."""
    alt = altair()
    largest = max([0.05, *(float(row["share"]) for row in rows)])
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("group:N", sort=[row["group"] for row in rows], title=None, axis=alt.Axis(labelLimit=200)),
        x=alt.X(
            "share:Q",
            title="share that changed cluster",
            scale=alt.Scale(domain=[0, min(1.0, 1.15 * largest)]),
            axis=alt.Axis(format=".0%", tickCount=6),
        ),
        tooltip=[alt.Tooltip("group:N"), alt.Tooltip("count:N", title="changed cluster")],
    )
    bars = base.mark_bar(color="#7f9fc9", height={"band": 0.7})
    labels = base.mark_text(align="left", dx=4, color="currentColor").encode(text=alt.Text("shown:N"))
    return finish(
        (bars + labels).properties(width="container", height=26 * len(rows)), "Who changed cluster, by group."
    )


def features_chart(rows: Rows, clusters: Sequence[str], features: Sequence[str], largest: float) -> Any:
    """Draw a heat map: ``cluster``, ``feature``, ``difference`` in standard deviations, ``shown`` text."""
    alt = altair()
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_rect()
        .encode(
            x=alt.X("cluster:N", sort=list(clusters), title="cluster", axis=alt.Axis(labelAngle=0, orient="top")),
            y=alt.Y("feature:N", sort=list(features), title=None, axis=alt.Axis(labelLimit=170)),
            color=alt.Color(
                "difference:Q",
                title="against the average",
                scale=alt.Scale(scheme="blueorange", domain=[-largest, largest], clamp=True),
                legend=alt.Legend(orient="bottom", direction="horizontal", gradientLength=180, format="+.1f"),
            ),
            tooltip=[
                alt.Tooltip("cluster:N"),
                alt.Tooltip("feature:N"),
                alt.Tooltip("shown:N", title="mean"),
                alt.Tooltip("difference:Q", title="standard deviations from the average", format="+.2f"),
            ],
        )
    )
    description = "Heat map: how far each feature's mean in each cluster is from its average, in standard deviations."
    return finish(chart.properties(width="container", height=22 * len(features)), description)


def projection_chart(rows: Rows, clusters: Sequence[str], groups: Sequence[str], axes: tuple[str, str]) -> Any:
    """Draw points in the plane: ``x``, ``y``, ``cluster``, ``group``."""
    alt = altair()
    shapes = [SHAPES[j % len(SHAPES)] for j in range(len(groups))]
    chart = (
        alt.Chart(alt.NamedData("points"))
        .mark_point(filled=True, size=28, opacity=0.65)
        .encode(
            x=alt.X("x:Q", title=axes[0], scale=alt.Scale(zero=False), axis=alt.Axis(grid=False)),
            y=alt.Y("y:Q", title=axes[1], scale=alt.Scale(zero=False), axis=alt.Axis(grid=False)),
            color=_colors(alt, "cluster", clusters, _CLUSTER_COLORS, orient="top"),
            shape=alt.Shape(
                "group:N",
                title="group",
                scale=alt.Scale(domain=list(groups), range=shapes),
                legend=alt.Legend(
                    orient="bottom",
                    columns=_columns(alt, groups),
                    labelLimit=160,
                    symbolFillColor="currentColor",
                    symbolStrokeColor="currentColor",
                ),
            ),
            tooltip=[alt.Tooltip("cluster:N"), alt.Tooltip("group:N")],
        )
    )
    description = "Points of a sample in two dimensions, coloured by cluster and shaped by group."
    return finish(chart.properties(width="container", height=420), description, {"points": rows})


def line_chart(rows: Rows, x_title: str, y_title: str) -> Any:
    """Draw a line with points: ``x`` and ``y``."""
    alt = altair()
    step = -(-len(rows) // 10)
    ticks = [row["x"] for row in rows][::step]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=True, color="#4c8eda")
        .encode(
            x=alt.X("x:Q", title=x_title, axis=alt.Axis(format="d", values=ticks, grid=False)),
            y=alt.Y("y:Q", title=y_title, scale=alt.Scale(zero=False)),
            tooltip=[alt.Tooltip("x:Q", title=x_title), alt.Tooltip("y:Q", title=y_title, format=".6~g")],
        )
    )
    return finish(chart.properties(width="container", height=220), f"{y_title} by {x_title}.")


def tradeoff_chart(rows: Rows, x_title: str, y_title: str) -> Any:
    """Draw the trade-off, a point per goal (``index``, ``x``, ``y``, ``goal``), the chosen one marked.

    The data set ``chosen`` holds the one row that is marked; the page replaces it.
    """
    alt = altair()
    largest = max(row["x"] for row in rows)
    ticks = [tick for tick in (0.0, *_ERROR_TICKS) if tick <= largest]
    scale = alt.Scale(type="symlog", constant=1e-3)  # errors fall over many powers of ten, and may be 0
    x = alt.X("x:Q", title=x_title, scale=scale, axis=alt.Axis(grid=False, values=ticks, format="~g"))
    y = alt.Y("y:Q", title=y_title, scale=alt.Scale(zero=False))
    tooltip = [
        alt.Tooltip("goal:N", title="goal"),
        alt.Tooltip("x:Q", title=x_title, format=".4~g"),
        alt.Tooltip("y:Q", title=y_title, format=".6~g"),
    ]
    line = (
        alt.Chart(alt.NamedData("path"))
        .mark_line(color="#7f9fc9", interpolate="linear")
        .encode(x=x, y=y, order="index:Q")
    )
    points = (
        alt.Chart(alt.NamedData("path"))
        .mark_point(filled=True, size=110, color="#4c8eda", opacity=1, cursor="pointer")
        .encode(x=x, y=y, tooltip=tooltip)
    )
    chosen = (
        alt.Chart(alt.NamedData("chosen"))
        .mark_point(size=320, strokeWidth=3, color="#e4572e", filled=False)
        .encode(x=x, y=y)
    )
    return finish(
        (line + points + chosen).properties(width="container", height=320),
        "Curve of the clustering objective against the fairness error, one point per goal.",
        {"path": rows, "chosen": rows[:1]},
    )


def finish(chart: Any, description: str, datasets: dict[str, Rows] | None = None) -> Any:
    """Give a specification that fits every page: colours of the text around it, no frame, room on a phone."""
    spec = chart.properties(description=description, background="transparent").to_dict()
    spec.pop("$schema", None)
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}  # heights are for the plot alone, without legends
    spec["datasets"] = spec.get("datasets", {}) | (datasets or {})
    words = {"labelColor": "currentColor", "titleColor": "currentColor"}
    spec["config"] = {
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": words
        | {
            "domainColor": "#8889",
            "tickColor": "#8889",
            "gridColor": "#8883",
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
        },
        "legend": words | {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    }
    return spec


def _colors(alt: Any, field: str, names: Sequence[str], palette: Sequence[str], orient: str = "bottom") -> Any:
    return alt.Color(
        f"{field}:N",
        title=field,
        scale=alt.Scale(domain=list(names), range=[palette[i % len(palette)] for i in range(len(names))]),
        legend=alt.Legend(
            orient=orient, columns=_columns(alt, names), labelLimit=160, symbolType="square", symbolLimit=40
        ),
    )


def _columns(alt: Any, names: Sequence[str]) -> Any:
    """As many columns of a legend as the page has room for."""
    widest = min(160, 7 * max((len(name) for name in names), default=1)) + 30
    return alt.ExprRef(f"max(1, floor(width / {widest}))")
