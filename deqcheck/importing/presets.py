"""Where the arrays of a model are in the checkpoints of known code, by their own names.

`U.weight` also finds `net.deq.U.weight`; of several places the first that is there counts. `W.T` is
the transpose. Layers of PyTorch hold their weights as outputs x inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from deqcheck.fields import Refusal, Stored, show, unknown
from deqcheck.frozen import dataclass

_OUT = ("out", "readout", "read_out", "head", "fc", "Wout", "classifier", "decoder", "linear")


@dataclass(frozen=True)
class Preset:
    arrays: Mapping[str, tuple[str, ...]]
    # Fields of the model that the file holds.
    scalars: Mapping[str, Stored] = field(default_factory=dict)
    # Fields of the model that it does not hold, and what is known of them.
    absent: Mapping[str, str] = field(default_factory=dict)


def _outputs(name: str, ending: str) -> tuple[str, ...]:
    return tuple(f"{layer}.{ending}" for layer in (name, *_OUT))


def _linear(read_out: str, *layers: str) -> Preset:
    """One nn.Linear for each array, named as the array; the bias of the input may be in either of
    the two that make the pre-activation."""
    arrays = {layer: (f"{layer}.weight",) for layer in layers}
    biases = {"b": ("W.bias + U.bias", "U.bias", "W.bias")}
    ends = {read_out: _outputs(read_out, "weight"), "c0": _outputs(read_out, "bias")}
    return Preset({**arrays, **biases, **ends})


# Z A and X W: inputs x outputs.
_ROWS = Preset(
    {
        "W": ("W.weight.T",),
        "A": ("A.weight.T",),
        "bias": ("W.bias",),
        "b": _outputs("b", "weight"),
        "c0": _outputs("b", "bias"),
    }
)

# A trained network of any number of outputs: z = s(W z + U x + b), y = C z + D x + c0.
_TRAINED = "equilibrium"
_ONE_OF_TWO = "its defaults are 1.0 for a layer and 0.1 for a network"


def _trained(**places: str | tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {name: (at,) if isinstance(at, str) else at for name, at in places.items()}


# By preset, then by model.
PRESETS: dict[str, dict[str, Preset]] = {
    "torch-linear": {
        "relu-deq": _linear("a", "W", "U"),
        "monotone-deq": _linear("u", "A", "B", "U"),
        "implicit-relu": _ROWS,
        _TRAINED: _linear("C", "W", "U"),
    },
    # github.com/locuslab/monotone_op_net, fully connected.
    "monotone_op_net": {
        "monotone-deq": Preset(
            {
                "A": ("linear_module.A.weight",),
                "B": ("linear_module.B.weight",),
                "U": ("linear_module.U.weight",),
                "b": ("linear_module.U.bias",),
                "u": ("Wout.weight",),
                "c0": ("Wout.bias",),
            },
            absent={"m": _ONE_OF_TWO},
        ),
        _TRAINED: Preset(
            _trained(
                A="linear_module.A.weight",
                B="linear_module.B.weight",
                U="linear_module.U.weight",
                b="linear_module.U.bias",
                C="Wout.weight",
                c0="Wout.bias",
            ),
            absent={"m": _ONE_OF_TWO},
        ),
    },
    # Non-Euclidean monotone network: W = m I + e^-d A e^d - diag(|A| 1).
    "nemon": {
        _TRAINED: Preset(
            _trained(
                A="linear_module.A.weight",
                d="linear_module.d",
                U="linear_module.U.weight",
                b="linear_module.U.bias",
                C="Wout.weight",
                c0="Wout.bias",
            ),
            absent={"m": "its defaults are 0.05 for a layer and 0.1 for a network"},
        )
    },
    # Implicit deep learning: z = s(A z + B x), y = C z + D x. With biases the last input is 1.
    "implicitdl": {_TRAINED: Preset(_trained(W="A", U="B", C="C", D="D"))},
    # Monotone DEQ with a trained m, W = (1 - m) I - A^T A + S - S^T.
    "mondeq-quant": {
        "monotone-deq": Preset(
            {
                "A": ("core.A",),
                "B": ("core.S",),
                "U": ("core.U",),
                "b": ("core.b",),
                "u": ("classifier.weight",),
                "c0": ("classifier.bias",),
            },
            scalars={"m": Stored("core.m_raw", "softplus", plus=1e-4)},
        ),
        _TRAINED: Preset(
            _trained(
                A="core.A",
                B="core.S",
                U="core.U",
                b="core.b",
                C="classifier.weight",
                c0="classifier.bias",
            ),
            scalars={"m": Stored("core.m_raw", "softplus", plus=1e-4)},
        ),
    },
}


def preset(name: str, model: str) -> Preset:
    """Raises Refusal."""
    if name not in PRESETS:
        raise Refusal("map", unknown("no layout is called", name, tuple(PRESETS)))
    if model not in PRESETS[name]:
        owners = " and ".join(PRESETS[name])
        raise Refusal("map", f"{name} is a layout of {owners}, the case's model is {show(model)}")
    return PRESETS[name][model]
