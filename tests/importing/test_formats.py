"""Every format gives the arrays that were written, and refuses what is damaged or hostile."""

from __future__ import annotations

import os
import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from deqcheck.fields import FilePath, Refusal
from deqcheck.importing import tensors
from deqcheck.importing.naming import found
from deqcheck.importing.normalised import whole
from deqcheck.importing.tensor import Unusable, widened

from . import writers

RNG = np.random.default_rng(0)
ARRAYS = {
    "W.weight": RNG.normal(size=(3, 2)).astype(np.float32),
    "turned": RNG.normal(size=(2, 4)).T,
    "steps": np.array([3], dtype=np.int64),
    "m_raw": np.array(0.25),
    "half": np.array([0.5, 1.5], dtype=np.float16),
}


def named(path: Path) -> FilePath:
    return FilePath(path, path.name, "")


def refusal(path: Path, name: str = "") -> str:
    with pytest.raises((Refusal, Unusable)) as caught:
        tensors(named(path))[name].doubles(name)
    return str(caught.value.args[-1])


def safe(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.array(array, order="C") for name, array in arrays.items()}


@pytest.mark.parametrize("form", ["npz", "pt", "safetensors"])
def test_what_is_written_is_read(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"w.{form}"
    if form == "npz":
        np.savez(path, **ARRAYS)
    elif form == "pt":
        writers.checkpoint(path, ARRAYS)
    else:
        writers.safetensors(path, safe(ARRAYS))
    held = tensors(named(path))
    assert list(held) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert held[name].shape == array.shape and held[name].dtype == str(array.dtype)
        assert np.array_equal(held[name].doubles(name), array.astype(float))


def test_one_array_has_no_name(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.arange(6.0).reshape(2, 3))
    (only,) = tensors(named(tmp_path / "X.npy")).items()
    assert only[0] == "" and only[1].doubles("X").tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\ufeffx 1,y\n1,2\n\n-3e-1,4\n".replace(",", separator), encoding="utf-8")
    held = tensors(named(path))
    assert list(held) == ["x 1", "y"] and held["y"].shape == (2,)
    assert held["x 1"].doubles("").tolist() == [1, -0.3]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1,2\n3,4\n", "the first line holds numbers; expected the names of the columns"),
        ("a,a\n1,2\n", "two columns are called 'a'"),
        ("a,b\n1\n", "line 2 has 1 cells; expected 2"),
        ("a,b\n1,2\n1,x\n", "line 3, column b: 'x' is not a number"),
        ("a,b", "has no header"),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert sentence in refusal(tmp_path / "t.csv", "a")


def test_bfloat16() -> None:
    values = np.array([1.0, -2.5, 3.140625], dtype=np.float32)
    assert widened((values.view(np.uint32) >> 16).astype(np.uint16)).tolist() == values.tolist()


class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)


def test_no_other_object_is_admitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for i, content in enumerate(
        [
            pickle.dumps(Evil(), 2),
            pickle.dumps({"w": Evil()}, 4),
            pickle.dumps(np.eye(2), 2),
            b"\x80\x02cbuiltins\neval\n(X\x01\x00\x00\x001tR.",
            # An admitted global that is called with what it does not take.
            b"\x80\x02ctorch\nFloatStorage\n)R.",
        ]
    ):
        with zipfile.ZipFile(tmp_path / f"{i}.pt", "w") as archive:
            archive.writestr("w/data.pkl", content)
        said = refusal(tmp_path / f"{i}.pt")
        assert "no tensor" in said or "not a plain tensor" in said
    assert not (tmp_path / "executed").exists()


def test_damaged_checkpoints(tmp_path: Path) -> None:
    path = writers.checkpoint(tmp_path / "w.pt", ARRAYS)
    content = path.read_bytes()
    for cut in (0, 1, 40, len(content) // 2, len(content) - 30):
        path.write_bytes(content[:cut])
        assert any(word in refusal(path) for word in ("damaged", "empty", "cannot be read"))
    path.write_bytes(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.")
    assert "PyTorch 1.6 or later" in refusal(path)
    listed, stored = writers.state_dict({"W": np.eye(3)})
    for change in (stored["0"][:-1], b""):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("w/data.pkl", listed)
            archive.writestr("w/data/0", change)
        assert "the numbers of W are missing or cut off" in refusal(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("w/data.pkl", listed[:-20])
    assert "list of its tensors is" in refusal(path)


def test_mappings_that_hold_each_other(tmp_path: Path) -> None:
    """A mapping in itself, and one whose copies double at each of 60 levels."""
    itself = b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s."
    doubled = b"\x80\x02}q\x00"
    for i in range(60):
        put = b"q" + bytes([i + 1])
        doubled += (
            b"}"
            + put
            + b"("
            + b"".join(writers.text(key) + b"h" + bytes([i]) for key in "ab")
            + b"u"
        )
    for content in (itself, doubled + b"."):
        with zipfile.ZipFile(tmp_path / "w.pt", "w") as archive:
            archive.writestr("w/data.pkl", content)
        assert "hold each other" in refusal(tmp_path / "w.pt")


def test_sizes_are_bounded_before_anything_is_unpacked(tmp_path: Path) -> None:
    """A tensor of 10^15 numbers that repeats one, and an entry of 8 GB that is packed small."""
    path = tmp_path / "w.pt"
    listed = writers.state_dict({"W": np.ones(1)})[0]
    huge = listed.replace(writers.numbers((1,)), writers.numbers((10**9, 10**6)), 1)
    huge = huge.replace(writers.numbers((1,)), writers.numbers((0, 0)), 1)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("w/data.pkl", huge)
        archive.writestr("w/data/0", bytes(8))
    tracemalloc.start()
    assert "W is 1000000000 x 1000000, too large" in refusal(path, "W")
    header = np.lib.format.header_data_from_array_1_0(np.zeros(1)) | {"shape": (10**10,)}
    packed = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
    with packed as archive, archive.open("W.npy", "w") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        stream.write(bytes(1 << 20))
    assert "W is 10000000000, too large" in refusal(path, "W")
    # The directory says 5 GB.
    content = path.read_bytes()
    at = content.index(b"PK\x01\x02") + 24
    path.write_bytes(content[:at] + struct.pack("<I", 0xFFFFFFF0) + content[at + 4 :])
    assert any(word in refusal(path, "W") for word in ("unpacks to", "too large"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"data_offsets": [0, 10**9]}, "a damaged file"),
        ({"shape": [10**6, 10**6]}, "a damaged file"),
        ({"shape": [-3]}, "not read here"),
        ({"dtype": "F8_E4M3"}, "dtype 'F8_E4M3'"),
        ({"data_offsets": "none"}, "cannot be read"),
    ],
)
def test_hostile_safetensors(tmp_path: Path, entry: dict[str, object], sentence: str) -> None:
    path = writers.safetensors(tmp_path / "w.safetensors", {"W": np.eye(3)}, W=entry)
    assert sentence in refusal(path, "W")


def test_safetensors_without_a_header(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    for content in (b"abc", struct.pack("<Q", 1 << 60) + b"{}", struct.pack("<Q", 2) + b"[["):
        path.write_bytes(content)
        assert "damaged" in refusal(path)
    path.write_bytes(struct.pack("<Q", 200000) + b"[" * 200000)
    assert "not JSON" in refusal(path)


@pytest.mark.parametrize("value", [2**53 + 1, 2**64 - 1])
def test_integers_that_doubles_do_not_hold(tmp_path: Path, value: int) -> None:
    np.savez(tmp_path / "w.npz", W=np.array([1, value], dtype=np.uint64))
    assert f"W has dtype uint64 and numbers that doubles do not hold, such as {value}" in refusal(
        tmp_path / "w.npz", "W"
    )


def test_longer_floats_are_not_cut(tmp_path: Path) -> None:
    np.save(tmp_path / "w.npy", np.array([np.longdouble(1) / 3]))
    assert "numbers that doubles do not hold" in refusal(tmp_path / "w.npy")


def test_expressions(tmp_path: Path) -> None:
    held = tensors(named(writers.checkpoint(tmp_path / "w.pt", {
        "net.out.weight": np.arange(6.0).reshape(2, 3), "net.a.bias": np.ones(2),
        "net.c.bias": np.array([3.0, 4.0]), "half": np.ones(1, dtype=np.float16),
    })))  # fmt: skip
    for said, expected in {
        "net.out.weight[1]": [3, 4, 5],
        "out.weight[:, 0]": [0, 3],
        "out.weight[0, 1:]": [1, 2],
        "out.weight.T": [[0, 3], [1, 4], [2, 5]],
        "out.weight[-1, 2]": 5,
        "a.bias + net.c.bias": [4, 5],
    }.items():
        assert found(said, held).array.tolist() == expected
    assert "float16, about 3 digits" in found("half", held).notes[0]
    for said, sentence in {
        "out.weights": "(did you mean 'net.out.weight'?); there is net.out.weight (2 x 3),",
        "bias": "'bias' may be net.a.bias or net.c.bias",
        "out.weight[2]": "there is no such entry; the array is 2 x 3",
        "out.weight[x]": "'x' is no index",
        "a.bias + out.weight": "the terms have shapes",
    }.items():
        with pytest.raises(Unusable) as caught:
            found(said, held)
        assert sentence in str(caught.value)


def test_normalised_weights(tmp_path: Path) -> None:
    """By the formulas of torch.nn.utils, old names and new."""
    v, g, u = RNG.normal(size=(3, 2)), RNG.normal(size=(3, 1)), RNG.normal(size=3)
    right = RNG.normal(size=2)
    parts = {
        "a.weight_g": g, "a.weight_v": v,
        "b.parametrizations.weight.original0": g, "b.parametrizations.weight.original1": v,
        "c.weight_orig": v, "c.weight_u": u, "c.weight_v": right,
        "d.parametrizations.weight.original": v,
        "d.parametrizations.weight.0._u": u, "d.parametrizations.weight.0._v": right,
    }  # fmt: skip
    held = whole(tensors(named(writers.checkpoint(tmp_path / "w.pt", parts))))
    assert sorted(held) == [f"{name}.weight" for name in "abcd"]
    rows = g * v / np.sqrt((v**2).sum(axis=1, keepdims=True))
    over = v / (u @ v @ right)
    for name, expected in zip("abcd", (rows, rows, over, over), strict=True):
        made = found(f"{name}.weight", held)
        assert np.allclose(made.array, expected, rtol=1e-14, atol=0)
        assert "norm" in made.notes[0]
