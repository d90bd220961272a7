"""An OptEq network in plain NumPy: f_l(Z) = a W_l^T s(W_l Z + U_l X + b_l 1^T) + (1 - a) Z."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar
from scipy.special import spence

import deqcheck as dq

from .harness import Expected, Instance, Noise, Sides, attribute
from .harness import _compare as compared

if TYPE_CHECKING:
    from deqcheck.records.judged import Judged
    from deqcheck.records.verdict import Verdict

Array = np.ndarray
Params = dict[str, Array]
TIGHT = 1e-12


# Fine enough to see a tolerance of 1e-12 that a claim writes down.
FINE = 1e-13


def claim(left: Any, relation: str, right: Any, within: float = 1e-8) -> Sides:
    """Two numbers, decided as they stand."""
    words = {"<=": "less_equal", "<": "less", ">=": "greater_equal", ">": "greater", "==": "equal"}
    holds = bool(getattr(np, words[relation])(left, right))
    return Sides(left, relation, right, within, "holds" if holds else "violated")


@dataclass(frozen=True)
class Endless:
    """`left < infinity`; without a number, the left side is a radius that is small or unknown."""

    left: float | None = None
    decision: str = "holds"

    def compare(self, name: str, judged: Judged) -> None:
        assert judged.relation == "<" and judged.right.value == np.inf, (name, judged)
        assert judged.decision == self.decision, (name, judged)
        left = float(judged.left.value)
        if self.left is None:
            assert np.isnan(left) if self.decision == "undecided" else 0 <= left < 1e-9, name
        else:
            close = left == self.left or abs(left - self.left) <= 1e-8 * self.left
            assert close, (name, left, self.left)


@dataclass(frozen=True)
class Beyond:
    """A left side that no rounding explains: what is granted to it is below 1e-5 of the size."""

    left: float
    size: float

    def compare(self, name: str, judged: Judged) -> None:
        assert judged.relation == "<=" and judged.decision == "violated", (name, judged)
        assert 0 <= judged.right.value <= 1e-5 * self.size, (name, judged)
        assert abs(judged.left.value - self.left) <= 1e-8 * self.left, (name, judged, self.left)


@dataclass(frozen=True)
class Infinite:
    """Sides that may be infinite."""

    left: float
    relation: str
    right: float

    def compare(self, name: str, judged: Judged) -> None:
        wanted = claim(self.left, self.relation, self.right)
        assert judged.relation == self.relation and judged.decision == wanted.decision, name
        for found, side in ((judged.left, self.left), (judged.right, self.right)):
            close = found.value == side or abs(found.value - side) <= 1e-8 * abs(side)
            assert close, (name, judged, side)


@dataclass(frozen=True)
class Unknown:
    """A left side of which nothing is known."""

    relation: str
    right: float

    def compare(self, name: str, judged: Judged) -> None:
        assert judged.relation == self.relation and judged.decision == "undecided", (name, judged)
        left = judged.left
        assert not np.isfinite(left.value) and left.error == np.inf, (name, judged)
        assert abs(judged.right.value - self.right) <= 1e-12 * self.right, (name, judged)


@dataclass(frozen=True)
class Remark:
    """What is compared is a remark, which decides nothing."""

    sides: Sides | Noise

    def compare(self, name: str, judged: Judged) -> None:
        compared(name, judged, self.sides)


OWN = (Endless, Beyond, Infinite, Unknown, Remark)
FINITE = Endless()


@dataclass(frozen=True)
class Held(Instance):
    """An instance that compares what the harness cannot: infinite sides, refuted identities."""

    whole: Callable[[], Mapping[str, Any]] = dict

    def judge(self) -> Verdict:
        verdict, cls = super().judge(), dq.statements()[self.id]
        wanted = {name: listed(sides) for name, sides in self.whole().items()}
        left: dict[str, tuple[Judged, ...]] = {}
        for part in ("hypotheses", "conclusions"):
            rest = []
            for judged in getattr(verdict, part):
                name = attribute(cls, judged)
                sides = wanted[name].pop(0) if wanted.get(name) else None
                if isinstance(sides, OWN):
                    sides.compare(name, judged)
                else:
                    rest.append(judged)
            left[part] = tuple(rest)
        for judged in verdict.remarks:
            name = attribute(cls, judged)
            sides = wanted[name].pop(0)
            assert isinstance(sides, Remark), name
            sides.compare(name, judged)
        missed = [name for name, rest in wanted.items() if rest]
        assert not missed, f"not judged: {missed}"
        return replace(verdict, remarks=(), **left)


def listed(sides: Any) -> list[Any]:
    return list(sides) if isinstance(sides, list) else [sides]


def held(id_: str, net: Net, whole: Callable[[], Mapping[str, Any]], **more: Any) -> Held:
    """An instance of this network; `whole` is computed once."""
    whole = cache(whole)

    def expected() -> Expected:
        return {
            name: [one for one in listed(sides) if not isinstance(one, OWN)]
            for name, sides in whole().items()
        }

    make = more.pop("make", net.problem)
    return Held(f"xie2021/{id_}", make, expected, whole=whole, **more)


def stream(seed: int, name: str) -> np.random.Generator:
    """The documented streams: PCG64, spawned by the SHA-256 of the name."""
    key = np.frombuffer(hashlib.sha256(name.encode()).digest(), dtype="<u4")
    sequence = np.random.SeedSequence(seed, spawn_key=tuple(int(word) for word in key))
    return np.random.Generator(np.random.PCG64(sequence))


@dataclass(frozen=True)
class Activation:
    """s, s', S(t) = int_0^t s, inf s', sup |s| and whether s is smooth."""

    given: Any
    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    primitive: Callable[[Array], Array]
    kappa: float = 0.0
    bound: float = np.inf
    smooth: bool = True

    @property
    def curvature(self) -> float:
        """sup |s''|, by a scalar search on s'' as a difference quotient in the complex plane."""
        if not self.smooth:
            return np.inf
        bend = lambda t: -abs(np.imag(self.slope(np.asarray(t + 1e-30j))) / 1e-30)  # noqa: E731
        ends = ((-1.0, 0.0), (-0.1, 0.1), (0.0, 1.0))
        opts = {"xatol": 1e-12}
        return max(
            -minimize_scalar(bend, bounds=e, method="bounded", options=opts).fun for e in ends
        )


def log_cosh(t: Array) -> Array:
    return np.logaddexp(t, -t) - np.log(2)


def dilog(t: Array) -> Array:
    """int_0^t log(1 + e^x) dx = Li2(-1) - Li2(-e^t); scipy's spence(z) is Li2(1 - z)."""
    return spence(2.0) - spence(1 + np.exp(t))


def logistic(t: Array) -> Array:
    return 1 / (1 + np.exp(-t))


TANH = Activation("tanh", np.tanh, lambda t: 1 - np.tanh(t) ** 2, log_cosh, bound=1.0)
RELU = Activation(
    "relu",
    lambda t: np.maximum(t, 0),
    lambda t: (t > 0).astype(float),
    lambda t: np.maximum(t, 0) ** 2 / 2,
    smooth=False,
)
HARDTANH = Activation(
    "hardtanh",
    lambda t: np.clip(t, -1, 1),
    lambda t: (np.abs(t) < 1).astype(float),
    lambda t: np.where(np.abs(t) < 1, t**2 / 2, np.abs(t) - 0.5),
    bound=1.0,
    smooth=False,
)
SOFTPLUS = Activation("softplus", lambda t: np.logaddexp(0, t), logistic, dilog)
IDENTITY = Activation("identity", lambda t: t, np.ones_like, lambda t: t**2 / 2, kappa=1.0)


def mix(k: float) -> Activation:
    return Activation(
        {"kind": "mix", "k": k},
        lambda t: k * t + (1 - k) * np.tanh(t),
        lambda t: k + (1 - k) * (1 - np.tanh(t) ** 2),
        lambda t: k * t**2 / 2 + (1 - k) * log_cosh(t),
        kappa=k,
    )


def arrays(
    seed: int,
    m: int,
    widths: tuple[int, ...],
    d: int,
    dy: int,
    N: int,
    norms: float | tuple[float, ...] = 0.8,
    bias: float = 0.4,
    start: float = 0.5,
) -> Params:
    """Random data and parameters with ||W_l||_2 as given, and a start Z0 that is not zero."""
    r = np.random.default_rng(seed)
    norms = norms if isinstance(norms, tuple) else (norms,) * len(widths)
    v: Params = {}
    for i, (n, size) in enumerate(zip(widths, norms, strict=True), start=1):
        G = r.normal(size=(n, m))
        v[f"W{i}"] = size * G / np.linalg.svd(G)[1][0]
        v[f"U{i}"] = r.normal(size=(n, d)) / np.sqrt(d)
        v[f"b{i}"] = bias * r.normal(size=n)
    v |= {"Wo": r.normal(size=(dy, m)) / np.sqrt(m), "X": r.normal(size=(d, N))}
    return v | {"Y": r.normal(size=(dy, N)), "Z0": start * r.normal(size=(m, N))}


@dataclass(frozen=True)
class Quadratic:
    """R(z) = |A z - c|^2/2, summed over columns, and how it is spelt."""

    given: Mapping[str, Any]
    A: Array
    c: Array

    def value(self, Z: Array) -> float:
        return float(np.sum((self.A @ Z - self.c[:, None]) ** 2)) / 2

    def gradient(self, Z: Array) -> Array:
        return self.A.T @ (self.A @ Z - self.c[:, None])

    def prox(self, Z: Array) -> Array:
        return np.linalg.inv(np.eye(len(Z)) + self.A.T @ self.A) @ (
            Z + (self.A.T @ self.c)[:, None]
        )

    @property
    def L_z(self) -> float:
        return float(np.linalg.eigvalsh(self.A.T @ self.A)[-1])


def distance(weight: float, center: Array) -> Quadratic:
    given = {"kind": "distance", "weight": weight, "center": center}
    return Quadratic(given, np.sqrt(weight) * np.eye(len(center)), np.sqrt(weight) * center)


def least_squares(A: Array, c: Array) -> Quadratic:
    return Quadratic({"kind": "least-squares", "A": A, "c": c}, A, c)


@dataclass(frozen=True)
class Potential:
    """R(z) = weight sum_i S(z_i - center_i), S' = s."""

    s: Activation
    weight: float
    center: Array

    @property
    def given(self) -> dict[str, Any]:
        names = {"kind": "potential", "activation": self.s.given}
        return names | {"weight": self.weight, "center": self.center}

    @property
    def L_z(self) -> float:
        return self.weight

    @property
    def c(self) -> Array:
        """Minus the gradient at 0."""
        return self.weight * self.s.value(-self.center)

    def value(self, Z: Array) -> float:
        return self.weight * float(np.sum(self.s.primitive(Z - self.center[:, None])))

    def gradient(self, Z: Array) -> Array:
        return self.weight * self.s.value(Z - self.center[:, None])


@dataclass(frozen=True)
class L1:
    """R(z) = weight |z|_1."""

    weight: float

    @property
    def given(self) -> dict[str, Any]:
        return {"kind": "l1", "weight": self.weight}

    def value(self, Z: Array) -> float:
        return self.weight * float(np.abs(Z).sum())

    def prox(self, Z: Array) -> Array:
        return np.where(np.abs(Z) > self.weight, Z - self.weight * np.sign(Z), 0.0)


@dataclass(frozen=True)
class Sam:
    """(10): beta_k = beta k^-rho, lambda_k = lambda k^-c; R is None for |W_o z|^2/2."""

    beta: float
    lambda_: float
    gamma: float
    rho: float = 0.0
    c: float = 0.0
    R: Any = None

    @property
    def given(self) -> dict[str, Any]:
        R = "output" if self.R is None else self.R.given
        names = {"beta": self.beta, "lambda": self.lambda_, "gamma": self.gamma}
        return names | {"rho": self.rho, "c": self.c, "regularizer": R}

    def at(self, k: int) -> tuple[float, float]:
        return self.beta / k**self.rho, self.lambda_ / k**self.c


@dataclass(frozen=True)
class Pass:
    """Input, pre-activation and activation of a layer."""

    Z: Array
    A: Array
    G: Array


@dataclass(frozen=True)
class Net:
    v: Params
    alpha: float
    s: Activation
    K: int | None = None
    sam: Sam | None = None
    prox: Any = None
    # (4): x = g(W_0 x_0), where X of the arrays is x_0.
    extractor: Activation | None = None
    # gamma of I - gamma grad R in place of prox_R.
    explicit: float | None = None

    def problem(self, seed: int = 0) -> Any:
        v = dict(self.v)
        data = {name: v.pop(name) for name in ("X", "Y")}
        fields: dict[str, Any] = {"alpha": self.alpha, "depth": self.L, "activation": self.s.given}
        fields |= {"solver": "implicit"} if self.K is None else {"iterations": self.K}
        if self.sam is not None:
            fields["sam"] = self.sam.given
        if self.prox is not None:
            fields["prox"] = self.prox.given
        if self.extractor is not None:
            fields["extractor"] = self.extractor.given
        if self.explicit is not None:
            fields["explicit_step"] = self.explicit
        return dq.problem("opteq", data=data, init=v, seed=seed, **fields)

    def at(self, v: Params) -> Net:
        return replace(self, v={**self.v, **v})

    @property
    def L(self) -> int:
        return sum(name.startswith("U") for name in self.v)

    @property
    def m(self) -> int:
        return len(self.v["Z0"])

    @property
    def N(self) -> int:
        return self.v["X"].shape[1]

    @property
    def names(self) -> list[str]:
        """W_0 if there is one, W_1, ..., W_L, U_1, ..., b_L, W_o."""
        first = [] if self.extractor is None else ["W0"]
        return first + self.layer_names + ["Wo"]

    @property
    def layer_names(self) -> list[str]:
        return [f"{letter}{i}" for letter in "WUb" for i in range(1, self.L + 1)]

    @property
    def x(self) -> Array:
        """The input of the layers."""
        X = self.v["X"]
        return X if self.extractor is None else self.extractor.value(self.v["W0"] @ X)

    @property
    def theta(self) -> Array:
        return np.concatenate([self.v[name].ravel() for name in self.names])

    def unpacked(self, x: Array) -> Params:
        out, at = {}, 0
        for name in self.names:
            shape = self.v[name].shape
            out[name] = x[at : at + int(np.prod(shape))].reshape(shape)
            at += int(np.prod(shape))
        return out

    @property
    def weights(self) -> list[Array]:
        return [self.v[f"W{i}"] for i in range(1, self.L + 1)]

    @property
    def norm_W(self) -> float:
        """max_l ||W_l||_2."""
        return max(float(np.linalg.svd(W)[1][0]) for W in self.weights)

    @property
    def nonexpansive(self) -> Sides:
        """Assumption 2 with slopes up to 1."""
        return claim(self.norm_W**2, "<=", 1 + TIGHT, FINE)

    def drive(self, i: int) -> Array:
        return self.v[f"U{i}"] @ self.x + self.v[f"b{i}"][:, None]

    def inner(self, i: int, Z: Array) -> Array:
        """W_l^T s(W_l Z + C_l)."""
        W = self.v[f"W{i}"]
        return W.T @ self.s.value(W @ Z + self.drive(i))

    def f(self, i: int, Z: Array) -> Array:
        return self.alpha * self.inner(i, Z) + (1 - self.alpha) * Z

    def blocks(self, Z: Array) -> list[Array]:
        """z_0, z_1, ..., z_L."""
        out = [Z]
        for i in range(1, self.L + 1):
            out.append(self.f(i, out[-1]))
        return out

    def T(self, Z: Array) -> Array:
        return self.blocks(Z)[-1]

    def map(self, Z: Array) -> Array:
        if self.prox is None:
            return self.T(Z)
        top = self.T(Z)
        if self.explicit is not None:
            return top - self.explicit * self.prox.gradient(top)
        return self.prox.prox(top)

    def slopes(self, i: int, z: Array, j: int) -> Array:
        """W^T D W of one sample."""
        W = self.v[f"W{i}"]
        return W.T @ np.diag(self.s.slope(W @ z + self.drive(i)[:, j])) @ W

    def jacobian(self, Z: Array, j: int) -> Array:
        """dT/dz of sample j."""
        out = np.eye(self.m)
        for i, block in enumerate(self.blocks(Z)[:-1], start=1):
            inner = self.slopes(i, block[:, j], j)
            out = (self.alpha * inner + (1 - self.alpha) * np.eye(self.m)) @ out
        return out

    @property
    def q(self) -> float:
        """The contraction factor of T."""
        norms = [float(np.linalg.svd(W)[1][0]) for W in self.weights]
        return float(np.prod([self.alpha * norm**2 + 1 - self.alpha for norm in norms]))

    def equilibrium(self, start: Array | None = None) -> Array:
        """Newton for z = T(z) after some sweeps; with a prox, sweeps only."""
        Z = self.v["Z0"] if start is None else start
        for _ in range(3000 if self.prox is not None else 50):
            before, Z = Z, self.map(Z)
            if np.abs(Z - before).max() <= 1e-17:
                break
        if self.prox is None:
            Z = self.newton(
                lambda Z: Z - self.T(Z), lambda Z, j: np.eye(self.m) - self.jacobian(Z, j), Z
            )
        return Z

    def newton(
        self, F: Callable[[Array], Array], J: Callable[[Array, int], Array], Z: Array
    ) -> Array:
        """The root of F, whose columns are independent."""
        for _ in range(60):
            miss = F(Z)
            step = [np.linalg.solve(J(Z, j), miss[:, j]) for j in range(Z.shape[1])]
            Z = Z - np.stack(step, axis=1)
            if np.abs(step).max() <= 1e-16 * (1 + np.abs(Z).max()):
                break
        return Z

    def points(self, name: str, count: int, seed: int = 0) -> Array:
        """Random states around the map of the start, of sizes from 0.1 to 10."""
        Z, draw = self.map(self.v["Z0"]), stream(seed, name)
        sizes = 10 ** draw.uniform(-1, 1, size=(count, 1, 1))
        assert np.abs(Z).max() < 1000
        return Z + sizes * draw.standard_normal((count, *Z.shape))

    @property
    def R(self) -> Any:
        assert self.sam is not None
        Wo = self.v["Wo"]
        return self.sam.R if self.sam.R is not None else Quadratic({}, Wo, np.zeros(len(Wo)))

    @cached_property
    def passes(self) -> list[list[Pass]]:
        """What every layer saw in every iteration."""
        return self.run[0]

    @cached_property
    def Z(self) -> Array:
        """Z^K, or the equilibrium."""
        return self.run[1][-1]

    @cached_property
    def states(self) -> list[Array]:
        """Z^0, ..., Z^K."""
        return self.run[1]

    @cached_property
    def run(self) -> tuple[list[list[Pass]], list[Array]]:
        passes, states = [], [self.v["Z0"] if self.K is not None else self.equilibrium()]
        for k in range(1, (self.K or 1) + 1):
            Z, seen = states[-1], []
            for i, block in enumerate(self.blocks(Z)[:-1], start=1):
                A = self.v[f"W{i}"] @ block + self.drive(i)
                seen.append(Pass(block, A, self.s.value(A)))
            passes.append(seen)
            beta, lambda_ = (0.0, 0.0) if self.sam is None else self.sam.at(k)
            moved = self.T(Z) if self.K is not None else Z
            if self.sam is not None:
                S = Z - self.sam.gamma * (self.R.gradient(Z) + lambda_ * Z)
                moved = beta * S + (1 - beta) * moved
            states.append(moved)
        return passes, states

    def through(self, i: int, seen: Pass) -> Array:
        """The Jacobian of layer i on vec(Z), samples one after the other."""
        out = np.zeros((self.m * self.N, self.m * self.N))
        for j in range(self.N):
            at = slice(j * self.m, (j + 1) * self.m)
            inner = self.slopes(i, seen.Z[:, j], j)
            out[at, at] = self.alpha * inner + (1 - self.alpha) * np.eye(self.m)
        return out

    def local(self, i: int, seen: Pass) -> dict[str, Array]:
        """The derivative of layer i by each entry of its own W, U and b."""
        W, X, D = self.v[f"W{i}"], self.x, self.s.slope(seen.A)

        def column(moved: Array, E: Array | None = None) -> Array:
            out = W.T @ (D * moved) + (0 if E is None else E.T @ seen.G)
            return self.alpha * out.T.ravel()

        def unit(shape: tuple[int, ...], at: int) -> Array:
            E = np.zeros(shape)
            E.flat[at] = 1
            return E

        shapes = {letter: self.v[f"{letter}{i}"].shape for letter in "WUb"}
        units = {x: [unit(shapes[x], at) for at in range(int(np.prod(shapes[x])))] for x in "WUb"}
        out = {
            "W": np.stack([column(E @ seen.Z, E) for E in units["W"]], axis=1),
            "U": np.stack([column(E @ X) for E in units["U"]], axis=1),
            "b": np.stack([column(e[:, None] * np.ones(self.N)) for e in units["b"]], axis=1),
        }
        if self.extractor is not None:
            x0, shape = self.v["X"], self.v["W0"].shape
            D0, U = self.extractor.slope(self.v["W0"] @ x0), self.v[f"U{i}"]
            each = [unit(shape, at) for at in range(int(np.prod(shape)))]
            out["W0"] = np.stack([column(U @ (D0 * (E @ x0))) for E in each], axis=1)
        return out

    def by_input(self) -> Array:
        """d vec(Z^K)/d vec(x), carried forward; columns are the entries of x, sample by sample."""
        d, size = len(self.x), self.m * self.N
        D = np.zeros((size, d * self.N))
        for k, seen in enumerate(self.passes, start=1):
            E = D
            for i, one in enumerate(seen, start=1):
                W, U, slope = self.v[f"W{i}"], self.v[f"U{i}"], self.s.slope(one.A)
                own = np.zeros_like(D)
                for j in range(self.N):
                    block = self.alpha * W.T @ (slope[:, j, None] * U)
                    own[j * self.m : (j + 1) * self.m, j * d : (j + 1) * d] = block
                E = self.through(i, one) @ E + own
            if self.sam is not None:
                beta, lambda_ = self.sam.at(k)
                E = beta * self.Vs(lambda_, seen[0].Z) @ D + (1 - beta) * E
            D = E
        return D

    @cached_property
    def dZ(self) -> dict[str, Array]:
        """d vec(Z^K) by each parameter, carried forward."""
        size = self.m * self.N
        D = {name: np.zeros((size, self.v[name].size)) for name in self.names}
        for k, seen in enumerate(self.passes, start=1):
            E = {name: part.copy() for name, part in D.items()}
            whole = np.eye(size)
            for i, one in enumerate(seen, start=1):
                step = self.through(i, one)
                E, whole = {name: step @ part for name, part in E.items()}, step @ whole
                for letter, part in self.local(i, one).items():
                    E["W0" if letter == "W0" else f"{letter}{i}"] += part
            if self.K is None:
                assert self.prox is None
                return {name: np.linalg.solve(np.eye(size) - whole, E[name]) for name in E}
            D = E if self.sam is None else self._pulled(k, seen[0].Z, D, E)
        return D

    def _pulled(self, k: int, Z: Array, D: Params, E: Params) -> Params:
        assert self.sam is not None
        beta, lambda_ = self.sam.at(k)
        V = self.Vs(lambda_, Z)
        out = {name: beta * V @ D[name] + (1 - beta) * E[name] for name in D}
        if self.sam.R is None:
            out["Wo"] -= beta * self.sam.gamma * self._by_output(Z)
        return out

    def Vs(self, lambda_: float, Z: Array) -> Array:
        """dS/dz of all samples, at Z where it is not constant."""
        if not isinstance(self.R, Potential):
            return np.kron(np.eye(self.N), self.V(lambda_))
        assert self.sam is not None
        slopes = self.R.s.slope(Z - self.R.center[:, None]).T.ravel()
        return np.diag(1 - self.sam.gamma * (lambda_ + self.R.weight * slopes))

    def V(self, lambda_: float) -> Array:
        """dS/dz."""
        assert self.sam is not None
        return (1 - self.sam.gamma * lambda_) * np.eye(self.m) - self.sam.gamma * (
            self.R.A.T @ self.R.A
        )

    def _by_output(self, Z: Array) -> Array:
        """The derivative of W_o^T W_o Z by each entry of W_o."""
        Wo, out = self.v["Wo"], []
        for at in range(Wo.size):
            E = np.zeros(Wo.shape)
            E.flat[at] = 1
            out.append(((E.T @ Wo + Wo.T @ E) @ Z).T.ravel())
        return np.stack(out, axis=1)

    @property
    def residual(self) -> Array:
        return self.v["Wo"] @ self.Z - self.v["Y"]

    @property
    def loss(self) -> float:
        return float(np.sum(self.residual**2)) / 2

    def pulled_back(self, dZ: Params) -> Params:
        """The gradient of the loss, from the derivatives of the state."""
        q = (self.v["Wo"].T @ self.residual).T.ravel()
        out = {name: (dZ[name].T @ q).reshape(self.v[name].shape) for name in self.names}
        out["Wo"] = out["Wo"] + self.residual @ self.Z.T
        return out

    @cached_property
    def gradient(self) -> Params:
        return self.pulled_back(self.dZ)

    @property
    def slope(self) -> Array:
        return np.concatenate([self.gradient[name].ravel() for name in self.names])

    @property
    def J(self) -> Array:
        """d vec(W_o Z) by all parameters."""
        wide = np.kron(np.eye(self.N), self.v["Wo"])
        parts = {name: wide @ part for name, part in self.dZ.items()}
        for at in range(self.v["Wo"].size):
            E = np.zeros(self.v["Wo"].shape)
            E.flat[at] = 1
            parts["Wo"][:, at] += (E @ self.Z).T.ravel()
        return np.hstack([parts[name] for name in self.names])

    @property
    def mu(self) -> float:
        """lambda_min(J J^T)."""
        return float(np.linalg.eigvalsh(self.J @ self.J.T)[0])

    @property
    def sigma_Z(self) -> float:
        """The N-th singular value of the state."""
        return float(np.linalg.svd(self.Z)[1][self.N - 1]) if self.m >= self.N else 0.0

    @property
    def sigma_o(self) -> float:
        """inf |W_o^T q|/|q|."""
        sigma = np.linalg.svd(self.v["Wo"])[1]
        return float(sigma[-1]) if len(self.v["Wo"]) <= self.m else 0.0

    def descent(self, step: float, steps: int) -> list[Net]:
        """Gradient descent, every step."""
        out = [self]
        for _ in range(steps):
            out.append(self.at(self.unpacked(out[-1].theta - step * out[-1].slope)))
        return out

    def flow(self, times: Array) -> list[Net]:
        """Gradient flow at the given times."""
        field = lambda _, x: -self.at(self.unpacked(x)).slope  # noqa: E731
        ends = (0.0, float(times[-1]))
        found = solve_ivp(field, ends, self.theta, "DOP853", times, rtol=1e-12, atol=1e-14)
        return [self.at(self.unpacked(x)) for x in found.y.T]


def fro(a: Array) -> float:
    return float(np.sqrt(np.sum(np.abs(a) ** 2)))


def norm2(a: Array) -> float:
    """Largest singular value; of a vector, its length."""
    return fro(a) if a.ndim == 1 else float(np.linalg.svd(a)[1][0])
