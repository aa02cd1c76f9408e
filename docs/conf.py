"""How the site is built: ``make docs``. Nothing here, and nothing on the pages, asks the network for anything."""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import fairclust  # noqa: E402

project = "fairclust"
author = "The fairclust developers"
copyright = author
version = release = fairclust.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "borrowed",  # pages that live beside docs/: changelog, contributing, results of benchmarks
    "mathml",  # formulas that need no script
    "helped",  # the command line, from its own --help
    "goal_table",  # goals, from their own declarations
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext", "auto_*/**/*.ipynb", "auto_*/**/*.py", "auto_*/**/*.md5"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
root_doc = "index"
nitpicky = False
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

# numpydoc: one page per public name, its attributes told in the class docstring and nowhere else.
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = True
numpydoc_validation_checks = {"GL05", "GL06", "GL07", "PR02"}

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/tutorials", "../examples/gallery"],
    "gallery_dirs": ["auto_tutorials", "auto_gallery"],
    "filename_pattern": r"/\d\d_|/plot_",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "ordered.TeachingOrder",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 60,
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "remove_config_comments": True,
    "copyfile_regex": r".*\.csv",
    "write_computation_times": False,
}
if os.environ.get("FAIRCLUST_DOCS") == "quick":  # links and references only: seconds
    sphinx_gallery_conf["plot_gallery"] = False
warnings.filterwarnings("ignore", message="Matplotlib is currently using agg", category=UserWarning)

html_theme = "pydata_sphinx_theme"
html_title = "fairclust"
html_static_path = ["_static"]
html_css_files = ["fairclust.css"]
html_js_files = ["fairclust.js"]
html_extra_path = ["llms.txt"]
html_show_sourcelink = False
html_copy_source = False
toc_object_entries_show_parents = "hide"  # beside a page of the reference, methods without their class

html_theme_options = {
    "logo": {"text": "fairclust"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "navbar_align": "left",
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# Fitted attributes end in an underscore, which reStructuredText takes for a link wherever it stands without backquotes.
FITTED = re.compile(r"(``.*?``|`.*?`|\*\*.*?\*\*)|(?<![\w\\])(\w+)_(?=[\s,.;:)/=]|$)")


def escape_fitted_names(app, what, name, obj, options, lines):
    """Escape the underscore of ``n_iter_`` in running text."""
    lines[:] = [FITTED.sub(lambda m: m.group(1) or f"{m.group(2)}\\_", line) for line in lines]


def setup(app):
    """After numpydoc, which has priority 500."""
    app.connect("autodoc-process-docstring", escape_fitted_names, priority=900)
