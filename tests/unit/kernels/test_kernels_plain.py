"""Kernels as plain data."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from kernelight.base import registry
from kernelight.kernels import (
    GMM,
    RBF,
    Acos,
    ExpGMM,
    FoldedRBF,
    Gaussian,
    Kernel,
    MinMax,
    Product,
    Sum,
)
from kernelight.kernels.plain import from_plain, to_plain

SINGLE = [
    registry.lookup(name, "kernel")()
    for name in registry.names("kernel")
    if name not in ("Product", "Sum")
]
MORE = [
    RBF(gamma=0.1),
    FoldedRBF(gamma=3),
    Gaussian(sigma=1e-300),
    GMM(p=2.5),
    GMM(p=0.1, center=(0.1, -2.0, 0.0)),
    ExpGMM(gamma=1 / 3, p=0.7),
    MinMax() * Acos(),
    GMM(center=(1.0,)) * RBF(gamma=5) * Acos(),
    GMM() + Acos(),
    Sum((MinMax() * Acos(), RBF()), weights=(0.1, 1 / 3)),
    (GMM() + Acos() * (RBF() + GMM(p=2))) * Acos(),
]


@pytest.mark.parametrize("kernel", SINGLE + MORE, ids=repr)
def test_every_kernel_survives_json(kernel):
    plain = to_plain(kernel)
    assert plain["kind"] == type(kernel).__name__
    again = from_plain(json.loads(json.dumps(plain)))
    assert again == kernel
    assert type(again) is type(kernel)
    assert hash(again) == hash(kernel)


@dataclass(frozen=True)
class Foreign(Kernel):
    name = "foreign"

    def _rows(self, X, name):
        return X

    def pairwise(self, A, B=None):
        return A @ (A if B is None else B).T


class GMM2(GMM):
    pass


GMM2.__name__ = "GMM"  # not to be taken for ours


@pytest.mark.parametrize(
    "kernel", [Foreign(), GMM2(), Foreign() * RBF()], ids=["foreign", "subclass", "factor"]
)
def test_a_kernel_of_someone_else_is_not_plain(kernel):
    with pytest.raises(
        ValueError, match=r"is not a kernel of kernelight: it cannot be stored as plain data\.$"
    ):
        to_plain(kernel)


@pytest.mark.parametrize(
    "plain",
    [
        None,
        "GMM",
        {},
        {"kind": "Codes"},
        {"kind": ["GMM"]},
        {"kind": "GMM"},
        {"kind": "GMM", "p": 1.0, "center": None, "more": 1},
        {"kind": "GMM", "p": "1", "center": None},
        {"kind": "GMM", "p": -1.0, "center": None},
        {"kind": "GMM", "p": 1.0, "center": [None]},
        {"kind": "GMM", "p": 1.0, "center": [[1.0]]},
        {"kind": "Product", "factors": []},
        {"kind": "Product", "factors": 3},
        {"kind": "Product", "factors": ["GMM"]},
        {"kind": "Product", "factors": [{"kind": "Product", "factors": [{"kind": "Acos"}]}]},
        {"kind": "Sum", "kernels": [{"kind": "Acos"}]},
        {"kind": "Sum", "kernels": [{"kind": "Acos"}], "weights": [-1.0]},
        {"kind": "Sum", "kernels": [{"kind": "Acos"}], "weights": 1.0},
        {"kind": "Sum", "kernels": 3, "weights": None},
        {
            "kind": "Sum",
            "kernels": [{"kind": "Sum", "kernels": [{"kind": "Acos"}], "weights": None}],
            "weights": None,
        },
    ],
    ids=str,
)
def test_what_does_not_describe_a_kernel_is_refused(plain):
    with pytest.raises((TypeError, ValueError)):
        from_plain(plain)


def test_descriptions_nested_without_end_are_refused():
    kernel = Acos()
    for _ in range(8):
        kernel = Product((Sum((kernel,)),))
    assert from_plain(to_plain(kernel)) == kernel
    plain = {"kind": "Sum", "kernels": [to_plain(kernel)], "weights": [1.0]}
    with pytest.raises(ValueError, match=r"nested 16 deep, not more\.$"):
        from_plain(plain)
    with pytest.raises(ValueError, match=r"nested 16 deep, not more\.$"):
        to_plain(Sum((kernel,)))  # what could not be loaded is not stored
