"""Cases as tests: with `deqcheck_cases = true` in the ini file, `pytest cases/` runs them.

Imported by every pytest that finds deqcheck installed, so nothing heavy is imported here.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from deqcheck.ci.baseline import Baseline
    from deqcheck.ci.gate import ReadCase
    from deqcheck.ci.records import Row

OPT_IN, BASELINE = "deqcheck_cases", "deqcheck_baseline"
SUFFIXES = (".yaml", ".yml")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        OPT_IN, "Collect YAML files with a key `deqcheck` as tests.", type="bool", default=False
    )

    parser.addini(
        BASELINE,
        "Compare the cases with this baseline of `deqcheck ci`, too; relative to the ini file.",
        default="",
    )


@cache
def _baseline(path: Path) -> Baseline:
    from deqcheck.ci import baseline
    from deqcheck.ci.records import GateError

    try:
        return baseline.read(path)
    except GateError as error:
        raise pytest.UsageError(f"deqcheck: {error}") from None


@cache
def _plugins(root: Path) -> None:
    """What the project names, once; a broken one is told, and the others are there."""
    from deqcheck.case.project import load_configured

    for sentence in load_configured(root):
        warnings.warn(f"deqcheck: {sentence}", stacklevel=2)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CaseFile | None:
    if not parent.config.getini(OPT_IN) or file_path.suffix not in SUFFIXES:
        return None
    from deqcheck.ci.discover import is_case

    _plugins(parent.config.rootpath)
    return CaseFile.from_parent(parent, path=file_path) if is_case(file_path) else None


class CaseFailed(Exception):
    """A case that is not as expected."""

    def __init__(self, row: Row):
        super().__init__(row)
        self.row = row


class CaseFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        from deqcheck.ci.discover import FoundCase
        from deqcheck.ci.gate import stated_in

        here = os.path.relpath(self.path, self.config.invocation_params.dir)
        for stated in stated_in(FoundCase(self.path.stem, Path(here))):
            yield CaseItem.from_parent(self, name=stated[0].id, stated=stated)


class CaseItem(pytest.Item):
    """Runs one case and compares it with its `expect:` and with the baseline, if there is one."""

    def __init__(self, *, stated: ReadCase, **more: Any):
        super().__init__(**more)
        self.stated = stated

    def runtest(self) -> None:
        from deqcheck.ci.gate import alone
        from deqcheck.ci.judge import judge
        from deqcheck.cli.errors import INTERRUPTED
        from deqcheck.cli.exit_code import exit_code

        known = self._known()
        result = alone(self.stated)
        if known is not None:
            result = replace(result, id=self._name_in(known))
        row = judge(result, exit_code, known)
        if row.exit_code == INTERRUPTED:
            raise KeyboardInterrupt
        if not row.ok:
            raise CaseFailed(row)

    def _known(self) -> Baseline | None:
        named = self.config.getini(BASELINE)
        folder = self.config.inipath.parent if self.config.inipath else self.config.rootpath
        return _baseline(folder / named) if named else None

    def _name_in(self, known: Baseline) -> str:
        """`deqcheck ci` names a case by its path below the folder that it was given: the longest
        end of the path that the baseline knows."""
        member = self.name.removeprefix(self.path.stem)
        parts = self.path.with_suffix("").parts[1:]
        names = ["/".join(parts[i:]) + member for i in range(len(parts))]
        return next((name for name in names if name in known.cases), self.name)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if not isinstance(excinfo.value, CaseFailed):
            return super().repr_failure(excinfo, style)
        row = excinfo.value.row
        remarks = (f"note: {remark}" for remark in row.remarks)
        title = f"{row.word}: {row.result.title or row.result.path}"
        return "\n".join((title, *row.troubles, *remarks, f"replay: {row.result.replay}"))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"case {self.name}"
