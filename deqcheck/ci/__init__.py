"""The gate: every case below some paths, run in processes of its own and compared."""
