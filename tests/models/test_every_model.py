"""Random small instances of every registered model, through the case reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deqcheck as dq
from deqcheck.case import Case, CaseError, build_problem, read_text
from deqcheck.fields import Refusal, read_record
from deqcheck.gradcheck import STEP, Agreement, gradcheck
from deqcheck.importing.array import Given
from deqcheck.models.problem import NoEquilibrium, Problem, quantities
from deqcheck.records.measured import Measured
from deqcheck.registry import kinds
from tests.families import ROOMS
from tests.shipped import stated

MODELS = kinds(ROOMS["models"])
# Not what a solver reports about itself, nor what follows from a constant that was searched for.
INVARIANT = ("loss", "gap", "residual", "gradient", "norm", "sigma", "lambda", "kappa", "cond")
few = settings(
    max_examples=12, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
every_model = pytest.mark.parametrize("kind", MODELS)


@pytest.fixture(scope="module")
def spellings() -> dict[str, list[dict[str, Any]]]:
    """How shipped cases spell each model, options included."""
    found: dict[str, dict[str, dict[str, Any]]] = {kind: {} for kind in MODELS}
    for case in stated().values():
        resolved = case.resolved
        for part in (resolved, resolved.get("compare") or {}):
            model = part.get("model")
            if model is not None:
                found[model["kind"]].setdefault(json.dumps(model, sort_keys=True), model)
    return {kind: list(models.values()) for kind, models in found.items()}


def test_every_model_has_a_case(spellings) -> None:
    assert all(spellings.values()), [kind for kind, found in spellings.items() if not found]


class Instance:
    """Sizes, data and initial parameters for one spelling of a model."""

    def __init__(self, model: dict[str, Any], sizes: dict[str, int], seed: int, scale: float):
        self.model, self.rng = model, np.random.default_rng(seed)
        blank = _model(model)
        self.sizes = {**sizes, **blank.sizes()}
        self.data = {name: self._draw(symbols, 1) for name, symbols in blank.data_arrays.items()}
        self.init = {name: self._draw(symbols, scale) for name, symbols in blank.parameters.items()}
        common = set.intersection(*(set(symbols) for symbols in blank.data_arrays.values()))
        self.sample = next(iter(common & {"n", "N"}), None)
        self.symbols = blank.data_arrays

    def _draw(self, symbols: tuple[str, ...], scale: float) -> np.ndarray:
        return scale * self.rng.normal(size=[self.sizes.setdefault(s, 2) for s in symbols])

    def permuted(self) -> dict[str, np.ndarray]:
        order = self.rng.permutation(self.sizes[self.sample])
        return {
            name: np.take(array, order, axis=self.symbols[name].index(self.sample))
            for name, array in self.data.items()
        }

    def problem(self, data: dict[str, np.ndarray] | None = None) -> Problem:
        return build_problem(self.case(data))

    def case(self, data: dict[str, np.ndarray] | None = None) -> Case:
        tree = {
            "deqcheck": 1,
            "data": {"kind": "values", **_lists(data or self.data)},
            "model": self.model,
            "init": {"kind": "values", **_lists(self.init)},
        }
        return read_text(json.dumps(tree), "case.yaml", Path("/nowhere"))


def _model(model: dict[str, Any]) -> Any:
    """The kind itself, read as a case would."""
    fields = {name: value for name, value in model.items() if name != "kind"}
    return read_record(MODELS[model["kind"]], fields, Path("/nowhere"), "model")


def _lists(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    return {name: array.tolist() for name, array in arrays.items()}


def instances(spelt: list[dict[str, Any]]) -> st.SearchStrategy[Instance]:
    letters = {
        letter
        for model in spelt
        for symbols in (*_model(model).data_arrays.values(), *_model(model).parameters.values())
        for letter in symbols
    }
    return st.builds(
        Instance,
        st.sampled_from(spelt),
        st.fixed_dictionaries({letter: st.integers(1, 3) for letter in sorted(letters)}),
        st.integers(0, 2**32 - 1),
        st.sampled_from([0.05, 0.2, 0.5, 3.0]),
    )


def small(spelt: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Shipped depths may be large; a small network has the same code."""
    cut = {"depth": 3, "width": 3, "iterations": 3}
    return [
        {k: min(v, cut[k]) if k in cut and isinstance(v, int) else v for k, v in model.items()}
        for model in spelt
    ]


@every_model
def test_the_fast_gradient_agrees_with_its_twins(kind, spellings) -> None:
    agreed = []

    @few
    @given(instances(small(spellings[kind])))
    def check(instance: Instance) -> None:
        try:
            problem = instance.problem()
            with np.errstate(all="ignore"):
                agreements = gradcheck(problem)
        except (CaseError, NoEquilibrium):
            return
        alone = problem.model.at(problem.theta0).loss_alone
        assert alone == problem.start.measure("loss").value
        for agreement in agreements:
            assert agreement.explicit <= agreement.tolerance_explicit, agreement
            assert smooth_agreement(problem, agreement), agreement
        agreed.append(instance)

    check()
    assert len(agreed) >= 3, "hardly any instance could be built"


def smooth_agreement(problem: Problem, agreement: Agreement) -> bool:
    """Differences agree, unless a kink lies within their stencil."""
    if agreement.differences <= agreement.tolerance_differences:
        return True
    kinks = problem.start.kinks
    if kinks is None:
        return False
    theta, name = problem.theta0, agreement.parameter
    h = 2 * STEP * max(1.0, float(np.abs(theta[name]).max(initial=0.0)))
    for index in np.ndindex(theta[name].shape):
        for side in (-h, h):
            moved = {**theta, name: theta[name].copy()}
            moved[name][index] += side
            if (problem.model.at(moved).kinks.pattern != kinks.pattern).any():
                return True
    return bool(kinks.zeros)


@every_model
def test_the_order_of_the_samples_does_not_matter(kind, spellings) -> None:
    compared = []

    @few
    @given(instances(small(spellings[kind])))
    def check(instance: Instance) -> None:
        if instance.sample is None:
            return
        try:
            with np.errstate(all="ignore"):
                here = quantities(instance.problem().start)
                there = quantities(instance.problem(instance.permuted()).start)
        except (CaseError, NoEquilibrium):
            return
        assert here.keys() == there.keys()
        for name in here:
            if name.startswith(INVARIANT):
                assert same(here[name], there[name]), (name, here[name], there[name])
        compared.append(instance)

    check()
    assert compared


def same(a: Measured, b: Measured) -> bool:
    """The two intervals meet; a value for each sample is compared in sorted order."""
    x, y = (np.sort(np.ravel(m.value)) for m in (a, b))
    radius = float(np.max(a.error) + np.max(b.error))
    if np.isinf(radius):
        return True
    return bool(np.all((x == y) | (np.abs(x - y) <= radius * (1 + 1e-9))))


@every_model
def test_nothing_but_our_own_refusals(kind, spellings) -> None:
    """Whatever the sizes and scales: a problem with finite quantities, or a sentence."""

    @few
    @given(instances(small(spellings[kind])), st.sampled_from([0.0, 1e-300, 1e-8, 1e8, 1e150]))
    def check(instance: Instance, factor: float) -> None:
        instance.init = {name: factor * array for name, array in instance.init.items()}
        try:
            with np.errstate(all="ignore"):
                found = quantities(instance.problem().start)
        except (CaseError, NoEquilibrium):
            return
        for name, m in found.items():
            assert not np.any(np.isnan(m.value) & np.isfinite(m.error)), name

    check()


@pytest.mark.parametrize("depth", [1, 3])
def test_the_layers_of_a_residual_network_are_added_to_what_they_are_given(depth: int) -> None:
    """x -> x + H_l x, one layer after the other, one sample after the other."""
    r = np.random.default_rng(2)
    Phi, Y, H = r.normal(size=(3, 4)), r.normal(size=(3, 4)), r.normal(size=(depth, 3, 3))
    p = dq.problem("linear-resnet", {"Phi": Phi, "Y": Y}, {"H": H}, depth=depth)
    loss = 0.0
    for x, y in zip(Phi.T, Y.T, strict=True):
        for layer in H:
            x = x + layer @ x
        loss += float((x - y) @ (x - y))
    assert p.start.measure("loss").value == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("axes", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["relu-deq", "monotone-deq", "implicit-relu"])
def test_parameters_with_more_axes_than_a_matrix_are_refused(kind: str, axes: int) -> None:
    """Kernels of convolutions; images are flattened elsewhere."""
    brought = {name: Given(np.ones([2] * axes), f"init.{name}", name) for name in ("X", "A")}
    model = _model({"kind": kind, **({"m": 0.5} if kind == "monotone-deq" else {})})
    if axes < 3:
        assert model.brought(brought) == brought
    else:
        with pytest.raises(Refusal) as refused:
            model.brought(brought)
        ((key, said),) = refused.value.problems
        assert key == "init.A" and f"A has {axes} axes" in said
