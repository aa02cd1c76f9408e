"""Run tests or a script with kernels that were compiled with sanitizers: ``python -m fuzz.sanitized MODULE.so …``.

What follows the module goes to pytest, or is a module of this package to run: ``kernels --minutes 1``. The first report
of a sanitizer ends the process, and with it the run.
"""

from __future__ import annotations

import importlib.util
import runpy
import sys


def main() -> int:
    path, *arguments = sys.argv[1:]
    name = "fairclust._core._kernels"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    from fairclust import _core

    assert _core.kernels is module, "other kernels were loaded"
    print(f"sanitized kernels: {module.name}", flush=True)
    if arguments[0] in ("kernels", "threads"):
        sys.argv = arguments
        runpy.run_module(f"fuzz.{arguments[0]}", run_name="__main__")
        return 0
    import pytest

    return pytest.main(["-q", "-x", "-p", "no:cacheprovider", *arguments])


if __name__ == "__main__":
    sys.exit(main())
