"""Where a case comes from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple

from deqcheck import plugins
from deqcheck.case.sweep import Member
from deqcheck.frozen import dataclass


class Changes(NamedTuple):
    """What is changed in a case from outside, such as by the command line."""

    settings: tuple[str, ...] = ()
    seed: int | None = None

    def arguments(self) -> list[str]:
        """The options that make these changes again."""
        words = [word for setting in self.settings for word in ("--set", setting)]
        return words if self.seed is None else [*words, "--seed", str(self.seed)]


@dataclass(frozen=True, eq=False)
class Source:
    """A place in a file, or no more than a name for what was made without one."""

    # What messages call it: the file as the user named it.
    name: str = ""
    # Where relative paths start.
    folder: Path = Path()
    # Dotted key -> line, 0 for what `--set` set.
    lines: Mapping[str, int] = field(default_factory=dict)
    # The case as it was written, changes included.
    written: Mapping[str, Any] = field(default_factory=dict)
    changes: Changes = Changes()
    # Which case of a sweep it is.
    member: Member | None = None

    @property
    def full_name(self) -> str:
        """What tells it from every other case of the file."""
        return self.name if self.member is None else f"{self.name}[{self.member.label}]"

    @property
    def replay(self) -> str:
        """The command that runs it again; empty without a file."""
        if not self.name:
            return ""
        chosen = () if self.member is None else self.member.overrides()
        again = Changes((*self.changes.settings, *chosen), self.changes.seed)
        words = [self.name, *again.arguments(), *plugins.options()]
        return shlex.join(["deqcheck", "run", *words])

    def message(self) -> dict[str, Any]:
        """What another process needs to read the same case, as JSON can hold it."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "lines": self.lines,
            "written": self.written,
            "member": self.member,
        }

    @classmethod
    def received(cls, message: dict[str, Any]) -> Source:
        member = message["member"]
        more = {"folder": Path(message["folder"]), "member": member and Member(*member)}
        return cls(**{**message, **more})
