"""The figures and tables of the papers, made again: a folder for each paper, a file for each
figure.

A figure names its runs, its axes and curves, and what the paper says of it, which is judged. It is
found by its class, like a statement.
"""

from deqcheck.figures.base import Figure, Setup, Steps, Work
from deqcheck.figures.making import figures, find, make

__all__ = ["Figure", "Setup", "Steps", "Work", "figures", "find", "make"]
