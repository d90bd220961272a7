"""`deqcheck figures`: the list, a file, a gallery, refusals, and going on after an interruption."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

from deqcheck.cli.main import cli
from deqcheck.dynamics.recorder import Progress
from deqcheck.figures import figures, make, pace
from deqcheck.figures.kawaguchi2021.fig2c import Figure2c
from deqcheck.figures.kawaguchi2021.fig3 import Figure3
from deqcheck.store import Store

TINY = {"n": 20, "dim": 2, "step": 1e-3, "steps": 20}


@pytest.fixture
def deqcheck(monkeypatch):
    monkeypatch.setattr(Figure2c, "quick", TINY)
    monkeypatch.setattr(Figure3, "quick", TINY)
    return lambda *words: CliRunner().invoke(cli, ["figures", *words])


def test_the_list_names_every_figure(deqcheck):
    told = deqcheck()
    assert told.exit_code == 0
    assert all(id_ in told.stdout for id_ in figures())
    listed = json.loads(deqcheck("--format", "json").stdout)
    assert [each["id"] for each in listed] == list(figures())


def test_a_figure_is_drawn_and_told(deqcheck, tmp_path):
    pytest.importorskip("matplotlib")
    output = tmp_path / "fig.pdf"
    told = deqcheck("kawaguchi2021/fig2c", "--output", str(output), "--format", "json")
    assert (told.exit_code, told.stderr) == (0, "")
    assert output.read_bytes().startswith(b"%PDF")
    made = json.loads(told.stdout)
    schema = files("deqcheck.report") / "schema" / "deqcheck-figures-1.json"
    jsonschema.validate(made, json.loads(schema.read_text()))
    (found,) = made["figures"]
    assert found["id"] == "kawaguchi2021/fig2c" and found["sentences"]
    table = deqcheck("kawaguchi2021/fig2c").stdout
    assert found["sentences"][0]["word"].upper() in table


def test_a_gallery_shows_the_figures_that_were_named(deqcheck, tmp_path):
    pytest.importorskip("matplotlib")
    names = ("kawaguchi2021/fig2c",)
    told = deqcheck(*names, "--gallery", str(tmp_path / "new"))
    assert told.exit_code == 0
    page = (tmp_path / "new" / "index.html").read_text()
    for name in names:
        file = f"{name.replace('/', '-')}.png"
        assert (tmp_path / "new" / file).read_bytes().startswith(b"\x89PNG")
        assert f'src="{file}"' in page and f"deqcheck figures {name} --output {file}" in page


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["kawaguchi2021/fig2d"],
            "deqcheck: there is no figure 'kawaguchi2021/fig2d' (did you mean "
            "'kawaguchi2021/fig2c'?)",
        ),
        (
            ["kawaguchi2021/fig2c", "--output", "x.bmp"],
            "cannot draw x.bmp: expected a name that ends in one of .png, .svg, .pdf",
        ),
        (
            ["kawaguchi2021/fig2c", "--variant", "code"],
            "deqcheck: kawaguchi2021/fig2c has no variant 'code': it has none",
        ),
        (
            ["ling2022/fig1", "--variant", "cod"],
            "deqcheck: ling2022/fig1 has no variant 'cod' (did you mean 'code'?)",
        ),
        (
            ["kawaguchi2021/fig2c", "kawaguchi2021/fig3", "--output", "x.png"],
            "deqcheck: --output goes with one figure; 2 were named",
        ),
        (["--full"], "deqcheck: name a figure; `deqcheck figures` lists them"),
        (
            ["kawaguchi2021/fig2c", "--output", "no/such/x.png"],
            "cannot write no/such/x.png: No such file or directory",
        ),
    ],
)
def test_bad_input_is_one_sentence(deqcheck, words, told):
    result = deqcheck(*words)
    assert result.exit_code == 2
    assert result.stderr == f"{told}\n"


def test_an_interrupted_figure_goes_on(tmp_path, monkeypatch):
    store, sizes, done = Store(tmp_path), {"n": 20, "dim": 2, "steps": 5}, []
    from deqcheck.figures.kawaguchi2021 import synthetic

    original = synthetic.trained

    def stopped(p, train, progress):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(p)
        return original(p, train, progress)

    monkeypatch.setattr(synthetic, "trained", stopped)
    with pytest.raises(KeyboardInterrupt):
        make("kawaguchi2021/fig2a", sizes=sizes, store=store)
    monkeypatch.setattr(synthetic, "trained", lambda *a: done.append(a) or original(*a))
    again = make("kawaguchi2021/fig2a", sizes=sizes, store=store)
    # Five runs in all; two were kept.
    assert len(done) == 5
    whole = make("kawaguchi2021/fig2a", sizes=sizes)
    for a, b in zip(again.axes[0].lines, whole.axes[0].lines, strict=True):
        assert np.array_equal(a.y, b.y)


def test_a_full_disk_is_one_sentence(deqcheck, tmp_path, monkeypatch):
    def full(*words):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "put", full)
    told = deqcheck("kawaguchi2021/fig2c", "--store", str(tmp_path))
    assert told.exit_code == 2
    assert told.stderr == (
        f"deqcheck: cannot keep results in {tmp_path}: No space left on device\n"
    )


def test_a_long_piece_goes_on_from_its_last_step(tmp_path, monkeypatch):
    from deqcheck.figures.hieu2022 import training

    sizes = {
        "n": 8,
        "side": 4,
        "channels": 4,
        "groups": 2,
        "classes": 2,
        "epochs": 3,
        "batch": 4,
        "shown": 4,
        "rate": 1e-2,
    }
    store, asked, original = Store(tmp_path), [], training.gradient

    def stopped(*words):
        asked.append(1)
        if len(asked) == 5:
            raise KeyboardInterrupt
        return original(*words)

    monkeypatch.setattr(training, "gradient", stopped)
    with pytest.raises(KeyboardInterrupt):
        make("hieu2022/fig4.3", sizes=sizes, store=store)
    again = make("hieu2022/fig4.3", sizes=sizes, store=store)
    # Two batches in each epoch: the third epoch begins anew.
    assert len(asked) == 5 + 2
    whole = make("hieu2022/fig4.3", sizes=sizes)
    for a, b in zip(again.axes[2].lines, whole.axes[2].lines, strict=True):
        assert np.array_equal(a.y, b.y, equal_nan=True)


def test_a_full_run_tells_what_it_will_take(deqcheck, tmp_path, monkeypatch):
    monkeypatch.setattr(Figure2c, "full", TINY)
    monkeypatch.setattr(pace, "SEEN", 0.0)
    words = ("kawaguchi2021/fig2c", "--full", "--store", str(tmp_path))
    assert deqcheck(*words, "--quiet").stderr == ""
    told = deqcheck(*words[:-1], str(tmp_path / "new")).stderr
    assert told.startswith("kawaguchi2021/fig2c: one piece of work to do, about ")
    # Everything is there.
    assert deqcheck(*words).stderr == ""


def test_the_pace_is_told_once_for_all_that_is_left():
    now, told = [0.0], []
    clock = pace.Pace("a/b", [9.0, 1.0, 0.5, 1.5], told.append, lambda: now[0])
    clock.kept()
    clock.begins()
    now[0] = 19.0
    clock.hears(Progress("", 0, 0.0, 0.5, 0.0))
    assert told == []
    now[0] = 36.0
    clock.hears(Progress("", 0, 0.0, 0.01, 0.0))
    # 3600 s for the first of three, and twice as long for the others together.
    sentence = "a/b: 3 pieces of work to do, about 3 hours at the pace of the first 1.0% of a piece"
    assert told == [sentence]
    clock.ends()
    assert told == [sentence]
    spelt = [pace.duration(s) for s in (0.4, 80, 100, 7200, 1e6)]
    assert spelt == ["0.4 seconds", "80 seconds", "1.7 minutes", "2 hours", "12 days"]


def test_an_interruption_tells_how_to_go_on(deqcheck, tmp_path, monkeypatch):
    def interrupted(*words, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("deqcheck.cli.figuring.make", interrupted)
    told = deqcheck("kawaguchi2021/fig2c", "--full", "--store", str(tmp_path / "kept"))
    assert told.exit_code == 130
    assert f"what is done is kept in {tmp_path / 'kept'}: the same command goes on" in told.stderr
