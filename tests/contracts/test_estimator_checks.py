"""scikit-learn's own checks, none excused."""

from __future__ import annotations

import pytest
from cases import CHECKED, MAKERS, Case
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from kernelight import _registry

# Fewer rows than landmarks are many checks' idea of data, a kernel less its mean is one's of a kernel.
pytestmark = [
    pytest.mark.filterwarnings("ignore:n_components=:UserWarning"),
    pytest.mark.filterwarnings("ignore:The kernel is not positive semidefinite:UserWarning"),
]
CLASSES = [_registry.lookup(name) for name in _registry.names("linearization")]
# Few components keep the features small.
SMALL = [
    Case(cls, options).new(n_components=16)
    for cls in CLASSES
    for options in [{}, *CHECKED.get(cls.__name__, [])]
]


@parametrize_with_checks(SMALL)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls.__name__ not in MAKERS])
def test_defaults_pass_as_they_are(cls):
    """Default parameters, as a user of `check_estimator` would try them."""
    check_estimator(cls(), expected_failed_checks=None, on_skip=None)
