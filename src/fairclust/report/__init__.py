"""Reports: one self-contained HTML file that tells what was clustered, how fair it is, and what that cost."""

from ._explorer import path_report
from ._model import model_report
from ._page import Page

__all__ = ["Page", "model_report", "path_report"]
