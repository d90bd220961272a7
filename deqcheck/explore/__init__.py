"""Questions that take many instances: each of them is judged like any other."""
