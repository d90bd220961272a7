"""Every claim of Gao and Gao's statements can be found false: each is broken and then caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from deqcheck.dynamics.flow import GradientFlow
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.models.implicit_relu import oracle
from deqcheck.models.problem import Problem
from deqcheck.records.claim import Claim
from deqcheck.records.comparison import Decision
from deqcheck.theorems.base import Check, Statement
from deqcheck.theorems.gao2022.bounds import C
from deqcheck.theorems.gao2022.eta_claim import StepClaim
from deqcheck.theorems.gao2022.gstar import LimitGram
from deqcheck.theorems.gao2022.lem3_1 import Lemma31
from deqcheck.theorems.gao2022.lem3_2 import Gradients, Lemma32
from deqcheck.theorems.gao2022.lem4_1 import Lemma41, SigmaMin
from deqcheck.theorems.gao2022.lem4_3 import RIGHT, Lemma43
from deqcheck.theorems.gao2022.lem5_1 import Lemma51
from deqcheck.theorems.gao2022.sec5_1 import ScaledStart
from deqcheck.theorems.gao2022.thm4_2 import Theorem42
from deqcheck.theorems.gao2022.thm4_4 import Theorem44

Builder = Callable[..., Problem]
# One sample and one unit, where most bounds are equalities.
SCALAR = {"X": [[1]], "y": [0], "W": [[1]], "A": [[1]], "b": [1], "gamma": 0.5}
NEGATIVE = {**SCALAR, "A": [[-1]]}
IDENTITY = {"X": np.eye(3) + 0.5, "y": [1, 2, 3], "A": np.eye(3), "W": np.eye(3), "gamma": 0.5}
IDENTITY["b"] = [1, 1, 1]
# As near to equalities, but no diagonal shows it.
NEARLY = {**SCALAR, "W": [[1, 1]], "A": [[1, 1e-9], [0, 1]], "b": [1, 1]}
DAMPED = {**NEARLY, "A": [[-1, 1e-9], [0, -1]]}
# Each sample has a unit of its own.
SPLIT = {"X": np.eye(2), "y": [0, 0], "W": [[1, -1], [-1, 1]], "A": -np.eye(2), "b": [1, 1]}
SPLIT["gamma"] = 0.5
SWAP = {"X": np.eye(2), "W": np.eye(2), "A": [[0, 1], [1, 0]], "b": [1, 1], "y": [1, 2]}
F1 = {"X": np.eye(2), "y": [1, -1], "A": np.full((2, 2), 0.5), "b": [0, 0], "gamma": 0.01}
F1["W"] = np.array([[40.0, 20.0], [20.0, 40.0]])
SCALED = {**F1, "W": 217 * np.array([[2.0, 1], [1, 2]]), "A": np.full((2, 2), 325.5)}
SCALED["gamma"] = 1 / 1304
ORTHOGONAL = {"X": np.eye(3), "y": [1, 2, 3]}
ONE_SAMPLE = {"X": [[1, 2]], "y": [1], "W": [[1, -1], [1, -1]], "A": [[0.5, 0.1], [0.2, 0.3]]}
ONE_SAMPLE["b"] = [1, 1]
ZERO_SAMPLE = {"X": [[1, 0], [0, 0]], "y": [1, 2]}


LIMIT = "norm_Phi/(1-gamma*M)"


def said(statement: Statement, p: Problem) -> list[Claim]:
    """What it claims, and what deqcheck adds."""
    return [*statement.claims(p, p.start), *statement.remarks(p, None)]


def decided(
    statement: type[Statement], attribute: str, formula: str, p: Problem, **how: Any
) -> Any:
    """The decision on the claim whose formula was replaced."""
    right: Check = getattr(statement, attribute)
    wrong = Check(right.name, formula, right.equation, right.decays, right.contracts)
    broken = type("Broken", (statement,), {attribute: wrong})(**how)
    claims = {c.name: c for c in said(broken, p)}
    return claims[right.name].judge().decision


ABOVE = {"M": 1.0000001}
BROKEN = [
    (Lemma31, "state", "norm_Z <= norm_Phi/(1-gamma*M/2)", SCALAR, ABOVE),
    (Lemma31, "iterates", "norm_Zl <= norm_Phi/(1-gamma*M/2)", SCALAR, ABOVE),
    (Lemma31, "sharper", f"norm_Zl <= {LIMIT}*(1-(gamma*M)^(l-1))", SCALAR, ABOVE),
    (Lemma31, "distance", f"norm_Z_minus_Zl <= {LIMIT}*(gamma*M)^(l+1)", SCALAR, ABOVE),
    (Lemma31, "state_equal", "norm_Z == norm_Phi/(1-0.999*gamma*M)", IDENTITY, {}),
    (Lemma31, "iterates_equal", f"norm_Zl == {LIMIT}*(1-(gamma*M)^(l+1))", IDENTITY, {}),
    (Lemma31, "distance_equal", f"norm_Z_minus_Zl == {LIMIT}*(gamma*M)^(1.01*l)", IDENTITY, {}),
    (Lemma31, "forward", "iterations - 1 < log(0.01/norm_Phi)/log(gamma*M)", IDENTITY, {}),
    (Lemma31, "forward_exact", "iterations - 2 >= log(0.01/norm_Phi)/log(gamma*M)", IDENTITY, {}),
    (Lemma32, "singular", "sigma_min_Q >= 1-gamma*norm_A/2", NEARLY, {}),
    (Lemma32, "symmetric", "lambda_min_sym >= 1-gamma*norm_A/2", NEARLY, {}),
    (Lemma32, "real_part", "real_part_min >= 1-gamma*norm_A/2", NEARLY, {}),
    (Lemma32, "modulus", "modulus_min >= 1-gamma*norm_A/2", NEARLY, {}),
    (Lemma32, "inverse", "norm_Q_inverse <= 1/(1-gamma*M/2)", SCALAR, ABOVE),
    (Lemma32, "singular_equal", "sigma_min_Q == 1-0.999*gamma*norm_A", SCALAR, {}),
    (Lemma32, "symmetric_equal", "lambda_min_sym == 1-0.999*gamma*norm_A", SCALAR, {}),
    (Lemma32, "real_part_equal", "real_part_min == 1-0.999*gamma*norm_A", SCALAR, {}),
    (Lemma32, "modulus_equal", "modulus_min == 1-0.999*gamma*norm_A", SCALAR, {}),
    (Lemma32, "inverse_equal", "norm_Q_inverse == 1/(1-0.999*gamma*M)", SCALAR, {}),
    (Lemma32, "norm", "norm_Q <= 1+gamma*norm_A/2", NEGATIVE, {}),
    (Gradients, "along_w", "inner_W == 1.00001*slope_W", {}, {}),
    (Gradients, "along_a", "inner_A == 1.00001*slope_A", {}, {}),
    (Gradients, "along_b", "inner_b == 1.00001*slope_b", {}, {}),
    (Lemma41, "moves", "minus_uHr == 1.00001*u_dyhat", {}, {}),
    (Lemma41, "remark", "gradient^2 >= 2.01*lambda_min_H*loss", ONE_SAMPLE, {}),
    (Lemma41, "speed", "gradient^2 == 1.00001*rHr", {}, {}),
    (Lemma41, "twice", "gradient^2 >= 2.01*lambda_min_H*loss", SPLIT | {"y": [0, 0.1]}, {}),
    (Lemma41, "twice_equal", "gradient^2 == 2.001*lambda_min_H*loss", ONE_SAMPLE, {}),
    (SigmaMin, "plain_m", "sigma_M >= gamma*norm_b/(1+gamma0/2)*D_min*sigma_Z", DAMPED, {}),
    (SigmaMin, "plain_pi", "sigma_Pi >= norm_b/(1+gamma0/2)*DE_min*sigma_X", DAMPED, {}),
    (SigmaMin, "plain_m_equal", "sigma_M == 1.001*gamma*norm_b/(1+gamma0)*sigma_Z", NEGATIVE, {}),
    (SigmaMin, "plain_pi_equal", "sigma_Pi == 1.001*norm_b/(1+gamma0)*sigma_X", NEGATIVE, {}),
    (SigmaMin, "schur_m", "sigma_M >= 1.001*gamma*p_min*sigma_Z", SPLIT, {}),
    (SigmaMin, "schur_pi", "sigma_Pi >= 1.001*Ep_min*sigma_X", SPLIT, {}),
    (SigmaMin, "schur_p", "p_min >= Db_min/(1+gamma0/2)", NEGATIVE, {}),
    (SigmaMin, "schur_m_equal", "sigma_M == 1.001*gamma*p_min*sigma_Z", SCALAR, {}),
    (SigmaMin, "schur_pi_equal", "sigma_Pi == 1.001*Ep_min*sigma_X", SCALAR, {}),
    (Lemma43, "w_moves", f"norm_Z_minus_Z <= 0.01*{RIGHT}", {}, {}),
    (Lemma43, "w_moves_equal", f"norm_Z_minus_Z == 0.999*{RIGHT}", SCALAR, {}),
    (Lemma43, "a_moves", f"norm_Z_minus_Z <= 0.99*{RIGHT}", SCALAR, {}),
    (Lemma43, "both_move", f"norm_Z_minus_Z <= 0.5*{RIGHT}", SCALAR, {}),
    (Lemma51, "linear", "uZv == 1.00001*uLv", SWAP, {}),
    (Lemma51, "regular", "alpha0 >= sigma_N_Phi/(1+gamma*norm_A/2)", SWAP, {}),
    (Lemma51, "regular_equal", "alpha0 == 1.001*sigma_N_Phi", SWAP | {"A": np.zeros((2, 2))}, {}),
    (StepClaim, "F1", "alpha0 <= lambda1*X_fro/((1-gamma0)*N^3)", F1, {}),
    (StepClaim, "F2", "eta2 <= 4/alpha0^2/(8*N)^4", F1, {}),
    (StepClaim, "F3_balance", f"lambda1 >= 4*sqrt({C}*N)*lambda3^3", F1, {}),
    (StepClaim, "F3_rate", "eta2*alpha0^2/4 <= 1/(32*N^2)^2", F1, {}),
    (StepClaim, "F4", "eta2*256*N^11.5*X_fro*r0 <= 1-gamma0", F1, {}),
    (ScaledStart, "scale_24", "4/9*(beta*a1)^2 >= 17*(beta*norm_W+1)*X_fro*norm_y", SCALED, {}),
    (ScaledStart, "scale_25", "(beta*a1)^3 >= 128*X_fro^2*norm_y*norm_W^2", SCALED, {}),
    (ScaledStart, "scale_26", "(beta*a1)^2 >= 128*X_fro^2*norm_W", SCALED, {}),
    (ScaledStart, "well_posed", "gamma0 < 0.4", SCALED, {}),
    (ScaledStart, "regular", "alpha0 >= 4*beta*a1/3", SCALED, {}),
    (ScaledStart, "first", "alpha0^2 >= 8*lambda1*X_fro*r0/(1-gamma0)^3", SCALED, {}),
    (ScaledStart, "second", "alpha0^3 >= 16*lambda3*X_fro^9*lambda1^2*r0", SCALED, {}),
    (ScaledStart, "third", "alpha0^2 >= lambda1^2*X_fro^2", SCALED, {}),
    (LimitGram, "positive", "lambda_star > 0", ZERO_SAMPLE, {}),
    (LimitGram, "trace", "lambda_star <= X_fro^2/(2*N)^2", ORTHOGONAL, {}),
    (LimitGram, "half", "lambda_star <= X_fro^2/(2*N)^2", ORTHOGONAL, {}),
    (LimitGram, "half_equal", "lambda_star == 1.001*X_fro^2/(2*N)", ONE_SAMPLE, {}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "attribute", "formula", "arrays", "fixed"),
    BROKEN,
    ids=[f"{s.id}-{a}" for s, a, *_ in BROKEN],
)
def test_a_broken_claim_is_caught(
    implicit: Builder, statement: type, attribute: str, formula: str, arrays: Any, fixed: Any
) -> None:
    m = len(np.asarray(arrays.get("A", np.eye(6))))
    X = np.asarray(arrays.get("X", np.zeros((3, 4))))
    p = implicit(*X.shape, m, **arrays)
    assert decided(statement, attribute, formula, p, fixed=fixed) is Decision.VIOLATED


def test_every_claim_has_its_broken_twin() -> None:
    """Hypotheses, editions that are refuted as printed, and what the tests below break, aside."""
    covered = {(s, a) for s, a, *_ in BROKEN}
    elsewhere = {
        (Gradients, "fast_w"), (Gradients, "fast_a"), (Gradients, "fast_b"),
        (Lemma31, "unique"), (Lemma41, "dense"), (Lemma41, "semidefinite"),
        (Lemma32, "strict"), (SigmaMin, "printed_m"), (SigmaMin, "printed_pi"),
        (SigmaMin, "printed_m_equal"), (SigmaMin, "printed_pi_equal"),
        (StepClaim, "one_over_n"),
    }  # fmt: skip
    hypotheses = {
        "bounded", "contracts", "smooth", "well_posed", "nonnegative", "starts_well",
        "certifiable", "first", "second", "third", "b_zero", "features",
        "positive", "unit", "no_zero", "apart", "independent",
    }  # fmt: skip
    for statement in {s for s, _ in covered | elsewhere}:
        for c in statement.__mro__:
            for name, check in vars(c).items():
                if isinstance(check, Check) and name not in hypotheses:
                    assert (statement, name) in covered | elsewhere, (statement, name)


def test_a_wrong_kronecker_form_is_caught(
    implicit: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = oracle.gradient
    monkeypatch.setattr(
        oracle, "gradient", lambda s: {n: 1.000001 * g for n, g in right(s).items()}
    )
    p = implicit()
    judged = {c.name: c.judge().decision for c in said(Gradients(), p)}
    fast = [Gradients.fast_w, Gradients.fast_a, Gradients.fast_b]
    printed = [Gradients.along_w, Gradients.along_a, Gradients.along_b]
    assert [judged[check.name] for check in (*fast, *printed)] == [Decision.VIOLATED] * 6


def test_printed_equalities_are_told_from_others(implicit: Builder) -> None:
    """At A = a I with every unit active the printed bounds are equalities."""
    p = implicit(1, 1, 1, **SCALAR)
    for name, text in (
        ("m", "sigma_M == 1.001*gamma*sigma_Z"),
        ("pi", "sigma_Pi == 1.001*sigma_X"),
    ):
        text += "*norm_b/(1-gamma0)"
        how = {"edition": "printed"}
        assert decided(SigmaMin, f"printed_{name}_equal", text, p, **how) is Decision.VIOLATED


def test_a_second_solution_is_caught(implicit: Builder) -> None:
    """A state that claims to be the equilibrium and is none, where the iterations do not end."""
    p = implicit()
    found = p.start.equilibrium
    wrong = replace(found, Z=2 * found.Z)
    wrong.__dict__["error"] = found.error
    p.start.equilibrium = wrong
    judged = {c.name: c.judge().decision for c in Lemma31().claims(p, p.start)}
    assert judged[Lemma31.unique.name] is Decision.VIOLATED


def test_a_wrong_gram_matrix_is_caught(implicit: Builder) -> None:
    p = implicit()
    H, radius = p.start.H_with_radius
    p.start.H_with_radius = (H - 2 * np.linalg.eigvalsh(H)[0] * np.eye(len(H)), radius)
    judged = {c.name: c.judge().decision for c in said(Lemma41(), p)}
    for check in (Lemma41.dense, Lemma41.semidefinite, Lemma41.moves, Lemma41.speed):
        assert judged[check.name] is Decision.VIOLATED


def test_at_a_fit_the_bar_of_the_speed_is_that_of_the_residual(implicit: Builder) -> None:
    """The labels are the predictions, up to rounding."""
    p = implicit(y=implicit().start.predictions)
    assert not p.start.r.any()
    (speed,) = (c for c in Lemma41().remarks(p, None) if c.name == Lemma41.speed.name)
    largest = np.linalg.eigvalsh(p.start.H_with_radius[0])[-1]
    assert speed.right.error >= largest * p.start.r_radius**2 > 0


PATH = [
    (Theorem42, "rate", "gap/gap_0 <= exp(-2.1*alpha0^2*t)"),
    (Theorem42, "bounded_w", "norm_W <= lambda1/(1+lambda1)"),
    (Theorem42, "bounded_a", "norm_A <= lambda2/(1+lambda2)"),
    (Theorem42, "bounded_b", "norm_b <= lambda3/(10000+lambda3)"),
    (Theorem42, "regular", "sigma_min_Z >= alpha0*(1+t)"),
    (Theorem44, "rate", "gap/gap_0 <= (1 - 2.1*step*alpha0^2)^k"),
    (Theorem44, "bounded_w", "norm_W <= lambda1/(1+lambda1)"),
    (Theorem44, "bounded_a", "norm_A <= lambda2/(1+lambda2)"),
    (Theorem44, "bounded_b", "norm_b <= lambda3/(10000+lambda3)"),
    (Theorem44, "regular", "sigma_min_Z >= alpha0*(1+t)"),
]


@pytest.mark.parametrize(
    ("statement", "attribute", "formula"), PATH, ids=[f"{s.id}-{a}" for s, a, _ in PATH]
)
def test_a_broken_conclusion_along_a_run_is_caught(
    implicit: Builder, statement: type, attribute: str, formula: str
) -> None:
    train: Any = GradientDescent(step=8e-7, steps=60)
    if statement is Theorem42:
        train = GradientFlow(horizon=2e-3, rtol=1e-9)
    p = implicit(2, 2, 2, train=train, **F1)
    p = Problem(p.model, p.theta0, train, record_points=12)
    run = train.run(p, statement.tracks)
    right: Check = getattr(statement, attribute)
    wrong = Check(right.name, formula, right.equation, right.decays)
    for judge, decision in (
        (statement(), Decision.HOLDS),
        (type("Broken", (statement,), {attribute: wrong})(), Decision.VIOLATED),
    ):
        judged = {c.name: c.judge().decision for c in judge.conclusions(p, run)}
        assert judged[right.name] is decision


def test_a_start_that_does_not_stay_optimal_is_caught(implicit: Builder) -> None:
    train = GradientFlow(horizon=2e-3, rtol=1e-9)
    p = implicit(2, 2, 2, train=train, **F1)
    run = train.run(Problem(p.model, p.theta0, train, record_points=12), Theorem42.tracks)
    zero = implicit(2, 2, 2, train=train, **{**F1, "y": [0, 0]})
    judged = {c.name: c.judge().decision for c in Theorem42().conclusions(zero, run)}
    assert judged[Theorem42.optimal.name] is Decision.VIOLATED
