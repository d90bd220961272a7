"""What the statements of Xie et al. promise before training, and Theorem 5 with several layers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import deqcheck as dq

from .harness import attribute
from .xie2021_bounds import MIXED, SMALL, WIDE, Bounds, Constants
from .xie2021_net import OWN, SOFTPLUS, TANH, Net, arrays, fro, norm2
from .xie2021_training import (
    FAR,
    GIVEN,
    NEAR,
    NEAR_FLOW,
    gd,
    labelled,
    printed_hypotheses,
    radius,
    scaled,
)

TWO = scaled(74, 3, (4, 3), 0.6)


def extracting(size: float) -> Net:
    """x = tanh(W_0 x_0), three features of four inputs, with ||X_0|| = size."""
    r = np.random.default_rng(75)
    X0 = r.normal(size=(4, 3))
    v = TWO.v | {"W0": 0.6 * r.normal(size=(3, 4)), "X": size / norm2(X0) * X0}
    return replace(TWO, v=v, extractor=TANH)


# L_g = max(1, ||X_0||) is 1 for the first.
NARROW, BROAD = extracting(0.5), extracting(2.5)
FREE: dict[str, float] = {}


def same(found: dict[str, Any], wanted: dict[str, float]) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        number = getattr(found[name], "value", found[name])
        assert number == pytest.approx(value, rel=1e-9), name


@pytest.mark.parametrize(("L", "alpha"), [(1, 0.7), (3, 0.4)])
def test_averaging_constant(L: int, alpha: float) -> None:
    """zeta = a L/(2 + (L - 1) a)."""
    net = Net(arrays(1, 2, (3,) * L, 2, 1, 2), alpha, TANH, K=1)
    zeta = alpha * L / (2 + (L - 1) * alpha)
    same(dict(dq.judge("xie2021/lem13", net.problem()).quantities), {"zeta": zeta})


@pytest.mark.parametrize(
    ("id_", "net", "train"),
    [
        (id_, *case)
        for id_ in ("thm5", "thm5-repaired")
        for case in (
            (FAR, gd(0.01, 1)),
            (NEAR, gd(0.01, 1)),
            (NEAR_FLOW, {"kind": "flow", "horizon": 1e-3, "rtol": 1e-8}),
        )
    ],
)
def test_repaired_constants(id_: str, net: Net, train: dict[str, Any]) -> None:
    """mu = s_0^2/4, rho = 4 |r|/s_0 (flow: 2), and B_J, C_J, Q1 on that ball."""
    rho = radius(net, train["kind"] == "flow")
    b = Bounds(net, rho)
    found = dq.bounds(net.problem(), train=train, only=[f"xie2021/{id_}"])[f"xie2021/{id_}"]
    wanted = {"mu": net.sigma_Z**2 / 4, "rho": rho, "B_J": b.B_J, "C_J": b.C_J}
    same(dict(found.quantities), wanted | {"Q1": b.Q1(fro(net.residual))})


@pytest.mark.parametrize("net", [FAR, NEAR_FLOW], ids=["far", "near"])
def test_certified_start(net: Net) -> None:
    """mu_0 = lambda_min(J J^T) at the start."""
    found = dq.judge("xie2021/certificate", net.problem()).quantities
    same(dict(found), {"mu_0": net.mu})


@pytest.mark.parametrize(
    ("net", "fixed"),
    [
        (TWO, GIVEN),
        (TWO, FREE),
        (replace(TWO, s=SOFTPLUS), GIVEN),
        (replace(TWO, alpha=0.05), GIVEN),
        (TWO, {**GIVEN, "B_x": 600.0}),
        (NARROW, GIVEN),
        (BROAD, FREE),
    ],
    ids=["given", "free", "softplus", "small alpha", "wide data", "narrow", "broad"],
)
def test_printed_constants(net: Net, fixed: dict[str, float]) -> None:
    """Q0, Q1 and C_z of (30), with every constant that was chosen."""
    c = Constants(net, fixed)
    verdict = dq.judge("xie2021/thm5", net.problem(), edition="printed", constants=fixed)
    same(dict(verdict.quantities), {"Q0": c.Q0, "Q1": c.Q1, "Q2": c.Q2, "C_z": c.C_z})
    names = ("B_Ub", "B_x", "B_L", "B_star", "sigma_m")
    same(dict(verdict.constants), {name: getattr(c, name) for name in names})


def judged(net: Net, fixed: dict[str, float]) -> dict[str, Any]:
    cls = dq.statements()["xie2021/thm5"]
    verdict = dq.judge("xie2021/thm5", net.problem(), edition="printed", constants=fixed)
    return {attribute(cls, claim): claim for claim in verdict.hypotheses}


def check(name: str, found: Any, wanted: Any) -> None:
    if isinstance(wanted, OWN):
        wanted.compare(name, found)
        return
    assert found.relation == wanted.relation and found.decision == wanted.decision, name
    assert found.left.value == pytest.approx(wanted.left, rel=1e-9), name
    assert found.right.value == pytest.approx(wanted.right, rel=1e-9), name


@pytest.mark.parametrize("fixed", [GIVEN, FREE], ids=["given", "free"])
def test_printed_hypotheses_of_two_layers(fixed: dict[str, float]) -> None:
    found, wanted = judged(TWO, fixed), printed_hypotheses(TWO, fixed)
    assert found.keys() == wanted.keys()
    for name in found.keys() - {"data_stay"}:
        check(name, found[name], wanted[name])


@pytest.mark.parametrize("net", [TWO, NARROW, BROAD], ids=["given", "narrow", "broad"])
def test_the_data_of_two_layers_would_stay(net: Net) -> None:
    """By (24) and (25), |X^t - X^0| <= (2/Q0) a K L B_Ub B_L L_g^2 |r_0|: once in the gradient by
    W_0, and once from W_0 to X."""
    check("data_stay", judged(net, GIVEN)["data_stay"], printed_hypotheses(net, GIVEN)["data_stay"])


def test_admissible_steps() -> None:
    """1/Q1(|r|), and 1/max(Q0, Q1) as printed."""
    cls = dq.statements()["xie2021/thm5"]
    found = cls("corrected").admissible_step(NEAR.problem())
    b = Bounds(NEAR, radius(NEAR, False))
    assert found is not None
    assert found.value == pytest.approx(1 / b.Q1(fro(NEAR.residual)), rel=1e-9)
    for net, fixed in ((TWO, GIVEN), (labelled(TWO, 1e-3), {**GIVEN, "B_L": 1e-12})):
        c = Constants(net, fixed)
        printed = cls("printed", fixed).admissible_step(net.problem())
        assert printed is not None
        assert printed.value == pytest.approx(1 / max(c.Q0, c.Q1), rel=1e-9)


def test_chosen_constants() -> None:
    """The ball leaves half of the room to ||W_l|| = 1, if any; the recursion of Lemma 8."""
    for net, rho in ((SMALL, 0.05), (MIXED, 0.015), (WIDE, 1e-9)):
        same(dict(dq.judge("xie2021/lem19", net.problem()).constants), {"rho": rho})
    given = {"r1": 0.3, "a1": 2.0}
    found = dq.judge("xie2021/lem8", SMALL.problem(), constants=given).constants
    same(dict(found), {"r1": 0.3, "t1": 0.5, "r2": 1.0, "t2": 0.5, "a1": 2.0})
    assert np.isclose(SMALL.norm_W, 0.8) and np.isclose(MIXED.norm_W, 0.97)
