"""Cases: YAML with line numbers in, a checked case and the problem it states out."""

from deqcheck.case.build import build_problem
from deqcheck.case.errors import CaseError, CaseProblem
from deqcheck.case.read import Case, read_case, read_text
from deqcheck.case.yaml_reader import read_title

__all__ = [
    "Case",
    "CaseError",
    "CaseProblem",
    "build_problem",
    "read_case",
    "read_text",
    "read_title",
]
