"""Whatever a case file holds, the command line answers with a sentence, soon and in little room."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deqcheck.cli.main import cli

SHIPPED = sorted((Path(__file__).parents[2] / "cases").rglob("*.yaml"))
TEXTS = [path.read_bytes() for path in SHIPPED]
SNIPPETS = [b"{", b"}", b"[", b"]", b": ", b"\n", b"\t", b"'", b'"', b"&a", b"*a", b"!!x", b"\xff"]
SNIPPETS += [b"\x00", b"\xed\xa0\x80", b"-1", b"1e999", b".nan", b"null", b"[]", b"{}", b"#", b"? "]
quick = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

EDIT = st.tuples(
    st.sampled_from(["cut", "truncate", "insert", "repeat", "flip"]),
    st.integers(0, 2000),
    st.integers(1, 40),
    st.sampled_from(SNIPPETS) | st.binary(max_size=4),
)


def edited(text: bytes, edits: list[tuple[str, int, int, bytes]]) -> bytes:
    for kind, at, length, insert in edits:
        at %= len(text) + 1
        if kind == "cut":
            text = text[:at] + text[at + length :]
        elif kind == "truncate":
            text = text[:at]
        elif kind == "insert":
            text = text[:at] + insert + text[at:]
        elif kind == "repeat":
            text = text[:at] + text[at : at + length] * 2 + text[at + length :]
        elif text[at : at + 1]:
            text = text[:at] + bytes([text[at] ^ (1 << length % 8)]) + text[at + 1 :]
    return text


@quick
@given(st.sampled_from(TEXTS), st.lists(EDIT, min_size=1, max_size=3))
def test_a_damaged_case_is_refused_in_sentences_or_still_a_case(tmp_path, text, edits):
    path = tmp_path / "case.yaml"
    path.write_bytes(edited(text, edits))
    done = CliRunner().invoke(cli, ["validate", str(path)], prog_name="deqcheck")
    assert done.exit_code in (0, 2), done.output
    if done.exit_code == 2:
        assert done.stdout == ""
        lines = done.stderr.splitlines()
        assert lines
        assert all(line.startswith((str(path), "deqcheck: ")) for line in lines), lines


HEAD = b"deqcheck: 1\n"
GAUSSIAN = b"data: {kind: gaussian, n: %d, dim: %d, target: {kind: gaussian}}\n"
REST = b"model: {kind: delm, gamma: 0.5}\ninit: {kind: gaussian}\n"
MONSTERS = {
    "empty": b"",
    "zeros": b"\0" * 10**6,
    "not-utf8": HEAD + b"title: \xff\xfe\n",
    "utf16": "deqcheck: 1\n".encode("utf-16"),
    "larger-than-allowed": HEAD + b"# padding\n" * 200_000,
    "one-long-line": HEAD + b"title: [" + b"1," * 50_000 + b"]\n",
    "many-keys": HEAD + b"".join(b"key%d: 1\n" % i for i in range(2_000)),
    "deep-flow": HEAD + b"data: " + b"[" * 300_000,
    "deep-mappings": HEAD + b"data: " + b"{a: " * 100_000,
    "deep-blocks": HEAD + b"".join(b" " * i + b"k:\n" for i in range(1000)),
    "long-key": b"k" * 900_000 + b": 1\n",
    "long-number": HEAD + b"seed: " + b"9" * 900_000 + b"\n",
    "billion-laughs": HEAD
    + b"a: &a [x]\n"
    + b"".join(b"%c: &%c [%s]\n" % (i + 1, i + 1, b"*%c, " % i * 9) for i in range(97, 110)),
    "too-many-numbers": HEAD + GAUSSIAN % (10**9, 10**9) + REST,
    "too-many-weights": HEAD + GAUSSIAN % (1, 10**6) + REST,
}


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))


def test_monsters_are_refused_soon_and_in_little_room(tmp_path):
    paths = {name: tmp_path / f"{name}.yaml" for name in MONSTERS}
    for name, path in paths.items():
        path.write_bytes(MONSTERS[name])
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "deqcheck", "validate", *map(str, paths.values())],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=limited,
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr[-2000:]
    lines = done.stderr.splitlines()
    told = {name for name, path in paths.items() if any(x.startswith(str(path)) for x in lines)}
    assert told == set(MONSTERS)
    assert all(line.startswith(str(tmp_path)) for line in lines)
    assert time.monotonic() - started < 45


@pytest.mark.parametrize("kind", ["folder", "unreadable", "broken-link", "name-too-long"])
@pytest.mark.parametrize("command", ["validate", "run", "gradcheck", "ci", "power"])
def test_what_is_no_readable_file_is_said(tmp_path, kind, command):
    path = tmp_path / "case.yaml"
    if kind == "folder":
        path.mkdir()
    elif kind == "unreadable":
        path.symlink_to("/proc/self/mem")
    elif kind == "broken-link":
        path.symlink_to(tmp_path / "nowhere")
    else:
        path = tmp_path / ("x" * 300 + ".yaml")
    done = CliRunner().invoke(cli, [command, str(path)], prog_name="deqcheck")
    assert done.exit_code == 2
    assert "internal error" not in done.output
    if command not in ("ci", "power"):
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
