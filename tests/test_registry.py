"""Registries: what is found, where, and that asking for one thing imports little else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from deqcheck import registry
from deqcheck.kinds import Loss
from deqcheck.registry import Registry

KIND = "from deqcheck.kinds import Loss\nclass {cls}(Loss):\n    kind = {kind!r}\n"
Make = Callable[..., Registry[Loss]]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """A registry of losses in a package with these files; `a__b` is b in the folder a."""

    def make(name: str, **files: str) -> Registry[Loss]:
        for file, content in files.items():
            path = tmp_path / name / f"{file.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            for folder in {path.parent, tmp_path / name}:
                (folder / "__init__.py").touch()
            path.write_text(content)
        monkeypatch.syspath_prepend(tmp_path)
        return Registry(Loss, name, "kind", lambda kind: kind.replace("-", "_"))

    return make


def kind(word: str, cls: str = "One") -> str:
    return KIND.format(cls=cls, kind=word)


def test_classes_are_found_wherever_they_stand(make: Make) -> None:
    two = kind("b-c", "Two") + "class Helper:\n    kind = 'helper'\n"
    found = make(
        "rooms_found",
        b_c=two,
        several=kind("x") + "class Other(One):\n    kind = 'y'\n",
        family__inner=kind("z"),
        imports="from rooms_found.b_c import Two\n",
        _private="raise ImportError",
    )
    assert registry.modules("rooms_found") == ["b_c", "imports", "several"]
    assert list(found) == ["b-c", "x", "y", "z"] and len(found) == 4
    assert found["b-c"].__name__ == "Two" and found["y"].__name__ == "Other"
    assert "helper" not in found and "b_c" not in found


def test_a_module_that_is_no_package_is_the_only_place(make: Make) -> None:
    make("rooms_flat", module=kind("a"))
    found = Registry(Loss, "rooms_flat.module", "kind", str)
    assert list(found) == ["a"] and found["a"].kind == "a" and "b" not in found


def test_asking_for_one_kind_imports_no_other(make: Make) -> None:
    found = make("rooms_lazy", a=kind("a"), broken="raise RuntimeError")
    assert found["a"].kind == "a" and "rooms_lazy.broken" not in sys.modules
    with pytest.raises(RuntimeError):
        list(found)


def test_a_strict_hint_imports_nothing_else(make: Make) -> None:
    make("rooms_strict", a=kind("a"), broken="raise RuntimeError")
    found = Registry(Loss, "rooms_strict", "kind", str, strict=True)
    assert found["a"].kind == "a" and "elsewhere" not in found


def test_the_file_of_that_name_is_looked_at_first(make: Make) -> None:
    make(
        "rooms_files",
        doe__thm1_2=kind("doe/thm1.2"),
        doe__lem3=kind("doe/lem4", "Two"),
        doe__other=kind("doe/lem3", "Three"),
    )
    found = Registry(Loss, "rooms_files", "kind", lambda id_: id_.partition("/")[0], strict=True)
    assert found["doe/thm1.2"].__name__ == "One" and "rooms_files.doe.other" not in sys.modules
    # The name of a file is no more than a hint.
    assert found["doe/lem3"].__name__ == "Three" and found["doe/lem4"].__name__ == "Two"
    assert list(found) == ["doe/lem3", "doe/lem4", "doe/thm1.2"] and "doe/other" not in found


def test_a_word_stands_for_one_class(make: Make) -> None:
    found = make("rooms_twice", a=kind("a") + "class Two(One):\n    pass\n")
    with pytest.raises(TypeError, match="are both 'a'"):
        list(found)
    with pytest.raises(TypeError, match="are both 'a'"):
        found["a"]


def test_what_is_added_is_found_until_it_is_removed(make: Make) -> None:
    class Own(Loss):
        kind = "own"

    found = make("rooms_added", a=kind("a"))
    registry.add([Own])
    try:
        assert found["own"] is Own and list(found) == ["a", "own"] and found.own("own") is None
    finally:
        registry.remove([Own])
    assert "own" not in found


def test_the_catalogue_is_complete() -> None:
    known = registry.statements()
    assert len(known) >= 84 and "kawaguchi2021/thm1" in known
    assert all(name == cls.id for name, cls in known.items())
    for name, cls in known.items():
        assert cls.__module__.split(".")[2] == name.partition("/")[0], "the folder is the paper"
