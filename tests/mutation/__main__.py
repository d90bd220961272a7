"""Run the tests against mutants and print how many of them are noticed.

A mutant is a theorem file, a model file or an error rule with one constant halved or doubled, a
term or factor dropped, an exponent raised, an inequality turned round, or a norm exchanged. Each
one is tried in a forked process: by the numbers computed outside (tests/independent, for a model
those of its paper) and by the other tests of its paper or model. What survives both is listed with
the reason given in survivors.txt, if any. Error bars, tolerances and limits of the work inside
theorem and model files are left alone: they are held by comparisons in many digits, not by these
numbers.
"""

from __future__ import annotations

import argparse
import ast
import importlib.abc
import importlib.util
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

# Imported once, before the forks.
import mpmath  # noqa: F401
import numpy  # noqa: F401
import pytest
import scipy.linalg
import scipy.optimize
import scipy.special  # noqa: F401

from .operators import Mutant, mutants

ROOT = Path(__file__).parents[2]
THEOREMS = ROOT / "deqcheck" / "theorems"
# Each family of models with the paper that it is from.
MODELS = {
    "delm": "kawaguchi2021",
    "relu_deq": "ling2022",
    "monotone_deq": "hieu2022",
    "implicit_relu": "gao2022",
    "opteq": "xie2021",
    "equilibrium": "equilibrium",
}
# Tests in tests/models that several families share, and those that are elsewhere; some are of one
# family.
SHARED = ("activations", "kinks", "held", "exact_states", "every_model")
ELSEWHERE = [
    "tests/dynamics/test_together.py",
    "tests/dynamics/test_precise.py",
    "tests/importing/test_cases.py",
]
BESIDE = {
    "delm": ["tests/dynamics/test_delm_ahead.py"],
    "opteq": ["tests/dynamics/test_opteq_ahead.py"],
    "monotone_deq": ["tests/cli/test_slice.py", "tests/dynamics/test_monotone_together.py"],
    "implicit_relu": [
        "tests/theorems/test_gao2022_proofs.py",
        "tests/dynamics/test_implicit_together.py",
    ],
}
# Their tests, the quicker ones first.
RULES = {
    "deqcheck/linalg/errors.py": ["tests/linalg/test_errors.py", "tests/linalg"],
    "deqcheck/records/scalar.py": ["tests/records/test_rules.py", "tests/records"],
    "deqcheck/records/comparison.py": [
        "tests/records/test_rules.py",
        "tests/records/test_judging.py",
        "tests/records",
    ],
    "deqcheck/records/claim.py": [
        "tests/records/test_rules.py",
        "tests/records/test_judging.py",
        "tests/records",
    ],
}
SURVIVORS = Path(__file__).with_name("survivors.txt")
# Files that state nothing: what the statements of a paper apply to, and texts.
PLAIN = {"__init__.py", "setting.py"}
LONGEST = 300
_MUTANTS: list[Mutant] = []
_QUICK: list[bool] = []


@dataclass(frozen=True)
class Verdict:
    mutant: Mutant
    killed: bool


class Mutated(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module changed, and every other one as it is."""

    def __init__(self, mutant: Mutant):
        self.mutant = mutant
        self.name = ".".join(mutant.path.relative_to(ROOT).with_suffix("").parts)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.mutant.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.mutant.tree(), str(self.mutant.path), "exec"), vars(module))


def stages(path: Path) -> list[list[str]]:
    """Tests of a file, the quicker ones first."""
    relative = path.relative_to(ROOT).as_posix()
    if relative in RULES:
        return [[str(ROOT / test)] for test in RULES[relative]]
    name = path.parent.name
    paper = MODELS.get(name, name)
    outside = [str(ROOT / "tests" / "independent"), "-k", paper]
    if _QUICK:
        return [outside]
    if name in MODELS:
        own = sorted((ROOT / "tests" / "models").glob(f"test_{name}*.py"))
        beside = [ROOT / "tests" / "models" / f"test_{each}.py" for each in SHARED]
        beside += [ROOT / each for each in (*ELSEWHERE, *BESIDE.get(name, ()))]
        # Of tests that take one model after the other, those of this one.
        others = " and ".join(f"not [{each.replace('_', '-')}]" for each in MODELS if each != name)
        return [list(map(str, own)), [*map(str, beside), "-k", others], outside]
    every = sorted((ROOT / "tests" / "theorems").glob(f"test_{paper}*.py"))
    every += [
        ROOT / "tests" / "theorems" / f"test_{each}.py" for each in ("frequency", "exact_leaves")
    ]
    return [outside, list(map(str, every))]


def survives(mutant: Mutant, arguments: Sequence[str]) -> bool:
    """Whether the tests pass, in a process of its own."""
    child = os.fork()
    if child == 0:
        _child(mutant, arguments)
    deadline = time.monotonic() + LONGEST
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def _child(mutant: Mutant, arguments: Sequence[str]) -> None:
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    for name in [name for name in sys.modules if name.partition(".")[0] == "deqcheck"]:
        del sys.modules[name]
    sys.meta_path.insert(0, Mutated(mutant))
    # Without rewritten assertions: pytest would import deqcheck from its files itself.
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--assert=plain"]
    # Of the processes before the fork.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    os.chdir(ROOT)
    try:
        code = int(pytest.main([*options, *arguments]))
    except BaseException:
        code = 1
    os._exit(code)


def judged(mutant: Mutant) -> Verdict:
    return Verdict(mutant, not all(survives(mutant, stage) for stage in stages(mutant.path)))


def unchanged(path: Path) -> Mutant:
    """A mutant that is none: the tests must pass, or every other one is killed for nothing."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    place = next(i for i, node in enumerate(nodes) if isinstance(node, ast.Constant))
    return Mutant(path, 0, "unchanged", place, nodes[place])


def files(papers: Sequence[str]) -> list[Path]:
    found = [
        path
        for path in sorted(THEOREMS.glob("*/*.py"))
        if path.name not in PLAIN and (not papers or path.parent.name in papers)
    ]
    found += [
        path
        for family in MODELS
        for path in sorted((ROOT / "deqcheck" / "models" / family).glob("*.py"))
        if path.name not in PLAIN and (not papers or family in papers)
    ]
    rules = [ROOT / name for name in RULES] if not papers or "rules" in papers else []
    return found + rules


def explained() -> dict[str, str]:
    """Why a boundary is no other statement: a line `label # reason` for each, or
    `label in the line that is changed # reason`."""
    lines = SURVIVORS.read_text().splitlines() if SURVIVORS.exists() else []
    pairs = (line.split(" # ", 1) for line in lines if " # " in line)
    return {label.strip(): reason.strip() for label, reason in pairs}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument(
        "papers", nargs="*", help="only these, or families of models; `rules` are the error rules"
    )
    parser.add_argument("--sample", type=int, default=60, help="mutants of each paper; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="only the numbers computed outside")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _QUICK.extend([True] if options.quick else [])
    chosen: list[Mutant] = []
    groups: dict[str, list[Mutant]] = {}
    for path in files(options.papers):
        group = "rules" if path.relative_to(ROOT).as_posix() in RULES else path.parent.name
        groups.setdefault(group, []).extend(mutants(path, bars=group == "rules"))
    for group, every in groups.items():
        count = min(options.sample or len(every), len(every))
        chosen += random.Random(f"{group}.{options.seed}").sample(every, count)
        print(f"{group}: {len(every)} mutants, {count} of them tried", flush=True)
    for path in {group: every[0].path for group, every in groups.items()}.values():
        for stage in stages(path):
            if not survives(unchanged(path), stage):
                print(f"the tests fail as they are: {' '.join(stage)}")
                return 2
    return report(chosen, options.jobs)


def report(chosen: Sequence[Mutant], jobs: int) -> int:
    context, reasons = multiprocessing.get_context("fork"), explained()
    # Inherited by the fork, not sent.
    _MUTANTS.extend(chosen)
    left, equivalent = [], 0
    with context.Pool(jobs) as pool:
        for at, killed in pool.imap_unordered(_indexed, range(len(chosen))):
            label = chosen[at].label
            if killed:
                continue
            reason = reasons.get(label) or reasons.get(chosen[at].place_told)
            equivalent += reason is not None
            left.append(label)
            print(
                f"survived: {label}, line {chosen[at].line} ({reason or 'unexplained'})", flush=True
            )
    total = len(chosen) - equivalent
    score = (len(chosen) - len(left)) / total if total else 1.0
    print(
        f"{len(chosen)} mutants, {len(left)} survived, {equivalent} of them equivalent: "
        f"{score:.1%} of the others killed"
    )
    return 0 if score >= 0.95 else 1


def _indexed(at: int) -> tuple[int, bool]:
    return at, judged(_MUTANTS[at]).killed


if __name__ == "__main__":
    sys.exit(main())
