"""The report on labels from any algorithm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._audit.audit import AuditReport, AuditReports, sentences
from .._audit.hidden import Hidden
from . import _sections as sections
from ._page import Page, build_page, name, text


def audit_report(
    report: AuditReport | AuditReports,
    *,
    title: str = "Who is in each cluster",
    remarks: Sequence[str] = (),
    command: str | None = None,
    config: str | None = None,
) -> Page:
    """Tell in one HTML file what an audit found.

    Fair means proportional representation in clusters and nothing more; the page says so.

    Parameters
    ----------
    report : AuditReport or AuditReports
        What :func:`fairclust.audit` returned; its ``suppress_below`` holds here too.
    title : str
        Heading of the page.
    remarks : sequence of str
        What was done to the data before.
    command, config : str or None
        The command that was typed, and the TOML that repeats it.

    Returns
    -------
    page : Page
        ``page.save("audit.html")`` writes it.

    Examples
    --------
    >>> from fairclust import audit
    >>> from fairclust.report import audit_report
    >>> found = audit([0, 0, 1, 1], sensitive_features=["F", "M", "F", "F"])
    >>> audit_report(found).save("audit.html")  # doctest: +SKIP
    """
    reports = report if isinstance(report, AuditReports) else AuditReports({report.composition.attribute: report})
    is_hidden = any(Hidden.of(one.composition, one.suppress_below).any for one in reports.values())
    specs: dict[str, dict[str, Any]] = {}
    body = [f"<h1>{text(title)}</h1>", sections.headline(reports, is_hidden)]
    body.append("<h2>Which fairness is meant</h2>" + sections.NOTION)
    body.append("<h2>Who is in each cluster</h2>")
    for i, (attribute, one) in enumerate(reports.items()):
        number = "composition" if i == 0 else f"composition-{i}"
        place, specs[number] = sections.composition_figure(one, number)
        heading = "" if len(reports) == 1 else f"<h3>{name(attribute)}</h3>"
        *said, _ = sentences(one, Hidden.of(one.composition, one.suppress_below))  # the notion stands above
        body.append(heading + place + sections.listed_sentences(said))
        body.append(f"<details open><summary>The numbers</summary>{sections.composition_table(one)}</details>")
        body.append(sections.error_in_shares(one, one.goal))
    body.append("<h2>How to repeat it</h2>" + sections.settings_section({}, remarks, command, config))
    limit = next(iter(reports.values())).suppress_below
    body.append(sections.privacy(limit, has_rows=False))
    return build_page(title, "\n".join(body), specs)
