"""OptEq in a case: names that depend on the depth, the optional Z0, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.case import build_problem

CASE = """
deqcheck: 1
data: {kind: values, X: [[1, 2]], Y: [[1, 1]]}
model: {kind: opteq, alpha: 0.25, depth: 1, iterations: 2, activation: {kind: mix, k: 0.5}}
init: {kind: values, W1: [[0.5, 0]], U1: [[1]], b1: [0], Wo: [[0, 1]]}
"""
DRAWN = "init={kind: gaussian, scale: 0.3}"


def test_parameters_follow_the_depth(read):
    problem = build_problem(read("model.depth=2", "model.m=3", "model.n=4", DRAWN, text=CASE))
    assert {name: a.shape for name, a in problem.theta0.items()} == {
        "W1": (4, 3), "W2": (4, 3), "U1": (4, 1), "U2": (4, 1), "b1": (4,), "b2": (4,),
        "Wo": (1, 3),
    }  # fmt: skip
    assert problem.model.Z0.tolist() == [[0, 0]] * 3


def test_the_start_of_the_state_is_optional_and_not_trained(read, tmp_path):
    plain = build_problem(read(text=CASE))
    assert not plain.model.Z0.any() and "Z0" not in plain.theta0
    given = build_problem(read("init.Z0=[[1, 2], [3, 4]]", text=CASE))
    assert given.model.Z0.tolist() == [[1, 2], [3, 4]] and "Z0" not in given.theta0
    np.savez(tmp_path / "start.npz", Z0=np.ones((2, 2)), **plain.theta0)
    stored = build_problem(read("init={kind: npz, path: start.npz}", text=CASE))
    assert (stored.model.Z0 == 1).all()


def test_the_start_of_the_state_may_be_drawn_by_name(read):
    parts = "W1: gaussian, U1: gaussian, b1: zero, Wo: gaussian"
    sizes = ("model.m=2", "model.n=3")
    drawn = build_problem(read(f"init={{kind: each, {parts}, Z0: gaussian}}", *sizes, text=CASE))
    assert drawn.model.Z0.all()
    left = build_problem(read(f"init={{kind: each, {parts}}}", *sizes, text=CASE))
    assert not left.model.Z0.any()
    assert not build_problem(read(DRAWN, *sizes, text=CASE)).model.Z0.any()


def test_the_start_of_the_state_can_be_scaled(read):
    scaled = build_problem(read("init.Z0=[[1, 2], [3, 4]]", "rescale={Z0: 2}", text=CASE))
    assert scaled.model.Z0.tolist() == [[2, 4], [6, 8]]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("init.Z0=[[1, 2]]",
         "init.Z0: Z0 has shape (1, 2); expected (m, N) = (2, 2) because W1 is 1 x 2"),
        ("init.U1=[[1, 2]]",
         "init.U1: U1 has shape (1, 2); expected (n1, d) = (1, 1) because X is 1 x 2"),
        ("init.V=[[1]]", "init.V: unknown array 'V'; expected W1, U1, b1, Wo, Z0"),
        ("init.Wo=[[.nan, 1]]", "init.Wo: holds inf or nan; expected finite numbers"),
        (DRAWN, "init: cannot draw W1: nothing decides the size n1"),
        ("model.activation=swish",
         "model.activation: unknown kind 'swish'; expected one of hardtanh, identity, mix, relu, "
         "softplus, tanh"),
        ("model.activation=mix", "model.activation.k: missing; expected a number > 0 and <= 1"),
        ("model.alpha=0", "model.alpha: 0 is out of range; expected a number > 0 and <= 1"),
        ("model.sam={beta: 0.5}", "model.sam.gamma: missing; expected a number > 0"),
        ("model.sam={beta: 0.5, gamma: 1, regularizer: {kind: distance, center: [1]}}",
         "model.sam.regularizer.center: has shape (1,); expected the state width 2 on axis 0"),
    ],
)  # fmt: skip
def test_faults(messages, setting, message):
    assert messages(setting, text=CASE) == [f"--set: {line}" for line in message.split("|")]


def test_a_width_that_contradicts_the_weights(messages):
    assert messages("model.m=3", text=CASE) == [
        f"case.yaml:5: init.{name}: {name} has shape (1, 2); expected ({rows}, m) = ({size}, 3) "
        "because the model has m = 3"
        for name, rows, size in (("W1", "n1", "n1"), ("Wo", "dy", "1"))
    ]
