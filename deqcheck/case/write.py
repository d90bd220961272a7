"""A case written out again, with some of its fields set."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import yaml

from deqcheck.case.overrides import override
from deqcheck.case.read import Case


def ready_case(case: Case, changes: Mapping[str, float]) -> str:
    """YAML of the case as written, with the changed fields (dotted keys) set.

    What the old case expected is left out: it was said of other numbers.
    """
    tree: dict[str, Any] = copy.deepcopy(dict(case.written))
    tree.pop("expect", None)
    override(tree, {}, [f"{key}={value!r}" for key, value in changes.items()])
    return yaml.safe_dump(tree, sort_keys=False, default_flow_style=None, width=100)
