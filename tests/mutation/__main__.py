"""Run the tests against mutants and print how many of them are noticed.

A mutant is a theorem file, a model file, an error rule or a file that advances many runs, with one
constant halved or doubled, a term or factor dropped, an exponent raised, an inequality turned
round, or a norm exchanged. Tests are imported and collected once. Each mutant is put in place in a
fork, and the tests that reach the line changed are run there until one of them fails: those that
have noticed others of the same file first, then the quicker ones. What no test notices is listed
with the reason given in survivors.txt, if any. A test counts only if it passes by itself, in such a
fork, without a mutant. Error bars, tolerances and limits of the work inside theorem and model files
are left alone: they are held by comparisons in many digits, not by these numbers.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests import shipped

from .operators import Mutant, mutants
from .trial import Outcome, Trial

ROOT = Path(__file__).parents[2]
THEOREMS = ROOT / "deqcheck" / "theorems"
MODELS = ROOT / "deqcheck" / "models"
RULES = (
    "linalg/errors.py",
    "records/scalar.py",
    "records/comparison.py",
    "records/claim.py",
    "records/judged.py",
    "judging/doubts.py",
)
# Many runs side by side, repetitions, and the search for the entry.
RUNS = (
    "linalg/stacked.py",
    "dynamics/together.py",
    "dynamics/perturbed_run.py",
    "judging/second_look.py",
    "explore/entry.py",
)
# Tests that compute in their own process.
TESTS = (
    "models", "dynamics", "independent", "theorems", "linalg", "losses", "records", "importing",
    "explore", "audit", "cli/test_slice.py",
)  # fmt: skip
SURVIVORS = Path(__file__).with_name("survivors.txt")
# Files that state nothing: what the statements of a paper apply to, and texts.
PLAIN = {"__init__.py", "setting.py"}


def files() -> dict[str, list[Path]]:
    """By paper, family of models, `models` (what these share), `rules` and `runs`."""
    found: dict[str, list[Path]] = {}
    for folder in (THEOREMS, MODELS):
        for path in sorted(folder.glob("*/*.py")):
            if path.name not in PLAIN:
                found.setdefault(path.parent.name, []).append(path)
    found["models"] = sorted(path for path in MODELS.glob("*.py") if path.name not in PLAIN)
    found["rules"] = [ROOT / "deqcheck" / name for name in RULES]
    found["runs"] = [ROOT / "deqcheck" / name for name in RUNS]
    return found


def explained() -> dict[str, str]:
    """Why a boundary is no other statement: a line `label # reason` for each, or
    `label in the line that is changed # reason`; with `file: any` for a label the reason holds for
    every change of that line."""
    pairs = (line.split(" # ", 1) for line in SURVIVORS.read_text().splitlines() if " # " in line)
    return {label.strip(): reason.strip() for label, reason in pairs}


def chosen(groups: dict[str, list[Path]], sample: int, seed: int) -> dict[str, list[Mutant]]:
    found, reasons = {}, set(explained())
    for group, paths in groups.items():
        every = [each for path in paths for each in mutants(path, bars=group == "rules")]
        count = min(sample or len(every), len(every))
        found[group] = random.Random(f"{group}.{seed}").sample(every, count)
        print(f"{group}: {len(every)} mutants, {count} of them tried", flush=True)
        here = {f"{path.parent.name}/{path.name}" for path in paths}
        made = {name for mutant in every for name in mutant.names}
        for label in sorted(reasons - made):
            if label.partition(": ")[0] in here:
                print(f"a reason for a mutant that is not made: {label}", flush=True)
    return found


class Plugin:
    """In place of the tests, mutants are tried by them."""

    def __init__(self, tried: dict[str, list[Mutant]], budget: float):
        self.tried, self.budget, self.enough = tried, budget, False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        paths = [path for group in files().values() for path in group]
        trial = Trial(session.items, paths, ROOT, self.budget)
        scores = [report(group, found, trial) for group, found in self.tried.items()]
        killed, counted = (sum(part) for part in zip(*scores, strict=True))
        score = killed / counted if counted else 1.0
        print(f"{score:.1%} of the mutants that are not equivalent are killed", flush=True)
        self.enough = score >= 0.95
        return True


def report(group: str, tried: Sequence[Mutant], trial: Trial) -> tuple[int, int]:
    reasons, counts = explained(), Counter[str]()
    for mutant in tried:
        found = trial.judged(mutant)
        reason = next((reasons[name] for name in mutant.names if name in reasons), None)
        told = found.outcome
        if told is Outcome.SURVIVED and reason:
            counts["equivalent"] += 1
        else:
            counts[told.value] += 1
        if told is not Outcome.KILLED:
            print(
                f"{told.value}: {mutant.place_told}, line {mutant.line} "
                f"({reason or 'unexplained'}; {found.note})",
                flush=True,
            )
    killed = counts[Outcome.KILLED.value] + counts[Outcome.HUNG.value]
    counted = killed + counts[Outcome.SURVIVED.value]
    parts = ", ".join(f"{count} {what}" for what, count in counts.items())
    print(f"{group}: {len(tried)} tried: {parts}", flush=True)
    return killed, counted


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument(
        "groups",
        nargs="*",
        help="only these papers or families of models; `models` is what families share, `rules` "
        "the error rules, `runs` what advances many runs, repeats them, looks for an entry",
    )
    parser.add_argument("--sample", type=int, default=60, help="mutants of each group; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only files whose name contains this")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="files and folders below tests/")
    parser.add_argument(
        "--budget", type=float, default=30.0, help="seconds of tests for each mutant, at most"
    )
    options = parser.parse_args()
    unknown = set(options.groups) - set(files())
    if unknown:
        parser.error(f"no group {', '.join(sorted(unknown))}; there are {', '.join(files())}")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    groups = {
        group: [path for path in paths if options.only in path.name]
        for group, paths in files().items()
        if not options.groups or group in options.groups
    }
    plugin = Plugin(chosen(groups, options.sample, options.seed), options.budget)
    os.chdir(ROOT)
    shipped.HERE = True
    arguments = ["-n", "0", "-q", "--assert=plain"]
    pytest.main([*arguments, *(f"tests/{name}" for name in options.tests)], plugins=[plugin])
    return 0 if plugin.enough else 1


if __name__ == "__main__":
    sys.exit(main())
