"""--plot and --html."""

from __future__ import annotations

from pathlib import Path

import pytest

from deqcheck.cli.commands import run as run_command
from deqcheck.report.parts import picture

GD = ("--only", "kawaguchi2021/gd", "--edition", "printed", "--quiet")
needs_matplotlib = pytest.mark.skipif(not picture.available(), reason="no matplotlib")


@pytest.fixture
def no_run(monkeypatch):
    def run(*_, **__):
        raise AssertionError("the long work began")

    monkeypatch.setattr(run_command.judging, "run", run)


def test_a_page_is_written_beside_the_table(deqcheck, case, tmp_path):
    page = tmp_path / "page.html"
    result = deqcheck("run", case, *GD, "--html", str(page))
    assert result.stdout == f"CONFIRMED kawaguchi2021/gd (printed) {case}\n"
    assert result.exit_code == 0
    assert page.read_text().startswith("<!doctype html>")


def test_the_page_is_a_format_too(deqcheck, case):
    assert deqcheck("run", case, "--format", "html").stdout.startswith("<!doctype html>")
    assert deqcheck("bounds", "--init", case, "--format", "html").stdout.endswith("</html>\n")


@needs_matplotlib
@pytest.mark.parametrize("name", ["run.svg", "run.PNG"])
def test_a_picture_is_drawn(deqcheck, case, tmp_path, name):
    result = deqcheck("run", case, *GD, "--plot", str(tmp_path / name))
    assert (result.exit_code, result.stderr) == (0, "")
    assert (tmp_path / name).stat().st_size > 1000


@needs_matplotlib
@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize("name", ["run.jpg", "run", "run.html"])
def test_an_unknown_picture_format_is_refused_at_once(deqcheck, case, tmp_path, name):
    result = deqcheck("run", case, "--plot", str(tmp_path / name))
    assert result.exit_code == 2
    assert "ends in one of .png, .svg, .pdf" in result.stderr


@pytest.mark.usefixtures("no_run")
def test_without_matplotlib_one_sentence_says_how_to_get_it(deqcheck, case, tmp_path, monkeypatch):
    monkeypatch.setattr(picture, "find_spec", lambda name: None)
    result = deqcheck("run", case, "--plot", str(tmp_path / "run.png"))
    assert result.exit_code == 2
    assert result.stderr == ("deqcheck: drawing needs matplotlib: pip install 'deqcheck[plot]'\n")


@needs_matplotlib
@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize(("option", "name"), [("--plot", "run.png"), ("--html", "run.html")])
def test_a_file_that_is_there_is_kept(deqcheck, case, tmp_path, option, name):
    file = tmp_path / name
    file.write_text("mine")
    result = deqcheck("run", case, option, str(file))
    assert result.exit_code == 2
    assert result.stderr == f"{file} is there already; --force replaces it\n"
    assert file.read_text() == "mine"


def test_force_replaces_it(deqcheck, case, tmp_path):
    file = tmp_path / "run.html"
    file.write_text("mine")
    assert deqcheck("run", case, *GD, "--html", str(file), "--force").exit_code == 0
    assert file.read_text() != "mine"


@needs_matplotlib
@pytest.mark.usefixtures("no_run")
def test_a_case_without_training_has_nothing_to_draw(deqcheck, case, tmp_path):
    text = Path(case).read_text()
    bare = tmp_path / "bare.yaml"
    bare.write_text("".join(line for line in text.splitlines(True) if "train" not in line))
    result = deqcheck("run", str(bare), "--plot", str(tmp_path / "run.png"))
    assert result.exit_code == 2
    assert result.stderr == f"{bare}: nothing to draw: the case has no 'train'\n"


@needs_matplotlib
@pytest.mark.usefixtures("no_run")
def test_a_picture_shows_one_case(deqcheck, case, tmp_path):
    result = deqcheck("run", case, case, "--plot", str(tmp_path / "run.png"))
    assert (result.exit_code, result.stderr) == (2, "--plot draws one case; 2 were given\n")


@needs_matplotlib
@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize("other", ["--html", "--output"])
def test_one_file_holds_one_thing(deqcheck, case, tmp_path, other):
    file = str(tmp_path / "run.svg")
    result = deqcheck("run", case, "--plot", file, other, file)
    assert (result.exit_code, result.stderr) == (2, f"{file} is to hold two things\n")


@pytest.mark.usefixtures("no_run")
def test_a_folder_that_is_not_there_is_refused_at_once(deqcheck, case, tmp_path):
    result = deqcheck("run", case, "--html", str(tmp_path / "nowhere" / "run.html"))
    assert result.exit_code == 2
    assert "No such file or directory" in result.stderr


def test_nothing_half_written_is_left(deqcheck, case, tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    result = deqcheck("run", case, *GD, "--html", str(tmp_path / "run.html"))
    assert result.exit_code == 2
    assert result.stdout.startswith("CONFIRMED")
    assert "No space left on device" in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["small.yaml"]


@needs_matplotlib
def test_a_run_that_leaves_no_steps_says_so(deqcheck, case, tmp_path, monkeypatch):
    monkeypatch.setattr(picture, "panels", lambda report: [])
    result = deqcheck("run", case, *GD, "--plot", str(tmp_path / "run.png"))
    assert result.exit_code == 0
    assert result.stderr == f"{case}: nothing to draw: the run has no steps\n"
    assert not (tmp_path / "run.png").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--panel", "lss"), "did you mean 'loss'?"),
        (("--panel", "loss", "--size", "3.3"), "expected WIDTHxHEIGHT in inches"),
        (("--panel", "loss", "--size", "1x1"), "is too small to draw: expected at least 1.8x1.2"),
        (("--panel", "loss", "--size", "90x1.5"), "is larger than any page"),
        (("--size", "3.3x2.4"), "--size needs one panel"),
        (("--panel", "spectrum", "--raw"), "--raw is about --panel loss"),
    ],
)
def test_a_picture_that_cannot_be_drawn_so_is_refused_at_once(
    deqcheck, case, tmp_path, words, sentence
):
    plot = tmp_path / "x.pdf"
    result = deqcheck("run", case, "--plot", str(plot), *words)
    assert result.exit_code == 2 and sentence in result.stderr and not plot.exists()


def test_a_panel_shows_one_case(deqcheck, tmp_path):
    words = ("--plot", str(tmp_path / "x.pdf"), "--panel", "loss")
    result = deqcheck("run", "ling2022/figure1", *words)
    assert result.exit_code == 2 and "--panel draws one case; " in result.stderr


def test_how_it_looks_needs_a_picture(deqcheck, case):
    result = deqcheck("run", case, "--panel", "loss")
    assert result.exit_code == 2
    assert result.stderr == "deqcheck: --panel says how --plot FILE draws; there is none\n"


def test_a_panel_is_drawn_and_one_that_is_not_there_is_told(deqcheck, case, tmp_path):
    plot = tmp_path / "x.pdf"
    words = ("run", case, "--quiet", "--only", "kawaguchi2021/gd", "--plot", str(plot))
    assert deqcheck(*words, "--panel", "loss", "--size", "3.3x2.4", "--raw").exit_code == 0
    assert plot.read_bytes().startswith(b"%PDF")
    plot.unlink()
    result = deqcheck(*words, "--panel", "spectrum")
    assert not plot.exists() and "nothing for --panel spectrum" in result.stderr
