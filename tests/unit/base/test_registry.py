"""The registry: one list of names, from which everything else that lists classes is derived."""

from __future__ import annotations

import numpy as np
import pytest

import kernelight
from kernelight import GCWS, Codes, ProductMap, SignProjection, State, feature_map, kernels
from kernelight.base import registry
from kernelight.base.registry import ENTRIES, METHODS, STORED

K = 16
X = np.array([[1.0, 2.0, 3.0], [3.0, 0.0, 1.0]])


def product_map() -> ProductMap:
    return ProductMap(GCWS(K), SignProjection(K)).fit(X)


# -- What is derived from it


def test_every_class_is_where_the_registry_says():
    for entry in ENTRIES:
        cls = registry.lookup(entry.name, entry.family)
        assert cls.__name__ == entry.name
        assert cls.__module__.startswith(entry.module)


def test_names_and_kinds_are_unique():
    for given in ([entry.name for entry in ENTRIES], [entry.stored_as for entry in STORED]):
        assert len(set(given)) == len(given)


def test_every_class_is_a_public_name():
    for entry in ENTRIES:
        home = kernels if entry.family == "kernel" else kernelight
        assert entry.name in home.__all__
        assert getattr(home, entry.name) is registry.lookup(entry.name)


def test_every_public_class_is_listed():
    others = {"State", "Kernel", "Contributions", "ContributionsDisplay"}  # nothing is fitted
    for home in (kernelight, kernels):
        classes = {name for name in home.__all__ if isinstance(getattr(home, name), type)}
        assert classes - others <= set(registry.names())


def test_every_kernel_but_products_and_sums_has_a_name():
    for name in registry.names("kernel"):
        if name not in ("Product", "Sum"):
            cls = registry.lookup(name)
            assert kernels.get(cls.name) == cls()


def test_every_map_of_a_kernel_has_a_method():
    of_method = {
        "gcws": "gmm",
        "sign": "acos",
        "fourier": "rbf",
        "binary": "gaussian",
        "integer": "gaussian",
        "product": "mm_acos",
        "concat": kernels.GMM() + kernels.Acos(),
        "nystroem": "gmm",
        "aligned": "rbf",
    }
    # maps of partitions make a kernel of their own of the training rows: no kernel asks for them
    partitions = ["Ferns", "ForestLeaves"]
    assert sorted([*METHODS.values(), *partitions]) == registry.names("map")
    assert list(of_method) == list(METHODS)
    for method, kernel in of_method.items():
        made = feature_map(kernel, K, method=method)
        assert type(made).__name__ == METHODS[method]


def test_estimators_take_every_method():
    from kernelight.estimators.kernel_model import METHODS as TAKEN

    assert [method for method in TAKEN if method not in (None, "ridge", "exact")] == list(METHODS)


# -- Names


def test_lists_and_looks_up():
    assert registry.lookup("Codes") is Codes
    assert "Codes" in registry.names()
    assert "GCWS" in registry.names("map")
    assert "GMM" in registry.names("kernel")
    with pytest.raises(ValueError, match=r"Nothing is called 'os': known names are .*Codes"):
        registry.lookup("os")
    with pytest.raises(ValueError, match="known families are container, kernel, scaler, map"):
        registry.names("x")


# -- Kinds: what states call their classes


def test_loads_by_kind(tmp_path):
    codes = Codes([[1, 2]], 2)
    codes.save(tmp_path / "x")
    assert registry.load(tmp_path / "x") == codes


def test_states_of_a_product_map_are_of_the_kind_product(tmp_path):
    """Files written before the class had this name can still be read, and codes compared."""
    made = product_map()
    assert made.to_state().kind == registry.kind_of(ProductMap) == "Product"
    assert registry.name_of("Product") == "ProductMap"
    assert registry.stored_class("Product") is registry.stored_class("Product", "map") is ProductMap
    path = tmp_path / "product.kl"
    State(made.to_state().meta | {"kind": "Product"}, made.to_state().arrays).save(path)
    for loaded in (kernelight.load(path), ProductMap.load(path)):
        assert type(loaded) is ProductMap
        assert loaded.encode(X) == made.encode(X)


def test_a_product_map_is_a_part_of_another(tmp_path):
    nested = ProductMap(ProductMap(GCWS(K, bits=4), SignProjection(K)), SignProjection(K)).fit(X)
    assert nested.to_state().meta["parts"]["left"]["kind"] == "Product"
    nested.save(tmp_path / "nested.kl")
    assert kernelight.load(tmp_path / "nested.kl").encode(X) == nested.encode(X)


def test_other_kinds_are_refused_in_one_sentence(tmp_path):
    product, gcws, codes = tmp_path / "product.kl", tmp_path / "gcws.kl", tmp_path / "codes.kl"
    product_map().save(product)
    GCWS(K).fit(X).save(gcws)
    Codes([[1, 2]], 2).save(codes)
    for cls, path, sentence in (
        (ProductMap, gcws, r"gcws\.kl holds a GCWS, not ProductMap\."),
        (GCWS, product, r"product\.kl holds a ProductMap, not GCWS\."),
        (GCWS, codes, r"codes\.kl holds a Codes, not GCWS\."),
        (Codes, product, r"product\.kl holds a Product, not Codes\."),
    ):
        with pytest.raises(ValueError, match=rf"^\S*{sentence}$"):
            cls.load(path)
    with pytest.raises(ValueError, match=r"^This state holds a GCWS, not ProductMap\.$"):
        ProductMap.from_state(State.load(gcws))


@pytest.mark.parametrize("kind", ["os.system", "ProductMap", "GMM"])
def test_unknown_kinds_are_refused_in_one_sentence(kind, tmp_path):
    path = tmp_path / "unknown.kl"
    State({"kind": kind}).save(path)
    sentence = rf"'{kind}', which this version does not know: known kinds are [^.:]*Product[^.:]*\."
    with pytest.raises(ValueError, match=rf"^\S*unknown\.kl holds a {sentence}$"):
        kernelight.load(path)
    with pytest.raises(ValueError, match=f"^No class has states of the kind '{kind}': known kinds"):
        registry.stored_class(kind)


def test_kinds_are_those_of_a_family():
    with pytest.raises(
        ValueError, match=r"of the kind 'Codes': known kinds are [^.:]*GCWS[^.:]*\."
    ):
        registry.stored_class("Codes", "map")


def test_a_class_that_is_not_listed_has_the_kind_of_its_name():
    class Own(GCWS):
        pass

    assert registry.kind_of(Own) == registry.name_of("Own") == "Own"
    assert isinstance(Own.from_state(Own(K).fit(X).to_state()), Own)
    with pytest.raises(ValueError, match=r"^This state holds a GCWS, not Own\.$"):
        Own.from_state(GCWS(K).fit(X).to_state())
