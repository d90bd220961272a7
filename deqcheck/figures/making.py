"""Making a figure: its pieces one by one, kept as they are done."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping
from functools import cache, partial

import numpy as np

from deqcheck.dynamics.recorder import Progress, silent
from deqcheck.environment import source
from deqcheck.fields import did_you_mean
from deqcheck.figures.base import Figure, Made, Setup, Sizes, Step, Steps, Work
from deqcheck.figures.images import STAND_IN, Shelf
from deqcheck.figures.pace import Pace
from deqcheck.judging.errors import UsageError
from deqcheck.records.arithmetic import in_range
from deqcheck.records.figure import Picture
from deqcheck.registry import Registry
from deqcheck.store import Store


@cache
def figures() -> Registry[Figure]:
    """Every figure by its id."""
    contract: type[Figure] = Figure  # type: ignore[type-abstract]
    return Registry(contract, "deqcheck.figures", "id", lambda id_: id_.partition("/")[0])


def find(id_: str) -> Figure:
    known = figures()
    if id_ not in known:
        hint = did_you_mean(id_, list(known), "; `deqcheck figures` lists them")
        raise UsageError(f"there is no figure {id_!r}{hint}")
    return known[id_]()


def make(
    id_: str,
    *,
    full: bool = False,
    variant: str | None = None,
    shelf: Shelf | None = None,
    store: Store | None = None,
    progress: Callable[[Progress], None] = silent,
    sizes: Sizes | None = None,
    tell: Callable[[str], None] = lambda sentence: None,
) -> Picture:
    """The figure at its quick size, at the paper's (`full`), or at sizes of one's own. What is in
    the store is not computed again; `tell` hears how long the rest will take. Raises UsageError."""
    figure = find(id_)
    named = "full" if full else "quick"
    taken = dict(figure.full if full else figure.quick)
    if sizes is not None:
        named, taken = "own", taken | dict(sizes)
    s = Setup(taken, _variant(figure, variant), shelf or Shelf())
    made: dict[str, Made] = {}
    with in_range():
        work = _pieces(figure.parts(s))
        pace = Pace(id_, [figure.cost(s, part) for part, _, _ in work], tell)
        for i, (part, name, step) in enumerate(work):
            heard = _labelled(progress, f"{id_}: {name} ({i + 1}/{len(work)})", pace)
            piece = partial(step, made.get(part, {}))
            made[part] = _kept(_key(figure, s, name), piece, store, heard, pace)
        return Picture(
            figure.id,
            figure.number,
            figure.title,
            _setting(figure, s, named),
            tuple(figure.axes(s, made)),
            tuple(figure.tables(s, made)),
            tuple(figure.sentences(s, made)),
            (
                *(told for name in figure.used(s) if (told := s.shelf.missing(name))),
                *figure.notes(s, made),
            ),
            figure.columns,
        )


def _pieces(parts: Mapping[str, Work | Steps]) -> list[tuple[str, str, Step]]:
    """The part, the name of the piece, and what is to be done."""
    found: list[tuple[str, str, Step]] = []
    for name, work in parts.items():
        if isinstance(work, Steps):
            total = len(work.each)
            found += [(name, f"{name}, {i} of {total}", w) for i, w in enumerate(work.each, 1)]
        else:
            found.append((name, name, partial(_alone, work)))
    return found


def _alone(work: Work, before: Made, progress: Callable[[Progress], None]) -> Made:
    return work(progress)


def _variant(figure: Figure, asked: str | None) -> str:
    known = figure.variants
    if asked is None:
        return next(iter(known), "")
    if asked not in known:
        hint = did_you_mean(asked, known, "") if known else ": it has none"
        raise UsageError(f"{figure.id} has no variant {asked!r}{hint}")
    return asked


def _setting(figure: Figure, s: Setup, named: str) -> tuple[str, ...]:
    size = {"quick": "quick size", "full": "the paper's size", "own": "a size of one's own"}[named]
    titles = [s.shelf.title(name) for name in figure.used(s)]
    real = [title for title in titles if not title.startswith(STAND_IN)]
    drawn = [title.removeprefix(STAND_IN) for title in titles if title.startswith(STAND_IN)]
    told = [", ".join(real)] if real else []
    if drawn:
        told.append(f"{STAND_IN.strip()} {', '.join(drawn)}")
    chosen = [f"variant {s.variant}"] if s.variant else []
    return (*chosen, size, *told)


def _labelled(
    progress: Callable[[Progress], None], label: str, pace: Pace
) -> Callable[[Progress], None]:
    def hear(step: Progress) -> None:
        pace.hears(step)
        progress(step._replace(phase=label))

    progress(Progress(label, 0, 0.0, 0.0, float("nan")))
    return hear


def _key(figure: Figure, s: Setup, name: str) -> str:
    """Everything that a piece depends on; images are the user's to keep."""
    parts = {
        "figure": figure.id,
        "part": name,
        "sizes": s.sizes,
        "variant": s.variant,
        "images": [s.shelf.title(each) for each in figure.used(s)],
        "deqcheck": source(),
    }
    return json.dumps(parts, sort_keys=True, default=list)


def _kept(
    key: str, part: Work, store: Store | None, progress: Callable[[Progress], None], pace: Pace
) -> Made:
    kept = None if store is None else store.get(key)
    if kept is not None:
        pace.kept()
        return _unpacked(kept)
    pace.begins()
    made = {name: np.asarray(value, dtype=float) for name, value in part(progress).items()}
    if store is not None:
        try:
            store.put(key, _packed(made))
        except OSError as error:
            raise UsageError(f"cannot keep results in {store.folder}: {error.strerror}") from None
    pace.ends()
    return made


def _packed(made: Mapping[str, np.ndarray]) -> dict[str, str]:
    stream = io.BytesIO()
    np.savez_compressed(stream, **made)  # type: ignore[arg-type]
    return {"npz": base64.b64encode(stream.getvalue()).decode()}


def _unpacked(kept: Mapping[str, str]) -> Made:
    with np.load(io.BytesIO(base64.b64decode(kept["npz"]))) as file:
        return {name: file[name] for name in file.files}
