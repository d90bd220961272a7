"""Gao 2022: Table 1, Figures 1-6."""
