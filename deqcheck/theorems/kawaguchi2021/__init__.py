"""Kawaguchi, On the theory of implicit deep learning: global convergence with implicit layers."""
