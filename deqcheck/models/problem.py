"""One instance to be checked: a model with its data, where it starts and how it is trained."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from deqcheck.fields import Refusal, below, refuse
from deqcheck.frozen import dataclass
from deqcheck.records.law import Law
from deqcheck.records.lazy import cached_property
from deqcheck.records.measured import Measured
from deqcheck.records.report import Origin
from deqcheck.records.tower import Again
from deqcheck.records.verdict import Status
from deqcheck.records.words import dynamics

if TYPE_CHECKING:
    from deqcheck.linalg.precise import Numbers
    from deqcheck.models.many import Many
    from deqcheck.models.memory import Memory
    from deqcheck.models.stack import Stack

Params = dict[str, np.ndarray]


class Objective(NamedTuple):
    """The loss above its infimum, the radius of that number, and the gradient; on demand also the
    gradient's Frobenius radius, for models that know it at little cost."""

    gap: float
    error: float
    gradient: Params
    radius: Callable[[], float] | None = None


class Plain(NamedTuple):
    """The same numbers without their radii."""

    gap: float
    gradient: Params


class Kinks(NamedTuple):
    """Of a piecewise smooth model: for each kink whether its pre-activation is above it, and how
    many pre-activations lie on theirs; `alike` names for each kink the first one that is the same
    function of the parameters, as those of equal samples are. `heights` are as of a Held."""

    above: np.ndarray
    zeros: int
    alike: np.ndarray
    heights: np.ndarray


class Held(ABC):
    """A piecewise smooth model in which every unit is kept on a side of its kink, whatever its
    pre-activation is: the smooth function that continues one piece beyond its borders.

    At a kink the output of a unit is the positive part of its height, the pre-activation less the
    kink; it is held at zero where the unit is told to be off.
    """

    # One for each kink.
    heights: np.ndarray
    # Of the loss.
    gradient: Params
    # |r|, and its rounding.
    residual: float
    rounding: float
    # About how fast the outputs move with the parameters, and with the outputs of the units: at
    # least with those of the read-out. Where the gradient rests, it does not tell them.
    speed: float
    gain: float

    @abstractmethod
    def row(self, kink: int) -> Params:
        """The gradient of a height."""

    @abstractmethod
    def pulls(self, kinks: Sequence[int]) -> np.ndarray:
        """d loss/d output of units that are off."""

    @abstractmethod
    def couplings(self, kinks: Sequence[int]) -> np.ndarray:
        """d height/d output of units that are off: one row for each height."""


class State(ABC):
    """A model at given parameters; whatever is asked for is computed then, and once."""

    theta: Params

    @property
    @abstractmethod
    def objective(self) -> Objective:
        """The loss above its infimum, and the gradient."""

    @property
    def plain(self) -> Plain:
        """Both alone, for models that have them sooner so."""
        here = self.objective
        return Plain(here.gap, here.gradient)

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What can be measured. Every model has `loss`, `gradient` (the norm of all of it) and
        `gradient.<name>` for each of its parameters."""

    @abstractmethod
    def measure(self, name: str) -> Measured:
        """One of `names`, with its error bar. Raises KeyError for any other."""

    @property
    def loss_alone(self) -> float:
        """measure("loss").value, for models that have it sooner without its radius."""
        return float(self.measure("loss").value)

    @property
    def predictions(self) -> np.ndarray:
        """In the shape of the targets. Of models that name what they predict."""
        raise NotImplementedError

    def gradient_of(self, weights: np.ndarray) -> tuple[Params, float]:
        """The gradient of sum_i weights_i l_i, with a weight for each sample, and its Frobenius
        radius: what a batch needs. Of models that tell their number of `samples`."""
        raise NotImplementedError

    def exact_descent(self) -> tuple[Again, Mapping[str, Again]] | None:
        """The loss above its infimum and the parts of its gradient, as nodes whose words tell what
        they are made of. Of models that can tell."""
        return None

    @property
    def kinks(self) -> Kinks | None:
        """None for a smooth model."""
        return None

    def held(self, above: np.ndarray) -> Held:
        """The model with every unit on the given side of its kink. Raises NoEquilibrium where it
        is not well-posed."""
        raise NotImplementedError(f"{type(self).__name__} is smooth")

    def with_slopes(self, slopes: np.ndarray) -> State:
        """The same with these slopes in [0, 1] at the kinks, nan where the side of the kink says
        it: all that is made of derivatives changes, not the loss."""
        raise NotImplementedError(f"{type(self).__name__} is smooth")

    @property
    def features(self) -> Mapping[str, tuple[np.ndarray, float]]:
        """Arrays beside the parameters, with their Frobenius radii, whose distances from the start
        are recorded along a run."""
        return {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a report should say of these parameters."""
        return ()


S = TypeVar("S", bound=State)


class BuiltModel(ABC, Generic[S]):
    """A model with its data and loss, as the `build` of its kind makes it."""

    kind: str
    loss_kind: str
    # Whether it may be trained; else it is checked as it is.
    trains: ClassVar[bool] = True

    @property
    def facts(self) -> Mapping[str, int]:
        """What its fields say in numbers, by the names that statements use."""
        return {}

    @property
    def samples(self) -> int:
        """How many samples the loss is a sum over; 0 where its states have no `gradient_of`."""
        return 0

    @property
    def passes(self) -> int:
        """How often a gradient goes through the weights: once, but for iterations and layers."""
        return 1

    @property
    @abstractmethod
    def infimum(self) -> Measured:
        """Of the loss, as the theorems compare with it (0 where they compare with none)."""

    @abstractmethod
    def at(self, theta: Params, memory: Memory | None = None) -> S:
        """The model at these parameters. A run passes its memory of earlier states, which may say
        where to start, never what to answer."""

    def of_rank(self, relative: float) -> BuiltModel[S]:
        """The same where singular values below this share of the largest count as zero, of the data
        array that its kind names as `ranked`."""
        raise NotImplementedError

    def objective(self, theta: Params) -> Objective:
        """at(theta).objective, for models that have a shorter way."""
        return self.at(theta).objective

    def gradient(self, theta: Params, memory: Memory | None = None) -> Params:
        """at(theta, memory).plain.gradient, for models that have it sooner alone."""
        return self.at(theta, memory).plain.gradient

    @property
    def states_at_once(self) -> int:
        """How many states `quantities` are worth being measured together."""
        return 1

    def quantities(self, states: Sequence[S], names: Sequence[str]) -> list[dict[str, Measured]]:
        """Of each state."""
        return [quantities(state, names) for state in states]

    @abstractmethod
    def explicit_gradient(self, theta: Params) -> Params:
        """The gradient in dense Kronecker form, slow and obviously right."""

    def precise_gradient(self, theta: Params, digits: Numbers) -> Params:
        """The gradient in many digits, from the formulas again: what a refutation is repeated by.
        Raises Uncertain, and NotImplementedError where a model has none."""
        raise NotImplementedError

    def stacked(self, others: Sequence[Any], shapes: Mapping[str, tuple[int, ...]]) -> Stack | None:
        """These models, which are of one kind and whose parameters have these shapes, side by
        side; None where that is not worth it, or where there is no such thing."""
        return None

    def many(self, shapes: Mapping[str, tuple[int, ...]]) -> Many | None:
        """The model at many parameters of these shapes at once; None where that is not worth it, or
        where there is no such thing."""
        return None

    def check(self, theta: Params) -> Iterable[tuple[str, str]]:
        """What is wrong with the parameters to start from: keys of the case, and sentences."""
        return ()


M = TypeVar("M", bound=BuiltModel[Any])


class NoEquilibrium(Exception):
    """The equilibrium equation could not be solved to a certified accuracy."""

    status: ClassVar[Status] = Status.NO_EQUILIBRIUM


class NotCertified(NoEquilibrium):
    """Equilibria may exist, but none is known to be the only one; the text tells what is known."""

    status = Status.NOT_CERTIFIED


@dataclass(frozen=True, repr=False, eq=False)
class Problem(Generic[M, S]):
    """A model with its data, where it starts and how it is trained, if at all."""

    model: M
    theta0: Params
    train: Any = None
    seed: int = 0
    record_points: int = 200
    # Whether a run keeps its parameters at recorded points, as far as they need little memory.
    record_states: bool = False
    # The arrays of its data, and those beside the parameters that are not trained.
    data: Params = field(default_factory=dict)
    # The laws of the initial parameters that were drawn; what was given has none.
    laws: Mapping[str, Law] = field(default_factory=dict)
    # Another model on the same data, trained for comparison only.
    companion: AnyProblem | None = None
    # The user's own predictions at the initial parameters.
    yhat: np.ndarray | None = None
    # What there is to say about the arrays that the user brought.
    told: tuple[str, ...] = ()
    # Where it comes from, for reports.
    origin: Origin | None = None

    def trained_by(self, train: Any) -> Problem[M, S]:
        """The same problem with other dynamics. Raises Refusal where they cannot train it."""
        if train is self.train:
            return self
        with below("train"):
            if not self.model.trains:
                raise Refusal("kind", f"{self.model.kind!r} is checked as it is, and not trained")
            refuse(train.faults(self))
        origin = None if self.origin is None else self.origin.with_train(train)
        return replace(self, train=train, origin=origin)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n} {'x'.join(map(str, s))}" for n, s in self.shapes.items())
        return f"<Problem {self.model.kind}, {self.dynamics}: {sizes}>"

    @cached_property
    def start(self) -> S:
        """The model at its initial parameters."""
        return cast("S", self.model.at(self.theta0))

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the parameters: the width of a model may be known from them alone."""
        return {name: a.shape for name, a in self.theta0.items()}

    @property
    def loss(self) -> str:
        return str(self.model.loss_kind)

    @property
    def dynamics(self) -> str:
        """flow, gd or static."""
        return dynamics(self.train)

    @property
    def step(self) -> float:
        """Step size of the dynamics; a flow is the limit 0."""
        return float(getattr(self.train, "step", 0.0))


AnyProblem: TypeAlias = Problem[Any, Any]


def gradient_radius(state: State) -> float:
    radius = state.objective.radius
    return float(state.measure("gradient").error) if radius is None else radius()


def pack(theta: Params) -> np.ndarray:
    return np.concatenate([a.ravel() for a in theta.values()])


def unpack(x: np.ndarray, shapes: Mapping[str, tuple[int, ...]]) -> Params:
    theta, at = {}, 0
    for name, shape in shapes.items():
        size = math.prod(shape)
        theta[name] = x[at : at + size].reshape(shape)
        at += size
    return theta


def norm(x: np.ndarray) -> float:
    return math.sqrt(np.vdot(x, x))


def gradient_norm(gradient: Params) -> float:
    return math.sqrt(sum(np.vdot(g, g) for g in gradient.values()))


def quantities(state: State, names: Iterable[str] | None = None) -> dict[str, Measured]:
    return {name: state.measure(name) for name in (names or state.names)}
