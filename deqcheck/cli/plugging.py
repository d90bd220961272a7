"""`--with` and `--no-plugins`, on every command that reads a case or the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from deqcheck.cli.errors import Complaint, say

ASKED, BARE = "deqcheck.with", "deqcheck.no_plugins"


def with_plugins(command: click.Command) -> click.Command:
    """Options that every command has, and its inner commands too."""
    if any(param.name == "plugin_paths" for param in command.params):
        return command
    options = _options()
    if isinstance(command, click.Group):
        # What an inner command says counts before anything is loaded.
        options = options[:-1]
        command.callback = _loading(command.callback)
        for inner in command.commands.values():
            with_plugins(inner)
    command.params += options
    return command


def _loading(callback: Callable[..., Any] | None) -> Callable[..., Any]:
    def loaded(*args: Any, **more: Any) -> Any:
        ctx = click.get_current_context()
        if ctx.invoked_subcommand is None:
            _load(ctx)
        return callback(*args, **more) if callback else None

    return loaded


def _options() -> list[click.Parameter]:
    """Eager: formats and names of statements depend on them. The last one is never given, so that
    it is looked at when the others are known."""
    common: dict[str, Any] = {"is_eager": True, "expose_value": False}
    return [
        click.Option(
            ["--with", "plugin_paths"],
            multiple=True,
            metavar="PATH",
            help="Load statements, models or formats of your own from a Python file or a folder; "
            "this runs its code. Repeatable.",
            callback=_remember(ASKED),
            **common,
        ),
        click.Option(
            ["--no-plugins", "no_plugins"],
            is_flag=True,
            help="Load nothing that pyproject.toml or an installed package names.",
            callback=_remember(BARE),
            **common,
        ),
        click.Option(["--plugged", "plugged"], hidden=True, callback=_load, **common),
    ]


def _remember(key: str) -> Any:
    def callback(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        # An inner command keeps what was said before it.
        ctx.meta[key] = value or ctx.meta.get(key)

    return callback


def _load(ctx: click.Context, *_: Any) -> None:
    if ctx.resilient_parsing:
        return
    from deqcheck import plugins
    from deqcheck.case.project import load_configured

    if not ctx.meta.get("deqcheck.plugged"):
        plugins.forget()
        ctx.meta["deqcheck.plugged"] = True
    if not ctx.meta.get(BARE):
        for sentence in load_configured():
            say(f"deqcheck: {sentence}")
    try:
        for path in ctx.meta.get(ASKED) or ():
            plugins.load(path)
    except plugins.PluginError as error:
        raise Complaint(str(error)) from None
