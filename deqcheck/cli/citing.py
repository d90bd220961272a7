"""How to cite deqcheck."""

from __future__ import annotations

import click

from deqcheck import __version__
from deqcheck.cli.errors import say

TITLE = (
    "deqcheck: published convergence theorems for deep equilibrium models as checkable statements"
)
AUTHOR = "The deqcheck developers"

CITATION = f"""\
@software{{deqcheck,
  author  = {{{{{AUTHOR}}}}},
  title   = {{{TITLE}}},
  version = {{{__version__}}}
}}
"""
# A verdict is of one version on one case.
ADVICE = """\
Give the version, and for a verdict the digest of the case (deqcheck validate CASE).
The work that a statement is from: deqcheck theorems show ID --bibtex
"""


def show(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """The entry on stdout, the advice on stderr."""
    if asked and not ctx.resilient_parsing:
        click.echo(CITATION, nl=False)
        say(ADVICE, nl=False)
        ctx.exit()
