"""What is remembered is what would be computed, and a changed matrix is another one."""

from __future__ import annotations

import numpy as np
import pytest

from deqcheck.linalg import remembered


def test_a_matrix_is_decomposed_once_and_again_where_it_was_changed(monkeypatch) -> None:
    asked: list[int] = []
    original = remembered.decomposed
    monkeypatch.setattr(remembered, "decomposed", lambda a: asked.append(1) or original(a))
    monkeypatch.setattr(remembered, "_found", type(remembered._found)())
    a = np.random.default_rng(0).normal(size=(70, 80))
    first = remembered.singular_values(a)
    expected = first.copy()
    first[:] = 0.0
    assert np.array_equal(remembered.singular_values(np.asfortranarray(a)), expected)
    assert len(asked) == 1
    a[3, 4] = np.nextafter(a[3, 4], 9)
    remembered.singular_values(a)
    # The same bytes in another shape.
    remembered.singular_values(a.reshape(80, 70))
    assert len(asked) == 3
    small = np.eye(3)
    assert remembered.singular_values(small) == pytest.approx(np.ones(3))
    monkeypatch.setattr(remembered, "KEPT", 1)
    remembered.singular_values(a + 1)
    assert len(remembered._found) == 1


def test_few_entries_are_their_own_key() -> None:
    r = np.random.default_rng(1)
    for shape in ((2, 2), (1, 4), (4, 1), (3, 5)):
        a = r.normal(size=shape)
        for b in (a, np.asfortranarray(a), a.T):
            expected = np.linalg.svd(b, compute_uv=False)
            remembered.singular_values(b)[:] = 0.0
            assert np.array_equal(remembered.singular_values(b), expected)
        gram = a @ a.T
        remembered.eigenvalues(gram)[:] = 0.0
        assert np.array_equal(remembered.eigenvalues(gram), np.linalg.eigvalsh(gram))
