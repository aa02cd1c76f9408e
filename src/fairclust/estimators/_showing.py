"""What a fitted estimator shows of itself in a notebook, beside scikit-learn's diagram."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from ..goals import brief

_MOST_CLUSTERS = 30  # rows of the table in a notebook: a screen
_MOST_GROUPS = 12  # columns of it: the width of a page
# No colours of our own: text and lines take the notebook's, light or dark.
_STYLE = (
    "<style>.fairclust-fit{margin:.6em 0}.fairclust-fit th,.fairclust-fit td{padding:.15em .7em;text-align:right;"
    "border-bottom:1px solid rgba(128,128,128,.45);font-variant-numeric:tabular-nums}</style>"
)


def fitted_html(model: Any) -> str:
    """Sizes, shares and errors of the clusters as a table, and the figures to remember; no text where nothing is known.

    Parameters
    ----------
    model : estimator
    """
    if not hasattr(model, "proportions_"):
        return ""
    if np.isnan(model.fairness_error_):
        return f"<p>{len(model.cluster_sizes_)} clusters without groups: objective {model.objective_:.6g}.</p>"
    names = model.group_names_.tolist()[:_MOST_GROUPS]
    head = ["cluster", "size", *map(str, names), "fairness error"]
    errors = np.asarray(model.fairness_errors_).reshape(len(model.proportions_), -1).sum(axis=1)
    rows = [
        [str(k), f"{size:,.6g}", *(f"{100 * share:.1f} %" for share in shares[: len(names)]), f"{error:.4f}"]
        for k, (size, shares, error) in enumerate(zip(model.cluster_sizes_, model.proportions_, errors, strict=True))
    ][:_MOST_CLUSTERS]
    target = np.atleast_2d(model.target_proportions_)
    if len(target) == 1:
        rows.append(["target", "", *(f"{100 * share:.1f} %" for share in target[0, : len(names)]), ""])
    cells = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    heads = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    return (
        f'{_STYLE}<div class="fairclust-fit"><table><caption>{html.escape(_summary(model))}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table></div>"
    )


def _summary(model: Any) -> str:
    said = f"Objective {model.objective_:.6g}, worst fairness error {model.max_fairness_error_:.4g}"
    if model.goal_ is not None and model.goal_.is_constraint:
        said += f": the goal {brief(model.goal_)} is {'met' if model.goal_met_ else 'not met'}"
    said += "."
    gap = getattr(model, "assignment_gap_", float("nan"))
    if np.isfinite(gap):
        said += f" Labels within {100 * gap:.2g} % of the cheapest possible for these centres."
    return said
