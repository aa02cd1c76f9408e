"""Data sets × methods, one scorer: ``python -m benchmarks.run``. See docs/benchmarks.md. No part of the package."""
