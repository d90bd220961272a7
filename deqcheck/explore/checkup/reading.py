"""From a file with weights to a network: what is called what in it, and what it does not hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deqcheck.case.shapes import Sizes
from deqcheck.fields import File, FilePath, Refusal, collect, one_of, read_record, refuse, unknown
from deqcheck.importing.array import Given
from deqcheck.importing.naming import LISTED, Tensors, has
from deqcheck.importing.presets import PRESETS
from deqcheck.importing.source import Source, whole_or_table
from deqcheck.importing.specs import Names
from deqcheck.judging.errors import refusals
from deqcheck.models.equilibrium.model import TrainedEquilibrium
from deqcheck.models.equilibrium.parametrised import DIRECT, MONOTONE, NEMON, PARTS, PROJECTED
from deqcheck.models.problem import Params, Problem

KIND = TrainedEquilibrium.kind
# How each layout has W; the more special ones first.
LAYOUTS = {
    "mondeq-quant": MONOTONE,
    "nemon": NEMON,
    "monotone_op_net": MONOTONE,
    "torch-linear": DIRECT,
    "implicitdl": PROJECTED,
}
FROM_FILE = ("W", "A", "B", "d", "U", "C", "b", "c0", "D")
DATA = ("X", "Y", "y", "z")


@dataclass
class Asked:
    """A file, what is called what in it, and what it does not hold."""

    path: str
    map: tuple[str, ...] = ()
    m: float | None = None
    activation: str = "relu"
    slope: float | None = None
    weights: str = ""
    data: Any = None
    has_point: bool = field(default=False, init=False)
    has_targets: bool = field(default=False, init=False)


def problem(asked: Asked) -> tuple[Any, tuple[str, ...]]:
    """The network on its data, if there are any, and notes. Raises UsageError."""
    with _blamed():
        file = File().read(str(asked.path), Path())
        held = whole_or_table(file)
        names = _names(asked, held, file)
        source = Source({"": file}, names)
        model = _model(asked, source, names)
        given, notes = _given(source, model, file)
        sizes = Sizes()
        shapes = {**model.parameters, **model.optional}
        theta = sizes.fit(given, {name: shapes[name] for name in given})
        data, beside = _data(asked, sizes, model)
        beside |= {name: theta.pop(name) for name in model.optional if name in theta}
        data, theta = model.absorbed(data, theta)
        built = model.build({**data, **_completed(beside, sizes, model)}, None)
    return Problem(model=built, theta0=theta), (*_of_layout(asked, names), *notes)


@contextmanager
def _blamed() -> Iterator[None]:
    """With options in place of the keys of a case."""
    try:
        yield
    except Refusal as refusal:
        with refusals():
            refuse(_placed(key, sentence) for key, sentence in refusal.problems)


def _placed(key: str, sentence: str) -> tuple[str, str]:
    option = {"model.m": "--m", "m": "--m", "activation": "--activation", "slope": "--slope"}
    return option.get(key, "--map" if key.startswith("map") else ""), sentence


def _names(asked: Asked, held: Tensors, file: FilePath) -> Names:
    """By the layout and the names that were given, or by the layout that the file has."""
    said: dict[str, Any] = {}
    layout = None
    for word in asked.map:
        name, equals, tensor = word.partition("=")
        if not equals:
            if word not in LAYOUTS:
                raise Refusal("map", unknown("no layout is called", word, tuple(LAYOUTS)))
            layout = word
        elif name not in FROM_FILE or not tensor:
            raise Refusal("map", f"{word}: expected NAME=TENSOR with {one_of(FROM_FILE)}")
        else:
            said[name] = tensor
    if layout is None and not said and not _own(held):
        layout = _recognised(held, file)
    if not asked.weights:
        asked.weights = LAYOUTS[layout] if layout else _way({*said, *held})
    return Names(layout, said)


def _own(held: Tensors) -> bool:
    """Whether the arrays have their own names."""
    return all(any(name in held for name in names) for names in (("W", "A"), ("U",), ("C",)))


def _way(names: set[str]) -> str:
    if "W" in names or "A" not in names:
        return DIRECT
    return NEMON if "d" in names and "B" not in names else MONOTONE


def _recognised(held: Tensors, file: FilePath) -> str:
    shares = {name: _share(name, held) for name in LAYOUTS}
    whole = [name for name, (share, _) in shares.items() if share == 1]
    if whole:
        return whole[0]
    nearest = max(shares, key=lambda name: shares[name][0])
    listed = [f"{name or 'one array'} ({tensor})" for name, tensor in held.items()]
    more = f" and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
    there = f"{', '.join(listed[:LISTED])}{more}"
    lacking = ", ".join(shares[nearest][1])
    raise Refusal(
        "map",
        f"{file.name} has no layout that is known here: it holds {there}; the nearest layout is "
        f"{nearest}, which needs {lacking} as well: name the tensors, as --map W=... --map U=... "
        "--map C=...",
    )


def _share(layout: str, held: Tensors) -> tuple[float, list[str]]:
    """How much of what the layout needs is there, and what is not."""
    places = PRESETS[layout][KIND].arrays
    needed = (*PARTS[LAYOUTS[layout]], "U", "C")
    lacking = [places[name][0] for name in needed if not any(has(p, held) for p in places[name])]
    return 1 - len(lacking) / len(needed), lacking


def _model(asked: Asked, source: Source, names: Names) -> TrainedEquilibrium:
    fields: dict[str, Any] = {"activation": asked.activation, "weights": asked.weights}
    if asked.slope is not None:
        fields["slope"] = asked.slope
    if asked.m is not None:
        fields["m"] = asked.m
    elif asked.weights in (MONOTONE, NEMON):
        layout = PRESETS[names.preset][KIND] if names.preset else None
        if layout is not None and "m" in layout.scalars:
            stored = layout.scalars["m"]
            fields["m"] = float(stored.of(source.scalar(stored)).reshape(()))
        else:
            why = f" ({layout.absent['m']})" if layout is not None else ""
            raise Refusal("m", f"missing: the file does not store m; expected a number > 0{why}")
    found: TrainedEquilibrium = read_record(TrainedEquilibrium, fields, Path(), "model")
    return found


def _given(
    source: Source, model: TrainedEquilibrium, file: FilePath
) -> tuple[dict[str, Given], list[str]]:
    known = {**model.parameters, **{n: model.optional[n] for n in ("b", "c0", "D")}}
    made = source.arrays(model.parameters, known, KIND, complete=True)
    notes = [note for each in made.values() for note in each.notes]
    layout = None if source.names.preset is None else PRESETS[source.names.preset][KIND]
    scalars = () if layout is None else [stored.name for stored in layout.scalars.values()]
    left = source.unused(made, scalars)
    if left:
        listed = ", ".join(left[:LISTED]) + (", ..." if len(left) > LISTED else "")
        notes.append(f"of {file.name} is not used: {listed}")
    given = {n: Given(each.array, "", f"{file.name}: {n}") for n, each in made.items()}
    return given, notes


def _of_layout(asked: Asked, names: Names) -> tuple[str, ...]:
    found = [] if names.preset is None or asked.map else [f"read as {names.preset}"]
    if asked.weights == PROJECTED:
        found.append("rows of W are projected onto the 1-norm ball of radius 0.95, as in training")
    return (*found, f"activation {asked.activation}: files do not store it (--activation)")


def _data(
    asked: Asked, sizes: Sizes, model: TrainedEquilibrium
) -> tuple[Params, dict[str, np.ndarray]]:
    """X and Y, without samples where there are none, and the point z."""
    d, n, q = (sizes.shape((letter,))[0] for letter in ("d", "n", "q"))
    assert isinstance(d, int) and isinstance(n, int) and isinstance(q, int)
    if asked.data is None:
        return {"X": np.zeros((d, 0)), "Y": np.zeros((q, 0))}, {}
    arrays = _arrays(asked.data)
    if "X" not in arrays:
        raise Refusal("", f"--data holds {', '.join(arrays)}; expected X, the inputs")
    X = _columns("X", arrays["X"], d)
    sizes.bind("N", X.shape[1], f"X has {X.shape[1]} samples")
    Y = np.zeros((q, X.shape[1]))
    if "Y" in arrays:
        Y = _columns("Y", arrays["Y"], q)
    elif "y" in arrays:
        Y = _coded(arrays["y"], q)
    asked.has_targets, asked.has_point = bool({"Y", "y"} & set(arrays)), "z" in arrays
    beside = {"z": _columns("z", arrays["z"], n)} if asked.has_point else {}
    problems: list[tuple[str, str]] = []
    for name, a in {"X": X, "Y": Y, **beside}.items():
        with collect(problems):
            sizes.fit({name: Given(a, "", f"--data: {name}")}, {name: _letters(name)})
    refuse(problems)
    return {"X": X, "Y": Y}, beside


def _letters(name: str) -> tuple[str, str]:
    return {"X": ("d", "N"), "Y": ("q", "N"), "z": ("n", "N")}[name]


def _arrays(data: Any) -> dict[str, np.ndarray]:
    """From an .npz, .npy or other file, or a mapping."""
    if isinstance(data, Mapping):
        return {name: np.asarray(a, dtype=float) for name, a in data.items()}
    file = File().read(str(data), Path())
    held = whole_or_table(file)
    if set(held) == {""}:
        return {"X": held[""].doubles("X")}
    foreign = [name for name in held if name not in DATA]
    if len(foreign) == len(held):
        raise Refusal("", f"{file.name} holds {', '.join(foreign[:LISTED])}; expected X")
    return {name: held[name].doubles(name) for name in held if name in DATA}


def _columns(name: str, a: np.ndarray, rows: int) -> np.ndarray:
    """A sample in each column; rows that have the right length are turned."""
    if a.ndim > 2:
        a = a.reshape(len(a), -1)
    if a.ndim == 1:
        a = a[:, None] if len(a) == rows else a[None, :]
    return a.T if a.shape[0] != rows and a.shape[1] == rows else a


def _coded(labels: np.ndarray, q: int) -> np.ndarray:
    """Classes as targets of 1 and 0."""
    y = labels.reshape(-1)
    if q == 1:
        return y[None, :]
    if not (np.isin(y, np.arange(q))).all():
        raise Refusal("", f"--data: y holds other numbers than the classes 0 to {q - 1}")
    found: np.ndarray = (np.arange(q)[:, None] == y) * 1.0
    return found


def _completed(
    beside: dict[str, np.ndarray], sizes: Sizes, model: TrainedEquilibrium
) -> dict[str, np.ndarray]:
    found = dict(beside)
    sizes.bind("N", 0, "there are no samples")
    for name, letters in model.optional.items():
        shape = [size if isinstance(size, int) else 0 for size in sizes.shape(letters)]
        found.setdefault(name, np.zeros(shape))
    return found
