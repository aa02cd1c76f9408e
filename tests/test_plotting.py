"""The Display classes: what is drawn equals what was found."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from fairclust import FairKMeans, fairness_path
from fairclust.datasets import make_synthetic
from fairclust.errors import InvalidInputError, MissingExtraError
from fairclust.plotting import CompositionDisplay, ConvergenceDisplay, TradeoffDisplay

matplotlib = pytest.importorskip("matplotlib", reason="plots need the extra 'plot'")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - the backend comes first


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def blobs():
    return make_synthetic()


@pytest.fixture(scope="module")
def model(blobs):
    return FairKMeans(2, random_state=0).fit(blobs.data, sensitive_features=blobs.sensitive_features)


def test_bars_are_as_long_as_the_shares():
    display = CompositionDisplay.from_predictions([0, 0, 0, 0, 1, 1], ["F", "M", "M", "M", "F", "M"])
    widths = np.array([[bar.get_width() for bar in bars] for bars in display.bars_]).T
    np.testing.assert_allclose(widths, [[0.25, 0.75], [0.5, 0.5]])
    assert [label.get_text() for label in display.ax_.get_legend().get_texts()] == ["F", "M"]


def test_bars_of_an_estimator_are_its_proportions(model):
    display = CompositionDisplay.from_estimator(model)
    widths = np.array([[bar.get_width() for bar in bars] for bars in display.bars_]).T
    np.testing.assert_allclose(widths, model.proportions_)


def test_convergence_shows_the_energy_history(model):
    display = ConvergenceDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.line_.get_ydata(), model.energy_history_)
    assert str(model.stop_reason_) in display.ax_.get_title()


def test_trade_off_shows_the_path_and_marks_the_goal(blobs):
    path = fairness_path(FairKMeans(2, random_state=0), blobs.data, sensitive_features=blobs.sensitive_features)
    display = TradeoffDisplay.from_path(path, goal=0.01)
    np.testing.assert_array_equal(display.line_.get_xdata(), path.fairness_errors)
    np.testing.assert_array_equal(display.line_.get_ydata(), path.objectives)
    assert path.goals[display.chosen] == path.select(goal=0.01).goal
    display.figure_.canvas.draw()


@pytest.mark.parametrize("display", [CompositionDisplay, ConvergenceDisplay])
def test_given_axes_are_drawn_on(display, model):
    figure, ax = pyplot.subplots()
    made = display.from_estimator(model, ax=ax)
    assert made.ax_ is ax
    assert made.figure_ is figure


@pytest.mark.parametrize("display", [CompositionDisplay, ConvergenceDisplay])
def test_unfitted_estimator_is_refused(display):
    with pytest.raises(InvalidInputError, match="FairKMeans is not fitted yet"):
        display.from_estimator(FairKMeans(2))


def test_names_are_never_read_as_formulas():
    display = CompositionDisplay.from_predictions([0, 0, 1, 1], ["$x^$", "b" * 500, "$x^$", "b" * 500])
    display.figure_.canvas.draw()
    assert len(display.ax_.get_legend().get_texts()[1].get_text()) <= 30


def test_missing_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"fairclust\[plot\]"):
        CompositionDisplay.from_predictions([0, 1], ["a", "b"])


def test_one_of_several_attributes_is_drawn(blobs):
    table = {"group": blobs.sensitive_features, "half": np.arange(len(blobs.data)) % 2}
    fitted = FairKMeans(2, random_state=0).fit(blobs.data, sensitive_features=table)
    display = CompositionDisplay.from_estimator(fitted, attribute="half")
    assert display.proportions.shape == (2, 2)
    np.testing.assert_allclose(display.proportions.sum(axis=1), 1.0)
    same = CompositionDisplay.from_predictions(fitted.labels_, table, attribute="half")
    np.testing.assert_allclose(same.proportions, display.proportions)
    with pytest.raises(InvalidInputError, match="attribute=None, but one of 'group', 'half' is needed"):
        CompositionDisplay.from_estimator(fitted)
