"""Formulas as MathML, which every browser draws and screen readers read, by the converter that docutils brings."""

from __future__ import annotations

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def inline(self, node: nodes.math) -> None:
    """A formula in a sentence."""
    self.body.append(str(tex2mathml(node.astext(), as_block=False)))
    raise nodes.SkipNode


def block(self, node: nodes.math_block) -> None:
    """A formula on a line of its own."""
    self.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx about it."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
