"""Benchmarks against what a researcher would use instead; run with `python -m tests.bench`."""
