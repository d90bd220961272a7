"""Building the site: every case is run and every figure made, then the pages are written."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deqcheck import site
from deqcheck.case import embedded, evidence
from deqcheck.ci.baseline import Baseline, entry, read
from deqcheck.ci.discover import Discovery, discover
from deqcheck.ci.gate import hold
from deqcheck.ci.judge import CHANGED, NEW
from deqcheck.ci.records import Gate
from deqcheck.cli.errors import Complaint, say
from deqcheck.cli.exit_code import exit_code, gravest
from deqcheck.cli.figuring import KEPT, kept, made
from deqcheck.cli.progress import ProgressLine
from deqcheck.cli.running import Plan
from deqcheck.figures import figures
from deqcheck.report.figures import drawn
from deqcheck.report.parts import picture as drawing
from deqcheck.site import Built, Drawn
from deqcheck.store import Store


@dataclass(frozen=True)
class Build:
    """How it is done; `folder` keeps what is done."""

    jobs: int
    folder: Path | None = None

    def __call__(self) -> Built:
        """Raises KeyboardInterrupt after a word on how to go on."""
        if not drawing.available():
            raise Complaint(f"deqcheck: {drawing.REMEDY}; or --quick, which makes no figure")
        gate = self._gate()
        _tell(gate)
        rows = {row.result.id: row for row in gate.rows}
        facts = {name: row.result.reply.facts for name, row in rows.items()}
        return Built(
            cases={name: entry(each) for name, each in facts.items() if each is not None},
            figures=self._figures(),
            failures={n: "; ".join(rows[n].troubles) for n, each in facts.items() if each is None},
        )

    def _gate(self) -> Gate:
        with Plan(self.jobs, None, self.store).runner() as runner:
            gate = hold(runner, shipped(), exit_code, gravest, _baseline())
            if gate.partial:
                assert runner.store is not None
                kept(runner.store)
                raise KeyboardInterrupt
        return gate

    @property
    def store(self) -> Path:
        return self.folder or KEPT

    def _figures(self) -> list[Drawn]:
        # It was opened, and told about, when the cases were run.
        store, found = Store(self.store), []
        with ProgressLine() as line:
            for id_ in figures():
                picture = made(id_, line, store)
                found.append(Drawn(picture, drawn(picture, "png")))
        return found


def shipped() -> Discovery:
    """The cases that take no minutes and need no files of others."""
    found = discover([embedded.folder()])
    return found._replace(cases=[each for each in found.cases if not embedded.slow(each.id)])


def _baseline() -> Baseline | None:
    path = embedded.folder() / evidence.BASELINE
    if not path.is_file():
        return None
    known = read(path)
    cases = {name: each for name, each in known.cases.items() if not embedded.slow(name)}
    return Baseline(cases, known.allowance)


def _tell(gate: Gate) -> None:
    """Where this build deviates from the baseline, or from what a case expects."""
    for row in gate.rows:
        new = [change.sentence for change in row.changes if not change.fails]
        changed = [note for note in row.notes if note in (NEW, CHANGED)]
        for sentence in (*changed, *row.troubles, *new):
            say(f"{row.result.id}: {sentence}")
    for name in gate.missing:
        say(f"{name}: in the baseline, but not among the cases")


def write(folder: Path, build: Callable[[], Built]) -> None:
    """Whether it can be written shows before the work."""
    with _written(folder):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    built = build()
    with _written(folder):
        count = site.write(folder, built)
    say(f"{count} pages; begin with {folder / 'index.html'}")


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Complaint(f"deqcheck: cannot write {folder}: {error.strerror}") from None
