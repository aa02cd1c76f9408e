"""Run the golden fits on one thread and on two, and compare them with the record, or write it: `make golden`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy
import scipy
import sklearn

from fairclust._core import kernels

from .cases import CASES, REASONS
from .compare import moved, quality
from .fits import fit

_FILE = Path(__file__).with_name("golden.json")


def main() -> int:
    parser = argparse.ArgumentParser(prog="golden", description=__doc__)
    parser.add_argument("mode", choices=["bits", "quality", "accept"])
    parser.add_argument("--only", default="", help="the cases whose names hold this text")
    options = parser.parse_args()
    recorded = json.loads(_FILE.read_text(encoding="utf-8")) if _FILE.exists() else {}
    if options.mode != "accept" and kernels.name not in recorded:
        print(f"Nothing recorded for {kernels.name}; run make golden-accept.")
        return 1
    started = time.perf_counter()
    found, uneven = _fits(options.only)
    print(f"{len(found)} cases, each on one thread and on two: {time.perf_counter() - started:.0f} s ({kernels.name})")
    here = recorded.setdefault(kernels.name, {"versions": _versions(), "cases": {}})
    before = {name: record for name, record in here["cases"].items() if options.only in name}
    if options.mode == "quality":
        table, failures = quality(before, found, REASONS)
        print("\n".join(table))
    else:
        failures = moved(before, found)
    print("\n".join([*failures, *uneven]) or "All is well.")
    if options.mode == "accept" and not uneven:
        others = {name: record for name, record in here["cases"].items() if name not in before}
        recorded[kernels.name] = {"versions": _versions(), "cases": {**others, **found}}
        _FILE.write_text(_as_json(recorded), encoding="utf-8")
        return 0
    if failures and here["versions"] != _versions():
        print(f"Recorded with {here['versions']}, run with {_versions()}.")
    return bool(failures or uneven)


def _fits(only: str) -> tuple[dict[str, Any], list[str]]:
    """What the cases find, and a line for each that finds something else on two threads."""
    found, uneven = {}, []
    for case in CASES:
        if only in case.name:
            one, two = ({"kind": case.kind, "judged": case.judged, **fit(case, n_threads)} for n_threads in (1, 2))
            found[case.name] = one
            uneven += [f"on two threads, {line}" for line in moved({case.name: one}, {case.name: two})]
    return found, uneven


def _as_json(recorded: dict[str, Any]) -> str:
    """The record with a line per case, in the order of the names."""
    sets = []
    for name, here in sorted(recorded.items()):
        cases = ",\n".join(f"{json.dumps(case)}: {json.dumps(here['cases'][case])}" for case in sorted(here["cases"]))
        sets.append(f'{json.dumps(name)}: {{"versions": {json.dumps(here["versions"])}, "cases": {{\n{cases}\n}}}}')
    return "{\n" + ",\n".join(sets) + "\n}\n"


def _versions() -> dict[str, str]:
    return {module.__name__: module.__version__ for module in (numpy, scipy, sklearn)}


if __name__ == "__main__":
    sys.exit(main())
