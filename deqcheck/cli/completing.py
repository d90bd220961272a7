"""What the shell offers behind `deqcheck`: names of cases, ids of statements, topics, files."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem


def _begun(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def cases(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Embedded cases, and files."""
    from deqcheck.case import embedded

    return [*_begun(embedded.names(), incomplete), CompletionItem(incomplete, type="file")]


def named(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Embedded cases."""
    from deqcheck.case import embedded

    return _begun(embedded.names(), incomplete)


def statements(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from deqcheck import registry

    return _begun(registry.statements(), incomplete)


def topics(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from deqcheck import docs

    return _begun(docs.topics(), incomplete)


def figures(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from deqcheck.figures import figures as known

    return _begun(known(), incomplete)
