"""Scaled ReLU implicit network (Gao & Gao 2022)."""
