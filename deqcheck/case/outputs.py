"""`model: {output: all}`: a case for each output of the read-out that the initialisation brings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deqcheck.case.schema import CaseFile
from deqcheck.case.sweep import Member
from deqcheck.fields import Refusal, below, specs

ALL, NAME, FIELD = "all", "outputs", "model.output"


def every_output(tree: Mapping[str, Any], folder: Path) -> list[Member]:
    """Empty where a case does not ask for all of them. Raises Refusal."""
    stated = tree.get("model")
    if not isinstance(stated, dict) or stated.get("output") != ALL:
        return []
    fields = specs(CaseFile)
    with below("model"):
        model = fields["model"].read({**stated, "output": None}, folder)
    with below("init"):
        init = fields["init"].read(tree.get("init"), folder).within(model, None, model.read_out)
        known = {**model.parameters, **model.biases}
        given = init.given([model.read_out], known).get(model.read_out)
    if given is None:
        sentence = f"{ALL} needs the read-out {model.read_out} from a file, or as values"
        raise Refusal(FIELD, sentence)
    count = len(given.array) if given.array.ndim == 2 else 1
    return [Member(NAME, i, {FIELD: i}) for i in range(count)]
