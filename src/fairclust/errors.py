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
        ├── SmallGroupWarning          a group has fewer people than there are clusters, so the goal cannot be met
        ├── EmptyClusterWarning        fewer clusters than asked for could be filled
        ├── ClusterSizeWarning         a cluster is smaller or larger than asked for; the message says by how much
        └── SlowKernelsWarning         the compiled kernels are absent; NumPy does the work
"""

from __future__ import annotations


class FairclustError(Exception):
    """Base class of every exception that fairclust raises on purpose."""


class InvalidInputError(FairclustError, ValueError):
    """The input is wrong: the message says what was found, what was expected and what to do."""


class DataUnavailableError(FairclustError, OSError):
    """A data set is not in the cache and could not be downloaded."""


class MissingExtraError(FairclustError, ImportError):
    """An optional dependency is missing: the message names the extra that brings it."""


class FairclustWarning(UserWarning):
    """Base class of every warning that fairclust issues."""


class FairnessGoalMissed(FairclustWarning):
    """The asked fairness level was not reached."""


class NoGroupsWarning(FairclustWarning):
    """Fairness was asked for, but no groups were given: this is plain clustering."""


class SmallGroupWarning(FairclustWarning):
    """A group has fewer people than there are clusters, so that the goal cannot be met everywhere."""


class EmptyClusterWarning(FairclustWarning):
    """Some clusters could not be filled."""


class ClusterSizeWarning(FairclustWarning):
    """A cluster is smaller or larger than asked for; the message says by how much."""


class SlowKernelsWarning(FairclustWarning):
    """The compiled kernels are absent, so the NumPy sweep does the work."""
