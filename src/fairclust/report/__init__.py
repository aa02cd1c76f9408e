"""Reports: one self-contained HTML file that tells what was clustered, how fair it is, and what that cost."""

from ._audit import audit_report
from ._explorer import path_report
from ._model import model_report
from ._numbers import numbers_report
from ._page import Page, check_extras

__all__ = ["Page", "audit_report", "check_extras", "model_report", "numbers_report", "path_report"]
