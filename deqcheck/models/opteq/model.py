"""Optimisation induced equilibrium network (Xie et al. 2021).

f_l(Z) = a W_l^T s(W_l Z + U_l X + b_l 1^T) + (1 - a) Z, T = f_L o ... o f_1. The state is Z^K after
K iterations (of T, or of SAM), or the equilibrium; prediction W_o Z, loss |W_o Z - Y|_F^2/2. The
input X is given, or extracted: X = g(W_0 X_0) with the weights W_0 trained, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deqcheck.fields import below, choice, integer, number, part, section
from deqcheck.frozen import dataclass
from deqcheck.kinds import Activation, Loss, Model, Regularizer
from deqcheck.losses.half_square import HalfSquare
from deqcheck.models.memory import Memory
from deqcheck.models.opteq import oracle
from deqcheck.models.opteq.convex import ExplicitStep
from deqcheck.models.opteq.extractor import Extractor
from deqcheck.models.opteq.lean import Lean
from deqcheck.models.opteq.many import ManyOpteq, quantities
from deqcheck.models.opteq.state import OpteqState
from deqcheck.models.opteq.sweep import Sam, Weights
from deqcheck.models.problem import BuiltModel, Params
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import Measured
from deqcheck.records.tower import is_certifying

if TYPE_CHECKING:
    from deqcheck.linalg.precise import Numbers

UNROLLED, IMPLICIT = "unrolled", "implicit"
# States that are measured together along a run.
AT_ONCE = 32


@dataclass(frozen=True, eq=False)
class SamFields:
    """Z^k = beta_k ((1 - gamma lambda_k) Z - gamma grad R(Z)) + (1 - beta_k) T(Z) at Z = Z^(k-1),
    k = 1..K, with beta_k = beta k^-rho and lambda_k = lambda k^-c.
    """

    beta: float = number(at_least=0, at_most=1, doc="share of the regulariser's step, at k = 1")
    lambda_: float = number(at_least=0, at_most=1, default=0.0, doc="damping, at k = 1")
    gamma: float = number(above=0, doc="step on the regulariser")
    rho: float = number(at_least=0, default=0.0, doc="beta_k = beta k^-rho")
    c: float = number(at_least=0, default=0.0, doc="lambda_k = lambda k^-c")
    regularizer: Any = part(Regularizer, default="distance", doc="R")

    def check(self) -> Iterable[tuple[str, str]]:
        if not self.regularizer.differentiable:
            yield "regularizer", f"{self.regularizer.kind!r} has no gradient; SAM needs one"

    def weights(self, K: int) -> list[Weights]:
        return [
            Weights(self.beta * k**-self.rho, self.lambda_ * k**-self.c) for k in range(1, K + 1)
        ]


@dataclass(frozen=True, eq=False)
class Opteq(Model):
    """OpteqEquilibrium network whose layers are proximal operators of hidden convex functions.

    Parameters: Wi (ni x m), Ui (ni x d), bi (ni) for each layer i = 1, ..., depth, and Wo (dy x m).
    With an extractor also W0 (e x d), and then Ui is ni x e. The start Z0 (m x N) may be given
    beside them; it is zero otherwise, and not trained.
    """

    kind: ClassVar[str] = "opteq"
    data_arrays: ClassVar[dict[str, tuple[str, ...]]] = {"X": ("d", "N"), "Y": ("dy", "N")}
    optional: ClassVar[dict[str, tuple[str, ...]]] = {"Z0": ("m", "N")}
    predicted: ClassVar[str] = "Y"
    default_loss: ClassVar[str] = "half-square"
    example: ClassVar[str] = """\
data: {kind: gaussian, n: 4, dim: 3, target: {kind: gaussian, outputs: 1}}
model: {kind: opteq, alpha: 0.5, iterations: 8, activation: tanh, m: 5, n: 6}
init: {kind: gaussian, scale: 0.2}
train: {kind: gd, step: 1e-3, steps: 50}"""
    loss: ClassVar[type[Loss]] = HalfSquare

    alpha: float = number(above=0, at_most=1, default=1.0, doc="share of a layer against its input")
    depth: int = integer(at_least=1, at_most=1000, default=1, doc="number of layers, L")
    iterations: int | None = integer(
        at_least=1, at_most=10_000_000, default=None, doc="iterations applied to Z0, K"
    )
    activation: Any = part(Activation, doc="the activation s")
    solver: str = choice(
        UNROLLED, IMPLICIT, default=UNROLLED, doc="read out Z^K, or the equilibrium"
    )
    m: int | None = integer(at_least=1, default=None, doc="width of the state, if W is drawn")
    n: int | None = integer(at_least=1, default=None, doc="width of each layer, if W is drawn")
    extractor: Any = part(
        Activation, default=None, doc="the input is g(W0 X) with this smooth activation g"
    )
    features: int | None = integer(
        at_least=1, default=None, doc="width e of the extractor, if W0 is drawn"
    )
    sam: SamFields | None = section(SamFields, default=None, doc="iterate SAM instead of T")
    prox: Any = part(Regularizer, default=None, doc="a last layer prox_R (section 4.1)")
    explicit_step: float | None = number(
        above=0, default=None, doc="gamma of a last layer I - gamma grad R in place of prox_R"
    )

    def check(self) -> Iterable[tuple[str, str]]:
        if self.solver == UNROLLED and self.iterations is None:
            yield "iterations", "missing; expected an integer >= 1, or solver: implicit"
        if self.solver == IMPLICIT and self.iterations is not None:
            yield "iterations", "an equilibrium has none; leave it out, or take solver: unrolled"
        if self.solver == IMPLICIT and self.sam is not None:
            yield "sam", "SAM is an iteration; expected solver: unrolled"
        if self.solver == UNROLLED and self.prox is not None:
            yield "prox", "applies to equilibria; expected solver: implicit"
        if self.explicit_step is not None and (self.prox is None or not self.prox.differentiable):
            yield "explicit_step", "needs a regulariser with a gradient as prox"
        if self.extractor is not None and self.extractor.kinks:
            yield "extractor", f"{self.extractor.kind!r} has kinks; expected a smooth activation"
        if self.features is not None and self.extractor is None:
            yield "features", "is the width of an extractor, and there is none"
        if self.prox is not None and not self.prox.proximal:
            yield "prox", f"{self.prox.kind!r} has no proximal map at hand; expected another"
        if self.prox is not None and self.prox.uses_output:
            yield "prox", f"{self.prox.kind!r} moves with the output weights; expected another"

    @property
    def parameters(self) -> dict[str, tuple[str, ...]]:
        layers = range(1, self.depth + 1)
        own = "d" if self.extractor is None else "e"
        return {
            **({} if self.extractor is None else {"W0": ("e", "d")}),
            **{f"W{i}": (f"n{i}", "m") for i in layers},
            **{f"U{i}": (f"n{i}", own) for i in layers},
            **{f"b{i}": (f"n{i}",) for i in layers},
            "Wo": ("dy", "m"),
        }

    def sizes(self) -> dict[str, int]:
        widths = {} if self.n is None else {f"n{i + 1}": self.n for i in range(self.depth)}
        free = {"m": self.m, "e": self.features, "K": self.iterations}
        return {**widths, **{name: size for name, size in free.items() if size is not None}}

    @property
    def makes(self) -> dict[str, tuple[str, ...]]:
        """Each iteration keeps its state."""
        return {"the list of states": ("m", "N") if self.iterations is None else ("K", "m", "N")}

    def from_samples(self, inputs: np.ndarray, targets: np.ndarray) -> Params:
        return {"X": inputs, "Y": targets}

    def build(self, arrays: Params, loss: Any) -> OpteqModel:
        m = len(arrays["Z0"])
        with below("model"):
            for key, R in (
                ("prox", self.prox),
                ("sam.regularizer", getattr(self.sam, "regularizer", None)),
            ):
                if R is not None:
                    with below(key):
                        R.check_width(m)
        return OpteqModel(self, arrays["X"], arrays["Y"], arrays["Z0"])


class OpteqModel(BuiltModel[OpteqState]):
    """The network with its data; the theorems compare the loss with 0."""

    def __init__(self, fields: Opteq, X: np.ndarray, Y: np.ndarray, Z0: np.ndarray):
        self.kind, self.loss_kind = Opteq.kind, Opteq.default_loss
        self.fields = fields
        self.alpha, self.depth, self.s = fields.alpha, fields.depth, fields.activation
        self.implicit = fields.solver == IMPLICIT
        self.iterations: int = 1 if fields.iterations is None else fields.iterations
        self.X, self.Y, self.Z0 = X, Y, Z0

    @property
    def facts(self) -> dict[str, int]:
        fields = self.fields
        return {
            "implicit": int(self.implicit),
            "other": int(self.implicit or fields.sam is not None),
            "sam": int(fields.sam is not None),
            "of_output": int(fields.sam is not None and fields.sam.regularizer.uses_output),
            "prox": int(fields.prox is not None),
            "proximal": int(fields.prox is not None and fields.explicit_step is None),
            "explicit": int(fields.explicit_step is not None),
            "extracted": int(fields.extractor is not None),
            "L": self.depth,
            "K": self.iterations,
        }

    @property
    def samples(self) -> int:
        return self.N

    @property
    def m(self) -> int:
        return len(self.Z0)

    @property
    def N(self) -> int:
        return int(self.X.shape[1])

    def sam_at(self, Wo: np.ndarray) -> Sam | None:
        sam = self.fields.sam
        if sam is None:
            return None
        R = sam.regularizer.on(self.m, Wo)
        return Sam(sam.gamma, R, sam.weights(self.iterations), sam.regularizer.uses_output)

    def extractor_at(self, theta: Params) -> Extractor | None:
        s = self.fields.extractor
        return None if s is None else Extractor(s, self.X, theta["W0"])

    def prox_at(self, Wo: np.ndarray) -> Any:
        if self.fields.prox is None:
            return None
        R = self.fields.prox.on(self.m, Wo)
        gamma = self.fields.explicit_step
        return R if gamma is None else ExplicitStep(R, gamma)

    @property
    def infimum(self) -> Measured:
        return Measured(0.0)

    def at(self, theta: Params, memory: Memory | None = None) -> OpteqState:
        return OpteqState(self, theta, memory)

    @cached_property
    def lean(self) -> Lean | None:
        """For iterations of layers alone. Another order of sums may be another side of a kink."""
        fields = self.fields
        alone = not self.implicit and fields.sam is None and fields.extractor is None
        return Lean(self) if alone and self.s.smooth else None

    def gradient(self, theta: Params, memory: Memory | None = None) -> Params:
        return super().gradient(theta, memory) if self.lean is None else self.lean.gradient(theta)

    @property
    def states_at_once(self) -> int:
        return 1 if self.lean is None else AT_ONCE

    def quantities(
        self, states: Sequence[OpteqState], names: Sequence[str]
    ) -> list[dict[str, Measured]]:
        # Exact numbers are known one by one.
        if len(states) < 2 or self.lean is None or states[0].dependent or is_certifying():
            return super().quantities(states, names)
        return quantities(ManyOpteq(self, self.lean), states, names)

    def many(self, shapes: Mapping[str, tuple[int, ...]]) -> ManyOpteq | None:
        return None if self.lean is None else ManyOpteq(self, self.lean)

    def explicit_gradient(self, theta: Params) -> Params:
        return oracle.gradient(self.at(theta))

    @property
    def passes(self) -> int:
        return self.iterations * self.depth

    def precise_gradient(self, theta: Params, digits: Numbers) -> Params:
        near = self.at({name: digits.lower(array) for name, array in theta.items()})
        # Few come here: the others need not wait for this import.
        from deqcheck.models.opteq.precise import PreciseNetwork

        return PreciseNetwork(self, theta, digits).gradient(near.Z)
