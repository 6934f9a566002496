"""scikit-learn's own checks, none excused."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from kernelight import _registry

# Configurations worth a second pass, beside the defaults; few slots keep the one-hot matrices small.
EXTRA = {
    "GCWS": [
        {"sampler": "cws"},
        {"sampler": "dart"},
        {"normalize": "l1", "bits": 4},
        {"t_bits": 0, "coding": "lowest"},
        {"p": 0.5, "bits": 12},
        {"gamma": 2.0, "sampler": "cws"},
        {"gamma": 2.0, "sampler": "dart"},
    ]
}
CLASSES = [_registry.lookup(name) for name in _registry.names("linearization")]
SMALL = [cls(n_components=16, **options) for cls in CLASSES for options in [{}, *EXTRA.get(cls.__name__, [])]]


@parametrize_with_checks(SMALL)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", CLASSES)
def test_defaults_pass_as_they_are(cls):
    """Default parameters, as a user of `check_estimator` would try them."""
    check_estimator(cls(), expected_failed_checks=None, on_skip=None)
