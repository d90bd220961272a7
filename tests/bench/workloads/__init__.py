"""One file for each workload: `contests(extent, seeds)` yields groups of contests."""
