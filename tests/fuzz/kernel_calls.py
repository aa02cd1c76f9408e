"""Valid calls of every kernel, and ways to spoil their arguments. Used by the fuzzer and by the tests of the door."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from internals import make_layout


@dataclass(frozen=True)
class Call:
    """A kernel and arguments that it accepts."""

    name: str
    arguments: dict[str, Any]

    def run(self, kernels: Any) -> Any:
        return getattr(kernels, self.name)(**self.arguments)

    def with_argument(self, name: str, value: Any) -> Call:
        return Call(self.name, self.arguments | {name: value})


def plan_arguments(n_samples: int, n_cells: int, rng: np.random.Generator) -> dict[str, Any]:
    layout = make_layout(rng.integers(0, n_cells, n_samples).astype(np.int32), n_cells)
    return {name: getattr(layout, name) for name in ("order", "start", "size", "chunk", "chunk_cell")}


def valid_calls(kernels: Any, seed: int = 0, dtype: Any = np.float32) -> list[Call]:
    """One call of every kernel, of one small problem."""
    rng = np.random.default_rng(seed)
    n, M, K, J = int(rng.integers(70, 400)), int(rng.integers(1, 9)), int(rng.integers(2, 6)), int(rng.integers(1, 4))
    placed = plan_arguments(n, J, rng)
    plan = kernels.Plan(**placed)
    n_tiles = len(placed["start"])
    X = rng.normal(size=(n, M)).astype(dtype)
    centers = np.ascontiguousarray(X[:K])
    labels = rng.integers(0, K, n).astype(np.int32)
    weights = rng.uniform(0.1, 2.0, n)
    excess = rng.gamma(2.0, size=(n_tiles, K, 64)).astype(np.float32)
    price = rng.normal(size=(J, K))
    steps, before = np.full(J, 2, dtype=np.int64), np.zeros(J, dtype=np.int64)
    rows = {"plan": plan, "metric": int(rng.integers(0, 3)), "X": X, "centers": centers}
    cells = rng.integers(0, J, n).astype(np.int32)
    W = sparse.random_array((n, n), density=min(1.0, 8 / n), random_state=rng, dtype=dtype)
    W = (W + W.T).tocsr().astype(dtype)
    graph = {"indptr": W.indptr.astype(np.int64), "indices": W.indices.astype(np.int32), "data": W.data}
    graph["degree"] = np.asarray(W.sum(axis=1)).ravel().astype(float) + 1e-3
    order = rng.permutation(n).astype(np.int32)
    soft = rng.dirichlet(np.ones(K), n).astype(np.float32)
    parent = np.minimum(np.arange(n) // 2, (n - 1) // 2).astype(np.int32)
    notion = {
        "membership": np.eye(J),
        "wanted": np.full((K, J), 1 / J),
        "logs": np.full((K, J), 1 / J),
        "lines": np.zeros((K, J)),
        "weight": np.ones((K, 1)),
        "first": np.array([0, J], dtype=np.int64),
        "counted": np.zeros(1, dtype=np.uint8),
    }
    coded = {"X": X, "codes": np.stack((rng.integers(0, 5, n), rng.integers(0, 4, n)), axis=1).astype(np.uint8),
             "first": np.array([0, 5, 9], dtype=np.int64)}  # fmt: skip
    costs = {"labels": labels, "weights": weights, "excess": excess.copy(), "n_threads": 2}
    S = sparse.random_array((n, 12), density=0.2, random_state=rng, dtype=dtype).tocsr()
    entries = {"begin": S.indptr.astype(np.int64), "columns": S.indices.astype(np.int32), "values": S.data}
    moving = {"order": order, "max_passes": 3, "least": 1e-9, "labels": labels.copy()}
    links = {"inverse_volume": np.ones(K), "ratio": np.ones(K), "sigma": 0.1, "excess": excess.copy(), "n_threads": 2}
    return [
        Call("Plan", placed),
        Call("distances", rows | {"labels": labels, "weights": weights, "excess": excess.copy(), "n_threads": 2}),
        Call("distances", rows | {"labels": None, "weights": None, "excess": excess.copy(), "n_threads": 1}),
        Call("sweep", {"plan": plan, "excess": excess, "weights": weights, "scale": 1.5, "scaled_price": price,
                       "steps": steps, "before": before, "n_threads": 2}),
        Call("assign", {"plan": plan, "excess": excess, "weights": None, "price": price,
                        "labels": np.zeros(n, dtype=np.int32), "gaps": np.zeros(n, dtype=np.float32), "n_threads": 2}),
        Call("sweep_rows", rows | {"weights": weights, "scale": 1.5, "scaled_price": price, "steps": steps,
                                   "before": before, "n_threads": 2}),
        Call("assign_rows", rows | {"weights": weights, "price": price, "labels": np.zeros(n, dtype=np.int32),
                                    "n_threads": 2}),
        Call("soft_rows", {"plan": plan, "excess": excess, "scale": 1.5, "scaled_price": price,
                           "rows": np.zeros((n, K), dtype=np.float32), "n_threads": 2}),
        Call("label_sums", {"plan": plan, "X": np.asfortranarray(X), "labels": labels, "weights": weights,
                            "n_clusters": K, "n_threads": 2}),
        Call("soft_sums", {"plan": plan, "excess": excess, "X": X, "weights": weights, "scale": 1.5,
                           "scaled_price": price, "n_threads": 2}),
        Call("cheapest_moves", {"plan": plan, "excess": excess, "labels": labels,
                                "kinds": np.array([[0, 0, 1], [1, 1, 0]], dtype=np.int64), "count": 3}),
        Call("coded_distances", {"plan": plan} | coded | {"centers": rng.normal(size=(M, K)).astype(dtype),
                                                         "tables": rng.uniform(size=(9, K)).astype(dtype)} | costs),
        Call("coded_costs", coded | {"centers": rng.normal(size=(M, K)), "tables": rng.uniform(size=(9, K)),
                                     "costs": np.zeros((n, K)), "n_threads": 2}),
        Call("coded_sums", {"plan": plan} | coded | {"labels": labels, "weights": weights, "n_clusters": K,
                                                     "n_threads": 2}),
        Call("sparse_distances", {"plan": plan} | entries | {"squares": rng.uniform(size=n),
                                                             "centers": rng.normal(size=(K, 12)).astype(dtype)}
             | costs),
        Call("sparse_sums", {"plan": plan} | entries | {"labels": labels, "weights": weights, "n_clusters": K,
                                                        "n_features": 12, "n_threads": 2}),
        Call("medoids", {"plan": plan, "metric": int(rng.integers(1, 3)), "X": X, "labels": labels, "weights": weights,
                         "n_clusters": K, "exact": bool(rng.integers(2)), "free": 1e6,
                         "per_point": 100.0, "n_threads": 2}),
        Call("coordinate_medians", {"plan": plan, "X": X, "labels": labels, "weights": weights,
                                    "centers": centers.copy(), "n_threads": 2}),
        Call("median_sums", {"plan": plan, "X": X, "centers": centers, "near": np.zeros(K), "labels": labels,
                             "weights": weights, "n_threads": 2}),
        Call("link_costs", {"plan": plan} | graph | {"labels": labels, "soft": None} | links),
        Call("link_costs", {"plan": plan} | graph | {"labels": None, "soft": soft} | links),
        Call("associations", graph | {"labels": labels, "soft": None, "n_clusters": K, "n_threads": 2}),
        Call("associations", graph | {"labels": None, "soft": soft, "n_clusters": K, "n_threads": 2}),
        Call("move_nodes", graph | {"codes": rng.integers(0, J, n).astype(np.int32), "node_masses": None} | notion
             | moving),
        Call("move_nodes", graph | {"codes": None, "node_masses": rng.uniform(size=(n, J))} | notion
             | moving | {"labels": labels.copy()}),
        Call("match_nodes", graph | {"labels": labels, "order": order, "heaviest": 1e9,
                                     "parent": np.zeros(n, dtype=np.int32)}),
        Call("contract", {name: graph[name] for name in ("indptr", "indices", "data")}
             | {"parent": parent, "n_parents": (n - 1) // 2 + 1}),
        Call("trial_costs", {"blocks": rng.normal(size=(-(-n // 32), 3, 32)), "trials": rng.integers(0, n, 4),
                             "weights": None, "closest": rng.gamma(1.0, size=n), "costs": np.zeros((4, n))}),
        Call("laplacian", {"pairs": rng.gamma(1.0, size=(J, K, K)), "masses": rng.gamma(9.0, size=(J, K)),
                           "sampled": rng.gamma(9.0, size=J), "faint": 1e-3}),
        Call("response", {"laplacians": rng.normal(size=(J, K, K)), "through": rng.normal(size=(K, J, 2))}),
        Call("halves", {"X": X, "order": order, "labels": labels, "weights": weights, "n_clusters": K, "most": 50,
                        "power": 2, "turns": 8, "rounds": 6, "n_threads": 2}),
        Call("visiting_order", {"codes": cells, "n_cells": J, "stretch": 64,
                                "order": np.empty(len(cells), dtype=np.int32)}),
        Call("kl_support", {"theta": rng.normal(size=(K, J)), "center": rng.dirichlet(np.ones(J), K), "limit": 0.01,
                            "softness": rng.gamma(1.0, 0.1, K)}),
    ]  # fmt: skip


# --- ways to spoil an argument ----------------------------------------------------------------------------------------


def _spread(values: list[Any]) -> Callable[[np.ndarray, np.random.Generator], np.ndarray]:
    """Put one of some values into a few places."""

    def spoil(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        spoiled = array.copy()
        if spoiled.size:
            flat = spoiled.reshape(-1)
            with np.errstate(all="ignore"):
                flat[rng.integers(0, flat.size, rng.integers(1, 4))] = rng.choice(np.array(values)).astype(array.dtype)
        return spoiled

    return spoil


def _longer(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    axis = int(rng.integers(0, array.ndim))
    return np.ascontiguousarray(np.repeat(array, 2, axis=axis))


def _vast(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Nothing in it, and an axis longer than any memory: sizes of tables made from it do not fit a number."""
    shape = list(array.shape)
    if array.ndim > 1:
        none, vast = rng.permutation(array.ndim)[:2]
        shape[none], shape[vast] = 0, 2**40
    return np.zeros(shape, dtype=array.dtype)


def _shorter(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    axis = int(rng.integers(0, array.ndim))
    keep = int(rng.integers(0, array.shape[axis] + 1))
    return np.ascontiguousarray(array[(slice(None),) * axis + (slice(keep),)])


def unaligned(array: np.ndarray) -> np.ndarray:
    """The same values, a byte off."""
    raw = np.zeros(array.nbytes + 1, dtype=np.uint8)
    moved = np.frombuffer(raw.data, dtype=array.dtype, count=array.size, offset=1).reshape(array.shape)
    moved.flags.writeable = True
    moved[...] = array
    return moved


SPOILERS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "odd integers": _spread([-1, 1, 63, 64, 65, 10**6, 2**31 - 1, -(2**31)]),
    "large integers": lambda array, rng: (
        _spread([2**62, 2**63 - 1, -(2**63)])(array, rng) if array.dtype == np.int64 else _spread([-2, 7])(array, rng)
    ),
    "odd numbers": lambda array, rng: (
        _spread([np.nan, np.inf, -np.inf, 1e300, -1e38, 1e-320])(array, rng)
        if array.dtype.kind == "f"
        else _spread([0, 5])(array, rng)
    ),
    "reversed": lambda array, rng: np.ascontiguousarray(array[::-1]),
    "all one value": lambda array, rng: np.full_like(array, array.reshape(-1)[0] if array.size else 0),
    "longer": _longer,
    "shorter": _shorter,
    "empty": lambda array, rng: np.zeros((0,) * array.ndim, dtype=array.dtype),
    "empty, but vast": _vast,
    "another dtype": lambda array, rng: array.astype(
        rng.choice([np.int32, np.int64, np.float32, np.float64, np.int8, np.uint16])
    ),
    "swapped bytes": lambda array, rng: array.astype(array.dtype.newbyteorder()),
    "strided": lambda array, rng: np.repeat(array, 2, axis=0)[::2],
    "backwards": lambda array, rng: array[::-1],
    "columns first": lambda array, rng: np.asfortranarray(array),
    "broadcast": lambda array, rng: np.broadcast_to(array[:1], array.shape),
    "broadcast columns": lambda array, rng: np.broadcast_to(array[..., :1], array.shape),
    "one axis less": lambda array, rng: (
        np.ascontiguousarray(array[0]) if array.ndim > 1 and len(array) else array[None]
    ),
    "unaligned": lambda array, _: unaligned(array),
    "read-only": lambda array, rng: np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape),
}
SCALARS = [0, 1, -1, 3, 7, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, 2**70, 0.0, -1.0, np.nan, np.inf, None, "x", [1]]
_HUGE = {"n_clusters", "max_passes", "n_features"}  # would take all memory or all time, honestly


def spoiled(call: Call, rng: np.random.Generator) -> tuple[Call, str]:
    """The call with one or two arguments spoiled, and what was done."""
    said = []
    for _ in range(int(rng.integers(1, 3))):
        name = str(rng.choice(sorted(call.arguments)))
        value = call.arguments[name]
        if isinstance(value, np.ndarray):
            others = [k for k, v in call.arguments.items() if isinstance(v, np.ndarray) and k != name]
            if others and rng.random() < 0.1:
                how = str(rng.choice(others))
                other = call.arguments[how]
                new = _aliased(value, other)
                how = f"memory of {how}"
            else:
                how = str(rng.choice(sorted(SPOILERS)))
                new = SPOILERS[how](value, rng)
        elif name == "plan":
            continue
        else:
            choices = SCALARS[:5] + SCALARS[-7:] if name in _HUGE else SCALARS
            new = choices[int(rng.integers(len(choices)))]
            how = repr(new)
        call = call.with_argument(name, new)
        said.append(f"{name}: {how}")
    return call, f"{call.name}({'; '.join(said)})"


def _aliased(value: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Another argument's memory in the place of an argument, as far as it fits."""
    raw = np.ascontiguousarray(other).view() if other.flags.c_contiguous else other.copy()
    count = value.size
    if raw.nbytes < count * value.itemsize or not raw.flags.writeable:
        return value
    return np.frombuffer(raw.data, dtype=value.dtype, count=count).reshape(value.shape)
