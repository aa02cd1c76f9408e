"""Exceptions and warnings. Nothing here imports anything from the package.

::

    Exception
    └── FairclustError                 catch this to catch all of ours
        ├── InvalidInputError          the caller's input is wrong (also a ValueError)
        ├── DataUnavailableError       a data set is neither cached nor downloadable (also an OSError)
        └── MissingExtraError          an optional dependency is not installed (also an ImportError)

    UserWarning
    └── FairclustWarning
        ├── FairnessGoalMissed         the asked fairness level was not reached; the message says how close
        ├── NoGroupsWarning            fairness was asked for, but no groups were given
        ├── EmptyClusterWarning        fewer clusters than asked for could be filled
        └── SlowKernelsWarning         the compiled kernels are absent; NumPy does the work
"""

from __future__ import annotations

__all__ = [
    "DataUnavailableError",
    "EmptyClusterWarning",
    "FairclustError",
    "FairclustWarning",
    "FairnessGoalMissed",
    "InvalidInputError",
    "MissingExtraError",
    "NoGroupsWarning",
    "SlowKernelsWarning",
]


class FairclustError(Exception):
    """Base class of every exception that fairclust raises on purpose.

    Examples
    --------
    >>> from fairclust import FairclustError, FairKMeans
    >>> try:
    ...     FairKMeans(50).fit([[0.0], [1.0]])
    ... except FairclustError as error:
    ...     print(error)
    n_clusters=50 but X has 2 rows (n_samples=2). Use at most 2.
    """


class InvalidInputError(FairclustError, ValueError):
    """The input is wrong: the message says what was found, what was expected and what to do.

    Examples
    --------
    >>> from fairclust import metrics
    >>> try:
    ...     metrics.balance([0, 1, 1], ["F", "M"])
    ... except ValueError as error:
    ...     print(f"{type(error).__name__}: {error}")
    InvalidInputError: sensitive_features has 2 rows but labels has 3. Pass one value per row of labels.
    """


class DataUnavailableError(FairclustError, OSError):
    """A data set is not in the cache and could not be downloaded.

    Examples
    --------
    >>> from fairclust.datasets import fetch_adult
    >>> try:
    ...     fetch_adult(data_home="an-empty-folder", download=False)
    ... except OSError as error:
    ...     print(type(error).__name__)
    DataUnavailableError
    """


class MissingExtraError(FairclustError, ImportError):
    """An optional dependency is missing: the message names the extra that brings it.

    Examples
    --------
    >>> from fairclust.errors import MissingExtraError
    >>> issubclass(MissingExtraError, ImportError)
    True
    """


class FairclustWarning(UserWarning):
    """Base class of every warning that fairclust issues.

    Examples
    --------
    >>> import warnings
    >>> from fairclust import FairclustWarning
    >>> warnings.simplefilter("always", FairclustWarning)  # show each of ours, every time
    """


class FairnessGoalMissed(FairclustWarning):
    """The asked fairness level was not reached.

    Examples
    --------
    Make it an error where a missed goal must not go unnoticed:

    >>> import warnings
    >>> from fairclust import FairKMeans, FairnessGoalMissed
    >>> model = FairKMeans(2, target_proportions={"F": 0.5, "M": 0.5}, random_state=0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", FairnessGoalMissed)
    ...     try:
    ...         model.fit([[0.0], [0.1], [5.0], [5.1]] * 2, sensitive_features=["F", "M", "M", "M"] * 2)
    ...     except FairnessGoalMissed:
    ...         print("a quarter of the people cannot be half of every cluster")
    a quarter of the people cannot be half of every cluster
    """


class NoGroupsWarning(FairclustWarning):
    """Fairness was asked for, but no groups were given: this is plain clustering.

    Examples
    --------
    >>> import warnings
    >>> from fairclust import FairKMeans, MinBalance, NoGroupsWarning
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     model = FairKMeans(2, goal=MinBalance(0.5), random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
    >>> told[0].category is NoGroupsWarning
    True
    """


class EmptyClusterWarning(FairclustWarning):
    """Some clusters could not be filled.

    Examples
    --------
    >>> from fairclust.errors import EmptyClusterWarning, FairclustWarning
    >>> issubclass(EmptyClusterWarning, FairclustWarning)
    True
    """


class SlowKernelsWarning(FairclustWarning):
    """The compiled kernels are absent, so the NumPy sweep does the work.

    Examples
    --------
    >>> import warnings
    >>> from fairclust.errors import SlowKernelsWarning
    >>> warnings.simplefilter("ignore", SlowKernelsWarning)  # where there is no compiler, and that is known
    """
