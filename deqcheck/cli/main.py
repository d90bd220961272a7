"""The group of all commands; a command's module is imported when it is called, not before."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
from typing import Any, cast

import click
from click.shell_completion import CompletionItem

from deqcheck import __version__, garbage, postponed, threads
from deqcheck.cli import citing
from deqcheck.cli.errors import INTERRUPTED, report_internal_error, say, silence_stdout
from deqcheck.cli.plugging import with_plugins
from deqcheck.registry import modules

COMMANDS = "deqcheck.cli.commands"


class LazyGroup(click.Group):
    """Lists the files of a folder as commands and guards their execution."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return modules(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in modules(COMMANDS):
            return None
        command = importlib.import_module(f"{COMMANDS}.{cmd_name}").command
        return with_plugins(cast(click.Command, command))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.list_commands(ctx) and name[:1].isalnum():
            from deqcheck.fields import did_you_mean

            hint = did_you_mean(name, self.list_commands(ctx), "; `deqcheck --help` lists them")
            ctx.fail(f"No such command {name!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summary(name)) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Click would import every command that may be meant, only to see whether it is hidden."""
        named = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=_summary(name)) for name in named]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.BadParameter as error:
            told = f"{error.message.removesuffix('.')}{_meant(error)}"
            raise click.BadParameter(told, error.ctx, error.param, error.param_hint) from None
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            say("deqcheck: interrupted")
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            silence_stdout()
            ctx.exit(0)
        except Exception as bug:
            ctx.exit(report_internal_error(bug))


def _meant(error: click.BadParameter) -> str:
    """Which of the choices was meant."""
    choices = getattr(getattr(error.param, "type", None), "choices", ())
    said = re.match(r"'(.*)' is not one of ", error.message)
    if not said or not choices:
        return ""
    from deqcheck.fields import did_you_mean

    return did_you_mean(said[1], [str(choice) for choice in choices], "")


def _summary(name: str) -> str:
    """The first line of the module's docstring, read without running the module."""
    spec = importlib.util.find_spec(f"{COMMANDS}.{name}")
    source = spec.loader.get_source(spec.name) if spec and spec.loader else None  # type: ignore[attr-defined]
    text = ast.get_docstring(ast.parse(source or "")) or ""
    return text.partition("\n")[0]


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="deqcheck")
@click.option(
    "--cite",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=citing.show,
    help="How to cite deqcheck, as BibTeX.",
)
@click.option(
    "--traceback",
    is_flag=True,
    envvar="DEQCHECK_TRACEBACK",
    help="Show the Python traceback of an internal error (or set DEQCHECK_TRACEBACK=1).",
)
def cli(traceback: bool) -> None:
    """Check published convergence theorems for deep equilibrium models on concrete instances.

    Exit codes: 0 nothing refuted and every expectation met; 1 a statement refuted or an
    expectation missed; 2 bad usage or a bad case; 3 nothing was decided; 4 numerical failure;
    70 a bug in deqcheck; 130 interrupted.
    """


def main() -> None:
    threads.one_unless_told()
    garbage.looked_for_seldom()
    postponed.until_used()
    try:
        cli(prog_name="deqcheck")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
