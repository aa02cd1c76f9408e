"""Log a fair clustering with MLflow: parameters, figures, the report and the model file, in one run."""

from __future__ import annotations

import tempfile
from pathlib import Path

import mlflow

from fairclust.report import model_report


def log_fit(model, X, sensitive_features):
    """Log a fitted model to the active MLflow run.

    Parameters
    ----------
    model : fitted estimator
    X, sensitive_features
        What it was fitted to.
    """
    mlflow.log_params({name: value for name, value in model.get_params().items() if value is not None})
    moves = model.compare_to_plain(X, sensitive_features=sensitive_features)
    mlflow.log_metrics(
        {
            "objective": model.objective_,
            "plain_objective": model.plain_.objective,
            "cost_of_fairness": model.plain_.cost_of_fairness,
            "fairness_error": model.fairness_error_,
            "max_fairness_error": model.max_fairness_error_,
            "balance": model.balance_,
            "goal_met": float(model.goal_met_),
            "share_moved": moves.share_moved,
        }
    )
    for step, energy in enumerate(model.energy_history_):
        mlflow.log_metric("energy", float(energy), step=step)
    with tempfile.TemporaryDirectory() as folder:
        page = model_report(model, X, sensitive_features).save(Path(folder) / "report.html")
        kept = Path(folder) / "model.fairclust"
        model.save(kept)
        for file in (page, kept):
            mlflow.log_artifact(str(file))
