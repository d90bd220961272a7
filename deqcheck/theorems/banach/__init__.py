"""Banach 1922: contractions."""
