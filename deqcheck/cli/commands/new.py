"""Start a theorem, a model or a case of your own in the current folder."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from string import Template

import click

from deqcheck import atomic
from deqcheck.cli.errors import Complaint, say
from deqcheck.cli.output import to_stdout
from deqcheck.fields import unknown
from deqcheck.kinds import Model
from deqcheck.registry import kinds, statements
from deqcheck.theorems.authors import ID

DEFAULT = "delm"
KIND = re.compile(r"[a-z][a-z0-9-]*")
NUMBERS = {
    "thm": "Theorem",
    "lem": "Lemma",
    "prop": "Proposition",
    "cor": "Corollary",
    "eq": "Equation",
    "sec": "Section",
}
model_option = click.option(
    "--model", default=DEFAULT, show_default=True, metavar="KIND", help="The model of its case."
)


@click.group("new")
def command() -> None:
    """Write a theorem, a model or a case into the current folder; they run as they are."""


@command.command("theorem")
@click.argument("id_", metavar="PAPER/NUMBER")
@model_option
def theorem(id_: str, model: str) -> None:
    """A statement such as doe2031/thm2, with its case, its reference and its test."""
    if not ID.fullmatch(id_):
        raise Complaint(f"deqcheck: {id_!r}: expected PAPER/NUMBER, such as doe2031/thm2")
    if id_ in statements():
        raise Complaint(f"deqcheck: there is a statement {id_!r} already")
    paper, number = id_.split("/")
    word = _word(number)
    case = f"cases/{paper}/{word}.yaml"
    fill = {
        "id": id_,
        "paper": paper,
        "model": model,
        "cite": re.sub(r"(\D)(\d{4})", r"\1 \2", paper).title(),
        "number": _spoken(number),
        "cls": _class(word),
        "case": case,
        "theorems": "theorems",
    }
    rest = f"theorems: [{id_}]\nexpect: {{{id_}: confirmed}}"
    stated = _case(model, f"{id_} on a small instance", rest)
    kind = "theorem" if "train:" in stated else "static_theorem"
    made = {
        f"theorems/{paper}/{word}.py": _filled(f"{kind}.py", fill),
        case: stated,
        f"tests/test_{_word(paper)}_{word}.py": _filled(f"test_{kind}.py", fill),
    }
    reference = f"theorems/{paper}/reference.bib"
    if not Path(reference).exists():
        made[reference] = _filled("reference.bib", fill)
    _write(made)
    _advise("theorems", case, f"tests/test_{_word(paper)}_{word}.py")


@command.command("model")
@click.argument("kind", metavar="KIND")
def model(kind: str) -> None:
    """A model such as scalar-deq, with its case and its test."""
    if not KIND.fullmatch(kind):
        raise Complaint(f"deqcheck: {kind!r}: expected a word in small letters, such as scalar-deq")
    if kind in kinds(Model):
        raise Complaint(f"deqcheck: there is a model {kind!r} already")
    word = _word(kind)
    file, case, test = f"models/{word}.py", f"cases/{word}.yaml", f"tests/test_{word}.py"
    fill = {"kind": kind, "cls": _class(word), "case": case, "file": file}
    text = _filled("model.py", fill)
    example = re.search(r'"""\\\n(.*?)"""', text, re.DOTALL)
    assert example is not None
    made = {
        file: text,
        # No statement applies to it yet: all that can be expected is that the run completes.
        case: _filled(
            "case.yaml",
            {"title": kind, "example": example[1], "rest": "expect: {status: completed}"},
        ),
        test: _filled("test_model.py", fill),
    }
    _write(made)
    _advise("models", case, test)


@command.command("case")
@click.argument("file", metavar="FILE.yaml", type=click.Path(path_type=Path))
@model_option
def case(file: Path, model: str) -> None:
    """A case with every statement that applies to it."""
    if file.suffix not in (".yaml", ".yml"):
        raise Complaint(f"deqcheck: {file}: expected a name that ends in .yaml")
    _write({str(file): _case(model, f"{model} on a small instance", "")})
    say(f"deqcheck run {file}")


def _case(model: str, title: str, rest: str) -> str:
    known = kinds(Model)
    if model not in known:
        raise Complaint(f"deqcheck: {unknown('unknown model', model, known)}")
    example = getattr(known[model], "example", "")
    if not example:
        raise Complaint(f"deqcheck: the model {model!r} has no example: write the case by hand")
    return _filled("case.yaml", {"title": title, "example": example, "rest": rest})


def _filled(name: str, fill: dict[str, str]) -> str:
    text = (files("deqcheck") / "templates" / f"{name}.txt").read_text(encoding="utf-8")
    return Template(text).substitute(fill).rstrip() + "\n"


def _write(made: dict[str, str]) -> None:
    """All of them, or none where one is there already."""
    there = [path for path in made if Path(path).exists()]
    if there:
        raise Complaint("\n".join(f"deqcheck: {path} is there already" for path in there))
    for path, text in made.items():
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            atomic.replace(Path(path).absolute(), text)
        except OSError as error:
            raise Complaint(f"deqcheck: cannot write {path}: {error.strerror}") from None
        to_stdout(f"{path}\n")


def _advise(folder: str, case: str, test: str) -> None:
    say(f"deqcheck run {case} --with {folder}")
    say(f"python -m pytest {test}")
    say(f'To do without --with: [tool.deqcheck] with = ["{folder}"] in pyproject.toml')


def _word(text: str) -> str:
    """As part of the name of a module."""
    return re.sub(r"\W", "_", text)


def _class(word: str) -> str:
    return "".join(part.capitalize() for part in word.split("_") if part)


def _spoken(number: str) -> str:
    """`thm2` is Theorem 2."""
    short = re.match(r"[a-z]+", number)
    if short and short[0] in NUMBERS and number != short[0]:
        return f"{NUMBERS[short[0]]} {number[len(short[0]) :]}"
    return number
