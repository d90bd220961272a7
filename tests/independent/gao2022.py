"""The lemmas of Gao and Gao 2022 at given parameters; what is trained is in gao2022_training.py."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.integrate import quad

from deqcheck.records.law import Law
from deqcheck.seeds import rng

from .gao2022_draws import DRAWS, EXEMPT_DRAWS, regression
from .gao2022_network import Network, drawn, fro, norm, nth, problem
from .gao2022_proofs import PROOFS
from .gao2022_training import TRAINED, above, below
from .harness import IF_EXACT, Expected, Instance, Noise, Sides


def worst(pairs: Iterable[tuple[float, float]]) -> Sides:
    """Of several `left <= right` that with the least room."""
    left, right = min(pairs, key=lambda pair: pair[1] / pair[0])
    return below(left, right)


@cache
def generic() -> Network:
    """Some units are active, some are not, on every sample others."""
    return drawn(2, N=3, d=4, m=6, q=0.62, gamma=0.3)


@cache
def active() -> Network:
    """Every unit of both layers is active on every sample."""
    net = drawn(6, N=3, d=4, m=5, q=0.46, gamma=0.3)
    A = np.abs(net.A)
    A *= 0.46 / 0.3 / norm(A)
    return replace(net, X=np.abs(net.X), W=np.abs(net.W), A=A)


@cache
def half_active() -> Network:
    """Every unit of the implicit layer is active, but not every feature."""
    net = active()
    W = net.W.copy()
    W[:, 1] *= -1
    W[:, 3] *= np.array([1, 1, -1, 1])
    return replace(net, W=W)


@cache
def single() -> Network:
    """One unit: every direction of length 2 towards a gradient is the same."""
    return Network(
        X=np.array([[0.7], [1.1], [1.9]]),
        y=np.array([2.4, 0.9, 3.7]),
        W=np.array([[0.8]]),
        A=np.array([[-0.5]]),
        b=np.array([1.3]),
        gamma=0.6,
    )


@cache
def kinked() -> Network:
    """A = I/2: a unit that gets nothing from the features sits on its kink."""
    return replace(generic(), A=0.5 * np.eye(6))


@cache
def multiple() -> Network:
    """A = 2 I with gamma = 1/4, and Phi = diag(3, 4): every number is exact."""
    return Network(
        X=np.eye(2),
        y=np.array([1.0, -1.0]),
        W=np.array([[3.0, -1.0, -2.0], [-1.0, 4.0, -1.0]]),
        A=2 * np.eye(3),
        b=np.array([1.0, 2.0, 3.0]),
        gamma=0.25,
    )


@cache
def symmetric() -> Network:
    """A symmetric A whose largest eigenvalue is its norm, with every unit active."""
    net = active()
    return replace(net, A=(net.A + net.A.T) / 2)


@cache
def one_sample() -> Network:
    """Some units are off."""
    return replace(generic(), X=generic().X[:1], y=generic().y[:1])


@cache
def diagonal() -> Network:
    """A >= 0 for which Phi and Z are diagonal, and 1 - gamma A has powers of two there."""
    return Network(
        X=np.eye(2),
        y=np.array([1.0, -1.0]),
        W=np.array([[1.3, -1.0, -2.0], [-1.0, 0.7, -1.0]]),
        A=np.diag([2.0, 3.0, 0.0]),
        b=np.array([1.0, 2.0, 3.0]),
        gamma=0.25,
    )


def iterates(net: Network) -> list[np.ndarray]:
    """Z^1, ..., Z^100 of (1), from Z^0 = 0."""
    found = [net.sweep(np.zeros_like(net.Phi))]
    while len(found) < 100:
        found.append(net.sweep(found[-1]))
    return found


def sweeps(net: Network) -> int:
    """Section 7: until |Z^(l+1) - Z^l|_F <= 1e-2."""
    last = np.zeros_like(net.Phi)
    for count, Z in enumerate(iterates(net), start=1):
        if fro(Z - last) <= 1e-2:
            return count
        last = Z
    return 0


def lem3_1(net: Network, M: float) -> Expected:
    """Lemma 3.1, and by the geometric series behind it the sharper remarks."""
    g0, Phi, Z = net.gamma * M, fro(net.Phi), iterates(net)
    powers = [Phi * sum(g0**j for j in range(count)) for count in range(21)]
    rest = [Phi / (1 - g0) - part for part in powers]
    return {
        "contracts": Sides(g0, "<", 1.0),
        "state": below(fro(net.Z), Phi / (1 - g0)),
        "iterates": worst((fro(Z[i - 1]), Phi / (1 - g0)) for i in range(2, 21)),
        "unique": Noise(0.0, fro(net.Z)),
        "sharper": worst((fro(Z[i - 1]), powers[i]) for i in range(2, 21)),
        "distance": worst((fro(net.Z - Z[i - 1]), rest[i]) for i in range(1, 21)),
        "forward": Sides(sweeps(net) - 2, "<", np.log(1e-2 / Phi) / np.log(g0)),
    }


def lem3_1_bounded(net: Network, M: float) -> Expected:
    return {"bounded": below(norm(net.A), M), **lem3_1(net, M)}


def lem3_1_equal() -> Expected:
    """At A = a I: Z^l = Phi (1 - (gamma a)^l)/(1 - gamma a), here 5 (1 - 2^-l) 2."""
    net = multiple()
    found = dict(lem3_1(net, norm(net.A)))
    for name in ("state", "iterates", "sharper", "distance"):
        del found[name]
    bound = np.log(1e-2 / 5) / np.log(1 / 2)
    return {
        **found,
        "state_equal": Sides(fro(net.Z), "==", 10.0),
        "iterates_equal": Sides(fro(iterates(net)[1]), "==", 7.5),
        "distance_equal": Sides(fro(net.Z - iterates(net)[0]), "==", 5.0),
        "forward": Sides(sweeps(net) - 2, "<", bound),
        "forward_exact": Sides(sweeps(net) - 1, ">=", bound),
    }


def lem3_2(net: Network, M: float) -> Expected:
    """(6), corrected: every reading of the smallest number, for the dense Q."""
    s = np.linalg.svd(net.Q, compute_uv=False)
    eigenvalues = np.linalg.eigvals(net.Q)
    least = 1 - net.q
    return {
        "contracts": Sides(net.gamma * M, "<", 1.0),
        "singular": above(s[-1], least),
        "symmetric": above(np.linalg.eigvalsh((net.Q + net.Q.T) / 2)[0], least),
        "real_part": above(eigenvalues.real.min(), least),
        "modulus": above(np.abs(eigenvalues).min(), least),
        "norm": below(s[0], 1 + net.q),
        "inverse": below(norm(np.linalg.inv(net.Q)), 1 / (1 - net.gamma * M)),
    }


def lem3_2_equal(net: Network) -> Expected:
    """Every reading at an A whose norm is an eigenvalue of a block."""
    found = dict(lem3_2(net, norm(net.A)))
    for name in ("singular", "symmetric", "real_part", "modulus", "inverse"):
        sides = found.pop(name)
        found[f"{name}_equal"] = Sides(sides.left, "==", sides.right)
    return found


def lem3_2_printed(net: Network, M: float, decision: str) -> Expected:
    """(6) as printed: lambda_min(Q) = 1 - gamma lambda_max(D A) above 1 - gamma M."""
    largest = (1 - np.linalg.eigvals(net.Q).real.min()) / net.gamma
    return {
        "positive": Sides(M, ">", 0.0),
        "contracts": Sides(net.gamma * M, "<", 1.0),
        "strict": Sides(largest / M, "<", 1.0, decision=decision),
    }


def gradient(net: Network) -> Expected:
    """(7)-(9) against the linearised equation, along a direction of length 2."""
    found: dict[str, Sides | Noise] = {"smooth": Sides(0.0, "==", 0.0)}
    for name, g in net.gradient.items():
        along = 2 * g / fro(g)
        slope = float(net.r @ net.tangent({name: along}))
        found[f"along_{name.lower()}"] = Sides(float(np.vdot(g, along)), "==", slope)
        found[f"fast_{name.lower()}"] = Noise(0.0, fro(g))
    return found


def lem4_1(net: Network) -> Expected:
    """(10)-(13) and the remark after it; ours twice as fast."""
    H, r = net.H, net.r
    noise = rng(0, "gao2022/lem4.1.projections").standard_normal(net.N)
    u = H @ r / fro(H @ r) + noise / fro(noise) / 2
    dyhat = net.tangent({name: -g for name, g in net.gradient.items()})
    smallest = float(np.linalg.eigvalsh(H)[0])
    twice = "twice" if net.N > 1 else "twice_equal"
    relation = ">=" if net.N > 1 else "=="
    return {
        "contracts": Sides(net.q, "<", 1.0),
        "smooth": Sides(0.0, "==", 0.0),
        "moves": Sides(-float(u @ H @ r), "==", float(u @ dyhat)),
        "dense": Noise(0.0, fro(H)),
        "semidefinite": above(smallest, 0.0),
        "remark": above(net.gradient_squared, smallest * net.loss),
        "speed": Sides(net.gradient_squared, "==", float(r @ H @ r)),
        twice: Sides(net.gradient_squared, relation, 2 * smallest * net.loss),
    }


def lem4_1_kinked() -> Expected:
    """Nothing is differentiated on a kink."""
    net = kinked()
    found = dict(lem4_1(net))
    del found["moves"]
    zeros = np.sum(net.gamma * net.Z @ net.A + net.Phi == 0)
    return {**found, "smooth": Sides(zeros, "==", 0.0, decision="violated")}


def sigma_min(net: Network) -> dict[str, float]:
    """What the inequalities after Lemma 4.1 speak of, by the dense M and Pi."""
    eye, N = np.eye(net.m), net.N
    P = [np.linalg.solve(eye - net.gamma * np.diag(s) @ net.A, s * net.b) for s in net.S]
    return {
        "M": nth(net.M, N),
        "Pi": nth(net.Pi, N),
        "Z": net.gamma * nth(net.Z, N),
        "X": nth(net.X, N),
        "D": net.S.min(),
        "DE": net.S.min() * net.E.min(),
        "b": norm(net.b),
        "p": min(map(norm, P)),
        "Ep": min(norm(e * p) for e, p in zip(net.E, P, strict=True)),
        "Db": min(norm(s * net.b) for s in net.S),
    }


def sigma_min_printed(net: Network) -> Expected:
    v, u = sigma_min(net), 1 / (1 - net.q)
    return {
        "contracts": Sides(net.q, "<", 1.0),
        "printed_m": above(v["M"], u * v["b"] * v["D"] * v["Z"]),
        "printed_pi": above(v["Pi"], u * v["b"] * v["DE"] * v["X"]),
    }


def sigma_min_corrected(net: Network) -> Expected:
    """With 1/|Q| >= 1/(1 + gamma0); and, of ours, by Schur's product theorem."""
    v, u = sigma_min(net), 1 / (1 + net.q)
    M, Pi = v["p"] * v["Z"], v["Ep"] * v["X"]
    equal_m, equal_pi = Sides(v["M"], "==", M), Sides(v["Pi"], "==", Pi)
    one_pattern = len(np.unique(net.S, axis=0)) == 1
    one_feature = one_pattern and len(np.unique(net.S * net.E, axis=0)) == 1
    return {
        "contracts": Sides(net.q, "<", 1.0),
        "plain_m": above(v["M"], u * v["b"] * v["D"] * v["Z"]),
        "plain_pi": above(v["Pi"], u * v["b"] * v["DE"] * v["X"]),
        **({"schur_m_equal": equal_m} if one_pattern else {"schur_m": above(v["M"], M)}),
        "schur_p": above(v["p"], u * v["Db"]),
        **({"schur_pi_equal": equal_pi} if one_feature else {"schur_pi": above(v["Pi"], Pi)}),
    }


def made_equal(found: Expected, *names: str) -> Expected:
    """Checks that structure makes equalities."""
    sides = {
        f"{name}_equal": replace(found[name], relation="==", decision="holds") for name in names
    }
    return {**{name: each for name, each in found.items() if name not in names}, **sides}


def sigma_min_undecided(net: Network) -> Sides:
    """Equal, and only a remark."""
    v = sigma_min(net)
    return Sides(v["p"], ">=", v["Db"] / (1 + net.q), decision=IF_EXACT)


def sigma_min_at_a_multiple(a: float) -> Network:
    """A = a I with every unit active: Q = 1 - gamma a."""
    return replace(active(), A=a * np.eye(5))


def around(net: Network, names: str) -> Iterable[Network]:
    """The neighbours at which Lemma 4.3 is judged: 1 to 1e-3 of the room, in 20 steps."""
    stream = rng(0, f"gao2022/lem4.3.{names}")
    room = {"W": norm(net.W), "A": 0.9 * (1 - net.q) / net.gamma}
    for i in range(20):
        moved = {}
        for name in names:
            noise = stream.standard_normal(getattr(net, name).shape)
            length = room[name] * 10 ** (-3 * i / 19)
            moved[name] = getattr(net, name) + length * noise / norm(noise)
        yield replace(net, **moved)


def lipschitz(a: Network, b: Network) -> tuple[float, float]:
    """Both sides of (16), the left one in the Frobenius norm."""
    lambda1, lambda2 = max(norm(a.W), norm(b.W)), max(norm(a.A), norm(b.A))
    g0 = a.gamma * lambda2
    moved = g0 / (1 - g0) * lambda1 / lambda2 * norm(a.A - b.A) + norm(a.W - b.W)
    return fro(a.Z - b.Z), fro(a.X) / (1 - g0) * moved


def lem4_3(net: Network) -> Expected:
    return {
        "well_posed": Sides(net.q, "<", 1.0),
        **{
            check: worst(lipschitz(net, other) for other in around(net, names))
            for check, names in (("w_moves", "W"), ("a_moves", "A"), ("both_move", "WA"))
        },
    }


@cache
def line() -> Network:
    """One unit, one feature and one sample: Z = 2 W without rounding."""
    one = np.ones((1, 1))
    return Network(X=one, y=np.zeros(1), W=0.8 * one, A=one, b=np.ones(1), gamma=0.5)


def lem4_3_line() -> Expected:
    """(16) is an equality where only W moves; of equal shares the first is told."""
    found = dict(lem4_3(line()))
    del found["w_moves"]
    left, right = lipschitz(line(), next(iter(around(line(), "W"))))
    assert abs(left - right) < 1e-15 * right
    return {**found, "w_moves_equal": Sides(left, "==", right)}


def lem5_1_without_a() -> Expected:
    """Z = Phi at A = 0."""
    net = replace(diagonal(), A=np.zeros((3, 3)))
    found = dict(lem5_1(net))
    del found["regular"]
    return {**found, "regular_equal": Sides(net.alpha0, "==", nth(net.Phi, 2))}


def lem5_1(net: Network | None = None) -> Expected:
    """Z = Phi (I - gamma A)^-1 between the first two positive vectors of the stream."""
    net = net or diagonal()
    stream = rng(0, "gao2022/lem5.1.projections")
    u, v = np.abs(stream.standard_normal(2)), np.abs(stream.standard_normal(3))
    linear = net.Phi @ np.linalg.inv(np.eye(3) - net.gamma * net.A)
    return {
        "nonnegative": Sides(0.0, ">=", 0.0),
        "well_posed": Sides(net.q, "<", 1.0),
        "linear": Sides(float(u @ net.Z @ v), "==", float(u @ linear @ v)),
        "regular": above(net.alpha0, nth(net.Phi, 2) / (1 + net.q)),
    }


@cache
def half_normal(m: int) -> Network:
    net = drawn(9, N=2, d=3, m=m, q=0.5, gamma=0.3)
    A = np.abs(np.random.default_rng(m).normal(size=(m, m)))
    return replace(net, A=A, gamma=0.5 / norm(A))


def with_law(net: Network, kind: str = "half-normal", scale: float = 1.0) -> Any:
    return replace(problem(net), laws={"A": Law(kind, scale)})


@cache
def fitted(seeds: int) -> tuple[float, float]:
    """|A| for half-normal A at four widths in turn: the root of the largest eigenvalue of A^T A."""
    sizes = [32 * 2 ** (seed % 4) for seed in range(seeds)]
    norms = []
    for seed, m in enumerate(sizes):
        A = np.abs(rng(seed, f"gao2022/sec5.2.A.{m}").standard_normal((m, m)))
        norms.append(np.linalg.eigvalsh(A.T @ A)[-1] ** 0.5)
    return regression(np.array(sizes), np.array(norms))


def sec5_2(printed: bool) -> Expected:
    """|A| = O(m^(1/2)) against the fitted exponent, which is 1."""
    exponent, radius = fitted(24)
    drawn_so = {"half_normal": Sides(1.0, "==", 1.0), "standard": Sides(1.0, "==", 1.0)}
    if printed:
        return {**drawn_so, "allows": Sides(exponent - 0.5, "<=", radius, decision="violated")}
    return {**drawn_so, "allows": Sides(abs(exponent - 1), "<=", radius)}


def angle(x: np.ndarray, z: np.ndarray) -> float:
    """By its tangent: sin^2 = 1 - cos^2."""
    inner = float(x @ z)
    return float(np.arctan2(np.sqrt(max((x @ x) * (z @ z) - inner**2, 0.0)), inner))


def expected_product(x: np.ndarray, z: np.ndarray) -> float:
    """E[relu(w.x) relu(w.z)]: in the plane of x and z the length and the angle of w are
    independent, with E length^2 = 2."""
    th = angle(x, z)
    mean, _ = quad(lambda a: np.cos(a) * np.cos(a - th), th - np.pi / 2, np.pi / 2, epsabs=1e-14)
    return norm(x) * norm(z) * 2 * mean / (2 * np.pi)


def lambda_star(X: np.ndarray) -> float:
    if not X.any(axis=1).all():
        return 0.0
    G = [[expected_product(x, z) for z in X] for x in X]
    return float(np.linalg.eigvalsh(np.array(G))[0])


def gstar(X: np.ndarray, pairs: int, rank: int, decision: str = "holds") -> Expected:
    """tr G = |X|_F^2/2; `pairs` of samples are antiparallel, along axes of this rank. What stays
    undecided is a G that is singular."""
    smallest, N = lambda_star(X) if decision == "holds" else 0.0, len(X)
    closest = min(angle(X[i], X[j]) for i in range(N) for j in range(i))
    return {
        "no_zero": Sides(min(map(norm, X)), ">", 0.0),
        "apart": Sides(closest, ">", 0.0, decision="holds" if closest else "violated"),
        "independent": above(rank, pairs),
        "positive": Sides(smallest, ">", 0.0, decision=decision),
        "trace": Sides(smallest, "<=", fro(X) ** 2 / N),
        "half": Sides(smallest, "<=", fro(X) ** 2 / (2 * N)),
    }


def gstar_single(X: np.ndarray) -> Expected:
    """One sample: tr G is lambda_*, and there are no pairs."""
    return {
        "no_zero": Sides(norm(X[0]), ">", 0.0),
        "positive": Sides(norm(X[0]) ** 2 / 2, ">", 0.0),
        "trace": Sides(norm(X[0]) ** 2 / 2, "<=", fro(X) ** 2),
        "half_equal": Sides(norm(X[0]) ** 2 / 2, "==", fro(X) ** 2 / 2),
    }


def gstar_zero(X: np.ndarray) -> Expected:
    return {
        "no_zero": Sides(0.0, ">", 0.0, decision="violated"),
        "positive": Sides(0.0, ">", 0.0, decision="violated"),
        "trace": Sides(0.0, "<=", fro(X) ** 2 / len(X)),
        "half": Sides(0.0, "<=", fro(X) ** 2 / (2 * len(X))),
    }


def on_samples(X: np.ndarray) -> Network:
    return drawn(3, N=len(X), d=X.shape[1], m=8, q=0.3, gamma=0.4, X=X)


SAMPLES = np.array([[0.3, -1.2, 0.8], [1.1, 0.4, -0.5], [-0.9, 0.6, 1.4], [0.2, 1.7, 0.1]])
OPPOSITE = np.array([[1.5, 0.5, 0.0], [-1.5, -0.5, 0.0], [0.3, 1.1, -0.7], [0.2, 0.4, 1.9]])
STAR = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0], [1.0, 1.0], [-1.0, -1.0]])
WITH_ZERO = np.array([[0.3, -1.2], [0.0, 0.0], [1.1, 0.4]])

NOT_DRAWN: Expected = {"half_normal": Sides(0.0, "==", 1.0, decision="violated")}

LEMMAS = [
    Instance("gao2022/lem3.1", lambda: problem(generic()), lambda: lem3_1(generic(), 0.62 / 0.3)),
    Instance(
        "gao2022/lem3.1",
        lambda: problem(generic()),
        lambda: lem3_1_bounded(generic(), 2.7),
        constants={"M": 2.7},
        label="M",
    ),
    Instance("gao2022/lem3.1", lambda: problem(multiple()), lem3_1_equal, label="A = 2 I"),
    Instance("gao2022/lem3.2", lambda: problem(generic()), lambda: lem3_2(generic(), 0.62 / 0.3)),
    Instance(
        "gao2022/lem3.2",
        lambda: problem(generic()),
        lambda: {"bounded": below(0.62 / 0.3, 2.7), **lem3_2(generic(), 2.7)},
        constants={"M": 2.7},
        label="M",
    ),
    Instance(
        "gao2022/lem3.2",
        lambda: problem(generic()),
        lambda: lem3_2_printed(generic(), 0.62 / 0.3, "holds"),
        edition="printed",
    ),
    Instance(
        "gao2022/lem3.2",
        lambda: problem(replace(single(), A=-single().A)),
        lambda: {
            "bounded": below(0.5, 0.5),
            **lem3_2_printed(replace(single(), A=-single().A), 0.5, "violated"),
        },
        edition="printed",
        constants={"M": 0.5},
        outcome="refuted",
        label="A = M",
    ),
    *(
        Instance(
            "gao2022/lem3.2",
            lambda net=net: problem(net()),
            lambda net=net: lem3_2_equal(net()),
            label=label,
        )
        for label, net in (("A = 2 I", multiple), ("symmetric", symmetric))
    ),
    *(
        Instance(
            "gao2022/lem3.2",
            lambda net=net: problem(net()),
            lambda net=net: lem3_2_printed(net(), norm(net().A), "violated"),
            edition="printed",
            outcome="refuted",
            label=label,
        )
        for label, net in (("A = 2 I", multiple), ("symmetric", symmetric))
    ),
    Instance(
        "gao2022/lem3.2",
        lambda: problem(replace(single(), A=np.zeros((1, 1)))),
        lambda: {
            "positive": Sides(0.0, ">", 0.0, decision="violated"),
            "contracts": Sides(0.0, "<", 1.0),
        },
        edition="printed",
        outcome="not applicable",
        label="A = 0",
    ),
    Instance("gao2022/gradient", lambda: problem(single()), lambda: gradient(single())),
    Instance("gao2022/lem4.1", lambda: problem(generic()), lambda: lem4_1(generic())),
    Instance(
        "gao2022/lem4.1",
        lambda: problem(one_sample()),
        lambda: lem4_1(one_sample()),
        label="one sample",
    ),
    Instance(
        "gao2022/lem4.1",
        lambda: problem(kinked()),
        lem4_1_kinked,
        outcome="not applicable",
        label="kinks",
    ),
    *(
        Instance(
            "gao2022/sigma-min",
            lambda net=net: problem(net()),
            lambda net=net: sigma_min_corrected(net()),
            label=net.__name__,
        )
        for net in (generic, active, half_active, one_sample)
    ),
    Instance(
        "gao2022/sigma-min",
        lambda: problem(sigma_min_at_a_multiple(-0.75)),
        lambda: (
            made_equal(sigma_min_corrected(sigma_min_at_a_multiple(-0.75)), "plain_m", "plain_pi")
            | {"schur_p": sigma_min_undecided(sigma_min_at_a_multiple(-0.75))}
        ),
        label="A = -a I",
    ),
    Instance(
        "gao2022/sigma-min",
        lambda: problem(sigma_min_at_a_multiple(0.75)),
        lambda: made_equal(
            sigma_min_printed(sigma_min_at_a_multiple(0.75)), "printed_m", "printed_pi"
        ),
        edition="printed",
        label="A = a I",
    ),
    *(
        Instance(
            "gao2022/sigma-min",
            lambda net=net: problem(net()),
            lambda net=net: sigma_min_printed(net()),
            edition="printed",
            outcome=outcome,
            label=net.__name__,
        )
        for net, outcome in ((generic, "confirmed"), (active, "refuted"), (half_active, "refuted"))
    ),
    Instance("gao2022/lem4.3", lambda: problem(generic()), lambda: lem4_3(generic())),
    Instance("gao2022/lem4.3", lambda: problem(line()), lem4_3_line, label="a line"),
    Instance("gao2022/lem5.1", lambda: problem(diagonal()), lem5_1),
    Instance(
        "gao2022/lem5.1",
        lambda: problem(replace(diagonal(), A=np.zeros((3, 3)))),
        lem5_1_without_a,
        label="A = 0",
    ),
    *(
        Instance(
            "gao2022/sec5.2",
            lambda: with_law(half_normal(6)),
            lambda edition=edition: sec5_2(edition == "printed"),
            edition=edition,
            constants={"seeds": 24},
            outcome=outcome,
        )
        for edition, outcome in (("corrected", "consistent"), ("printed", "inconsistent"))
    ),
    *(
        Instance(
            "gao2022/sec5.2",
            make,
            lambda told=told: told,
            edition=edition,
            outcome="not applicable",
            label=label,
        )
        for label, make, told in (
            ("given", lambda: problem(half_normal(6)), NOT_DRAWN),
            ("gaussian", lambda: with_law(half_normal(6), "gaussian"), NOT_DRAWN),
            (
                "scaled",
                lambda: with_law(half_normal(6), scale=0.5),
                {
                    "half_normal": Sides(1.0, "==", 1.0),
                    "standard": Sides(0.5, "==", 1.0, decision="violated"),
                },
            ),
        )
        for edition in ("printed", "corrected")
    ),
    *(
        Instance(
            "gao2022/gstar",
            lambda X=X: problem(on_samples(X)),
            lambda X=X, told=told: gstar(X, *told),
            outcome=outcome,
            label=label,
        )
        for label, X, told, outcome in (
            ("generic", SAMPLES, (0, 0), "confirmed"),
            ("two", SAMPLES[:2], (0, 0), "confirmed"),
            ("twice", SAMPLES[[0, 1, 0]], (0, 0, "undecided"), "not applicable"),
            ("opposite", OPPOSITE, (1, 1), "confirmed"),
            ("star", STAR, (3, 2, "undecided"), "not applicable"),
        )
    ),
    Instance(
        "gao2022/gstar",
        lambda: problem(on_samples(SAMPLES[:1])),
        lambda: gstar_single(SAMPLES[:1]),
        label="one",
    ),
    Instance(
        "gao2022/gstar",
        lambda: problem(on_samples(WITH_ZERO)),
        lambda: gstar_zero(WITH_ZERO),
        outcome="not applicable",
        label="zero",
    ),
]
INSTANCES = [*LEMMAS, *TRAINED, *PROOFS, *DRAWS]
INHERITED = "Inherited from Theorem 4.4; Section 5.1 has hypotheses of its own in its place."
INDUCTION = "A condition of the theorem, which is not asked here: (i)-(iii) stand for it."
EXEMPT: dict[str, dict[str, str]] = {
    "gao2022/sec5.1": {"starts_well": INHERITED, "certifiable": INHERITED},
    "gao2022/sec5.2": {
        "agrees": "Of claims with a probability; this one is a claim of order.",
    },
    **EXEMPT_DRAWS,
    **{
        f"gao2022/{id}": dict.fromkeys(names, INDUCTION)
        for id, names in (
            ("one-step", ("first", "second", "third")),
            ("proof4.2", ("first", "second")),
            ("proof4.4", ("first", "second", "third")),
            ("sec7-scale", ("first", "second", "third", "well_posed", "certifiable")),
        )
    },
}
