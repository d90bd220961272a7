"""One gradient-descent step of the deep equilibrium linear model, square loss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from deqcheck.losses.square import Square
from deqcheck.models.delm import Delm, DelmModel
from tests.bench.harness import Contest, Task
from tests.bench.peers import peer

GAMMA, STEP, SAMPLES = 0.8, 1e-6, 1000
AIMS = {"torch, autograd through a solve": 5, "torchdeq": 100, "jaxopt": 100, "jax, jitted step": 1}


def contests(quick: bool, seeds: int) -> Iterator[list[Contest]]:
    sizes = (
        [(10, 1), (100, 10)] if quick else [(m, my) for m in (10, 50, 100, 200) for my in (1, 10)]
    )
    for m, my in sizes:
        yield [contest(m, my, seed, iterating=not quick and m <= 100) for seed in range(seeds)]


def contest(m: int, my: int, seed: int, iterating: bool) -> Contest:
    r = np.random.default_rng(seed)
    Phi, Y = r.normal(size=(m, SAMPLES)), r.normal(size=(my, SAMPLES))
    A, B = r.normal(size=(m, m)) / m**0.5, r.normal(size=(my, m)) / m**0.5
    model = Delm(gamma=GAMMA).build({"Phi": Phi, "Y": Y}, Square())
    theta = {"A": A, "B": B}
    peers: dict[str, Task] = {"numpy, dense": dense_numpy(Phi, Y, A, B)}
    if peer("torch"):
        peers["torch, autograd through a solve"] = torch_solve(Phi, Y, A, B)
    if peer("jax"):
        peers["jax, jitted step"] = jax_solve(Phi, Y, A, B)
        peers["jax, jitted scan of 100"] = jax_scan(Phi, Y, A, B)
    if iterating and peer("torch") and peer("torchdeq"):
        peers["torchdeq"] = torchdeq_layer(Phi, Y, A, B)
    if iterating and peer("jaxopt"):
        peers["jaxopt"] = jaxopt_fixed_point(Phi, Y, A, B)

    def ours() -> dict[str, np.ndarray]:
        gradient = model.objective(theta).gradient
        return {name: theta[name] - STEP * gradient[name] for name in theta}

    def agree() -> None:
        expected = ours()
        for name, task in peers.items():
            if "scan" in name:
                continue
            for got, want in zip(task(), expected.values(), strict=True):
                before = A if want.shape == A.shape else B
                off = np.abs(np.asarray(got) - want).max() / np.abs(want - before).max()
                assert off < (1e-6 if name in ("torchdeq", "jaxopt") else 1e-9), (name, off)

    return Contest(
        "delm-step", f"m={m} my={my} n={SAMPLES}", ours, peers, kernel(model, A, B), agree, AIMS
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
    torch, torchdeq = peer("torch"), peer("torchdeq")
    X, T = torch.tensor(Phi.T.copy()), torch.tensor(Y)
    deq = torchdeq.get_deq(
        ift=True, f_solver="anderson", b_solver="anderson", f_tol=1e-12, b_tol=1e-12,
        f_max_iter=300, b_max_iter=300, f_stop_mode="rel", b_stop_mode="rel",
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


def _jax_gradient(Phi: np.ndarray, Y: np.ndarray) -> Any:
    jax = peer("jax")
    jnp = jax.numpy
    X, T, eye = jnp.asarray(Phi), jnp.asarray(Y), jnp.eye(len(Phi))

    def loss(a: Any, b: Any) -> Any:
        U = eye - GAMMA * jax.nn.softmax(a, axis=0)
        Z = jnp.linalg.solve(U.T, b.T).T
        return ((Z @ X - T) ** 2).sum()

    return jax.grad(loss, argnums=(0, 1))


def jax_solve(Phi: np.ndarray, Y: np.ndarray, A: np.ndarray, B: np.ndarray) -> Task:
    jax = peer("jax")
    gradient = _jax_gradient(Phi, Y)

    @jax.jit
    def step(a: Any, b: Any) -> Any:
        ga, gb = gradient(a, b)
        return a - STEP * ga, b - STEP * gb

    a, b = jax.numpy.asarray(A), jax.numpy.asarray(B)
    return lambda: jax.block_until_ready(step(a, b))


def jax_scan(
    Phi: np.ndarray, Y: np.ndarray, A: np.ndarray, B: np.ndarray, steps: int = 100
) -> Task:
    """A hundred steps compiled into one program; its time is divided by the number of steps."""
    jax = peer("jax")
    gradient = _jax_gradient(Phi, Y)

    @jax.jit
    def many(a: Any, b: Any) -> Any:
        def body(carry: Any, _: Any) -> Any:
            ga, gb = gradient(*carry)
            return (carry[0] - STEP * ga, carry[1] - STEP * gb), None

        return jax.lax.scan(body, (a, b), None, length=steps)[0]

    a, b = jax.numpy.asarray(A), jax.numpy.asarray(B)
    task = lambda: jax.block_until_ready(many(a, b))  # noqa: E731
    task.per_call = steps  # type: ignore[attr-defined]
    return task


def jaxopt_fixed_point(Phi: np.ndarray, Y: np.ndarray, A: np.ndarray, B: np.ndarray) -> Task:
    jax, jaxopt = peer("jax"), peer("jaxopt")
    jnp = jax.numpy
    X, T = jnp.asarray(Phi), jnp.asarray(Y)

    def layer(z: Any, a: Any) -> Any:
        return GAMMA * jax.nn.softmax(a, axis=0) @ z + X

    solver = jaxopt.AndersonAcceleration(layer, tol=1e-10, maxiter=300, implicit_diff=True)

    def loss(a: Any, b: Any) -> Any:
        return ((b @ solver.run(X, a).params - T) ** 2).sum()

    @jax.jit
    def step(a: Any, b: Any) -> Any:
        ga, gb = jax.grad(loss, argnums=(0, 1))(a, b)
        return a - STEP * ga, b - STEP * gb

    a, b = jnp.asarray(A), jnp.asarray(B)
    return lambda: jax.block_until_ready(step(a, b))
