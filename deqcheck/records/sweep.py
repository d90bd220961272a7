"""What came of a sweep: a record for each member, made when it is asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deqcheck.records.axis import Axis
from deqcheck.records.expectations import Expectations
from deqcheck.records.verdict import Outcome, Status

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

RAN = "ran"
# From what speaks against a statement to what speaks for it.
WORST_FIRST = (
    Outcome.REFUTED,
    Outcome.INCONSISTENT,
    Outcome.UNDECIDED,
    Outcome.NOT_CHECKED,
    Outcome.NOT_APPLICABLE,
    Outcome.NOT_MET,
    Outcome.MET,
    Outcome.CONSISTENT,
    Outcome.CONFIRMED,
)


def word_of(end: str, facts: Mapping[str, Any] | None) -> str:
    """The worst outcome of the statements of a member, or how its run ended instead."""
    status = end if facts is None else str(facts["status"])
    if facts is None or status != Status.COMPLETED.word:
        return status
    found = {statement["outcome"] for statement in facts["statements"]}
    return next((one.value for one in WORST_FIRST if one in found), "nothing judged")


@dataclass(frozen=True)
class SweptMember:
    """One case of a sweep: where it stands, and its facts, or why there are none."""

    position: int
    sweep: str
    # What it sets, by dotted key.
    settings: Mapping[str, Any]
    seed: int
    digest: str
    # The command that does it again.
    replay: str
    # How its process ended, with a sentence unless it ran.
    end: str = RAN
    sentence: str = ""
    facts: Mapping[str, Any] | None = None
    expect: Expectations = field(default_factory=Expectations)

    @property
    def status(self) -> str:
        """How its run ended."""
        return self.end if self.facts is None else str(self.facts["status"])

    @property
    def broken(self) -> bool:
        return self.status not in (Status.COMPLETED.word, self.expect.status)

    @property
    def statements(self) -> list[Mapping[str, Any]]:
        return [] if self.facts is None else list(self.facts["statements"])

    @property
    def word(self) -> str:
        return word_of(self.end, self.facts)

    @property
    def failed(self) -> bool:
        """Whether something is refuted that was not expected to be, or not as expected."""
        for statement in self.statements:
            outcome = Outcome(statement["outcome"])
            expected = self.expect.of(statement["id"], statement["edition"])
            if outcome != expected if expected is not None else outcome.negative:
                return True
        return False


@dataclass(frozen=True, repr=False, eq=False)
class Sweep:
    """`for member in sweep` goes through the members in their order."""

    name: str
    title: str
    # What varies, by the name of the sweep.
    axes: Mapping[str, tuple[Axis, ...]]
    environment: Mapping[str, Any]
    members: Collection[SweptMember]
    # How many members by their word.
    counts: Mapping[str, int]

    def __repr__(self) -> str:
        told = ", ".join(f"{count} {word}" for word, count in self.counts.items())
        return f"<Sweep {self.name or self.title or 'of a case'}: {len(self)} members, {told}>"

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[SweptMember]:
        return iter(self.members)

    @property
    def keys(self) -> tuple[str, ...]:
        """The dotted keys that vary, `seed` apart."""
        every = (key for axes in self.axes.values() for axis in axes for key in axis.keys)
        return tuple(key for key in dict.fromkeys(every) if key != "seed")

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it: schema/deqcheck-sweep-1.json."""
        from deqcheck.report.parts.swept import document

        return document(self)

    def to_frame(self) -> pandas.DataFrame:
        """A row for each member, statement and check (needs pandas)."""
        from deqcheck.report.parts.swept_arrays import frame

        return frame(self)

    def map(
        self,
        x: str | None = None,
        y: str | None = None,
        color: str | Sequence[str] = (),
        show: str = "worst",
    ) -> Figure:
        """A heat map over two keys, or curves over one (needs matplotlib). `color` is such as
        `kawaguchi2021/cor1:rate_tightness`, `:slack`, `:outcome`, or the name of a quantity; `show`
        is worst, median or share, of the members of a cell. Raises ValueError."""
        from deqcheck.report.parts.map_picture import figure
        from deqcheck.report.parts.mapped import chosen

        colors = [color] if isinstance(color, str) else list(color)
        drawn: Figure = figure(chosen(self, x, y, colors, show))
        return drawn

    def _repr_html_(self) -> str:
        from deqcheck.report.parts.map_page import fragment

        return fragment(self)
