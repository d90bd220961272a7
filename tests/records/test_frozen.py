"""Classes of `deqcheck.frozen` against the same classes by the standard decorator."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import pytest

from deqcheck import frozen
from deqcheck.registry import inside


def defined(decorate: Any) -> dict[str, type]:
    @decorate(frozen=True)
    class Point:
        """With every sort of field."""

        kind: ClassVar[str] = "point"
        x: float
        y: float = 2.0
        tags: list[str] = dataclasses.field(default_factory=list)
        note: str = dataclasses.field(default="", compare=False, repr=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "length", abs(self.x) + abs(self.y))

    @decorate(frozen=True, kw_only=True)
    class Named(Point):
        name: str
        y: float = 3.0

    @decorate(frozen=True, eq=False, repr=False)
    class Bare:
        x: object = None

    @decorate(frozen=True)
    class One:
        x: object

        def __repr__(self) -> str:
            return "one"

    class Derived(One):
        """Not decorated itself."""

    return {cls.__name__: cls for cls in (Point, Named, Bare, One, Derived)}


OURS, THEIRS = defined(frozen.dataclass), defined(dataclasses.dataclass)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Point", (1.0,), {}),
    ("Point", (1.0, 5.0, ["a"]), {"note": "n"}),
    ("Point", (1.0,), {"note": "other"}),
    ("Named", (1.0,), {"name": "a"}),
    ("Named", (1.0, ["t"]), {"name": "b", "y": 4.0}),
    ("Bare", (), {}),
    ("One", (1,), {}),
    ("Derived", (1,), {}),
]


def made(classes: dict[str, type]) -> list[Any]:
    return [classes[name](*args, **more) for name, args, more in CALLS]


@pytest.mark.parametrize("name", OURS)
def test_the_same_class(name: str) -> None:
    ours, theirs = OURS[name], THEIRS[name]
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    told = [
        [(f.name, f.type, f.default, f.default_factory, f.compare, f.repr, f.kw_only) for f in each]
        for each in (dataclasses.fields(ours), dataclasses.fields(theirs))  # type: ignore[arg-type]
    ]
    assert told[0] == told[1]
    assert ours.__match_args__ == theirs.__match_args__  # type: ignore[attr-defined]
    assert ours.__init__.__qualname__ == theirs.__init__.__qualname__.replace("theirs", "ours")


def test_the_same_objects() -> None:
    ours, theirs = made(OURS), made(THEIRS)
    same = [[a == b for b in each] for each in (ours, theirs) for a in each]
    assert same[: len(ours)] == same[len(ours) :]
    for a, b in zip(ours, theirs, strict=True):
        assert vars(a) == vars(b)
        if type(a).__name__ != "Bare":
            assert repr(a) == repr(b)
        else:
            assert "object at" in repr(a) and "object at" in repr(b)
        hashed = [_hash(a), _hash(b)]
        assert hashed[0] == hashed[1]


def _hash(found: Any) -> object:
    if type(found).__name__ == "Bare":
        return type(found).__hash__ is object.__hash__
    try:
        return hash(found)
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize(
    "wrong", [(), (1.0, 2.0, [], "", 5), {"x": 1.0, "z": 2}, {"y": 2.0}], ids=str
)
def test_the_same_mistakes(wrong: Any) -> None:
    said = []
    for classes in (OURS, THEIRS):
        with pytest.raises(TypeError) as error:
            classes["Point"](**wrong) if isinstance(wrong, dict) else classes["Point"](*wrong)
        said.append(str(error.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("name", ["Point", "Named", "Derived"])
def test_objects_are_frozen(name: str) -> None:
    index = [call[0] for call in CALLS].index(name)
    for found in (made(OURS)[index], made(THEIRS)[index]):
        for change in (lambda x: setattr(x, "x", 2), lambda x: delattr(x, "x")):
            with pytest.raises(dataclasses.FrozenInstanceError, match="field 'x'"):
                change(found)
        if name == "Derived":
            found.other = 3
            del found.other
            assert "other" not in vars(found)
        else:
            with pytest.raises(dataclasses.FrozenInstanceError, match="'other'"):
                found.other = 3


def test_replacing_and_derived_by_the_standard_decorator() -> None:
    assert dataclasses.replace(made(OURS)[0], x=7.0).length == 9.0

    @dataclasses.dataclass(frozen=True)
    class Mixed(OURS["Point"]):  # type: ignore[misc]
        z: int = 0

    assert Mixed(1.0, z=3) == Mixed(1.0, 2.0, z=3) != Mixed(1.0)
    with pytest.raises(TypeError, match="cannot inherit non-frozen"):
        dataclasses.dataclass(type("Loose", (OURS["Point"],), {}))


def test_identical_values_are_equal_even_if_they_cannot_be_compared() -> None:
    array = np.zeros(2)
    for classes in (OURS, THEIRS):
        assert classes["One"](array) == classes["One"](array)


def test_an_object_within_itself_is_shown() -> None:
    for classes in (OURS, THEIRS):
        found = classes["Point"](1.0)
        found.tags.append(found)  # type: ignore[attr-defined]
        assert repr(found).endswith("Point(x=1.0, y=2.0, tags=[...])")


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="expected frozen=True"):
        frozen.dataclass(frozen=False)
    with pytest.raises(TypeError, match="Odd: init and hash"):

        @frozen.dataclass(frozen=True)
        class Odd:
            x: int = dataclasses.field(default=1, init=False)


def test_threads_make_the_first_objects() -> None:
    for _ in range(50):
        fresh = defined(frozen.dataclass)["Point"]
        with ThreadPoolExecutor(4) as pool:
            assert {found.y for found in pool.map(fresh, range(8))} == {2.0}


def test_pickles() -> None:
    from deqcheck.judging.question import Question

    question = Question(("kawaguchi2021/thm1",))
    assert pickle.loads(pickle.dumps(question)) == question


def test_every_class_of_the_package_has_the_signature_of_its_twin() -> None:
    """Its fields in a class of the standard decorator, in the order in which they are."""
    seen = 0
    for cls in _classes("deqcheck"):
        if not isinstance(vars(cls).get("__eq__"), type(defined)) or not _ours(cls):
            continue
        twin = dataclasses.make_dataclass(
            cls.__name__,
            [(f.name, f.type, _copied(f)) for f in dataclasses.fields(cls)],  # type: ignore[misc, arg-type]
            frozen=True,
        )
        ours, theirs = (list(inspect.signature(each).parameters.values()) for each in (cls, twin))
        assert [(p.name, p.kind, repr(p.default)) for p in ours] == [
            (p.name, p.kind, repr(p.default)) for p in theirs
        ]
        seen += 1
    assert seen > 50


def _copied(f: dataclasses.Field[Any]) -> Any:
    kept = {"default": f.default, "default_factory": f.default_factory, "kw_only": f.kw_only}
    return dataclasses.field(**kept)


def _ours(cls: type) -> bool:
    return vars(cls)["__eq__"].__module__ == frozen.__name__


def _classes(package: str) -> list[type]:
    found = []
    for name, is_folder in inside(package):
        if name in ("theorems", "pytest_plugin", "verifier"):
            continue
        place = f"{package}.{name}"
        found += [
            value
            for value in vars(import_module(place)).values()
            if isinstance(value, type) and value.__module__ == place
        ]
        if is_folder:
            found += _classes(place)
    return found
