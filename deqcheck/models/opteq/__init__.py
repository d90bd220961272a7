"""Optimization-induced equilibrium network (Xie et al. 2021)."""
