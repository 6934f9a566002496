"""scikit-learn's checks: maps, scalings and linear models pass all of them."""

from __future__ import annotations

import pytest
from cases import CHECKED, MAKERS, Case
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from kernelight import (
    ColumnScaler,
    ColumnWeighter,
    CompactClassifier,
    LinearClassifier,
    LinearRegressor,
    TernaryClassifier,
)
from kernelight.base import registry
from kernelight.linear.ternary_loss import LOSSES as TERNARY_LOSSES
from kernelight.scaling import SCALING_NAMES

# Many checks have fewer rows than landmarks, and one a kernel that is not positive semidefinite.
pytestmark = [
    pytest.mark.filterwarnings("ignore:n_components=:UserWarning"),
    pytest.mark.filterwarnings("ignore:The kernel is not positive semidefinite:UserWarning"),
]
CLASSES = [registry.lookup(name) for name in registry.names("map")]
# Few components keep the features small.
SMALL = [
    Case(cls, options).new(n_components=16)
    for cls in CLASSES
    for options in [{}, *CHECKED.get(cls.__name__, [])]
]


def known_failures(estimator):
    """Checks of weights that scikit-learn should not make.

    Of bootstrap samples: a weight of 2 counts twice where it is drawn, two rows are drawn apart.
    scikit-learn says the same of its forests: weights are repetitions on average only.
    """
    check = "check_sample_weight_equivalence_on_{}_data"
    if getattr(estimator, "forest", "extra") != "extra":
        why = "a bootstrap sample draws repeated rows one by one"
        return {check.format(kind): why for kind in ("dense", "sparse")}
    if not get_tags(estimator).input_tags.sparse:
        why = "scikit-learn 1.6 makes it of sparse rows where the tags say that none are taken"
        return {check.format("sparse"): why}
    return {}


@parametrize_with_checks(
    [*SMALL, *map(ColumnScaler, SCALING_NAMES), ColumnWeighter("standard")],
    expected_failed_checks=known_failures,
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls.__name__ not in MAKERS])
def test_defaults_pass_as_they_are(cls):
    """Default parameters, as a user of `check_estimator` would try them."""
    check_estimator(cls(), expected_failed_checks=None, on_skip=None)


MODELS = [
    *(LinearClassifier(loss) for loss in LinearClassifier._losses),
    *(LinearRegressor(loss) for loss in LinearRegressor._losses),
    *(TernaryClassifier(loss) for loss in TERNARY_LOSSES),
    TernaryClassifier(sparsity=0.5),
    CompactClassifier(1200),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(MODELS, expected_failed_checks=known_failures)
def test_scikit_learn_on_models(estimator, check):
    check(estimator)
