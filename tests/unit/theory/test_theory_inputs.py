"""What every formula promises: numbers give a number, arrays an array; no warnings.

Impossible values are refused.
"""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

from kernelight import theory

# Arguments by name: values at the edges and inside, and values that cannot be
SHARES = ([0.0, 5e-324, 0.3, 1 - 1e-16, 1.0], [-0.1, 1.1, np.nan, np.inf])
GOOD_AND_BAD = {
    "E": SHARES,
    "K": SHARES,
    "P": SHARES,
    "J": SHARES,
    "F": SHARES,
    "g": SHARES,
    "chi2": SHARES,
    "rho": ([-1.0, -1 + 1e-16, 0.0, 1 - 1e-16, 1.0], [-1.1, 1.1, np.nan, -np.inf]),
    "sigma": ([5e-324, 0.5, 1.0, 2.0, np.inf], [0.0, -1.0, np.nan]),
    "nu": ([1e-3, 2.0, 4.0, 1e15, np.inf], [0.0, -1.0, np.nan]),
    "gamma": ([5e-324, 1e-3, 1.0, 50.0, 1e6], [-1.0, np.nan]),
    "bits": ([1, 2, 4, 8, 16], [0, -1, 1.5, np.nan, np.inf]),
    "bands": ([1, 2, 10, 1000, 10**9], [0, -1, 1.5, np.nan]),
    "rows": ([1, 2, 10, 100, 1000], [0, -1, 1.5, np.nan]),
    "n_components": ([1, 2, 10, 1000, 10**9], [0, -1, 1.5, np.nan, np.inf]),
    "n_rows": ([1, 2, 10, 1000, 10**9], [-1, 1.5, np.nan]),
    "n_features": ([1, 2, 10, 1000, 10**6], [0, -1, 1.5, np.nan]),
    "error": ([1e-3, 0.01, 0.1, 0.5, np.inf], [0.0, -1.0, np.nan]),
    "deviation": ([1e-3, 0.01, 0.1, 0.5, np.inf], [0.0, -1.0, np.nan]),
    "diameter": ([5e-324, 0.01, 0.1, 1.0, 1e300], [0.0, -1.0, np.nan]),
    "confidence": ([1e-3, 0.5, 0.9, 0.99, 1 - 1e-12], [0.0, 1.0, -1.0, np.nan]),
    "rate": ([0.0, 0.1, 0.3, 0.41, 1.0], [np.nan]),
    "mean": ([-1.0, 0.0, 0.3, 0.9, 1.0], [np.nan]),
    "order": ([5e-324, 1, 2, 50, np.inf], [0.0, -1.0, np.nan]),
}
WORDS = {"method": "nrff"}
OTHERS = {"Bands", "choose_bands", "sign_cauchy_collision", "zero_bit_bounds", "gcws_crossover"}
FUNCTIONS = [name for name in theory.__all__ if name not in OTHERS]


def arguments(name):
    """Names of the arguments that are numbers, and the words that must be given."""
    names = [
        p.name
        for p in inspect.signature(getattr(theory, name)).parameters.values()
        if p.kind == p.POSITIONAL_OR_KEYWORD
    ]
    required = {word: value for word, value in WORDS.items() if word in names}
    if name == "components_needed":
        required["method"] = "paired"
    return [each for each in names if each not in WORDS], required


def outputs(name, **given):
    values = getattr(theory, name)(**given)
    return values if isinstance(values, tuple) else (values,)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_edges_give_numbers_and_no_warning(name):
    """Every argument runs over its edges, alone and all of them together."""
    names, words = arguments(name)
    middle = {each: GOOD_AND_BAD[each][0][2] for each in names}
    runs = [middle | {each: np.array(GOOD_AND_BAD[each][0])} for each in names]
    runs.append({each: np.array(GOOD_AND_BAD[each][0]) for each in names})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in runs:
            for values in outputs(name, **given, **words):
                assert values.shape == (5,)
                assert not np.isnan(values).any()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_and_shapes(name):
    """A number gives the number of an array; arguments broadcast; empty arrays stay empty.

    Nothing is written to.
    """
    names, words = arguments(name)
    middle = {each: GOOD_AND_BAD[each][0][2] for each in names}
    numbers = outputs(name, **middle, **words)
    assert all(isinstance(number, float | int) for number in numbers)
    columns = {
        each: np.full((3, 1) if at % 2 else (1, 4), middle[each]) for at, each in enumerate(names)
    }
    for array in columns.values():
        array.flags.writeable = False
    shape = np.broadcast_shapes(*(array.shape for array in columns.values()))
    for values, number in zip(outputs(name, **columns, **words), numbers, strict=True):
        assert values.shape == shape
        np.testing.assert_array_equal(values, number)
    empty = {each: np.zeros(0) if at == 0 else middle[each] for at, each in enumerate(names)}
    assert all(values.shape == (0,) for values in outputs(name, **empty, **words))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_impossible_values_are_refused_by_name(name):
    names, words = arguments(name)
    middle = {each: GOOD_AND_BAD[each][0][2] for each in names}
    for each in names:
        for bad in GOOD_AND_BAD[each][1]:
            with pytest.raises(
                ValueError, match=rf"^{each} must .*, got .*{str(bad).rstrip('.0') or 0}"
            ):
                outputs(name, **middle | {each: bad}, **words)
        for bad in ("much", None, 1j, [[1], [1, 2]]):
            if bad is None and each == "bits" and name == "band_probability":
                continue
            with pytest.raises(ValueError, match=f"^{each} must be a real number"):
                outputs(name, **middle | {each: bad}, **words)
    bad = np.array([GOOD_AND_BAD[names[0]][0][2], np.nan])
    with pytest.raises(ValueError, match="got nan at position 1"):
        outputs(name, **middle | {names[0]: bad}, **words)
    masked = np.ma.array([GOOD_AND_BAD[names[0]][0][2]] * 2, mask=[False, True])
    with pytest.raises(
        ValueError, match=f"^{names[0]} has masked entries: fill or drop them first"
    ):
        outputs(name, **middle | {names[0]: masked}, **words)
    # of which none is masked
    for values in outputs(name, **middle | {names[0]: masked[:1]}, **words):
        assert values.shape == (1,)


def test_all_names_are_looked_at():
    assert set(FUNCTIONS) | OTHERS == set(theory.__all__)
    assert theory.__all__ == sorted(theory.__all__)


def test_single_precision_is_forgiven():
    """A float32 correlation of long rows may be 1.0002; 1.01 is something else."""
    assert theory.gmm_limit(np.float32(1.0002)) == 1
    assert theory.nrff_variance(np.float32(1.0002)) == 0
    with pytest.raises(ValueError, match=r"rho must lie between -1 and 1, got 1\.01"):
        theory.gmm_limit(1.01)


def test_whole_numbers_of_any_length():
    """Python's have no end; doubles have one."""
    assert theory.bits_needed(10**30, 0.1) == theory.bits_needed(1e30, 0.1) == 7058
    np.testing.assert_array_equal(
        theory.bits_needed([10, 10**30], 0.1), theory.bits_needed([10.0, 1e30], 0.1)
    )
    with pytest.raises(ValueError, match=r"^E must lie between 0 and 1, got 1e\+30"):
        theory.rff_variance(10**30)
    with pytest.raises(
        ValueError,
        match=r"^n_rows must be within the range of a double, 1\.8e308, got 1000.*\.\.\.\.",
    ):
        theory.bits_needed(10**400, 0.1)
    with pytest.raises(ValueError, match=r"^n_rows must be a real number"):
        theory.bits_needed([10**30, None], 0.1)


@pytest.mark.parametrize("word", [["rff"], None, 1, {"rff"}])
def test_words_are_words(word):
    for call in (
        lambda: theory.components_needed(0.1, method=word),
        lambda: theory.components_needed(0.1, bound=word),
        lambda: theory.relative_variance(0.5, word),
        lambda: theory.gcws_crossover(word),
        lambda: theory.rbf_through_gmm_crossover(1.0, word),
        lambda: theory.uniform_bound(0.1, 10, 3, 1, features=word),
    ):
        with pytest.raises(ValueError, match=r"^(method|bound|features) must be one of .*, got "):
            call()


@pytest.mark.filterwarnings("error")
def test_what_is_beyond_every_double():
    """Nothing warns: an answer, or the sentence that there is none."""
    beyond = r"^That would take more than 2\^62: ask for less"
    for call in (
        lambda: theory.components_needed(1e-200, kernel=0.5),
        lambda: theory.components_needed(5e-324, bound="hoeffding"),
        lambda: theory.bits_needed(10, 1e-200),
        lambda: theory.uniform_components(1e-200, 0.9, 10, 1.0),
        lambda: theory.uniform_components(0.1, 0.9, 10, np.inf),
        lambda: theory.uniform_components(0.1, 0.9, 10, np.inf, np.inf),
        lambda: theory.uniform_components(np.inf, 0.9, 10, np.inf),
        lambda: theory.memory_needed(1e300, 1e300, 8),
    ):
        with pytest.raises(ValueError, match=beyond):
            call()
    assert theory.nrff_bias(0.5, 1e308) == pytest.approx(-0.5 * 0.9375 / 8 / 1e308)
