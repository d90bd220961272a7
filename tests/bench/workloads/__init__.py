"""One file for each workload: `contests(quick, seeds)` yields groups of contests."""
