"""A case written out again, with some of its fields set."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from deqcheck.case.overrides import override
from deqcheck.case.read import Case, checked


def case_yaml(case: Case, changes: Mapping[str, float]) -> str:
    """YAML of the case as written, with the changed fields (dotted keys) set.

    What the old case expected is left out: it was said of other numbers. Files are named from the
    root: the new case may lie anywhere.
    """
    tree = _changed(case, changes)
    tree |= {key: _rooted(tree[key], case.source.folder) for key in ("data", "init") if key in tree}
    return case_text(tree)


def with_changes(case: Case, changes: Mapping[str, float]) -> Case:
    """The case with these fields (dotted keys) set. Raises CaseError."""
    return checked(replace(case.source, written=_changed(case, changes)))


def _changed(case: Case, changes: Mapping[str, float]) -> dict[str, Any]:
    tree: dict[str, Any] = copy.deepcopy(dict(case.source.written))
    tree.pop("expect", None)
    override(tree, {}, [f"{key}={value!r}" for key, value in changes.items()])
    return tree


def case_text(tree: Mapping[str, Any]) -> str:
    """YAML of a case in the order of its keys."""
    return yaml.safe_dump(dict(tree), sort_keys=False, default_flow_style=None, width=100)


def _rooted(value: Any, folder: Path) -> Any:
    if isinstance(value, dict):
        return {key: _rooted(item, folder) for key, item in value.items()}
    if isinstance(value, str) and os.path.isfile(folder / value):
        return str((folder / value).absolute())
    return value
