"""Out of core and Dask: seconds per pass against reading alone, peak memory, a cluster's overhead, bytes moved.

Run from the root of the repository:

``python -m benchmarks.scaling parquet --rows 25000000 --dir /some/big/disk`` (writes 2.5 GB there once),
``python -m benchmarks.scaling passes --dir /some/big/disk`` (single passes over that file),
``python -m benchmarks.scaling dask`` and ``python -m benchmarks.scaling latency`` (many tiny partitions). Each writes
its section of ``benchmarks/results/scaling.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fairclust import FairKMeans, Penalty, datasets
from fairclust._people.encode import encode_people
from fairclust.datasets._census_like import CENSUS_ROWS
from fairclust.scaling import InBlocks, ParquetBlocks, StreamedKMeans, as_blocks, open_blocks

RESULTS = Path(__file__).parent / "results" / "scaling.md"
_GROUP = 1 << 20  # rows per row group, pyarrow's default
_PIECE = 1 << 20


def write_people(path: Path, n_rows: int) -> None:
    """Write census-like people (25 features, float32, and a column ``sex``), a piece at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    temporary, writer = path.with_suffix(".tmp"), None
    for seed, first in enumerate(range(0, n_rows, _PIECE)):
        people = datasets.make_census_like(min(_PIECE, n_rows - first), random_state=seed)
        columns = {name: people.data[:, m] for m, name in enumerate(people.feature_names)}
        table = pa.table(columns | {"sex": people.sensitive_features})
        writer = writer or pq.ParquetWriter(temporary, table.schema, use_dictionary=["sex"])
        writer.write_table(table, row_group_size=_GROUP)
    assert writer is not None
    writer.close()
    temporary.rename(path)


def timed(work: Callable[[], object]) -> dict[str, float]:
    """Seconds by the clock and of all processors."""
    began, cpu_began = time.perf_counter(), time.process_time()
    work()
    return {"wall": time.perf_counter() - began, "cpu": time.process_time() - cpu_began}


def read_bytes(path: Path) -> None:
    with path.open("rb", buffering=0) as file:
        room = bytearray(1 << 22)
        while file.readinto(room):
            pass


def decode(path: Path, n_threads: int) -> None:
    """Read every feature into memory and drop it again, as pyarrow does it, the row groups shared out to threads."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        n_groups, names = file.num_row_groups, [name for name in file.schema_arrow.names if name != "sex"]

    def one(i: int) -> int:
        with pq.ParquetFile(path) as file:
            batches = file.iter_batches(row_groups=[i], columns=names, use_threads=False)
            return sum(batch.num_rows for batch in batches)

    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(one, range(n_groups)))


def read_table(path: Path) -> None:
    """Read the whole file into memory, as most people do it."""
    import pyarrow.parquet as pq

    pq.read_table(path)


def watched(name: str, kept: list[tuple[str, dict[str, float]]]) -> None:
    """Time every pass of a streamed fit."""
    plain = getattr(InBlocks, name)

    def timing(self: Any, *args: Any, **kwargs: Any) -> Any:
        answer: list[Any] = []
        kept.append((name, timed(lambda: answer.append(plain(self, *args, **kwargs)))))
        return answer[0]

    setattr(InBlocks, name, timing)


def asked(weight: Any) -> Any:
    """A penalty of this weight; "auto": the default goal."""
    return 0.01 if weight == "auto" else Penalty(weight)


def fit_in_this_process(path: Path, n_threads: int, weight: Any) -> dict[str, Any]:
    """Fit, and time the passes; peak memory is that of this process."""
    passes: list[tuple[str, dict[str, float]]] = []
    for name in ("evaluate", "assign"):
        watched(name, passes)
    model = FairKMeans(20, goal=asked(weight), random_state=0, n_jobs=n_threads)
    source = ParquetBlocks(path, labels_to=path.with_suffix(".labels.npy"))
    seconds = timed(lambda: model.fit(source, sensitive_features="sex"))
    kinds = {"soft": "evaluate", "hard": "assign"}
    return {
        "fit": seconds,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "n_passes": len(passes),
        "passes": {
            kind: {clock: statistics.median(one[clock] for own, one in passes if own == name) for clock in seconds}
            for kind, name in kinds.items()
            if any(own == name for own, _ in passes)
        },
        "objective": model.objective_,
        "worst KL": model.max_fairness_error_,
        "goal met": model.goal_met_,
        "stop": str(model.stop_reason_),
    }


def evict(path: Path) -> None:
    """Drop the file from the page cache: data larger than memory are not there either."""
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run_passes(path: Path, n_threads: int, repeats: int) -> list[str]:
    """One pass of either kind against reading alone, in turn, with the file in the page cache and without."""
    data = open_blocks(ParquetBlocks(path), "sex", None, n_threads)
    data = data.with_cells(encode_people(data.profiles, weights=data.profile_masses).cells)
    rows, prices = InBlocks(data, 20), np.zeros((20, data.n_cells))
    StreamedKMeans().fill(rows, data.rows_at(np.arange(20) * (data.n_samples // 20)).X)
    temperature = 0.05 * rows.plain().margins.mean
    works: dict[str, Callable[[], object]] = {
        "reading the bytes": lambda: read_bytes(path),
        "decoding with pyarrow, 1 thread": lambda: decode(path, 1),
        f"decoding with pyarrow, {n_threads} threads": lambda: decode(path, n_threads),
        "pyarrow.parquet.read_table": lambda: read_table(path),
        "a soft pass": lambda: rows.evaluate(prices, temperature),
        "a hard pass": lambda: rows.assign(prices),
    }
    lines = [f"{n_threads} threads; median of {repeats}, in turn.", ""]
    for place, is_cold in (("in the page cache", False), ("not in the page cache", True)):
        found: dict[str, list[dict[str, float]]] = {name: [] for name in works}
        for _ in range(repeats):
            for name, work in works.items():
                if is_cold:
                    evict(path)
                found[name].append(timed(work))
        middle = {
            name: {clock: statistics.median(one[clock] for one in times) for clock in ("wall", "cpu")}
            for name, times in found.items()
        }
        lines += [f"| file {place} | wall s | processor s |", "|---|---|---|"]
        lines += [f"| {name} | {one['wall']:.2f} | {one['cpu']:.2f} |" for name, one in middle.items()]
        lines.append("")
        for name in ("a soft pass", "a hard pass"):
            ratios = [f"{middle[name]['wall'] / middle[raw]['wall']:.2f} × {raw}" for raw in list(works)[:4]]
            lines.append(f"- {name}, wall: {', '.join(ratios)}")
        lines.append("")
    return lines


def run_parquet(n_rows: int, place: Path, n_threads: int, weights: Sequence[Any]) -> list[str]:
    """Whole fits, each in a process of its own, so that its peak memory can be told."""
    path = place / f"people-{n_rows}.parquet"
    if not path.exists():
        write_people(path, n_rows)
    lines = [
        f"{n_rows:,} rows × 25 float32, {path.stat().st_size / 1e9:.2f} GB of Parquet, row groups of {_GROUP:,}, "
        f"K = 20, {n_threads} threads, file in the page cache. 3 more passes describe, sample and label the rows.",
        "",
        "| λ | whole fit, wall s | processor s | passes | a soft pass, s | a hard pass, s | "
        "peak memory, MB | worst KL | objective |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for weight in weights:
        order = [sys.executable, "-m", "benchmarks.scaling", "child", "--file", str(path)]
        order += ["--threads", str(n_threads), "--weight", str(weight)]
        told = subprocess.run(order, capture_output=True, text=True, check=True).stdout
        found = json.loads(told.splitlines()[-1])
        passes = found["passes"]
        lines.append(
            f"| {weight} | {found['fit']['wall']:.1f} | {found['fit']['cpu']:.1f} | {found['n_passes']} | "
            f"{passes['soft']['wall']:.2f} | {passes['hard']['wall']:.2f} | {found['peak_mb']:.0f} | "
            f"{found['worst KL']:.4f} | {found['objective']:.6g} |"
        )
    return lines


def run_dask(n_rows: int, repeats: int, weights: Sequence[Any]) -> list[str]:
    """A LocalCluster of two processes against two threads in memory, in turn."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    import fairclust.scaling._dask as ours

    people = datasets.make_census_like(n_rows)
    X, codes = people.data, (people.sensitive_features == "male").astype(np.int8)
    sizes: dict[str, list[int]] = {}
    plain = ours.DaskRunner.run

    def weighing(self: Any, work: Any, job: Any, **kwargs: Any) -> Any:
        for one in plain(self, work, job, **kwargs):
            sizes.setdefault(work.__name__, []).append(len(pickle.dumps(one)))
            yield one

    options: dict[str, Any] = {"n_clusters": 20, "random_state": 0, "n_jobs": 2}
    rows = []
    with (
        tempfile.TemporaryDirectory() as place,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        np.save(f"{place}/x.npy", X)
        np.save(f"{place}/g.npy", codes)
        n_parts = 8
        edges = np.linspace(0, n_rows, n_parts + 1).astype(int)

        workers = sorted(client.scheduler_info()["workers"])

        def load(name: str) -> Any:
            import dask

            one = dask.delayed(lambda a, b: np.load(f"{place}/{name}.npy", mmap_mode="r")[a:b].copy())
            tail = X.shape[1:] if name == "x" else ()
            kind = X.dtype if name == "x" else np.int8
            parts = [da.from_delayed(one(a, b), (b - a, *tail), kind) for a, b in pairwise(edges)]
            # Half each: workers that begin one after the other take 7 and 1, or 5 and 3, and each fit would move them.
            held = [client.persist(part, workers=workers[i * 2 // n_parts]) for i, part in enumerate(parts)]
            return da.concatenate(held).persist()

        Xd, gd = load("x"), load("g")
        wait([Xd, gd])
        for weight in weights:
            setting = options | {"goal": asked(weight)}
            times: dict[str, list[float]] = {"memory": [], "dask": []}
            spent: dict[str, list[float]] = {"memory": [], "dask": []}
            fits = {}
            for _ in range(repeats):
                for name, data in (("memory", (X, codes)), ("dask", (Xd, gd))):
                    began, cpu_began = time.perf_counter(), processor_time()
                    fits[name] = FairKMeans(**setting).fit(data[0], sensitive_features=data[1])
                    times[name].append(time.perf_counter() - began)
                    spent[name].append(processor_time() - cpu_began)
                    print(
                        f"{weight} {name} {times[name][-1]:.1f} s, {spent[name][-1]:.1f} of processors",
                        file=sys.stderr, flush=True,
                    )  # fmt: skip
            ratio, cpu_ratio = (
                statistics.median(d / m for d, m in zip(of["dask"], of["memory"], strict=True)) for of in (times, spent)
            )
            rows.append(
                f"| {weight} | {min(times['memory']):.2f} | {min(times['dask']):.2f} | {ratio:.2f} | {cpu_ratio:.2f} | "
                f"{fits['memory'].n_evaluations_:.0f} / {fits['dask'].n_evaluations_:.0f} | "
                f"{fits['dask'].objective_ / fits['memory'].objective_ - 1:+.1e} |"
            )
        ours.DaskRunner.run = weighing  # type: ignore[method-assign]
        FairKMeans(**(options | {"goal": Penalty(500_000.0), "max_iter": 2})).fit(Xd, sensitive_features=gd)
        ours.DaskRunner.run = plain  # type: ignore[method-assign]
    return [
        f"{n_rows:,} census-like rows × 25 float32, K = 20, {n_parts} partitions kept on the workers, half each; "
        f"`LocalCluster(n_workers=2, threads_per_worker=1)` against `n_jobs=2` in memory, in turn, {repeats} repeats.",
        "",
        "Processor time is that of the client, the scheduler and the workers; idle ones are counted in memory too.",
        "",
        "| λ | in memory, best s | Dask, best s | ratio (median) | of processor time | evaluations | "
        "objective, Dask / memory |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
        "Bytes that come back per partition and pass: "
        + ", ".join(f"{name} {max(own):,}" for name, own in sizes.items() if name in ("soft_tables", "hard_tables"))
        + f" (once: describe {max(sizes['describe']):,}, collect {max(sizes['collect']):,}).",
    ]


def run_latency(counts: Sequence[int], repeats: int) -> list[str]:
    """Passes over partitions so small that only the way there and back takes time."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    rng = np.random.default_rng(0)
    lines = [
        f"Passes over partitions of 64 rows × 4 features, K = 4, kept on 2 workers of one thread; median of {repeats}.",
        "",
        "| partitions | first pass, s | a soft pass, ms | a hard pass, ms | processor ms | ms per partition |",
        "|---|---|---|---|---|---|",
    ]
    for count in counts:
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster),
        ):
            X = da.from_array(rng.normal(size=(64 * count, 4)).astype(np.float32), chunks=(64, -1)).persist()
            groups = da.from_array(rng.integers(2, size=64 * count), chunks=64).persist()
            wait([X, groups])
            opened: list[Any] = []
            opening = timed(
                lambda X=X, groups=groups, opened=opened: opened.append(open_blocks(as_blocks(X), groups, None, 1))
            )
            data = opened.pop()
            data = data.with_cells(encode_people(data.profiles, weights=data.profile_masses).cells)
            rows, prices = InBlocks(data, 4), np.zeros((4, data.n_cells))
            StreamedKMeans().fill(rows, rng.normal(size=(4, 4)).astype(np.float32))
            for _ in range(3):
                rows.evaluate(prices, 1.0), rows.assign(prices)
            began = processor_time()
            soft = [timed(lambda rows=rows, prices=prices: rows.evaluate(prices, 1.0))["wall"] for _ in range(repeats)]
            hard = [timed(lambda rows=rows, prices=prices: rows.assign(prices))["wall"] for _ in range(repeats)]
            spent = (processor_time() - began) / (2 * repeats)
            middle = [statistics.median(times) for times in (soft, hard)]
            lines.append(
                f"| {count:,} | {opening['wall']:.2f} | {1e3 * middle[0]:.1f} | {1e3 * middle[1]:.1f} | "
                f"{1e3 * spent:.1f} | {1e3 * sum(middle) / 2 / count:.2f} |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def processor_time() -> float:
    """Seconds of all processors, of this process and of those that it started."""
    import psutil  # type: ignore[import-untyped]

    own, total = psutil.Process(), 0.0
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def write_section(title: str, lines: list[str]) -> None:
    """Replace one section of the results and leave the others as they are."""
    head = "# scaling: beyond memory and beyond one machine\n"
    text = RESULTS.read_text(encoding="utf-8") if RESULTS.exists() else head
    sections = {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in text.split("\n## ")[1:]}
    load = f"Machine: {os.cpu_count()} cores; load when this ended: {os.getloadavg()[0]:.1f}."
    sections[title] = "\n" + "\n".join([*lines, "", load]) + "\n"
    RESULTS.write_text(head + "".join(f"\n## {name}\n{body.rstrip()}\n" for name, body in sections.items()))
    print("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["parquet", "passes", "dask", "latency", "child"])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--file", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--weight", default="auto", help="λ of a child's fit, or auto: the default goal")
    parser.add_argument("--repeats", type=int, default=3)
    wanted = parser.parse_args()
    weight = wanted.weight if wanted.weight == "auto" else float(wanted.weight)
    if wanted.what == "child":
        print(json.dumps(fit_in_this_process(wanted.file, wanted.threads, weight)))
    elif wanted.what == "parquet":
        n_rows = wanted.rows or 25_000_000
        weights = [0.1 * n_rows, "auto"]
        write_section("Parquet", run_parquet(n_rows, wanted.dir, wanted.threads, weights))
    elif wanted.what == "passes":
        path = wanted.dir / f"people-{wanted.rows or 25_000_000}.parquet"
        write_section("Passes", run_passes(path, wanted.threads, wanted.repeats))
    elif wanted.what == "latency":
        write_section("Latency", run_latency([8, 32, 128, 512, 1024], wanted.repeats))
    else:
        write_section("Dask", run_dask(wanted.rows or CENSUS_ROWS, wanted.repeats, [500_000.0, "auto"]))


if __name__ == "__main__":
    main()
