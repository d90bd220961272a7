"""What the statements of the paper share."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

import numpy as np

from deqcheck.linalg import errors, exact
from deqcheck.linalg.entries import euclidean
from deqcheck.linalg.rational import common_square
from deqcheck.models.opteq.equilibrium import Existence, FixedPoint, OpteqEquilibrium
from deqcheck.models.opteq.network import Layer, Network
from deqcheck.records.claim import Claim
from deqcheck.records.comparison import IDENTITY_RESOLUTION
from deqcheck.records.measured import EPS, Measured, given, maximum
from deqcheck.records.tower import Again
from deqcheck.seeds import rng
from deqcheck.theorems.base import STATIC, Check, Cite
from deqcheck.theorems.drawn import number
from deqcheck.theorems.xie2021.setting import Problem, Statement

# Norms of 1 are computed with rounding: Assumption 2 is granted up to this, and what follows from
# it is claimed no more sharply.
TOLERANCE = 1e-12
PAPER = "Xie et al. 2021"
# What a random search draws.
DRAWS = 64
# Draws are at least this large, relative to the state around which they lie.
LEAST_SHARE = 1e-3
# Entries of the largest dense matrix that is formed.
DENSE_LIMIT = 1_000_000
INFINITY = Measured(np.inf)
UNKNOWN = Measured(np.nan, np.inf)

NONEXPANSIVE = Check("layers are nonexpansive", "norm_W^2*slope <= 1 + 1e-12", "Assumption 2")
UNROLLED = Check("the state is Z^K", "implicit == 0", "setting")
PLAIN = Check("no last proximal layer", "prox == 0", "setting")
FOUND = Check("an equilibrium was found", "equilibrium_error < infinity", "setting")
EXISTS = Check("t = s(t + c) has a solution in every coordinate", "-c > lift", "section 2.2")


def cite(number: str, equations: str = "") -> Cite:
    return Cite(PAPER, number, equations)


# Smooth activations of which Assumption 4 may hold: fixed points are bounded.
BOUNDED = ("tanh", {"kind": "mix", "k": 0.5}, {"kind": "mix", "k": 0.99})
# Z^K of plain iterations, the input as it is given.
GIVEN_INPUT = {"solver": ("unrolled",), "sam": (None,), "extractor": (None,), "prox": (None,)}


class Pointwise(Statement):
    """A statement about an OptEq network at any parameters."""

    models = ("opteq",)
    dynamics = (STATIC,)


def matrix_norm(W: np.ndarray) -> Measured:
    """||W||_2 of a matrix of the instance."""
    return errors.norm2(W, exact=exact.array(W))


def largest_norm(network: Network) -> Measured:
    return maximum(*(matrix_norm(layer.W) for layer in network.layers))


def nonexpansive(p: Problem) -> Claim:
    network = p.start.network
    return NONEXPANSIVE(norm_W=largest_norm(network), slope=given(network.s.slopes[1]))


def plain(p: Problem) -> Claim:
    return PLAIN(prox=p.model.fields.prox is not None)


def too_large(entries: int) -> Iterable[str]:
    """A dense matrix that is not formed."""
    if entries > DENSE_LIMIT:
        yield (
            f"the dense form has {entries} entries, and the limit is {DENSE_LIMIT}: fewer samples "
            "or smaller layers"
        )


def layer_entries(p: Problem) -> int:
    """Of the largest dense matrix among the derivatives of a layer: by its input, by its
    parameters, and the slopes of all of its units at all samples as a diagonal."""
    units = max(p.model.m, *(len(layer.W) for layer in p.start.network.layers))
    by_parameters = p.model.m * p.model.N * max(a.size for a in p.theta0.values())
    return max((units * p.model.N) ** 2, by_parameters)


def overshoot(network: Network) -> float:
    """T may stretch distances by this much more than 1, as far as Assumption 2 is known."""
    return float(np.prod([max(1.0, layer.lipschitz) for layer in network.layers])) - 1 + EPS


def existence(p: Problem) -> Claim | None:
    """For one layer with W W^T = I the coordinates of t = W z separate: s(u) - u = -c, and
    s(u) - u > lift. None where that decides nothing. Equal up to rounding is not enough: a layer
    that contracts by less than that has an equilibrium, however far away."""
    layer = p.start.network.layers[0]
    if p.model.depth > 1 or p.start.map.prox is not None or layer.s.lift == -np.inf:
        return None
    if common_square(layer.W) != 1:
        return None
    size = errors.length(layer.U) * errors.length(layer.X) + errors.length(layer.b)
    error = layer.X_error * errors.length(layer.U) + errors.rounding(len(layer.X) + 1, size)
    driven = Measured(float(layer.drive.max()), error, again=largest_entry(p.start.again.C[0]))
    return EXISTS(c=driven, lift=given(layer.s.lift))


def largest_entry(a: Again) -> Again:
    return Again(lambda level, x: reduce(level.larger, map(level.number, x.entries())), a)


def rest_of(network: Network, start: np.ndarray) -> OpteqEquilibrium:
    """The equilibrium; where it is not unique, 0 is one if nothing drives the layers."""
    solved = FixedPoint(network).solve(start)
    driven = network.s.at_zero != 0 or any(layer.drive.any() for layer in network.layers)
    if solved.found or driven:
        return solved
    return OpteqEquilibrium(np.zeros_like(start), 0.0, 0.0, 0.0, Existence.ISOLATED)


def found(p: Problem) -> Claim:
    """A solver that fails shows nothing: there may be an equilibrium all the same."""
    solved = p.start.solved
    known = None if solved.found else existence(p)
    if known is not None:
        return known
    error = solved.error if solved.found else UNKNOWN
    return FOUND(solved.existence.value, equilibrium_error=error, infinity=INFINITY)


def tolerance(noise: float, size: float) -> Measured:
    """The noise that an identity is judged with; too wide for its size, it decides nothing."""
    wide = not noise <= IDENTITY_RESOLUTION * max(size, 1.0)
    return Measured(noise, np.inf if wide else 0.0, "error analysis")


def work(layer: Layer, size: float) -> float:
    """Rounding of one evaluation of a layer at a state of this norm."""
    drive = euclidean(layer.drive)
    length = 2 * (sum(layer.W.shape) + len(layer.X))
    scale = (1 + layer.frobenius) * (layer.frobenius * size + drive + np.sqrt(layer.drive.size))
    return errors.rounding(length, float(scale + size))


def points(p: Problem, name: str, count: int = DRAWS) -> np.ndarray:
    """Those of the states around that are looked at; pairs stand one after the other."""
    return states_around(p, name, count)[: number(count)]


def states_around(p: Problem, name: str, count: int) -> np.ndarray:
    """Random states around the one at hand, of several sizes (count x m x N)."""
    Z = p.start.map(p.model.Z0)
    draw = rng(p.seed, name)
    sizes = 10.0 ** draw.uniform(-1, 1, size=(count, 1, 1))
    # Beside a huge state what is drawn would be lost in its rounding.
    sizes *= max(1.0, LEAST_SHARE * float(np.abs(Z).max(initial=0.0)))
    moved: np.ndarray = Z + sizes * draw.standard_normal((count, *Z.shape))
    return moved


class Worst:
    """Of several values, the one that exceeds its noise most; what is no number is the worst."""

    def __init__(self) -> None:
        self._value, self._noise = -np.inf, 0.0

    def see(self, value: float, noise: float) -> None:
        if not np.isnan(self._excess) and not value - noise <= self._excess:
            self._value, self._noise = value, noise

    @property
    def _excess(self) -> float:
        return float(self._value - self._noise)

    @property
    def value(self) -> Measured:
        return Measured(self._value if np.isfinite(self._excess) else np.nan)

    @property
    def noise(self) -> float:
        return self._noise


def gap_noise(*sizes: float) -> float:
    """Rounding of an inner product of vectors of these norms."""
    return errors.rounding(8, float(np.prod(sizes))) + EPS
