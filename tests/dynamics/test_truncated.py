"""Gradient descent on what a few sweeps make of the equilibrium."""

from __future__ import annotations

from math import ceil, log
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import deqcheck as dq
from deqcheck.dynamics.gd import GradientDescent
from deqcheck.dynamics.truncated import TruncatedDescent
from deqcheck.models.truncated import SWEEPS


def drawn(seed: int = 0, scale: float = 0.4) -> Any:
    r = np.random.default_rng(seed)
    data = {"X": r.normal(size=(3, 4)), "y": r.normal(size=4)}
    W = scale * r.normal(size=(5, 5)) / np.sqrt(5)
    return dq.problem("relu-deq", data, {"W": W, "U": r.normal(size=(5, 3)), "a": r.normal(size=5)})


def plain(p: Any, train: TruncatedDescent) -> tuple[list[float], list[int], dict[str, np.ndarray]]:
    """Losses, sweeps and the end of the run, in plain NumPy."""
    X, y, theta = p.model.X, p.model.y, dict(p.theta0)
    losses, counts = [], []
    for _ in range(train.steps + 1):
        last, count = np.zeros((len(theta["a"]), len(y))), 0
        while True:
            Z = np.maximum(theta["W"] @ last + theta["U"] @ X, 0)
            count += 1
            if np.linalg.norm(Z - last) <= train.tolerance or count == train.sweeps:
                break
            last = Z
        r = Z.T @ theta["a"] - y
        losses.append(float(r @ r) / 2)
        counts.append(count)
        end, E = theta, np.zeros_like(Z)
        for i in range(len(y)):
            on = np.diag((theta["W"] @ Z + theta["U"] @ X > 0)[:, i].astype(float))
            system = np.eye(len(Z)) - on @ theta["W"].T
            E[:, i] = r[i] * np.linalg.solve(system, on @ theta["a"])
        gradient = {"W": E @ Z.T, "U": E @ X.T, "a": Z @ r}
        theta = {name: theta[name] - train.step * gradient[name] for name in theta}
    return losses, counts, end


# In the last one W does not contract, and nobody knows of an equilibrium.
@pytest.mark.parametrize(("seed", "scale", "sweeps"), [(0, 0.4, 100), (1, 0.4, 3), (2, 1.6, 12)])
def test_it_is_the_run_in_plain_numpy(seed: int, scale: float, sweeps: int) -> None:
    p = drawn(seed, scale)
    train = TruncatedDescent(step=2e-3, steps=15, sweeps=sweeps)
    losses, counts, end = plain(p, train)
    run = train.run(p)
    assert run.series[SWEEPS].value.value.tolist() == counts
    assert (np.abs(run.gap.value - losses) <= run.gap.error + 1e-13 * np.array(losses)).all()
    assert all(np.allclose(run.final[n], end[n], rtol=0, atol=1e-12) for n in end)
    # Twelve sweeps with |W| > 2 may multiply a rounding by 1e5.
    assert (run.gap.error <= 1e-6 * run.gap.value).all()


def test_one_unit_stays_within_its_bars_of_exact_arithmetic() -> None:
    x, y = (1.0, -0.5), (0.75, 0.25)
    start = {"W": [[0.625]], "U": [[1.5]], "a": [-0.375]}
    p = dq.problem("relu-deq", {"X": [x], "y": y}, {n: np.array(a) for n, a in start.items()})
    run = TruncatedDescent(step=0.0625, steps=12, tolerance=0.05, sweeps=7).run(p)
    with mp.workdps(60):
        w, u, a = (mp.mpf(float(np.ravel(start[n])[0])) for n in "WUa")
        for k in range(13):
            z, count, moved = [mp.mpf(0)] * 2, 0, mp.inf
            while moved > mp.mpf(0.05) and count < 7:
                new = [max(w * zi + u * xi, mp.mpf(0)) for zi, xi in zip(z, x, strict=True)]
                moved, count = mp.norm([s - t for s, t in zip(new, z, strict=True)]), count + 1
                z = new
            r = [a * zi - yi for zi, yi in zip(z, y, strict=True)]
            assert run.series[SWEEPS].value.value[k] == count
            assert abs(mp.fdot(r, r) / 2 - run.gap.value[k]) <= run.gap.error[k], k
            on = [w * zi + u * xi > 0 for zi, xi in zip(z, x, strict=True)]
            e = [ri * a / (1 - w) if o else mp.mpf(0) for ri, o in zip(r, on, strict=True)]
            w, u, a = (
                old - mp.mpf(0.0625) * mp.fdot(*sides)
                for old, sides in ((w, (e, z)), (u, (e, x)), (a, (r, z)))
            )
    assert (run.gap.error < 1e-10).all()


def test_many_sweeps_are_gradient_descent() -> None:
    p = drawn()
    exact = GradientDescent(step=2e-3, steps=15).run(p)
    for tolerance in (1e-2, 1e-4, 1e-6):
        run = TruncatedDescent(step=2e-3, steps=15, tolerance=tolerance, sweeps=10**4).run(p)
        off = float(np.max(np.abs(run.gap.value - exact.gap.value)))
        assert 1e-3 * tolerance < off < tolerance


def test_sweeps_at_the_identity_are_those_of_the_closed_form() -> None:
    """A = I: Z^l - Z^(l-1) = gamma^(l-1) Phi."""
    r = np.random.default_rng(0)
    X, gamma = np.abs(r.normal(size=(3, 2))), 0.5
    init = {"W": np.abs(r.normal(size=(2, 4))), "A": np.eye(4), "b": r.normal(size=4)}
    p = dq.problem("implicit-relu", {"X": X, "y": r.normal(size=3)}, init, gamma=gamma)
    run = TruncatedDescent(step=1e-9, steps=1).run(p)
    size = float(np.linalg.norm(X @ init["W"]))
    assert run.series[SWEEPS].value.value[0] == 1 + ceil(log(1e-2 / size) / log(gamma))


def test_where_rounding_decides_when_to_stop_nothing_is_known() -> None:
    p = drawn()
    run = TruncatedDescent(step=1e-3, steps=3, tolerance=1e-15, sweeps=10**4).run(p)
    assert np.isinf(run.gap.error).all()


def test_theorems_about_descent_do_not_apply() -> None:
    train = {"kind": "truncated", "step": 1e-3, "steps": 3}
    found = dq.judge("ling2022/thm1", drawn(), train=train)
    assert found.outcome == "not applicable"
    assert found.hypotheses[0].name == "gradients at the equilibrium"
    with pytest.raises(dq.UsageError, match=r"train.kind: 'delm' has no sweeps"):
        dq.run("quickstart", train=train)
