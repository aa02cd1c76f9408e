"""The stub of the compiled module, against which mypy checks calls, names what the module has."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import fairclust._core as core


def test_stub_names_every_kernel_and_no_other():
    if not core.is_compiled:
        pytest.skip("the kernels were not compiled here")
    tree = ast.parse((Path(core.__file__).parent / "_kernels.pyi").read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    compiled = {name for name in dir(core.kernels) if not name.startswith("_") and name not in {"Plan", "name"}}
    assert functions == compiled, "run `make stubs`"
