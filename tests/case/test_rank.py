"""The field `rank`: a numerical rank of the features in place of the exact one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import deqcheck as dq

# Of rank 2 as they stand: the third row is the sum of the others, in dyadic numbers.
EXACT = np.array([[0.5, 1.0, -0.25, 2.0], [1.5, -0.5, 0.75, 0.25], [2.0, 0.5, 0.5, 2.25]])
Y = np.array([[1.0, -1.0, 0.5, 0.25]])
INIT = {"A": [[0.25, -0.5, 0.0], [1.0, 0.5, 0.25], [-0.25, 0.0, 0.5]], "B": [[0.5, -0.25, 1.0]]}
FLOW = {"kind": "flow", "horizon": 0.01}
AT = {"relative": 1e-12}


def features(size: float) -> np.ndarray:
    """Of full rank, by as little."""
    return EXACT + size * np.random.default_rng(0).normal(size=EXACT.shape)


def judged(Phi: np.ndarray, rank: Any = None, train: Any = None, only: Any = ()) -> Any:
    p = dq.problem("delm", {"Phi": Phi, "Y": Y}, INIT, gamma=0.5, rank=rank)
    return dq.run(p, train=train, only=only)


def outcomes(report: Any) -> dict[tuple[str, str], str]:
    return {(v.id, v.edition): str(v.outcome) for v in report.verdicts}


@pytest.mark.parametrize(
    ("train", "only"), [(FLOW, ["kawaguchi2021/cor1", "kawaguchi2021/times"]), (None, ())]
)
def test_the_outcomes_are_those_of_the_matrix_of_smaller_rank(train: Any, only: Any) -> None:
    asked, plain = judged(features(1e-14), AT, train, only), judged(EXACT, None, train, only)
    found, expected = outcomes(asked), outcomes(plain)
    # Its ranks are found by elimination only.
    moved = {key for key in found if found[key] != expected[key]}
    assert moved == (set() if only else {("kawaguchi2021/hessian", "corrected")})
    needs_rank = "kawaguchi2021/cor1" if only else "kawaguchi2021/convexity"
    assert found[needs_rank, "printed"] == "not applicable"
    for name in ("sigma_pos_Phi", "loss_star", "gap", "gradient", "kappa", "loss"):
        near, exact = asked.quantities[name], plain.quantities[name]
        assert near.value == pytest.approx(exact.value, rel=1e-11), name


def test_both_sides_from_the_singular_value_decomposition() -> None:
    """Two plain formulas: the infimum is what the leading right singular vectors leave of Y."""
    Phi = features(1e-9)
    found = judged(Phi, {"relative": 1e-6}).quantities
    _, s, vt = np.linalg.svd(Phi)
    rest = Y - Y @ vt[:2].T @ vt[:2]
    assert found["loss_star"].value == pytest.approx(float(np.sum(rest**2)), rel=1e-12)
    assert found["kappa"].value == pytest.approx(2 * s[1] ** 2, rel=1e-12)
    assert found["sigma_min_Phi"].value == 0
    # As given there is another singular value, and less is left.
    given = judged(Phi).quantities
    assert given["kappa"].value == pytest.approx(2 * s[2] ** 2, rel=1e-6)
    assert given["loss_star"].value < 0.99 * found["loss_star"].value


def test_what_rests_on_the_rank_is_not_certified() -> None:
    pytest.importorskip("flint")
    p = dq.problem("delm", {"Phi": features(1e-14), "Y": Y}, INIT, gamma=0.5, rank=AT)
    report = dq.run(p, certify=True, only=["kawaguchi2021/convexity", "kawaguchi2021/norms"])
    verdicts = {v.id: v for v in report.verdicts}
    full = verdicts["kawaguchi2021/convexity"].hypotheses[0]
    assert str(full.basis) == "estimated (numerical rank at 1e-12)" and full.decision == "violated"
    assert verdicts["kawaguchi2021/norms"].certified
    assert any("nearest matrix of rank 2" in note for note in report.notes)


def test_singular_values_that_are_rounding_change_no_number() -> None:
    Phi = features(1e-17)
    rows = [[0.1, 0.7, 0.3, 0.9], [0.5, -0.3, 0.4, 0.1], [0.6, 0.4, 0.7, 1.0]]
    for given in (Phi, np.array(rows)):
        p = dq.problem("delm", {"Phi": given, "Y": Y}, INIT, gamma=0.5, rank=AT)
        assert np.array_equal(p.data["Phi"], given)
    assert "Phi counts as a matrix of rank 2" in p.told[-1]
    # What was cut once is not cut again.
    once = dq.problem("delm", {"Phi": features(1e-14), "Y": Y}, INIT, gamma=0.5, rank=AT)
    twice = dq.problem("delm", {"Phi": once.data["Phi"], "Y": Y}, INIT, gamma=0.5, rank=AT)
    assert np.array_equal(twice.data["Phi"], once.data["Phi"])
    assert twice.model.outer.factored.relative == AT["relative"]


def test_nothing_is_cut_where_every_singular_value_is_above() -> None:
    only = ["kawaguchi2021/convexity", "kawaguchi2021/hessian"]
    asked, plain = (judged(features(0.1), rank, only=only).to_dict() for rank in (AT, None))
    assert "taken as given" in asked["notes"][0] and not plain["notes"]
    assert asked["statements"] == plain["statements"]


def test_zeros_that_are_zeros_are_left_alone() -> None:
    p = dq.problem("delm", {"Phi": EXACT, "Y": Y}, INIT, gamma=0.5, rank=AT)
    assert np.array_equal(p.data["Phi"], EXACT) and "taken as given" in p.told[-1]
    assert p.model.outer.factored.relative == 0


def test_the_logistic_loss() -> None:
    labels, logistic = [[0.0, 1.0, 1.0, 0.0]], {"kind": "logistic", "tau": 0.5, "R": 3.0}
    found = []
    for Phi, rank in ((features(1e-14), AT), (EXACT, None)):
        data = {"Phi": Phi, "Y": labels}
        p = dq.problem("delm", data, INIT, gamma=0.5, loss=logistic, rank=rank)
        found.append(dq.run(p))
    assert outcomes(found[0]) == outcomes(found[1])
    for name in ("kappa", "loss_star", "gap"):
        near, exact = (report.quantities[name] for report in found)
        assert near.value == pytest.approx(exact.value, rel=1e-9), name


@pytest.mark.parametrize(
    ("relative", "sentence"),
    [
        (1e-17, "below what doubles resolve of its singular values; expected at least 1.5e-14"),
        (0.25, "and rounding leaves open on which side of 0.25"),
    ],
)
def test_thresholds_that_rounding_blurs_are_refused(relative: float, sentence: str) -> None:
    Phi = np.diag([4.0, 1.0, 1.0]) @ np.eye(3, 4)
    with pytest.raises(dq.CaseError, match=r"rank\.relative: Phi: ") as caught:
        judged(Phi, {"relative": relative})
    assert sentence in str(caught.value)


def test_a_model_beside_it_sees_the_same_features() -> None:
    case = {
        "data": {"kind": "values", "Phi": features(1e-14), "Y": EXACT},
        "model": {"kind": "delm", "gamma": 0.5},
        "init": {"kind": "gaussian", "scale": 0.3},
        "train": {"kind": "gd", "step": 1e-3, "steps": 3},
        "rank": AT,
    }
    other = {"kind": "linear-resnet", "depth": 2}
    beside = {"model": other, "init": {"kind": "gaussian", "scale": 0.1}, "train": case["train"]}
    p = dq.read({**case, "compare": beside}).problem()
    assert p.companion is not None
    assert np.array_equal(p.companion.data["Phi"], p.data["Phi"])
    assert p.companion.model.infimum.value == pytest.approx(p.model.infimum.value)


def test_a_case_without_it_has_the_digest_that_it_had() -> None:
    plain = dq.read("quickstart")
    assert "rank" not in plain.resolved
    asked = dq.read("quickstart", set=["rank.relative=1e-9"])
    assert asked.resolved["rank"] == AT | {"relative": 1e-9} and asked.digest != plain.digest
    assert json.loads(json.dumps(asked.resolved)) == asked.resolved
