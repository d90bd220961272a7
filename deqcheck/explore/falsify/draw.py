"""Drawing instances that matter: structured numbers first, since theorems fail at the edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from deqcheck.explore.falsify.instance import Instance, Pace
from deqcheck.fields import Part, Refusal, Section, Spec, specs
from deqcheck.fields.spec import REQUIRED, Choice, Flag, Integer, Number
from deqcheck.kinds import Loss, Model
from deqcheck.linalg.remembered import spectral_norm
from deqcheck.records.arithmetic import FAILURES
from deqcheck.records.lazy import cached_property
from deqcheck.registry import kinds
from deqcheck.theorems.base import ANY, DESCENT, FLOW, STATIC, AnyStatement, Constant

# Sizes grow while the search goes on: most counterexamples are tiny.
STAGES = ((1, 1), (1, 2), (1, 3), (1, 4))
# Of fields that a case may leave out: how often they are set all the same.
SELDOM = 0.3
# How often the free constants are left to the statement.
OWN, OWN_SOUGHT = 0.5, 0.05
# How often about half of the parameters are zero.
EMPTY = 0.2
# Integer fields, such as layers and iterations, and how many variants of a model are drawn at all.
MOST, VARIANTS = 4, 40
# A field that does not go with the others is left out or put in, so often.
REPAIRS = 8

Shape = tuple[int, ...]
Random = np.random.Generator


def _gaussian(r: Random, shape: Shape) -> np.ndarray:
    return r.standard_normal(shape)


def _integers(r: Random, shape: Shape) -> np.ndarray:
    return r.integers(-2, 3, size=shape).astype(float)


def _halves(r: Random, shape: Shape) -> np.ndarray:
    return r.integers(-4, 5, size=shape) / 2


def _sparse(r: Random, shape: Shape) -> np.ndarray:
    return np.asarray(r.standard_normal(shape) * (r.random(shape) < 0.5))


def _nonnegative(r: Random, shape: Shape) -> np.ndarray:
    return np.abs(r.standard_normal(shape))


def _rank_one(r: Random, shape: Shape) -> np.ndarray:
    if len(shape) < 2:
        return r.standard_normal(shape)
    return np.outer(r.standard_normal(shape[0]), r.standard_normal(shape[1]))


def _orthogonal(r: Random, shape: Shape) -> np.ndarray:
    if len(shape) < 2:
        a = r.standard_normal(shape)
        return np.asarray(a / np.linalg.norm(a))
    q = np.linalg.qr(r.standard_normal((max(shape), min(shape))))[0]
    return np.asarray(q if shape[0] >= shape[1] else q.T)


def _identity(r: Random, shape: Shape) -> np.ndarray:
    return np.eye(*shape) if len(shape) == 2 else np.ones(shape)


def _ones(r: Random, shape: Shape) -> np.ndarray:
    return np.ones(shape)


def _zeros(r: Random, shape: Shape) -> np.ndarray:
    return np.zeros(shape)


# As often as they are listed.
PLAIN: tuple[Callable[[Random, Shape], np.ndarray], ...] = (
    *(8 * (_gaussian,)),
    *(4 * (_integers,)),
    *(2 * (_halves, _sparse, _nonnegative)),
    _rank_one,
    _orthogonal,
    _identity,
    _ones,
    _zeros,
)
SCALES = (1.0, 1.0, 1.0, 1.0, 0.5, 2.0, 0.1, 10.0, 0.01, 100.0)


def array(r: Random, shape: Shape) -> np.ndarray:
    kind, scale = r.integers(len(PLAIN)), r.integers(len(SCALES))
    return np.asarray(SCALES[scale] * PLAIN[kind](r, shape))


def one_of(r: Random, options: Sequence[Any]) -> Any:
    return options[int(r.integers(len(options)))]


def value_of(r: Random, spec: Spec) -> Any:
    """A value that the spec admits, at its ends more often than between them."""
    if isinstance(spec, Number):
        return number(r, spec)
    if isinstance(spec, Integer):
        low = int(spec.at_least or 1)
        return int(r.integers(low, min(int(spec.at_most or MOST), low + MOST - 1) + 1))
    if isinstance(spec, Choice):
        return one_of(r, spec.options)
    if isinstance(spec, Flag):
        return bool(r.random() < 0.5)
    if isinstance(spec, Part):
        kind = one_of(r, sorted(kinds(spec.family)))
        return {"kind": kind, **_fields(r, kinds(spec.family)[kind])}
    if isinstance(spec, Section):
        return _fields(r, spec.record)
    return None if spec.default is REQUIRED else spec.default


def number(r: Random, spec: Number) -> float:
    low = spec.above if spec.above is not None else spec.at_least
    high = spec.below if spec.below is not None else spec.at_most
    if low is not None and high is not None:
        ends = [x for x in (spec.at_least, spec.at_most) if x is not None]
        if ends and r.random() < 0.2:
            return float(one_of(r, ends))
        near = 10.0 ** r.uniform(-5, -2)
        share = one_of(r, (0.5, 0.1, 0.9, 0.25, 0.01, 0.99, near, 1 - near, r.random()))
        return float(low + share * (high - low))
    size = float(one_of(r, (1.0, 0.5, 2.0, 0.1, 10.0, 10.0 ** r.uniform(-3, 2))))
    if high is not None:
        return high - size
    return float((low or 0.0) + size) if low is not None or r.random() < 0.5 else -size


def _fields(r: Random, cls: type) -> dict[str, Any]:
    """Those that must be given, and now and then the others. A whole number that a case may leave
    out is a size, which the arrays tell."""
    found = {}
    for name, spec in specs(cls).items():
        counts = isinstance(spec, Integer) and spec.default is None
        if spec.default is REQUIRED or (not counts and r.random() < SELDOM):
            value = value_of(r, spec)
            if value is not None:
                found[name] = value
    return found


@dataclass(frozen=True)
class Drawing:
    """Instances of a statement."""

    statement: AnyStatement
    sizes: tuple[int, int] | None = None
    # Models that were drawn: most instances share theirs with others.
    _models: list[Instance] = field(default_factory=list)

    @property
    def models(self) -> Sequence[str]:
        s = self.statement
        return sorted(kinds(Model)) if s.models is ANY else s.models

    def draw(self, r: Random, stage: int) -> Instance:
        """Raises Refusal."""
        blank = self._blank(r)
        sizes = self._sizes(r, blank, stage)

        def arrays(names: Mapping[str, tuple[str, ...]]) -> dict[str, np.ndarray]:
            return {n: array(r, tuple(sizes[x] for x in axes)) for n, axes in names.items()}

        model = blank.spoken
        data, init = arrays(model.data_arrays), arrays(model.parameters)
        if r.random() < EMPTY:
            init = {n: a * float(r.random() < 0.5) for n, a in init.items()}
        if model.optional and r.random() < SELDOM:
            init |= arrays(model.optional)
        found = replace(blank, data=data, init=init, constants=self.constants(r))
        return self._related(r, replace(found, pace=self._pace(r)))

    def _blank(self, r: Random) -> Instance:
        """A model and a loss without arrays. Raises Refusal."""
        if len(self._models) >= VARIANTS:
            return self._models[int(r.integers(VARIANTS))]
        kind = one_of(r, self.models)
        cls = kinds(Model)[kind]
        losses = self.statement.losses or (cls.default_loss,)
        loss = one_of(r, [x for x in losses if issubclass(kinds(Loss)[x], cls.loss)])
        spoken_of = self.statement.space.fields
        model = {"kind": kind, **_fields(r, cls)}
        for name, options in spoken_of.items():
            if name in specs(cls):
                model[name] = one_of(r, options) if options else value_of(r, specs(cls)[name])
        model = {name: value for name, value in model.items() if value is not None}
        blank = Instance(model, {}, {}, None, "" if loss == cls.default_loss else loss)
        found = _repaired(r, blank, specs(cls))
        self._models.append(found)
        return found

    def _sizes(self, r: Random, blank: Instance, stage: int) -> dict[str, int]:
        low, high = self.sizes or STAGES[min(stage, len(STAGES) - 1)]
        found: dict[str, int] = {}
        for letter in sorted({x for axes in blank.shapes.values() for x in axes}):
            least, most = self.statement.space.sizes.get(letter, (low, high))
            if self.sizes is None:
                low_here, high_here = max(low, least), min(max(high, least), max(most, least))
            else:
                low_here, high_here = low, high
            found[letter] = int(r.integers(low_here, high_here + 1))
        found |= blank.spoken.sizes()
        return found

    @cached_property
    def sought(self) -> bool:
        """Whether the statement searches for constants that an instance leaves open."""
        return any(constant.sought for constant in for_all(self.statement).values())

    def constants(self, r: Random) -> dict[str, float] | None:
        """Of which all are meant, or those that the statement takes by itself: seldom, where it
        has to search for them."""
        free = for_all(self.statement)
        if not free or r.random() < (OWN_SOUGHT if self.sought else OWN):
            return None
        found = {name: number(r, c.domain) for name, c in free.items()}
        if r.random() < 0.5:
            # All alike, where their domains allow it.
            one = next(iter(found.values()))
            found = {n: one if free[n].domain.within(one) else x for n, x in found.items()}
        return found

    def _pace(self, r: Random) -> Pace | None:
        dynamics = self.statement.dynamics
        if STATIC in dynamics:
            return None
        share = float(one_of(r, (0.5, 0.9, 0.99, 0.1, 0.01, 2.0)))
        if DESCENT in dynamics and (FLOW not in dynamics or r.random() < 0.7):
            return Pace("gd", share, int(r.integers(1, 6)))
        return Pace("flow", share)

    @staticmethod
    def _related(r: Random, found: Instance) -> Instance:
        """Equal or opposite samples, unit columns, norms that are just admissible."""
        first = next(iter(found.spoken.data_arrays))
        axis = sample_axis(found)
        X = np.array(found.data[first])
        if axis is not None and X.shape[axis] > 1 and r.random() < 0.25:
            X = np.moveaxis(X, axis, 0)
            X[1] = float(one_of(r, (1.0, -1.0, 2.0))) * X[0]
            X = np.moveaxis(X, 0, axis)
        if axis is not None and r.random() < 0.25:
            X = of_length(r, X, axis)
        data = {**found.data, first: X}
        init = dict(found.init)
        for name, a in init.items():
            if a.ndim == 2 and r.random() < 0.3:
                norm = spectral_norm(a)
                if norm > 0:
                    wanted = float(one_of(r, (1.0, 0.5, 0.9, 0.99, 0.1)))
                    init[name] = wanted * a / norm
        return found.having(data, init)


def of_length(r: Random, X: np.ndarray, axis: int) -> np.ndarray:
    """Samples of length 1, or sqrt(d)."""
    if X.ndim != 2:
        return X
    length = np.linalg.norm(X, axis=1 - axis, keepdims=True)
    unit = 1.0 if r.random() < 0.5 else np.sqrt(X.shape[1 - axis])
    return np.asarray(unit * X / np.where(length == 0, 1.0, length))


def for_all(s: AnyStatement) -> dict[str, Constant]:
    """The constants of which the statement speaks of all values."""
    return {
        name: meant
        for name, meant in s.constants.items()
        if isinstance(meant, Constant) and meant.for_all
    }


def sample_axis(found: Instance) -> int | None:
    """Along which axis of the first data array the samples are: that of the letter it shares with
    the second one."""
    names = list(found.spoken.data_arrays.values())
    if len(names) < 2:
        return None
    shared = [i for i, letter in enumerate(names[0]) if letter in names[1]]
    return shared[0] if shared else None


def _repaired(r: Random, blank: Instance, declared: Mapping[str, Spec]) -> Instance:
    """With fields that go together: what is refused is left out, what is missing put in. Raises
    Refusal."""
    for _ in range(REPAIRS):
        try:
            _tried(blank)
            return blank
        except Refusal as refusal:
            key = refusal.problems[0][0].removeprefix("model.").partition(".")[0]
            model = dict(blank.model)
            if key in model and declared[key].default is not REQUIRED:
                del model[key]
            elif key in declared:
                model[key] = value_of(r, declared[key])
            else:
                # It is not the model that is refused.
                return blank
            blank = replace(blank, model=model)
    raise Refusal("", "no fields that go together")


def _tried(blank: Instance) -> None:
    """The model on a few numbers. Raises Refusal."""
    model = blank.spoken
    sizes = {x: 1 for axes in blank.shapes.values() for x in axes} | model.sizes()
    data, init = (
        {n: np.full([sizes[x] for x in axes], 0.5) for n, axes in names.items()}
        for names in (model.data_arrays, model.parameters)
    )
    with suppress(ValueError, *FAILURES):
        _ = replace(blank, data=data, init=init).problem
