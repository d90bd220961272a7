"""The fingerprint of a case."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

# What does not change the numbers.
_REMARKS = ("title", "expect")


def digest(resolved: Mapping[str, Any]) -> str:
    """sha256 of the canonical JSON of a resolved case, remarks apart."""
    content = {key: value for key, value in resolved.items() if key not in _REMARKS}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
