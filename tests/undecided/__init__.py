"""How many verdicts stay undecided, on instances that are not in the suite."""
