"""Run the benchmarks: ``python -m benchmarks.run [--quick] [--only SUITE] [--out DIR] [--download]``.

Exit code 0 when every suite ran, whatever it measured; 1 when one broke; with ``--strict``, also when a claim fails.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from . import report
from .context import Context
from .records import Claim, SuiteResult, Unavailable
from .suites import FULL_ONLY, SUITES

_RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    folder = options.out or (_RESULTS / "quick" if options.quick else _RESULTS)
    context = Context(quick=options.quick, download=options.download, say=partial(print, flush=True))
    run = report.describe_run(quick=options.quick)
    n_broken = n_failed = 0
    for name in options.only or [name for name in SUITES if not (options.quick and name in FULL_ONLY)]:
        title, fill = SUITES[name]
        context.say(f"{name}: {title}")
        result, began = SuiteResult(title), time.perf_counter()
        try:
            fill(context, result)
        except Unavailable as reason:
            result.skip(name, reason)
        except Exception as error:
            # The other suites still run, and what this one measured so far is kept.
            traceback.print_exc()
            result.skip(name, f"broke with {type(error).__name__}: {error}")
            n_broken += 1
        finally:
            # Also when the run is stopped: what was measured is kept.
            seconds = time.perf_counter() - began
            report.write(folder, name, result, run, seconds)
        for claim in result.claims:
            context.say(_line(claim))
        n_failed += sum(not claim.holds for claim in result.claims)
        context.say(f"  {seconds:.0f} s, {len(result.skipped)} skipped, see {folder.name}/{name}.md")
    _write_summary(folder, run)
    return 1 if n_broken or (options.strict and n_failed) else 0


def _suites(text: str) -> list[str]:
    """Names of suites between commas."""
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: choose from {', '.join(SUITES)}")
    return names


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description="Data sets × methods, one scorer.")
    parser.add_argument("--quick", action="store_true", help="smaller data, fewer seeds: under 3 minutes")
    parser.add_argument(
        "--only", action="extend", type=_suites, metavar="SUITE[,SUITE…]", help=f"only some of: {', '.join(SUITES)}"
    )
    parser.add_argument("--out", type=Path, help="where to write (default: benchmarks/results[/quick])")
    parser.add_argument("--download", action="store_true", help="fetch real data sets that are absent")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when a claim does not hold")
    return parser.parse_args(arguments)


def _line(claim: Claim) -> str:
    return f"  {'ok  ' if claim.holds else 'FAIL'} {claim.what}: {claim.measured:.4g} (at most {claim.limit:g})"


def _write_summary(folder: Path, run: dict[str, object]) -> None:
    """All claims of the results that lie in the folder; of suites whose records are elsewhere, as they stand."""
    parts = ["# Results", "Written by `python -m benchmarks.run`; one page per suite. Latest run: "]
    parts[1] += report.describe_in_words(run)
    standing = _sections(folder / "README.md")
    for name in SUITES:
        path = folder / f"{name}.json"
        if path.is_file():
            parts.append(_section(name, json.loads(path.read_text())))
        elif name in standing:
            parts.append(standing[name])
    (folder / "README.md").write_text("\n\n".join(parts) + "\n")


def _section(name: str, record: dict[str, Any]) -> str:
    claims = [Claim(one["what"], one["measured"], one["limit"]) for one in record["claims"]]
    told = f"## [{name}]({name}.md)\n\nRun of {record['date']}, {record['seconds']:.0f} s."
    return f"{told}\n\n{report.claims_table(claims)}" if claims else told


def _sections(path: Path) -> dict[str, str]:
    """Sections of a summary, by suite."""
    text = path.read_text() if path.is_file() else ""
    sections = re.split(r"^(?=## \[)", text, flags=re.MULTILINE)[1:]
    return {one[len("## [") : one.index("]")]: one.strip() for one in sections}


if __name__ == "__main__":
    warnings.simplefilter("default")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    raise SystemExit(main())
