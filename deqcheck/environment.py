"""What a result was computed with: versions, BLAS and threads go into every report."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from deqcheck import __version__, plugins, threads


def environment() -> dict[str, Any]:
    return {
        "deqcheck": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": _blas(),
        "threads": threads.count(),
        "plugins": plugins.fingerprints(),
    }


@cache
def source() -> str:
    """A version number stays the same while deqcheck is being worked on; its text does not."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _blas() -> str:
    info = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return f"{info.get('name', 'unknown')} {info.get('version', '')}".strip()
