"""Ling 2022: Figure 1."""
