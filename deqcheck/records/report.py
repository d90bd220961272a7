"""The report of one problem: what the library returns and what every format renders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from deqcheck.frozen import dataclass
from deqcheck.records.measured import Measured
from deqcheck.records.trajectory import Trajectory
from deqcheck.records.verdict import Outcome, Status, Verdict
from deqcheck.records.words import CORRECTED

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Place:
    """Where in which sweep a case stands: the file, its title, and what is set, in words."""

    file: str
    title: str
    sweep: str
    settings: Mapping[str, str]


class Written(Protocol):
    """What a problem was made from, written out. For large arrays that takes longer than judging
    the problem: it is done when somebody reads it."""

    @property
    def resolved(self) -> Mapping[str, Any]:
        """All of it, as JSON can hold it."""
        ...

    @property
    def digest(self) -> str: ...


class Origin(Written, Protocol):
    """Where a problem comes from, as reports tell it; no number depends on it."""

    @property
    def full_title(self) -> str: ...

    @property
    def full_name(self) -> str: ...

    @property
    def place(self) -> Place | None: ...

    @property
    def replay(self) -> str:
        """The command that does it again; empty where there is none."""
        ...

    def with_train(self, train: Any) -> Origin:
        """The same, trained otherwise."""
        ...


class Ending(NamedTuple):
    """What an exit code depends on."""

    status: Status
    expected_status: str | None
    # The outcome of each statement, and the one that was expected of it.
    outcomes: tuple[tuple[Outcome | None, str | None], ...]


@dataclass(frozen=True, repr=False, eq=False)
class Report:
    """Everything that a report format may tell about one problem.

    `report["ling2022/pl"]` is the verdict on a statement (the corrected edition where both were
    judged), `report["ling2022/pl", "printed"]` that on one edition.
    """

    quantities: Mapping[str, Measured]
    verdicts: tuple[Verdict, ...]
    title: str = ""
    name: str = ""
    written: Written | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    status: Status = Status.COMPLETED
    expected_status: str | None = None
    trajectory: Trajectory | None = None
    # The run of the model that was trained for comparison, and its kind.
    companion: Trajectory | None = None
    companion_name: str = ""
    notes: tuple[str, ...] = ()
    # A note that comes first, and is told even where there are no others.
    warning: str = ""
    replay: str = ""
    seconds: float = 0.0
    place: Place | None = None
    # The sha256 of the certificate that was written with it.
    certificate: str = ""

    def __repr__(self) -> str:
        words = [verdict.word for verdict in self.verdicts]
        tally = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
        name = self.name or self.title or "problem"
        return f"<Report {name}: {self.status.word}; {tally or 'nothing was judged'}>"

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: str | tuple[str, str] | int) -> Verdict:
        if isinstance(key, int):
            return self.verdicts[key]
        id_, edition = (key, "") if isinstance(key, str) else key
        found = {v.edition: v for v in self.verdicts if v.id == id_}
        if edition in found:
            return found[edition]
        if edition or not found:
            known = ", ".join(f"{v.id} ({v.edition})" for v in self.verdicts)
            raise KeyError(f"{key!r} was not judged; judged: {known or 'nothing'}")
        return found.get(CORRECTED) or next(iter(found.values()))

    @property
    def digest(self) -> str:
        return "" if self.written is None else self.written.digest

    @property
    def resolved(self) -> Mapping[str, Any]:
        """Everything that the problem was made from, as JSON can hold it."""
        return {} if self.written is None else self.written.resolved

    @property
    def ending(self) -> Ending:
        outcomes = [(v.outcome, v.expected) for v in self.verdicts]
        later = (v.entry.verdict for v in self.verdicts if v.entry is not None)
        # What holds from some point on is no outcome of the start; what is refuted there counts.
        outcomes += [(v.outcome, None) for v in later if v and v.outcome and v.outcome.negative]
        return Ending(self.status, self.expected_status, tuple(outcomes))

    def to_dict(self) -> dict[str, Any]:
        """One element of `reports` in the JSON of the command line."""
        from deqcheck.report.json import entry

        return entry(self)

    def to_frame(self) -> pandas.DataFrame:
        """The trajectory with its bounds, a row for each recorded step (needs pandas)."""
        from deqcheck.report.parts.frame import frame

        return frame(self)

    def plot(self, ax: Axes | None = None) -> Figure:
        """The loss against its bounds (needs matplotlib); with `ax`, drawn into those axes."""
        from deqcheck.report.parts.picture import plot

        figure: Figure = plot(self, ax)
        return figure

    def html(self) -> str:
        """A self-contained page."""
        from deqcheck.report.html import render
        from deqcheck.report.parts.render_options import RenderOptions

        return render([self], RenderOptions())

    def _repr_html_(self) -> str:
        from deqcheck.report.html import fragment

        return fragment(self.verdicts, self.title or self.name)
