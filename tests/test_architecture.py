"""The architecture, read from the source: imports go down only, and each world knows what it may know.

A module that is not in the table fails the first test: give it a layer.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

import fairclust

PACKAGE = Path(fairclust.__file__).parent

# A module may import from layers above it in this table (a lower number), and from its own package.
LAYERS = {
    0: ["errors", "_typing", "_files", "_memory"],
    1: ["_checks", "_people", "_core"],  # input; who is who; kernels
    2: ["_algebra", "_table", "graphs"],  # tables of clusters by groups; rows of numbers and categories; graphs
    3: ["_fairness", "_sweep"],  # the K×J world; the question
    4: ["_goals", "_objectives", "metrics"],  # what is asked for; see the points
    5: ["_solvers"],  # see no point
    6: ["_fit", "_audit", "_numbers"],  # the outer loop; accounts of labels; how many clusters
    7: ["_graph", "scaling", "_model_files", "_onnx_files"],  # Ncut's own; data beyond memory; fits as files
    8: ["estimators"],
    9: ["baselines", "report", "plotting"],
    10: ["reproduce"],
    11: ["cli"],
}
DATASETS = "datasets"  # generators and loaders: nothing of the method may need them
LAYER_OF = {name: layer for layer, names in LAYERS.items() for name in names}


@dataclass(frozen=True)
class Import:
    """One import of a module of the package, or of another package."""

    importer: str
    imported: str
    line: int
    is_ours: bool
    for_types_only: bool


def sources():
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def top(path):
    """Name of the part of the package that a file belongs to: ``_solvers/dual.py`` → ``_solvers``."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path):
    """Every import in a file; ours by the name of the part that is imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typed = [node for block in ast.walk(tree) if _is_type_checking(block) for node in ast.walk(block)]
    package = ["fairclust", *path.relative_to(PACKAGE).parts[:-1]]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{stem}.{alias.name}" for alias in node.names] if stem == "fairclust" else [stem]
        else:
            continue
        for name in names:
            ours, _, rest = name.partition(".")
            is_ours = ours == "fairclust"
            part = rest.split(".")[0] if is_ours else ours
            if is_ours and part in {"", "__version__"}:
                continue  # the public face: checked for below
            found.append(Import(top(path), part, node.lineno, is_ours, node in typed))
    return found


def _is_type_checking(node):
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def ours(path):
    return [i for i in imports_of(path) if i.is_ours and i.imported != i.importer]


def test_only_the_outermost_layers_use_the_public_face():
    for path in sources():
        if LAYER_OF.get(top(path), 0) < 9:
            names = [
                n.name
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Import)
                for n in node.names
            ]
            assert "fairclust" not in names, path.name


def test_every_module_has_a_layer():
    assert {top(path) for path in sources()} <= {*LAYER_OF, DATASETS}


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down_only(path):
    if top(path) == DATASETS:
        assert {i.imported for i in ours(path)} <= {"errors", "_typing", "_checks", "_files"}
        return
    up = [
        f"line {i.line}: {i.importer} (layer {LAYER_OF[i.importer]}) imports {i.imported}"
        for i in ours(path)
        if not i.for_types_only
        and not (i.imported == DATASETS and LAYER_OF[i.importer] >= 9)
        and LAYER_OF.get(i.imported, 99) >= LAYER_OF[i.importer]
    ]
    assert not up


BLIND = {
    "_solvers": {"_algebra", "_typing", "_sweep", "_goals", "errors"},
    "_fairness": {"_algebra", "_typing", "errors"},
}
BLIND_SOURCES = [path for path in sources() if top(path) in BLIND]


@pytest.mark.parametrize("path", BLIND_SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_solvers_and_fairness_see_no_point(path):
    assert {i.imported for i in ours(path)} <= BLIND[top(path)]
    known = {
        name.name for i in ast.walk(ast.parse(path.read_text())) if isinstance(i, ast.ImportFrom) for name in i.names
    }
    assert not known & {"InMemorySweep", "Layout", "build_layout", "kernels"}


N_ROWS = {"X", "labels", "codes", "point_cost", "weights", "layout", "order", "excess", "groups", "rows"}


def test_no_function_of_a_solver_takes_an_array_with_a_row_per_point():
    for path in (PACKAGE / "_solvers").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                names = {argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]}
                assert not names & N_ROWS, f"{path.name}: {node.name}"
            if isinstance(node, ast.Attribute):  # nor does it reach for one through the sweep
                assert node.attr not in N_ROWS - {"weights"}, f"{path.name}: line {node.lineno}"


def test_only_the_modules_that_read_columns_know_of_data_frames():
    knowing = {
        top(path)
        for path in sources()
        if {i.imported for i in imports_of(path)} & {"pandas", "polars", "pyarrow", "narwhals"}
    }
    assert knowing <= {
        "_people",
        "_table",
        "_audit",
        "metrics",
        "_fit",
        "_numbers",
        "cli",
        "report",
        "plotting",
        "scaling",
        "datasets",
    }


def test_optional_packages_are_not_imported_at_the_top_of_a_module():
    optional = {"pandas", "polars", "pyarrow", "matplotlib", "typer", "rich", "faiss", "dask", "onnx"}
    for path in sources():
        if top(path) in {"cli", "report"}:  # loaded by the command only, which says what is missing
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            names = (
                [a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", "") or ""]
            )
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert not {name.split(".")[0] for name in names} & optional, f"{path.name}: line {node.lineno}"


DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "k_means_constrained": "k-means-constrained",
    "faiss": "faiss-cpu",
    "vl_convert": "vl-convert-python",
}


def declared():
    """What pyproject.toml asks for: by every user, and by some extra."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [one for extra in project["optional-dependencies"].values() for one in extra]
    return [{re.match(r"[\w-]+", one)[0] for one in wanted} for wanted in (project["dependencies"], extras)]


def test_every_package_that_is_imported_is_declared():
    required, optional = declared()
    for path in sources():
        others = {i.imported for i in imports_of(path) if not i.is_ours and not i.for_types_only}
        others -= {*sys.stdlib_module_names, "__future__", "nanobind"}
        undeclared = {DISTRIBUTIONS.get(name, name) for name in others} - required - optional
        assert not undeclared, path.name


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def private_imports(path):
    """Modules and names with an underscore that a file takes from another part of the package."""
    package = ["fairclust", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = [*base, *(node.module.split(".") if node.module else [])]
            for full in ([*stem, alias.name] for alias in node.names):
                # The rooms themselves have an underscore: what is in them is for the whole house.
                if full[0] == "fairclust" and full[1] != top(path) and any(map(is_private, full[2:])):
                    yield f"line {node.lineno}: {'.'.join(full)}"


def private_attributes(path):
    """Attributes with an underscore of something that is neither the object itself nor made in this file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    own |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    own |= {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in {*own, "_replace"}:
            holder = ast.unparse(node.value)
            if holder not in {"self", "cls", "super()"}:
                yield f"line {node.lineno}: {holder}.{node.attr}"


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nobody_enters_another_part_by_a_private_door(path):
    assert not [*private_imports(path), *private_attributes(path)]


def nodes_of(kind):
    """Every node of a kind in the package, with its file."""
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, kind):
                yield path, node


EXEMPT = {
    "ParquetBlocks",
    "Protocol",
    "Goal",
}  # DaskParquet is used the same way, and says so; the field has its own two


def test_a_class_is_an_interface_or_final():
    classes = {node.name: node for path, node in nodes_of(ast.ClassDef) if path.name != "errors.py"}
    extended = {ast.unparse(base) for node in classes.values() for base in node.bases} & set(classes)
    made = {node.func.id for _, node in nodes_of(ast.Call) if isinstance(node.func, ast.Name)}
    assert not extended & made - EXEMPT


METHOD = {"_sweep", "_objectives", "_solvers", "_fairness", "_goals", "_fit", "_graph"}


def test_no_part_of_the_method_is_asked_for_its_type():
    ours = {node.name for path, node in nodes_of(ast.ClassDef) if top(path) in METHOD} - {"StopReason"}  # a word
    stated = {(path, node.lineno) for path, node in nodes_of(ast.Assert)}
    for path, node in nodes_of(ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "isinstance" and (path, node.lineno) not in stated:
            names = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
            assert not names & ours, f"{path.relative_to(PACKAGE)}: line {node.lineno}"


def test_every_public_name_has_a_docstring():
    for path in sources():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert ast.get_docstring(tree), f"{path.name} does not say what lives there"
        for node in tree.body:
            is_public = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            if is_public and not any(ast.unparse(mark).endswith("overload") for mark in node.decorator_list):
                assert ast.get_docstring(node), f"{path.name}: {node.name}"


def is_numeric(node):
    """Whether an expression is made of numbers alone: 1 << 16, (0.3, 3.0), {"age": 0}."""
    if isinstance(node, ast.Dict):
        return bool(node.values) and all(map(is_numeric, node.values))
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(map(is_numeric, node.elts))
    if isinstance(node, ast.BinOp):
        return is_numeric(node.left) and is_numeric(node.right)
    if isinstance(node, ast.UnaryOp):
        return is_numeric(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def bare_numbers(path):
    """Numeric constants of a module without a word beside, above or (as a docstring) below them."""
    text = path.read_text(encoding="utf-8")
    lines, body = text.splitlines(), ast.parse(text).body
    for node, below in zip(body, [*body[1:], None], strict=True):
        is_constant = isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        if not is_constant or not is_numeric(node.value):
            continue
        beside = "#" in lines[node.lineno - 1] or "#" in lines[node.end_lineno - 1]
        above = node.lineno > 1 and lines[node.lineno - 2].startswith("#")
        documented = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if not beside and not above and not documented:
            yield f"line {node.lineno}: {lines[node.lineno - 1]}"


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_every_number_says_why(path):
    assert not list(bare_numbers(path))


CONSTANT = re.compile(r"\s*(static )?constexpr [\w:<> ]+ k\w+ = [-\d.]")


def test_every_number_of_the_kernels_says_why():
    for path in [*(PACKAGE / "_core").glob("*.cpp"), *(PACKAGE / "_core").glob("*.hpp")]:
        lines = path.read_text(encoding="utf-8").splitlines()
        for above, line in zip(["", *lines], lines, strict=False):
            if CONSTANT.match(line):
                assert "//" in line or above.lstrip().startswith("//"), f"{path.name}: {line}"
