"""One gradient-descent step of the deep equilibrium linear model, square loss."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgesv, dgetrf, dgetrs

from deqcheck.losses.square import Square
from deqcheck.models.delm.model import Delm, DelmModel
from tests.bench import growth as fit
from tests.bench.harness import Contest, Extent, Task
from tests.bench.peers import peer

GAMMA, STEP, SAMPLES = 0.8, 1e-6, 1000
SOLVE, SCAN = "torch, autograd through a solve", "jax, jitted scan of 100"
AIMS = {SOLVE: 5, "torchdeq": 100, "jaxopt": 100, "jax, jitted step": 1, SCAN: 1}
SCANNED = 100


def contests(extent: Extent, seeds: int) -> Iterator[list[Contest]]:
    sizes = (
        [(10, 1), (100, 10)]
        if extent.quick
        else [(m, my) for m in (10, 50, 100, 200) for my in (1, 10)]
    )
    for m, my in sizes:
        iterating = m <= (10 if extent.quick else 100)
        yield [contest(m, my, seed, iterating) for seed in range(seeds)]


def growth(extent: Extent) -> Iterator[str]:
    """The factorisation has m^3 operations, exp and the products m^2; the samples are compressed
    once."""
    along_m = (50, 100, 200) if extent.quick else (50, 100, 200, 500)
    along_n = (100, 1000) if extent.quick else (100, 300, 1000, 3000)
    yield fit.line("delm step, my=10", "m", along_m, lambda m: Instance(m, 10, 0).ours, 3.0)
    yield fit.line(
        "delm step, m=100 my=10", "n", along_n, lambda n: Instance(100, 10, 0, n).ours, 0.0
    )


class Instance:
    def __init__(self, m: int, my: int, seed: int, n: int = SAMPLES):
        r = np.random.default_rng(seed)
        self.Phi, self.Y = r.normal(size=(m, n)), r.normal(size=(my, n))
        A, B = r.normal(size=(m, m)) / m**0.5, r.normal(size=(my, m)) / m**0.5
        self.model = Delm(gamma=GAMMA).build({"Phi": self.Phi, "Y": self.Y}, Square())
        self.theta = {"A": A, "B": B}

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return self.Phi, self.Y, self.theta["A"], self.theta["B"]

    def ours(self) -> dict[str, np.ndarray]:
        return self.stepped(self.theta)

    def stepped(self, theta: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        gradient = self.model.gradient(theta)
        return {name: theta[name] - STEP * gradient[name] for name in theta}


def contest(m: int, my: int, seed: int, iterating: bool) -> Contest:
    case = Instance(m, my, seed)
    peers: dict[str, Task] = {
        "numpy, dense": dense_numpy(*case.arrays),
        "its own calls, and nothing beside": calls_alone(case.model, *case.arrays[2:]),
    }
    if peer("torch"):
        peers[SOLVE] = torch_solve(*case.arrays)
    if peer("jax"):
        peers["jax, jitted step"] = jax_task(_jax_programs()["step"], *case.arrays)
        peers[SCAN] = jax_task(_jax_programs()["scan"], *case.arrays, steps=SCANNED)
    if iterating and peer("torch") and peer("torchdeq"):
        peers["torchdeq"] = torchdeq_layer(*case.arrays)
    if iterating and peer("jaxopt"):
        peers["jaxopt"] = jax_task(_jaxopt_step(), *case.arrays)

    def agree() -> None:
        one = case.ours()
        many = case.theta
        for _ in range(SCANNED):
            many = case.stepped(many)
        for name, task in peers.items():
            allowed = 1e-8 if name in ("torchdeq", "jaxopt") else 1e-9
            expected = many if name == SCAN else one
            for got, key in zip(task(), case.theta, strict=True):  # type: ignore[call-overload]
                moved = np.abs(expected[key] - case.theta[key]).max()
                off = np.abs(np.asarray(got) - expected[key]).max() / moved
                assert off < allowed, (name, off)

    return Contest(
        "delm-step",
        f"m={m} my={my} n={SAMPLES}",
        case.ours,
        peers,
        kernel(case.model, case.theta["A"], case.theta["B"]),
        agree,
        AIMS,
        kernel_aim=2.0 if m >= 100 else None,
    )


def kernel(model: DelmModel, A: np.ndarray, B: np.ndarray) -> Task:
    """exp, the LU factorisation and the two solves of a step."""
    U = np.asfortranarray(np.eye(len(A)) - GAMMA * model.softmax(A))
    Q = np.asfortranarray(B.T)

    def task() -> None:
        np.exp(A)
        lu, pivots, _ = dgetrf(U)
        dgetrs(lu, pivots, Q)
        dgetrs(lu, pivots, Q, trans=1)

    return task


def calls_alone(model: DelmModel, A: np.ndarray, B: np.ndarray) -> Task:
    """The calls of NumPy and LAPACK of a step in one row, without a class, a check or a name looked
    up: what a step made of such calls takes at least, where a compiled loop has none of them."""
    exp, identity, ones, over = np.exp, np.eye(len(A)), np.ones(len(A)), np.full(len(B), 1 / GAMMA)
    features = model.outer.factored.scaled
    targets, doubled = model.outer.Y @ model.outer.factored.vt.T, 2 * features.T

    def task() -> tuple[np.ndarray, np.ndarray]:
        E = exp(A)
        E *= GAMMA / ones.dot(E)
        lu, pivots, Zt, _ = dgesv((identity - E).T, B.T, overwrite_a=True)
        r = Zt.T.dot(features)
        r -= targets
        G = dgetrs(lu, pivots, r.dot(doubled).T, trans=1)[0].T
        mixed = Zt.T - B
        mixed *= G
        P = Zt.dot(G)
        P -= over.dot(mixed)
        P *= E
        return A - STEP * P, B - STEP * G

    return task


def dense_numpy(Phi: np.ndarray, Y: np.ndarray, A: np.ndarray, B: np.ndarray) -> Task:
    """The obvious way: all samples, an explicit inverse."""
    m = len(A)

    def task() -> tuple[np.ndarray, np.ndarray]:
        E = np.exp(A - A.max(axis=0))
        S = E / E.sum(axis=0)
        inverse = np.linalg.inv(np.eye(m) - GAMMA * S)
        Z = B @ inverse
        G = 2 * (Z @ Phi - Y) @ Phi.T @ inverse.T
        P = S * (Z.T @ G)
        return A - STEP * GAMMA * (P - S * P.sum(axis=0)), B - STEP * G

    return task


def torch_solve(Phi: np.ndarray, Y: np.ndarray, A: np.ndarray, B: np.ndarray) -> Task:
    torch = peer("torch")
    X, T, eye = torch.tensor(Phi), torch.tensor(Y), torch.eye(len(A))

    def task() -> tuple[Any, Any]:
        a, b = torch.tensor(A, requires_grad=True), torch.tensor(B, requires_grad=True)
        U = eye - GAMMA * torch.softmax(a, dim=0)
        loss = ((torch.linalg.solve(U, b, left=False) @ X - T) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            return a - STEP * a.grad, b - STEP * b.grad

    return lambda: tuple(x.numpy() for x in task())


def torchdeq_layer(Phi: np.ndarray, Y: np.ndarray, A: np.ndarray, B: np.ndarray) -> Task:
    """Anderson and Broyden take longer here."""
    torch, torchdeq = peer("torch"), peer("torchdeq")
    X, T = torch.tensor(Phi.T.copy()), torch.tensor(Y)
    deq = torchdeq.get_deq(
        ift=True, f_solver="fixed_point_iter", b_solver="fixed_point_iter", f_tol=1e-10,
        b_tol=1e-10, f_max_iter=400, b_max_iter=400, f_stop_mode="rel", b_stop_mode="rel",
    )  # fmt: skip

    def task() -> tuple[Any, Any]:
        a, b = torch.tensor(A, requires_grad=True), torch.tensor(B, requires_grad=True)
        S = torch.softmax(a, dim=0)
        z = deq(lambda z: GAMMA * z @ S.T + X, X)[0][-1]
        loss = ((b @ z.T - T) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            return a - STEP * a.grad, b - STEP * b.grad

    return lambda: tuple(x.numpy() for x in task())


@cache
def _jax_programs() -> dict[str, Any]:
    """Compiled once for each shape."""
    jax = peer("jax")
    jnp = jax.numpy

    def loss(theta: Any, X: Any, T: Any) -> Any:
        a, b = theta
        U = jnp.eye(len(a)) - GAMMA * jax.nn.softmax(a, axis=0)
        return ((jnp.linalg.solve(U.T, b.T).T @ X - T) ** 2).sum()

    def step(theta: Any, X: Any, T: Any) -> Any:
        moved = jax.grad(loss)(theta, X, T)
        return tuple(x - STEP * g for x, g in zip(theta, moved, strict=True))

    def many(theta: Any, X: Any, T: Any) -> Any:
        return jax.lax.scan(lambda at, _: (step(at, X, T), None), theta, None, length=SCANNED)[0]

    return {"step": jax.jit(step), "scan": jax.jit(many)}


@cache
def _jaxopt_step() -> Any:
    """Anderson and the default solver of the adjoint equation take longer here."""
    jax, jaxopt = peer("jax"), peer("jaxopt")

    def layer(z: Any, a: Any, X: Any) -> Any:
        return GAMMA * jax.nn.softmax(a, axis=0) @ z + X

    def solve(matvec: Any, b: Any, **_: Any) -> Any:
        return jaxopt.linear_solve.solve_bicgstab(matvec, b, tol=1e-10, maxiter=100)

    solver = jaxopt.FixedPointIteration(
        layer, tol=1e-8, maxiter=400, implicit_diff=True, implicit_diff_solve=solve
    )

    def loss(theta: Any, X: Any, T: Any) -> Any:
        a, b = theta
        return ((b @ solver.run(X, a, X).params - T) ** 2).sum()

    @jax.jit
    def step(theta: Any, X: Any, T: Any) -> Any:
        moved = jax.grad(loss)(theta, X, T)
        return tuple(x - STEP * g for x, g in zip(theta, moved, strict=True))

    return step


def jax_task(
    program: Any, Phi: np.ndarray, Y: np.ndarray, A: np.ndarray, B: np.ndarray, steps: int = 1
) -> Task:
    """The time of many steps in one program is divided by their number."""
    jax = peer("jax")
    X, T, a, b = map(jax.numpy.asarray, (Phi, Y, A, B))
    task = lambda: jax.block_until_ready(program((a, b), X, T))  # noqa: E731
    task.per_call = steps  # type: ignore[attr-defined]
    return task
