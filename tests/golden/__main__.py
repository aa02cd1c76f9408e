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
    if options.mode == "accept":
        return _accept(recorded, found, uneven, whole=not options.only)
    here = recorded[kernels.name]
    before = {name: record for name, record in here["cases"].items() if options.only in name}
    if options.mode == "bits":
        failures = moved(before, found)
    else:
        table, failures = quality(before, found, REASONS)
        print("\n".join(table))
    failures += uneven
    if failures and here["versions"] != _versions():
        print(f"Recorded with {here['versions']}, run with {_versions()}.")
    print("\n".join(failures) or {"bits": "All are as recorded.", "quality": "None is worse."}[options.mode])
    return bool(failures)


def _fits(only: str) -> tuple[dict[str, Any], list[str]]:
    """What the cases find, and a line for each that finds something else on two threads."""
    found, uneven = {}, []
    for case in CASES:
        if only in case.name:
            found[case.name], other = (
                {"kind": case.kind, "judged": case.judged, **fit(case, n_threads)} for n_threads in (1, 2)
            )
            uneven += [f"on two threads, {line}" for line in moved({case.name: found[case.name]}, {case.name: other})]
    return found, uneven


def _accept(recorded: dict[str, Any], found: dict[str, Any], uneven: list[str], *, whole: bool) -> int:
    """Write the file, unless threads change what is found."""
    if uneven:
        print("\n".join(uneven))
        return 1
    before = recorded.get(kernels.name, {}).get("cases", {})
    recorded[kernels.name] = {"versions": _versions(), "cases": found if whole else {**before, **found}}
    _FILE.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    known = {name: record for name, record in before.items() if whole or name in found}
    print("\n".join(moved(known, found)) or "Nothing moved.")
    return 0


def _versions() -> dict[str, str]:
    return {module.__name__: module.__version__ for module in (numpy, scipy, sklearn)}


if __name__ == "__main__":
    sys.exit(main())
