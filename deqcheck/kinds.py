"""What a case may name by a word: the contracts of models, losses, data, initialisations, dynamics.

A kind is a frozen dataclass whose fields are declared with `deqcheck.fields`, a subclass of one of
the classes below with a word of its own as `kind`. It is found by its class: in the package of its
family, or in a file of the user's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import numpy as np

    from deqcheck.fields import Stored
    from deqcheck.given import Given
    from deqcheck.records.law import Law
    from deqcheck.records.report import Report
    from deqcheck.report.parts.render_options import RenderOptions

# The axes of an array by letters: the same letter is the same size everywhere.
Shapes = Mapping[str, tuple[str, ...]]


SQUARES = (
    "half-square (half the sum of squares) and square (the sum) are here; the mean of PyTorch is "
    "such a sum over the number of samples"
)
ENTROPY = (
    "logistic, the cross-entropy of two classes, is here for delm; no theorem here covers it for "
    "the ReLU models, which have half-square (`deqcheck docs models`)"
)
ADAPTIVE = (
    "no theorem here covers it: gd, sgd (with momentum) and flow are here, and {kind: recorded} "
    "for a run that was made elsewhere (`deqcheck docs models`)"
)


class Kind(ABC):
    """One word of a case, with its fields."""

    kind: ClassVar[str]
    # What sentences call the family, and where those of deqcheck itself are.
    family: ClassVar[str]
    package: ClassVar[str]
    # Words that people use for what is called otherwise here, or is not here: what to say.
    elsewhere: ClassVar[Mapping[str, str]] = {}


class Model(Kind):
    """A model as a case states it; `build` puts it on its data."""

    family, package = "model", "deqcheck.models"
    data_arrays: ClassVar[Shapes]
    # Shapes; a property where fields decide them.
    parameters: ClassVar[Any]
    # Arrays that an initialisation may bring, which are not trained; zero where it does not.
    optional: ClassVar[Shapes] = {}
    # Arrays that an initialisation may bring, which `absorbed` makes part of the others.
    biases: ClassVar[Shapes] = {}
    # Fields that a file of parameters may hold in place of the case, but one of them must.
    required: ClassVar[tuple[str, ...]] = ()
    # The data array that its predictions are compared with, and may be given beside, as `yhat`.
    predicted: ClassVar[str] = ""
    # The data array whose rank statements ask for, if any: a case may ask for a numerical one.
    ranked: ClassVar[str] = ""
    # The largest arrays that an evaluation makes; a property where fields decide them.
    makes: ClassVar[Any] = {}
    # What it needs of a loss, and the one that is taken where the case names none.
    loss: ClassVar[type[Loss]]
    default_loss: ClassVar[str]
    # The fields of a small case in YAML, for `deqcheck new`.
    example: ClassVar[str] = ""

    def sizes(self) -> dict[str, int]:
        """The sizes that its fields decide, by letter."""
        return {}

    def side_by_side(self, samples: int) -> int:
        """How many descents like one on so many samples are worth being advanced together."""
        return 1

    def brought(self, arrays: dict[str, Given]) -> dict[str, Given]:
        """What the user brings, in the shapes of the theory where it has others. Raises Refusal."""
        return arrays

    def absorbed(
        self, data: dict[str, np.ndarray], theta: dict[str, np.ndarray]
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Without the biases, which are now in the other arrays."""
        return data, theta

    @abstractmethod
    def from_samples(self, inputs: np.ndarray, targets: np.ndarray) -> dict[str, np.ndarray]:
        """Its data arrays, from inputs (dim x n) and targets (outputs x n). Raises ValueError."""

    @abstractmethod
    def build(self, arrays: dict[str, np.ndarray], loss: Any) -> Any:
        """The model on these arrays. Raises Refusal or ValueError."""


class Loss(Kind):
    """What is minimised. A model says which contract it needs of a loss."""

    family, package = "loss", "deqcheck.losses"
    elsewhere = {
        **dict.fromkeys(("mse", "mse-loss", "l2", "squared", "least-squares"), SQUARES),
        **dict.fromkeys(("cross-entropy", "crossentropy", "ce", "softmax", "nll"), ENTROPY),
        **dict.fromkeys(("bce", "binary-cross-entropy"), ENTROPY),
    }


class OuterLoss(Loss):
    """A loss of the outputs of a linear map: `on` gives L0(W) = sum_i l(W phi_i, y_i)."""

    # Whether statements about it ask for the rank of Phi, and what `on` gives has `of_rank`.
    ranked: ClassVar[bool] = False

    @abstractmethod
    def on(self, Phi: np.ndarray, Y: np.ndarray) -> Any:
        """With the members of `deqcheck.losses.outer.Outer`."""


class Data(Kind):
    """What a model is trained on."""

    family, package = "data", "deqcheck.data"

    @abstractmethod
    def arrays(self, model: Model, seed: int) -> dict[str, Given]:
        """The data arrays of the model. Raises Refusal."""


class Target(Kind):
    """What drawn data are to be fitted by."""

    family, package = "target", "deqcheck.targets"

    @abstractmethod
    def targets(self, inputs: np.ndarray, seed: int) -> np.ndarray:
        """outputs x n, for inputs dim x n."""


class Init(Kind):
    """Where the parameters start."""

    family, package = "init", "deqcheck.inits"

    def given(self, wanted: Iterable[str], known: Shapes) -> dict[str, Given]:
        """The parameters that the user brings, with their own sizes. Raises Refusal."""
        return {}

    def within(self, model: Model, data: Data | None, only: str = "") -> Init:
        """The same, once the rest of the case is known; `only` for one parameter."""
        return self

    def scalar(self, name: str, stored: Stored | None) -> tuple[np.ndarray, Stored] | None:
        """A field of the model that its file holds, where a case says so or a known layout has it;
        None where there is none. Raises Refusal."""
        return None

    def draw(self, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
        """One of the others; whatever is random comes from the stream `init.<name>`."""
        raise NotImplementedError

    def law(self, name: str, shape: tuple[int, ...]) -> Law | None:
        """What the entries of a parameter that is drawn are distributed by, if it is known."""
        return None

    def settled(
        self, model: Model, data: Mapping[str, np.ndarray], theta: dict[str, np.ndarray]
    ) -> tuple[Model, dict[str, np.ndarray]]:
        """The model and the parameters, where either depends on the data. Raises Refusal."""
        return model, theta


class Dynamics(Kind):
    """How a model is trained."""

    family, package = "dynamics", "deqcheck.dynamics"
    elsewhere = dict.fromkeys(("adam", "adamw", "rmsprop", "adagrad", "lbfgs"), ADAPTIVE)
    # The dynamics whose statements are judged unless a case names others; its own kind without.
    judged_as: ClassVar[str] = ""

    def faults(self, problem: Any) -> Iterable[tuple[str, str]]:
        """Why it cannot train this problem: its fields, and sentences."""
        return ()

    def departures(self, problem: Any) -> Mapping[str, float]:
        """The numbers in which it may depart from gradient descent and flow, by the names that
        DEPARTURES of `deqcheck.theorems.base` has for them; `described: 0` says that it is neither.
        """
        return {} if self.kind in ("gd", "flow") else {"described": 0.0}

    def rest(self, k: int, t: float) -> Dynamics | None:
        """The same from the step k or the time t on; None where nothing is left of it, or where it
        is no matter of the parameters alone."""
        return None

    @abstractmethod
    def run(
        self,
        problem: Any,
        tracks: Sequence[str],
        infima: Sequence[str],
        report: Callable[[Any], None],
    ) -> Any:
        """The trajectory, with the quantities named by `tracks` recorded. Raises Refusal."""


class Activation(Kind):
    """The activation of an OptEq layer; `deqcheck.models.opteq.activations` has its members."""

    family, package = "activation", "deqcheck.models.opteq.activations"


class Regularizer(Kind):
    """A regulariser of an OptEq network."""

    family, package = "regularizer", "deqcheck.models.opteq.regularizers"


class Format(Kind):
    """A way to write reports, beside those of `deqcheck.report`."""

    family, package = "format", "deqcheck.report"

    @abstractmethod
    def render(self, reports: Sequence[Report], options: RenderOptions) -> str:
        """The whole text; `options` tells width, colour and the like."""


FAMILIES: tuple[type[Kind], ...] = (
    Model,
    Loss,
    Data,
    Target,
    Init,
    Dynamics,
    Activation,
    Regularizer,
    Format,
)
