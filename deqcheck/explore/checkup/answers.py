"""The five answers: existence, distance, solver, cheap gradient, robustness."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from deqcheck.explore.checkup.proofs import proven
from deqcheck.linalg.perron import metzler, positive_solution, quotients
from deqcheck.models.equilibrium import lipschitz
from deqcheck.models.equilibrium.splitting import forward_norm, reflected_norm
from deqcheck.models.equilibrium.state import EquilibriumState
from deqcheck.models.equilibrium.weights import forward_factor, forward_limit, reflected_factor
from deqcheck.records.checkup import Answer, Fact, Sample, Tried, TwoEquilibria
from deqcheck.records.measured import Measured, between, given, measured
from deqcheck.theorems.fung2022.descent import inner
from deqcheck.theorems.jafarpour2021.metzler import damping
from deqcheck.theorems.jfb.descent import MOST as BATCH
from deqcheck.theorems.jfb.descent import contracted, guaranteed, lowest

QUESTIONS = (
    "Does exactly one equilibrium exist for every input?",
    "How far is a point from the equilibrium?",
    "Which solver is guaranteed, with which step?",
    "Is the cheap gradient (Jacobian-free) a descent direction?",
    "How far can a change of the input move the outputs?",
)
# Of the search for the best step of forward-backward splitting, and up to which width.
CUTS, SEARCHED = 24, 300


def answers(
    p: Any,
    found: Sequence[Tried],
    two: TwoEquilibria | None,
    samples: Sequence[Sample],
) -> tuple[Answer, ...]:
    state: EquilibriumState = p.start
    parts = (
        _existence(state, tuple(found), two),
        _distance(state, samples),
        _solver(state),
        _cheap(state, samples),
        _robustness(state, samples),
    )
    return tuple(Answer(q, *part) for q, part in zip(QUESTIONS, parts, strict=True))


# The line of an answer, and its facts.
Line = tuple[str | Measured, ...]
Part = tuple[Line, tuple[Fact, ...]]


def _existence(
    state: EquilibriumState, found: tuple[Tried, ...], two: TwoEquilibria | None
) -> Part:
    if proven(found):
        first = next(t for t in found if t.word == "proves it")
        others = [t.id for t in found if t.word == "proves it" and t is not first]
        facts = [Fact("proof:", by=first.id, note=first.title)]
        if others:
            facts.append(Fact("also", note=", ".join(others)))
        claim = first.judged
        assert claim is not None
        return (
            f"yes by {first.id}: {claim.name} ",
            claim.left,
            f" {claim.relation} ",
            claim.right,
        ), tuple(facts)
    if two is not None:
        words = "no: there are two equilibria for one input"
        if two.input is None:
            words = (
                "not decided: with another bias there are two equilibria for one input, but U has "
                "no full row rank, and no input may lead there with this one"
            )
        return (words,), (Fact("shown", by="lcp/ill-posed", note=two.how),)
    words = "not decided: no theorem here applies, which is no proof that there are several"
    if state.s.is_relu and not state.weights.affordable:
        words += "; the test that decides it for ReLU is affordable up to 16 units"
    return (words,), ()


# ---- distance -----------------------------------------------------------------------------------


def amplification(state: EquilibriumState) -> list[Fact]:
    """Numbers K with |z - z*| <= K |r| in the Euclidean norm."""
    w, found = state.weights, []
    if w.norm2.high < 1:
        found.append(Fact("1/(1 - |W|)", 1 / (1 - w.norm2), "banach/error"))
    if w.modulus.low > 0:
        found.append(Fact("1 + |W|/m", 1 + w.norm2 / w.modulus, "winston2020/error"))
    elif w.diagonal.feasible:
        T = w.weighted.T
        spread = measured(float(T.max() / T.min())).widened(1e-15 * float(T.max() / T.min()))
        steep = 1 + (1 + w.weighted.lipschitz) / w.weighted.modulus
        found.append(Fact("weighted by Lambda", spread * steep, "revay2020/error"))
    if w.worst_inverse is not None:
        found.append(Fact("the worst pattern", w.worst_inverse, "lcp/error"))
    return found


def _distance(state: EquilibriumState, samples: Sequence[Sample]) -> Part:
    facts = sorted(amplification(state), key=lambda fact: _high(fact.value))
    if not facts:
        return ("not known: no theorem gives a bound",), ()
    best = facts[0]
    assert best.value is not None
    rest = [Fact(f"by {f.name}", f.value, f.by) for f in facts]
    line: Line = ("|z - z*| <= ", best.value, " |r| with the residual r = z - s(W z + c)")
    if samples:
        worst = Measured(max(sample.error for sample in samples))
        rest.append(Fact("largest error of the equilibria found", worst))
        line = (*line, "; equilibria of the samples within ", worst)
        distances = [s.distance for s in samples if not math.isnan(s.distance)]
        if distances:
            farthest = Measured(max(distances))
            rest.append(Fact("largest distance of the given points", farthest))
            line = (*line, ", the given points within ", farthest)
    return line, tuple(rest)


def _high(x: Measured | None) -> float:
    return math.inf if x is None else float(x.high)


# ---- solvers ------------------------------------------------------------------------------------


def _solver(state: EquilibriumState) -> Part:
    lines: list[str | Measured] = []
    facts: list[Fact] = []
    for line, behind in _solvers(state):
        lines += ["; ", *line] if lines else line
        facts += behind
    if lines:
        return tuple(lines), tuple(facts)
    w = state.weights
    if state.s.is_relu and w.affordable and w.minors.smallest.low > 0:
        note = "least-index pivoting is finite for P-matrices, and no iteration is guaranteed"
        return ("Murty's pivoting",), (Fact("finite", by="lcp/p-matrix", note=note),)
    return ("none is guaranteed",), ()


def _digits(rate: Measured) -> str:
    """How many steps a digit takes."""
    if not 0 < rate.value < 1:
        return "one step" if rate.value == 0 else ""
    return f"{math.log(10) / -math.log(rate.value):.3g} steps a digit"


def _solvers(state: EquilibriumState) -> Iterator[tuple[Line, list[Fact]]]:
    w = state.weights
    contraction = min((w.norm2, w.norm_inf), key=lambda k: float(k.high))
    if contraction.high < 1:
        fact = Fact("Picard, factor", contraction, "banach/norm2", _digits(contraction))
        yield ("Picard (factor ", contraction, ")"), [fact]
    elif w.rho.high < 1:
        fact = Fact("Picard, spectral radius of |W|", w.rho, "elghaoui2021/pf")
        yield ("Picard (rate ", w.rho, ")"), [fact]
    if w.modulus.low > 0 and state.s.is_relu:
        yield _reflected(state)
        yield _forward(state)
    eta = positive_solution(metzler(state.W), np.ones(state.n)) if w.mu.high < 1 else None
    if eta is not None:
        worst, a = max(quotients(metzler(state.W), eta)[1], 0.0), given(damping(state.W))
        rate, by = 1 - a * (1 - between(worst, worst)), "jafarpour2021/damped"
        facts = [
            Fact("damped iteration, step up to", a, by),
            Fact("damped iteration, factor", rate, by, _digits(rate)),
        ]
        yield ("damped iteration up to ", a, " (factor ", rate, ")"), facts


def _reflected(state: EquilibriumState) -> tuple[Line, list[Fact]]:
    w = state.weights
    m, L, a = w.modulus, w.lipschitz, 1 / w.lipschitz
    bound, norm = reflected_factor(a, m, L), reflected_norm(w.F, given(float(a.value)))
    by, name = "giselsson2017/pr", "Peaceman-Rachford"
    facts = [
        Fact(f"{name}, every step; at 1/L =", a, by),
        Fact(f"{name}, bound on the factor there", bound, by, _digits(bound)),
        Fact(f"{name}, factor there", norm, by, _digits(norm)),
    ]
    return (f"{name} with every step (factor ", norm, " at ", a, ")"), facts


def _forward(state: EquilibriumState) -> tuple[Line, list[Fact]]:
    w = state.weights
    limit = forward_limit(w.modulus, w.lipschitz)
    best = forward_factor(limit / 2, w.modulus, w.lipschitz)
    sharp = 2 * w.inverse_modulus
    step = _best_step(state, float(sharp.value))
    factor = forward_norm(w.F, given(step))
    by, name = "winston2020/fb", "forward-backward"
    facts = [
        Fact(f"{name}, steps below 2 m/L^2 =", limit, by),
        Fact(f"{name}, bound on the factor at half of it", best, by, _digits(best)),
        Fact(f"{name}, sharp limit 2 beta =", sharp, by),
        Fact(f"{name}, factor at {step:.4g}", factor, by, _digits(factor)),
    ]
    line: Line = (f"{name} with steps below ", sharp, " (factor ", factor, f" at {step:.4g})")
    return line, facts


def _best_step(state: EquilibriumState, limit: float) -> float:
    """|I - a F| is convex in a."""
    if state.n > SEARCHED:
        return limit / 2
    F = np.eye(state.n) - state.W

    def norm(a: float) -> float:
        return float(np.linalg.norm(np.eye(state.n) - a * F, 2))

    return lipschitz.least(norm, 0.0, limit, CUTS)


# ---- the cheap gradient -------------------------------------------------------------------------


def _cheap(state: EquilibriumState, samples: Sequence[Sample]) -> Part:
    facts = list(_one_sample(state))
    line: Line = ("not guaranteed",)
    if facts:
        assert facts[0].value is not None
        line = ("yes for one sample: cosine >= ", facts[0].value)
    cosines = [s.cosine for s in samples if s.cosine is not None]
    if cosines:
        least = min(cosines, key=lambda c: float(c.low))
        facts.append(Fact("smallest cosine of a sample, given labels", least))
        line = (*line, ", of these samples ", least)
    if not samples or not state.equilibrium.proof:
        return (*line, "; of a batch it depends on the inputs (--data)"), tuple(facts)
    if len(samples) * len(state.C) <= BATCH:
        certificate = lowest(state)
        facts.append(Fact("smallest eigenvalue of the batch", certificate, "jfb/batch"))
        line = (*line, f"; {_batch(certificate)}")
    if cosines:
        product = inner(state)
        sign = "descends" if product.low > 0 else "ascends" if product.high < 0 else "is open"
        facts.append(Fact(f"with the given labels it {sign}, product", product, "jfb/batch"))
        line = (*line, f"; with the given labels it {sign}")
    return line, tuple(facts)


def _one_sample(state: EquilibriumState) -> Iterator[Fact]:
    w = state.weights
    if state.s.is_relu and w.modulus.low > 0:
        yield Fact("cosine at least m/L =", guaranteed(w.modulus, w.lipschitz), "jfb/one")
    elif w.norm2.high < 1:
        yield Fact("cosine at least sqrt(1 - |W|^2) =", contracted(w.norm2), "jfb/one")


def _batch(certificate: Measured) -> str:
    if certificate.low > 0:
        return "this batch: yes for all labels"
    return "this batch: not for all labels" if certificate.high < 0 else "this batch: not decided"


# ---- robustness ---------------------------------------------------------------------------------


def _robustness(state: EquilibriumState, samples: Sequence[Sample]) -> Part:
    w, facts = state.weights, []
    D = state.model.D
    if w.diagonal.feasible:
        g = lipschitz.by_diagonal(state, state.C, w.diagonal.weights)
        if math.isfinite(g.value):
            note = "without D" if D.any() else ""
            facts.append(Fact("|dy|/|dx| at most", g, "revay2020/lipschitz", note))
    if w.modulus.low > 0:
        z = lipschitz.by_modulus(state)
        facts.append(Fact("|dz|/|dx| at most |U|/m =", z, "pabbaraju2021/thm1"))
        facts.append(Fact("|C| |U|/m", state.read_out * z, "pabbaraju2021/thm1"))
    gains = lipschitz.box_of_metzler(state)
    if gains is not None:
        most = Measured(float(gains.sum(axis=1).max()))
        facts.append(Fact("largest output by largest input, at most", most, "elghaoui2021/box"))
    exact = lipschitz.over_patterns(state)
    if exact is not None and not D.any():
        facts.append(
            Fact("over all patterns", exact, "lcp/p-matrix", "attained if U has full rank")
        )
    line: Line = ("not known: no theorem gives a bound",)
    if facts:
        assert facts[0].value is not None
        line = (f"{facts[0].name} ", facts[0].value)
    radii = sorted(s.radius for s in samples if not math.isnan(s.radius))
    if radii:
        ends = Measured(radii[0]), Measured(radii[len(radii) // 2])
        facts.append(Fact("smallest certified radius", ends[0], "robust/radius"))
        facts.append(Fact("median", ends[1], "robust/radius"))
        line = (*line, "; predictions are certain within ", ends[0], ", in the median ", ends[1])
    return line, tuple(facts)
