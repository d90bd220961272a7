"""Cases: YAML with line numbers in, a checked case and the problem it states out."""

from deqcheck.case.build import build_problem
from deqcheck.case.errors import CaseError, CaseProblem
from deqcheck.case.read import Case, only, read_case, read_cases, read_text, read_texts
from deqcheck.case.yaml_reader import read_title

__all__ = [
    "Case",
    "CaseError",
    "CaseProblem",
    "build_problem",
    "only",
    "read_case",
    "read_cases",
    "read_text",
    "read_texts",
    "read_title",
]
