"""Ctrl-C ends a fit at once, with KeyboardInterrupt."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

# A thousand starts over 200,000 points: without the interrupt this goes on for many minutes.
SCRIPT = """
import signal
import numpy as np
from fairclust import FairKMeans, Penalty
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs the tests in the background ignores it
rng = np.random.default_rng(0)
X = rng.normal(size=(200_000, 4))
groups = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
first_rows = lambda X, n_clusters, random_state: X[:n_clusters]
model = FairKMeans(20, goal=Penalty(1e5), init=first_rows, n_init=1000, n_jobs={n_jobs}, verbose=1)
print("started", flush=True)
try:
    model.fit(X, sensitive_features=groups)
except KeyboardInterrupt:
    print()  # the interrupt may have cut the line that was being written
    print("interrupted", hasattr(model, "labels_"), flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as POSIX does")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_fit_at_once(n_jobs):
    command = [sys.executable, "-c", SCRIPT.format(n_jobs=n_jobs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "started\n"
            time.sleep(1.0)
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            last = process.stdout.read().splitlines()[-1]
            assert last == "interrupted False"
            assert time.monotonic() - sent < 10.0  # a fraction of a second on an idle machine
            assert process.wait(timeout=20) == 0
        finally:
            process.kill()
