"""The store: whole entries or none, and damage is noticed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deqcheck.store import Store

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
)  # fmt: skip
shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@shared_folder
@given(key=st.text(), value=st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_what_is_put_is_got(tmp_path: Path, key: str, value: dict) -> None:
    try:
        Store(tmp_path).put(key, value)
    except UnicodeEncodeError:
        return
    assert Store(tmp_path).get(key) == value


def test_an_unknown_key_is_absent(tmp_path: Path) -> None:
    assert Store(tmp_path / "new" / "folder").get("nothing") is None


def test_what_is_not_finite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        Store(tmp_path).put("key", {"x": float("nan")})
    assert list(tmp_path.iterdir()) == []


@shared_folder
@given(at=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_any_changed_byte_is_noticed(tmp_path: Path, at: int, byte: int) -> None:
    store = Store(tmp_path)
    store.put("key", {"outcome": "confirmed", "slack": 1.25})
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    content[at % len(content)] = byte
    path.write_bytes(content)
    assert store.get("key") in (None, {"outcome": "confirmed", "slack": 1.25})


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_entry_is_absent_and_can_be_replaced(tmp_path: Path, content: bytes) -> None:
    store = Store(tmp_path)
    store.put("key", {"a": 1})
    (path,) = tmp_path.iterdir()
    path.write_bytes(content)
    assert store.get("key") is None
    store.put("key", {"a": 2})
    assert store.get("key") == {"a": 2}


def test_an_entry_of_another_key_is_absent(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put("a", {"x": 1})
    store.put("b", {"x": 2})
    store._path("a").write_text(store._path("b").read_text())
    assert store.get("a") is None


def test_a_full_disk_keeps_the_old_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    store.put("key", {"a": 1})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.put("key", {"a": 2})
    assert store.get("key") == {"a": 1}
    assert len(list(tmp_path.iterdir())) == 1


def newest(folder: Path) -> int:
    """When an entry was written last."""
    entries = (path for path in folder.iterdir() if not path.name.startswith("."))
    return max((path.stat().st_mtime_ns for path in entries), default=0)


def test_a_kill_while_writing_leaves_whole_entries(tmp_path: Path) -> None:
    writer = (
        "import sys; from deqcheck.store import Store\n"
        "store = Store(sys.argv[1]); print(flush=True)\n"
        "for n in range(10**9): store.put(f'key{n % 3}', {'n': n, 'text': 'x' * 10**6})\n"
    )
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", writer, str(tmp_path)], stdout=subprocess.PIPE
        )
        process.stdout.readline()
        before = newest(tmp_path)
        while newest(tmp_path) == before:
            assert process.poll() is None
        process.kill()
        process.wait()
        process.stdout.close()
    files = [path for path in tmp_path.iterdir() if not path.name.startswith(".")]
    assert files
    for path in files:
        key = json.loads(path.read_text())["key"]
        assert len(Store(tmp_path).get(key)["text"]) == 10**6
