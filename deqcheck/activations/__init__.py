"""Scalar activations: one file for each kind, with slopes, primitive and convex conjugate."""
