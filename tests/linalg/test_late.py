from __future__ import annotations

import pytest
import scipy

from deqcheck.linalg import late


def test_late_scipy_is_scipy() -> None:
    assert late.scipy.linalg is scipy.linalg
    # Found once, it is looked for no more.
    assert vars(late.scipy)["linalg"] is scipy.linalg
    with pytest.raises(AttributeError, match="nowhere"):
        late.scipy.nowhere  # noqa: B018
