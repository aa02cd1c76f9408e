"""The recipe for MLflow, run against a store of files."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from fairclust import FairKMeans, load

RECIPE = Path(__file__).resolve().parents[2] / "docs" / "recipes" / "mlflow_run.py"


@pytest.mark.filterwarnings("ignore")  # MLflow's own
def test_a_run_keeps_parameters_figures_report_and_model(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="the recipe needs the group 'mlflow'")
    pytest.importorskip("vl_convert", reason="the report needs the extra 'report'")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    rng = np.random.default_rng(0)
    X, sex = rng.normal(size=(200, 2)), rng.choice(["F", "M"], 200)
    model = FairKMeans(3, random_state=0).fit(X, sensitive_features=sex)
    with mlflow.start_run() as run:
        runpy.run_path(str(RECIPE))["log_fit"](model, X, sex)
    kept = mlflow.get_run(run.info.run_id).data
    assert kept.params["n_clusters"] == "3"
    assert kept.metrics["objective"] == pytest.approx(model.objective_)
    assert kept.metrics["cost_of_fairness"] >= 0
    files = {path.name: path for path in (tmp_path / "runs").rglob("*") if path.is_file()}
    assert files["report.html"].read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert np.array_equal(load(files["model.fairclust"]).labels_, model.labels_)
