"""Mutation of theorem files and error rules, apart from the suite: `python -m tests.mutation`."""
