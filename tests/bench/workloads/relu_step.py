"""One gradient-descent step of the ReLU equilibrium models; everybody walks the same path.

The peers stop where the residual certifies an error of 1e-10, relative to the state, and get the
contraction factor for nothing; they start from where the step before ended, if they can. Those
with a choice of solvers enter with the best one, or with each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from deqcheck.losses.half_square import HalfSquare
from deqcheck.models.implicit_relu.model import ImplicitRelu
from deqcheck.models.memory import Memory
from deqcheck.models.relu_deq.model import ReluDeq
from tests.bench import growth as fit
from tests.bench.harness import Contest, Extent, Task
from tests.bench.peers import peer

Params = dict[str, np.ndarray]
Gradient = Callable[[Params], Params]

ERROR, INPUTS, GAMMA = 1e-10, 20, 0.5
# How far one step goes, relative to the parameters.
SMALL, LONG = 1e-5, 1e-2
HOOK = "torch, hook with warm start"
# Of torchdeq's solvers: Anderson's takes three times as long, and stops at 1e-5 on slow modes.
TORCHDEQ = "torchdeq"
JAXOPT = {"jaxopt, sweeps": "FixedPointIteration", "jaxopt, Anderson": "AndersonAcceleration"}
SLOW_AIM = {"generic": 1 / 1.2, "long steps": 1 / 1.2, "symmetric 0.95": 2.0, "slow mode": 8.0}
# Products with W that the hook needs for a step, roughly.
PRODUCTS = {"generic": 30, "long steps": 60, "symmetric 0.95": 300, "slow mode": 1500}

SIZES = {
    Extent.QUICK: [(100, 50)],
    Extent.USUAL: [(100, 50), (100, 1000), (500, 200), (1000, 50)],
    Extent.ALL: [(m, n) for m in (100, 500, 1000) for n in (50, 200, 1000)],
}
# Multiplications in a step of the hook beyond which a slow kind is left out.
MOST_WORK = {Extent.QUICK: 4e9, Extent.USUAL: 4e9, Extent.ALL: 2e10}


def contests(extent: Extent, seeds: int) -> Iterator[list[Contest]]:
    """Every size for the generic kind; the slow ones where a step of the hook is not too long."""
    sizes, most = SIZES[extent], MOST_WORK[extent]
    for m, n in sizes:
        for kind in SLOW_AIM:
            work = m * m * n * PRODUCTS[kind]
            if work > most and kind != "generic":
                continue
            few = seeds if work <= 2e9 else 1
            both = extent is Extent.ALL or (m, n) == sizes[0]
            for implicit in (False, True) if both else (False,):
                # Those without a hook are slow, or slow to compile: one row of each in a hurry.
                first = kind == "generic" and not implicit
                iterating = work <= most / 4 and (first or not extent.quick)
                yield [contest(kind, implicit, m, n, s, iterating) for s in range(few)]


def growth(extent: Extent) -> Iterator[str]:
    """A step at a fixed number of sweeps is a product of an m x m and an m x n matrix."""
    along_m = (100, 200, 400) if extent.quick else (100, 200, 500, 1000)
    along_n = (50, 100, 200) if extent.quick else (100, 200, 500, 1000)
    yield fit.line("relu-deq step, n=200", "m", along_m, lambda m: _walk("generic", m, 200), 2.0)
    yield fit.line("relu-deq step, m=200", "n", along_n, lambda n: _walk("generic", 200, n), 1.0)


def _walk(kind: str, m: int, n: int) -> Task:
    return Path(*instance(kind, False, m, n, 0)[:3]).ours()


def weight(kind: str, m: int, r: np.random.Generator) -> np.ndarray:
    W = r.normal(size=(m, m))
    if kind in ("generic", "long steps"):
        return W * (0.5 / np.linalg.norm(W, 2))
    W = W + W.T
    if kind == "symmetric 0.95":
        return W * (0.95 / np.linalg.norm(W, 2))
    # The constant vector is positive, so that all units are active along it.
    u = np.full((m, 1), m**-0.5)
    P = np.eye(m) - u @ u.T
    return P @ (W * (0.3 / np.linalg.norm(W, 2))) @ P + 0.99 * u @ u.T


def instance(
    kind: str, implicit: bool, m: int, n: int, seed: int
) -> tuple[Any, Params, float, float]:
    """Model, parameters, step size and the contraction factor."""
    r = np.random.default_rng(seed)
    X, y = r.normal(size=(INPUTS, n)), r.normal(size=n)
    W, U, a = weight(kind, m, r), r.normal(size=(m, INPUTS)) / INPUTS**0.5, r.normal(size=m)
    a /= m**0.5
    q = float(np.linalg.norm(W, 2))
    if implicit:
        model: Any = ImplicitRelu(gamma=GAMMA).build({"X": X.T.copy(), "y": y}, HalfSquare())
        theta = {"W": U.T.copy(), "A": W / GAMMA, "b": a}
    else:
        model = ReluDeq().build({"X": X, "y": y}, HalfSquare())
        theta = {"W": W, "U": U, "a": a}
    gradient = model.objective(theta).gradient
    reach = LONG if kind == "long steps" else SMALL
    step = min(reach * np.linalg.norm(theta[k]) / np.linalg.norm(gradient[k]) for k in theta)
    return model, theta, float(step), q


class Path:
    """Gradient descent from given parameters; each call of a task makes the next step."""

    def __init__(self, model: Any, theta: Params, step: float):
        self.model, self.theta, self.step = model, theta, step

    def ours(self) -> Task:
        memory = Memory()
        return self.task(lambda theta: self.model.at(theta, memory).objective.gradient)

    def task(self, gradient: Gradient) -> Task:
        theta = dict(self.theta)

        def step() -> Params:
            g = gradient(theta)
            for name in theta:
                theta[name] = theta[name] - self.step * g[name]
            return theta

        return step


def contest(kind: str, implicit: bool, m: int, n: int, seed: int, iterating: bool) -> Contest:
    model, theta, step, q = instance(kind, implicit, m, n, seed)
    path = Path(model, theta, step)
    makers: dict[str, Callable[[], Gradient]] = {}
    # Some room, since W moves along the path; a number that all seeds have in common.
    slack = ERROR * round((1 - q) / 2, 9)
    if peer("torch"):
        makers[HOOK] = lambda: torch_hook(model, slack)
    if iterating and peer("torch") and peer("torchdeq"):
        makers[TORCHDEQ] = lambda: torchdeq_layer(model, slack)
    if iterating and peer("jaxopt"):
        for name, solver in JAXOPT.items():
            size = _size(kind, implicit, m, n)
            makers[name] = partial(jaxopt_fixed_point, model, slack, solver, size)

    def agree() -> None:
        want = path.ours()
        walks = {name: path.task(make()) for name, make in makers.items()}
        for _ in range(3):
            expected = dict(want())  # type: ignore[call-overload]
            for name, walk in walks.items():
                for got, (key, value) in zip(walk().values(), expected.items(), strict=True):  # type: ignore[attr-defined]
                    moved = np.abs(value - theta[key]).max()
                    off = np.abs(got - value).max() / moved
                    # The gradient takes the state's error up to 1/(1 - q) times.
                    allowed = 10 * ERROR / (1 - q) if name == HOOK else 1e-6
                    assert off < allowed, (name, key, off)

    return Contest(
        "relu-step",
        f"{model.kind}, {kind}, m={m} n={n}",
        path.ours(),
        {name: path.task(make()) for name, make in makers.items()},
        agree=agree,
        aims={HOOK: SLOW_AIM[kind]} | dict.fromkeys([TORCHDEQ, *JAXOPT], 2.0),
        dear=kind == "slow mode",
    )


def _layer(model_kind: str, X: Any, theta: dict[str, Any], relu: Any) -> tuple[Any, Any, Any]:
    """W, C and the read-out in canonical form, in the operations of another library."""
    if model_kind == ImplicitRelu.kind:
        return GAMMA * theta["A"].T, relu(X @ theta["W"]).T, theta["b"]
    return theta["W"], theta["U"] @ X, theta["a"]


@cache
def _size(kind: str, implicit: bool, m: int, n: int) -> float:
    """|Z| of the first seed, for all: a tolerance is part of a compiled program."""
    model, theta, _, _ = instance(kind, implicit, m, n, 0)
    return float(np.linalg.norm(model.at(theta).Z))


def torch_hook(model: Any, slack: float) -> Gradient:
    """Sweeps from the last equilibrium; the backward hook sweeps from the last adjoint state."""
    torch = peer("torch")
    X, y = torch.tensor(model.X), torch.tensor(model.y)
    last: dict[str, Any] = {}

    def sweep(step: Callable[[Any], Any], z: Any) -> Any:
        floor = slack * float(torch.linalg.norm(z))
        for _ in range(20_000):
            new = step(z)
            if torch.dist(new, z) <= floor:
                return new
            z = new
        raise AssertionError("no convergence")

    def gradient(theta: Params) -> Params:
        t = {name: torch.tensor(x, requires_grad=True) for name, x in theta.items()}
        W, C, a = _layer(model.kind, X, t, torch.relu)
        with torch.no_grad():
            z = sweep(lambda z: torch.addmm(C, W, z).relu_(), last.get("z", C.relu()))
        last["z"] = z
        H = W @ z + C
        mask, Wt = (H > 0).double(), W.detach().T
        z = torch.relu(H)

        def backward(g: Any) -> Any:
            start = last.get("g", g)
            last["g"] = sweep(lambda v: torch.addmm(g, Wt, v.mul(mask)), start)
            return last["g"]

        z.register_hook(backward)
        (((z.T @ a - y) ** 2).sum() / 2).backward()
        return {name: x.grad.numpy() for name, x in t.items()}

    return gradient


def torchdeq_layer(model: Any, slack: float) -> Gradient:
    torch, torchdeq = peer("torch"), peer("torchdeq")
    X, y = torch.tensor(model.X), torch.tensor(model.y)
    options = {"f_tol": slack, "b_tol": slack, "f_max_iter": 3000, "b_max_iter": 3000}
    deq = torchdeq.get_deq(
        ift=True, f_solver="fixed_point_iter", b_solver="fixed_point_iter",
        f_stop_mode="rel", b_stop_mode="rel", **options,
    )  # fmt: skip
    last: list[Any] = []

    def gradient(theta: Params) -> Params:
        t = {name: torch.tensor(x, requires_grad=True) for name, x in theta.items()}
        W, C, a = _layer(model.kind, X, t, torch.relu)
        start = last[-1] if last else C.T.detach()
        z = deq(lambda z: torch.relu(z @ W.T + C.T), start)[0][-1]
        last[:] = [z.detach()]
        (((z @ a - y) ** 2).sum() / 2).backward()
        return {name: x.grad.numpy() for name, x in t.items()}

    return gradient


@cache
def _jaxopt_program(model_kind: str, solver: str, tolerance: float, slack: float) -> Any:
    """Compiled once for each shape."""
    jax, jaxopt = peer("jax"), peer("jaxopt")

    def layer(z: Any, theta: Any, X: Any) -> Any:
        W, C, _ = _layer(model_kind, X, theta, jax.nn.relu)
        return jax.nn.relu(W @ z + C)

    def solve(matvec: Any, b: Any, **_: Any) -> Any:
        return jaxopt.linear_solve.solve_gmres(matvec, b, tol=slack, maxiter=100)

    # The ridge of its Anderson acceleration is absolute, too.
    extra = {"ridge": 1e-30} if solver == "AndersonAcceleration" else {}
    run = getattr(jaxopt, solver)(
        layer, tol=tolerance, maxiter=20_000, implicit_diff=True, implicit_diff_solve=solve,
        **extra,
    ).run  # fmt: skip

    def loss(theta: Any, start: Any, X: Any, y: Any) -> Any:
        _, _, a = _layer(model_kind, X, theta, jax.nn.relu)
        z = run(start, theta, X).params
        return ((z.T @ a - y) ** 2).sum() / 2, z

    return jax.jit(jax.grad(loss, has_aux=True))


def jaxopt_fixed_point(model: Any, slack: float, solver: str, size: float) -> Gradient:
    jnp = peer("jax").numpy
    X, y = jnp.asarray(model.X), jnp.asarray(model.y)
    step = _jaxopt_program(model.kind, solver, slack * size, slack)
    last: list[Any] = []

    def gradient(theta: Params) -> Params:
        m = len(theta["a" if "a" in theta else "b"])
        g, z = step(theta, last[-1] if last else jnp.zeros((m, len(y))), X, y)
        last[:] = [z]
        return {name: np.asarray(x) for name, x in g.items()}

    return gradient
