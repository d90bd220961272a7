"""The fingerprint of a case."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deqcheck import plugins, registry

if TYPE_CHECKING:
    from deqcheck.case.schema import CaseFile

# What does not change the numbers.
_REMARKS = ("title", "expect")


def digest(resolved: Mapping[str, Any]) -> str:
    """sha256 of the canonical JSON of a resolved case, remarks apart."""
    content = {key: value for key, value in resolved.items() if key not in _REMARKS}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def fingerprints_of(case: CaseFile) -> dict[str, str]:
    """Of the user's own kinds and statements that a case names: their source is part of it."""
    if not plugins.loaded():
        return {}
    parts = [case.data, case.model, case.loss, case.init, case.train]
    if case.compare is not None:
        parts += [case.compare.model, case.compare.init, case.compare.train]
    named: dict[str, type] = {part.kind: type(part) for part in parts if part is not None}
    ids = (*(case.theorems or ()), *case.expect.outcomes, *case.constants)
    named |= {id_: registry.statements()[id_] for id_ in ids}
    found = {name: plugins.fingerprint(cls) for name, cls in named.items()}
    return {name: sha256 for name, sha256 in sorted(found.items()) if sha256 is not None}
