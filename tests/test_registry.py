"""Registries: what is in a folder, and that asking for one thing imports no other."""

from __future__ import annotations

import pytest

from deqcheck import registry


def package(folder, name, monkeypatch, **files):
    (folder / name / "sub").mkdir(parents=True)
    for file_name, content in files.items():
        (folder / name / f"{file_name.replace('__', '/')}.py").write_text(content)
    for init in (folder / name, folder / name / "sub"):
        (init / "__init__.py").touch()
    monkeypatch.syspath_prepend(folder)
    return name


def test_kinds(tmp_path, monkeypatch):
    name = package(
        tmp_path,
        "rooms_kinds",
        monkeypatch,
        b_c="class Two:\n    kind = 'b-c'\nclass Helper:\n    pass\n",
        a="from rooms_kinds.b_c import Two\nclass One:\n    kind = 'a'\n",
        _private="raise ImportError",
    )
    assert registry.modules(name) == ["a", "b_c"]
    found = registry.kinds(name)
    assert list(found) == ["a", "b-c"] and len(found) == 2
    assert found["b-c"].__name__ == "Two"
    assert "b_c" not in found and "c" not in found


def test_asking_for_one_kind_imports_no_other(tmp_path, monkeypatch):
    files = {"a": "class One:\n    kind = 'a'\n", "broken": "raise RuntimeError"}
    found = registry.kinds(package(tmp_path, "rooms_lazy", monkeypatch, **files))
    assert found["a"].kind == "a" and "c" not in found
    with pytest.raises(RuntimeError):
        list(found)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("class One:\n    kind = 'a'\nclass Two:\n    kind = 'a'\n", "are both 'a'"),
        ("class One:\n    kind = 'b'\n", "is 'b', but stands in a"),
    ],
)
def test_a_kind_stands_once_in_its_module(tmp_path, monkeypatch, content, message):
    name = f"rooms_{len(content)}"
    found = registry.kinds(package(tmp_path, name, monkeypatch, a=content))
    with pytest.raises(TypeError, match=message):
        list(found)
    with pytest.raises(TypeError, match=message):
        found["a"]


def test_members(tmp_path, monkeypatch):
    name = package(
        tmp_path,
        "rooms_members",
        monkeypatch,
        base="class Base:\n    id: str\n",
        sub__b="from ..base import Base\nclass B(Base):\n    id = 'sub/b'\n",
        sub__a="from .b import B\nclass A(B):\n    id = 'sub/a'\n",
    )
    from rooms_members.base import Base

    found = registry.members(name, Base)
    assert list(found) == ["sub/a", "sub/b"]
    assert found["sub/b"].id == "sub/b"
    assert "sub/c" not in found and "base/b" not in found and "" not in found


def test_a_member_bears_the_name_of_its_folder(tmp_path, monkeypatch):
    wrong = "from ..base import Base\nclass B(Base):\n    id = 'other/b'\n"
    base = "class Base:\n    id: str\n"
    name = package(tmp_path, "rooms_astray", monkeypatch, base=base, sub__b=wrong)
    from rooms_astray.base import Base

    with pytest.raises(TypeError, match="is 'other/b', but stands in sub"):
        list(registry.members(name, Base))
