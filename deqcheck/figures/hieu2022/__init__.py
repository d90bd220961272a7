"""Hieu 2022: Figures 3.1 and 4.1-4.5, and the public table of kernel eigenvalues."""
