"""Kawaguchi 2021: Figures 1-8."""
