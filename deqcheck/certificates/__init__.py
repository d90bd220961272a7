"""Certificates: verdicts with all that a stranger needs to check them."""
