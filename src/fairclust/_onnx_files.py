"""The rule argmin(distance + price) as an ONNX graph, for programs without Python. Knows a fitted rule, no estimator.

Inputs are the features and one per column of groups, of any number of rows; outputs are ``label`` and ``cost``:
distance plus price. Everything is computed in double precision. What ``predict`` would refuse gets the label −1,
since a graph cannot raise an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._files import atomic
from ._people.attributes import MISSING_NAME, Attribute, Attributes, Column
from ._table.features import Category, LearnedFeatures
from ._typing import AnyArray, FloatArray
from .errors import InvalidInputError, MissingExtraError

if TYPE_CHECKING:
    import onnx

METRICS = ("squared", "euclidean", "manhattan")
OPSET = 19  # the first whose Equal compares text
_ROWS = "n_samples"
_REFUSED = -1  # the label of rows that the rule does not cover


@dataclass(frozen=True)
class Rule:
    """What labels a row.

    Attributes
    ----------
    metric : {"squared", "euclidean", "manhattan"}
    centers : ndarray of shape (n_clusters, n_coordinates)
    features : LearnedFeatures or None
        How a table is read; None: X is a matrix of numbers.
    attributes : Attributes or None
        Who is in which group; None: no prices.
    column_prices : ndarray of shape (n_clusters, n_columns)
        Price of each column of the membership table.
    size_prices : ndarray of shape (n_clusters,)
    refuses_unknown : bool
        Whether people of a group that was never seen get no label; otherwise they pay no price.
    """

    metric: str
    centers: FloatArray
    features: LearnedFeatures | None
    attributes: Attributes | None
    column_prices: FloatArray
    size_prices: FloatArray
    refuses_unknown: bool


def write_onnx(rule: Rule, path: Path, version: str) -> None:
    """Write the rule as a file, whole or not at all.

    Parameters
    ----------
    rule : Rule
    path : Path
        Replaced where it exists.
    version : str
        Of the package that writes the file.
    """
    model = onnx_model(rule, version)
    with atomic(path) as temporary:
        temporary.write_bytes(model.SerializeToString(deterministic=True))


def onnx_model(rule: Rule, version: str) -> onnx.ModelProto:
    """Build the graph, and let onnx check it."""
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError as error:
        raise MissingExtraError(
            "writing ONNX needs onnx, which is not installed. Run `pip install 'fairclust[onnx]'`."
        ) from error
    if rule.metric not in METRICS:
        raise InvalidInputError(
            f"metric={rule.metric!r} cannot be written as ONNX yet. Fit with {' or '.join(map(repr, METRICS[1:]))}, or "
            "keep the model with save()."
        )
    graph = _Graph(TensorProto, helper, numpy_helper.from_array)
    cost, refused = _matrix_cost(graph, rule) if rule.features is None else _table_cost(graph, rule, rule.features)
    if rule.attributes is not None:
        price, unseen = _price(graph, rule, rule.attributes)
        cost, refused = graph.add("Add", cost, price), [*refused, *unseen]
    graph.add("Identity", cost, name="cost")
    label = graph.add("ArgMin", cost, axis=1, keepdims=0)
    label = graph.add("Where", graph.any(refused), graph.constant(np.int64(_REFUSED)), label) if refused else label
    graph.add("Identity", label, name="label")
    doc = f"label = argmin over clusters of distance + price[group]; {_REFUSED} where predict() would refuse the row"
    model = graph.model(version, len(rule.centers), doc)
    checker.check_model(model, full_check=True)
    return model


class _Graph:
    """Nodes, inputs and constants, by name. Rows are the first axis of everything that depends on them."""

    def __init__(self, types: Any, helper: Any, to_tensor: Any) -> None:
        self._types, self._helper, self._to_tensor = types, helper, to_tensor
        self._nodes: list[Any] = []
        self._inputs: dict[str, Any] = {}
        self._constants: list[Any] = []

    def add(self, operation: str, *inputs: str, name: str = "", **options: Any) -> str:
        """Add a node; return the name of what it computes."""
        name = name or f"{operation.lower()}.{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(operation, inputs, [name], **options))
        return name

    def constant(self, value: Any) -> str:
        name = f"constant.{len(self._constants)}"
        self._constants.append(self._to_tensor(np.asarray(value), name))
        return name

    def input(self, name: str, kind: str, *shape: int) -> str:
        """Ask for a value per row, or for some; return the input's name, which is new."""
        number, taken = 2, {*self._inputs, "label", "cost", ""}
        asked = name
        while name in taken:
            name, number = f"{asked}_{number}" if asked else f"input_{number}", number + 1
        self._inputs[name] = self._helper.make_tensor_value_info(name, getattr(self._types, kind), [_ROWS, *shape])
        return name

    def column(self, name: str, kind: str) -> str:
        """Ask for a column; return it as a matrix with one column."""
        return self.add("Unsqueeze", self.input(name, kind), self.constant(np.array([1], dtype=np.int64)))

    def any(self, masks: Sequence[str]) -> str:
        """Whether any mask, (n, 1) each, holds in a row, (n,)."""
        return self.add("Squeeze", self.either(masks), self.constant(np.array([1], dtype=np.int64)))

    def either(self, masks: Sequence[str]) -> str:
        return reduce(lambda one, other: self.add("Or", one, other), masks)

    def as_number(self, mask: str) -> str:
        return self.add("Cast", mask, to=self._types.DOUBLE)

    def sum(self, matrix: str, axis: int = 1) -> str:
        return self.add("ReduceSum", matrix, self.constant(np.array([axis], dtype=np.int64)), keepdims=1)

    def times(self, matrix: str, constant: AnyArray) -> str:
        return self.add("MatMul", matrix, self.constant(np.ascontiguousarray(constant, dtype=np.float64)))

    def model(self, version: str, n_clusters: int, doc: str) -> Any:
        helper, types = self._helper, self._types
        outputs = [
            helper.make_tensor_value_info("label", types.INT64, [_ROWS]),
            helper.make_tensor_value_info("cost", types.DOUBLE, [_ROWS, n_clusters]),
        ]
        graph = helper.make_graph(self._nodes, "fairclust", [*self._inputs.values()], outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(
            graph, opset_imports=opsets, producer_name="fairclust", producer_version=version, doc_string=doc,
            ir_version=9,
        )  # fmt: skip


# --- distances --------------------------------------------------------------------------------------------------------


def _matrix_cost(graph: _Graph, rule: Rule) -> tuple[str, list[str]]:
    """Distances of the rows of X, and who has none as a number of theirs is not finite."""
    single = rule.centers.dtype == np.float32
    X = graph.input("X", "FLOAT" if single else "DOUBLE", rule.centers.shape[1])
    X = graph.as_number(X) if single else X
    centers = rule.centers.astype(np.float64)
    if rule.metric == "manhattan":
        axis = graph.constant(np.array([1], dtype=np.int64))
        apart = graph.add("Sub", graph.add("Unsqueeze", X, axis), graph.constant(centers[None]))
        total = graph.add(
            "ReduceSum", graph.add("Abs", apart), graph.constant(np.array([2], dtype=np.int64)), keepdims=0
        )
        return total, [_not_finite(graph, graph.sum(graph.add("Abs", X)))]
    squared, norm = _squares(graph, X, centers)
    if rule.metric == "euclidean":
        squared = graph.add("Sqrt", squared)
    return squared, [_not_finite(graph, norm)]


def _squares(graph: _Graph, X: str, centers: FloatArray, there: str | None = None) -> tuple[str, str]:
    """Σ (x − c)² = Σ x² − 2 Σ x·c + Σ c², from the middle of the centres, where little cancels; and Σ x²."""
    middle = centers.mean(axis=0)
    X, centers = graph.add("Sub", X, graph.constant(middle[None])), centers - middle
    if there is not None:  # a gap costs nothing: there is neither x nor c
        X = graph.add("Where", there, X, graph.constant(np.float64(0.0)))
        own = graph.times(graph.as_number(there), centers.T**2)
    else:
        own = graph.constant((centers**2).sum(axis=1)[None])
    norm = graph.sum(graph.add("Mul", X, X))
    squared = graph.add("Add", graph.add("Add", norm, graph.times(X, -2.0 * centers.T)), own)
    return graph.add("Max", squared, graph.constant(np.float64(0.0))), norm


def _not_finite(graph: _Graph, total: str) -> str:
    """NaN is not smaller than anything either."""
    return graph.add("Not", graph.add("Less", total, graph.constant(np.float64(np.finfo(float).max))))


def _table_cost(graph: _Graph, rule: Rule, features: LearnedFeatures) -> tuple[str, list[str]]:
    """Squared distances of the rows of a table, a column at a time."""
    costs: list[str] = []
    refused: list[str] = []
    scaled: list[str] = []
    n_numbers = end = len(features.numbers)
    for kind in features.kinds:
        if isinstance(kind, Category):
            own = rule.centers[:, end : end + len(kind.categories)].astype(np.float64)
            end += len(kind.categories)
            known, missing = _category(graph, kind)
            costs.append(_category_cost(graph, kind, own, known, missing, imputes=features.imputes))
        else:
            column = graph.column(kind.name, "DOUBLE")
            missing = graph.add("IsNaN", column)
            if features.imputes:
                column = graph.add("Where", missing, graph.constant(np.float64(kind.fill)), column)
            column = graph.add("Sub", column, graph.constant(np.float64(kind.mean)))
            scaled.append(graph.add("Mul", column, graph.constant(np.float64(kind.scale))))
        if missing is not None and not features.allows_gaps:
            refused.append(missing)
    if scaled:
        X = graph.add("Concat", *scaled, axis=1)
        there = graph.add("Not", graph.add("IsNaN", X))
        cost, norm = _squares(graph, X, rule.centers[:, :n_numbers].astype(np.float64), there)
        costs.append(cost)
        refused.append(_not_finite(graph, norm))
    return reduce(lambda one, other: graph.add("Add", one, other), costs), refused


def _category(graph: _Graph, kind: Category) -> tuple[str, str | None]:
    """Which category each row is of, (n, n_named), and whether it is of none as it is empty."""
    named = kind.categories[:-1] if kind.gaps_are_own else kind.categories
    return _one_hot(graph, kind.name, named, "categories")


def _category_cost(
    graph: _Graph, kind: Category, own: FloatArray, known: str, missing: str | None, *, imputes: bool
) -> str:
    """Cost Σ_c (unit·1[x = c] − centre_c)²: of one that was never seen, with no 1 in it; of a gap, nothing."""
    base = (own**2).sum(axis=1)
    gain = np.maximum(kind.unit**2 - 2.0 * kind.unit * own + base[:, None], 0.0).T  # rounding must not pay
    never = kind.unit**2 + base
    if kind.gaps_are_own:
        *_, own_gap = gain
        gain = gain[:-1]
    else:
        own_gap = gain[kind.fill] if imputes else np.zeros(len(own))
    cost = graph.add("Add", graph.times(graph.as_number(known), gain - never), graph.constant(never[None]))
    return cost if missing is None else graph.add("Where", missing, graph.constant(own_gap[None]), cost)


# --- prices -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Members:
    """Memberships of one attribute, (n, n_columns) of 0 and 1; who is unknown to it; who must not be labelled."""

    columns: str
    unknown: str | None = None
    refused: tuple[str, ...] = ()


def _price(graph: _Graph, rule: Rule, attributes: Attributes) -> tuple[str, list[str]]:
    """Price of every row in every cluster, and who gets no label. One who is unknown anywhere pays nothing."""
    members = [
        _read_members(graph, attribute) if attribute.columns else _given_members(graph, attribute)
        for attribute in attributes
    ]
    table = graph.add("Concat", *(own.columns for own in members), axis=1)
    price = graph.add("Add", graph.times(table, rule.column_prices.T), graph.constant(rule.size_prices[None]))
    refused = [mask for own in members for mask in own.refused]
    masks = [own.unknown for own in members if own.unknown is not None]
    if masks:
        unknown = graph.either(masks)
        price = graph.add("Where", unknown, graph.constant(np.float64(0.0)), price)
        refused += [unknown] if rule.refuses_unknown else []
    return price, refused


def _given_members(graph: _Graph, attribute: Attribute) -> _Members:
    """A matrix of memberships, as it is given; where groups overlap, one more column counts everyone."""
    given = graph.as_number(graph.input(attribute.name, "BOOL", attribute.n_groups))
    if attribute.is_overlapping:
        ones = graph.add("Add", graph.add("Mul", graph.sum(given), graph.constant(np.float64(0.0))), _one(graph))
        given = graph.add("Concat", given, ones, axis=1)
    return _Members(given)


def _one(graph: _Graph) -> str:
    return graph.constant(np.float64(1.0))


def _read_members(graph: _Graph, attribute: Attribute) -> _Members:
    """Groups of one column, or of the combinations of several."""
    read = [_read_column(graph, column) for column in attribute.columns]
    refused = tuple(mask for _, missing, column in _with(read, attribute) for mask in _refusals(missing, column))
    ignored = [m for _, m, column in _with(read, attribute) if m is not None and column.missing_groups == "ignore"]
    if attribute.combinations is None:
        member = graph.as_number(read[0][0])
    else:
        parts = [
            graph.add("Gather", graph.as_number(known), graph.constant(attribute.combinations[:, c].astype(np.int64)),
                      axis=1)
            for c, (known, _) in enumerate(read)
        ]  # fmt: skip
        member = reduce(lambda one, other: graph.add("Mul", one, other), parts)
    unknown = graph.add("Less", graph.sum(member), graph.constant(np.float64(0.5)))
    if ignored:  # does not count in this attribute, and is not unknown
        unknown = graph.add("And", unknown, graph.add("Not", graph.either(ignored)))
    return _Members(member, unknown, refused)


def _with(read: Sequence[tuple[str, str | None]], attribute: Attribute) -> list[tuple[str, str | None, Column]]:
    return [(known, missing, column) for (known, missing), column in zip(read, attribute.columns, strict=True)]


def _refusals(missing: str | None, column: Column) -> list[str]:
    return [missing] if missing is not None and column.missing_groups == "error" else []


def _read_column(graph: _Graph, column: Column) -> tuple[str, str | None]:
    """Which group each row is in, (n, n_groups), and whether its value is missing."""
    if column.edges is None:
        known, missing = _one_hot(graph, column.name, column.names, "groups")
    else:
        value = graph.column(column.name, "DOUBLE")
        missing = graph.add("IsNaN", value)
        below = graph.add("GreaterOrEqual", value, graph.constant(column.edges.astype(np.float64)[None]))
        code = graph.sum(graph.as_number(below))
        code = graph.add("Where", missing, graph.constant(np.float64(-1.0)), code)
        known = graph.add("Equal", code, graph.constant(np.arange(len(column.names), dtype=np.float64)[None]))
    names = column.names.tolist()
    if missing is not None and column.missing_groups == "own" and MISSING_NAME in names:
        own = np.array(names, dtype=object) == MISSING_NAME
        known = graph.add("Or", known, graph.add("And", missing, graph.constant(own[None])))
    return known, missing


def _one_hot(graph: _Graph, name: str, values: AnyArray, what: str) -> tuple[str, str | None]:
    """Whether each row's value is each of some, and whether it is missing: NaN, or an empty text that is no value."""
    kind, typed = _typed(name, values, what)
    column = graph.column(name, kind)
    if kind == "BOOL":
        column, typed = graph.as_number(column), typed.astype(np.float64)
    known = graph.add("Equal", column, graph.constant(typed[None]))
    if kind == "DOUBLE":
        return known, graph.add("IsNaN", column)
    if kind == "STRING" and "" not in values.tolist():
        return known, graph.add("Equal", column, graph.constant(np.array([[""]], dtype=object)))
    return known, None


def _typed(name: str, values: AnyArray, what: str) -> tuple[str, AnyArray]:
    """The kind of tensor that holds some names, and the names as such."""
    every = values.tolist()
    if all(isinstance(value, str) for value in every):
        return "STRING", np.array(every, dtype=object)
    if all(isinstance(value, bool) for value in every):
        return "BOOL", np.array(every, dtype=bool)
    if all(isinstance(value, int) and abs(value) < 1 << 63 for value in every):
        return "INT64", np.array(every, dtype=np.int64)
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in every):
        return "DOUBLE", np.array(every, dtype=np.float64)
    shown = next(value for value in every if not isinstance(value, str))
    raise InvalidInputError(
        f"the {what} of {name!r} hold {shown!r} ({type(shown).__name__}), and ONNX compares columns of text, of whole "
        "or other numbers, or of yes and no. Fit with them as text."
    )
