"""The command line: a command's module is imported when the command is used, and torch only where it is needed."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samp import __version__
from samp.cli.flags import name_flags, note_command
from samp.cli.interrupts import keep_interrupts
from samp.cli.terminal import accept_any_encoding, clear_line, printable, say, say_block, say_traceback
from samp.threads import wait_settings

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# Each command, by its name: the function of that name in `samp.cli.NAME`, with its line in `samp --help`.
COMMANDS = {
    "explain": "Explain what a model sees in photos.",
    "run": "Explain a whole data set, on one machine or many.",
    "report": "Sum up a run over a data set in a page.",
    "compare": "Set several methods side by side on one photo.",
    "play": "Walk the path in a page that opens in any browser.",
    "app": "Explain photos in the browser, and watch the walk.",
    "methods": "List all methods, with what they cost and promise.",
    "doctor": "Check that samp works on this machine.",
    "completion": "Print what switches on completion in a shell.",
}
# Other packages add commands by entry points of this group; of these it is known which package brings them.
PLUGINS = "samp.commands"
OPTIONAL_COMMANDS = {
    "bench": ("samp-lab", "Measure samp, and make the paper's tables and figures again (package samp-lab).")
}
# Errors that are raised with a message for people. Methods raise NotImplementedError for operations without a rule.
EXPECTED = (ValueError, TypeError, OSError, MemoryError, ImportError, NotImplementedError)


class Commands(click.Group):
    """A group that imports a command when it is used, and whose errors are one sentence and exit code 2.

    `--debug`, before or behind the command, shows where an error came from. Ctrl-C exits with 130, as shells expect.
    """

    def main(self, *args: Any, **how: Any) -> Any:
        accept_any_encoding()
        os.environ.update(wait_settings(os.environ))  # before torch is imported
        return super().main(*args, **how)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *(entry.name for entry in entry_points(PLUGINS) if entry.name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return load_plugin(cmd_name)
        command: click.Command = getattr(importlib.import_module(f"samp.cli.{cmd_name}"), cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, others = super().resolve_command(ctx, args)
        note_command(ctx, command, others)
        return name, command, others

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            others = {name: line for name, line in plugin_lines().items() if name not in COMMANDS}
            formatter.write_dl(list({**COMMANDS, **others}.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings(), keep_interrupts():
                warnings.showwarning = show_warning
                return super().invoke(ctx)
        except KeyboardInterrupt:
            clear_line()
            say("samp: interrupted; what was written before is whole.", err=True)
            sys.exit(130)
        except click.ClickException as error:
            raise _with_printable_words(error) from None
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise  # click knows what to do with these; the last is `samp ... | head`
        except Exception as error:
            if ctx.params.get("debug"):
                say_traceback(error)
            say(f"samp: {error_sentence(error)}", err=True)
            sys.exit(2)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Accept `--debug` behind the command too, where people add it to what they just ran."""
        own = args[: args.index("--")] if "--" in args else args
        if "--debug" in own:
            args = ["--debug", *(word for word in own if word != "--debug"), *args[len(own) :]]
        try:
            return super().parse_args(ctx, args)
        except click.ClickException as error:
            raise _with_printable_words(error) from None


def plugin_lines() -> dict[str, str]:
    """Return the commands of other packages, installed or known to exist, each with its line in `samp --help`."""
    entries = entry_points(PLUGINS) if has_other_plugins() else []
    installed = {entry.name: f"A command of the package {entry.module.partition('.')[0]}." for entry in entries}
    return {**installed, **{name: line for name, (_, line) in OPTIONAL_COMMANDS.items()}}


def load_plugin(name: str) -> click.Command | None:
    """Return the command of this name of another package, or None if there is none.

    Raises ModuleNotFoundError if the command is known to exist and its package is not installed.
    """
    for entry in entry_points(PLUGINS):
        if entry.name == name:
            command: click.Command = entry.load()
            return command
    if name in OPTIONAL_COMMANDS:
        from samp.extras import lab_install_command  # not needed otherwise

        package = OPTIONAL_COMMANDS[name][0]
        raise ModuleNotFoundError(
            f"`samp {name}` comes with the package {package}, which is not installed: {lab_install_command()}."
        )
    return None


def entry_points(group: str) -> Iterable[EntryPoint]:
    """Return the entry points of this group."""
    from importlib.metadata import entry_points as find  # as slow to import as all that `samp --help` needs

    return find(group=group)


def has_other_plugins() -> bool:
    """Return whether a package other than the laboratory, which is known, may add commands."""
    for folder in filter(os.path.isdir, sys.path):
        for name in os.listdir(folder):
            file = os.path.join(folder, name, "entry_points.txt")
            if name.endswith(".dist-info") and not name.startswith("samp_lab-") and os.path.isfile(file):
                with open(file, encoding="utf-8", errors="replace") as lines:
                    if f"[{PLUGINS}]" in lines.read():
                        return True
    return False


def show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: Any, **__: Any
) -> None:
    """Print a warning of samp as one line, without its place in the code, and any other as Python does."""
    ours = category is UserWarning and Path(filename).is_relative_to(Path(__file__).parents[1])
    whole = warnings.formatwarning(message, category, filename, lineno).rstrip()
    say(f"samp: {name_flags(str(message))}", err=True) if ours else say_block(whole, err=True)


def _with_printable_words(error: click.ClickException) -> click.ClickException:
    """Return the error with control characters written out: click prints it, and it may repeat what was typed."""
    error.message = printable(error.message, keep="\n\t")  # type: ignore[misc]  # click has no other place for it
    return error


def error_sentence(error: Exception) -> str:
    """Return one line on an error: its own message if that was meant for people, else its type and message.

    >>> error_sentence(ValueError("eta is above 0,\\nnot 0."))
    'eta is above 0, not 0.'
    """
    message = name_flags(replace_surrogates(" ".join(str(error).split()))) or type(error).__name__
    if isinstance(error, EXPECTED):
        return message
    return f"unexpected {type(error).__name__} ({message}): `samp --debug ...` shows where."


def is_debugging() -> bool:
    """Return whether the command was run with `--debug`.

    >>> is_debugging()
    False
    """
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().params.get("debug"))


def replace_surrogates(text: object) -> str:
    """Return the text with "�" for bytes of a file's name that are no characters: any encoding can write that.

    >>> replace_surrogates("caf\\udce9.jpg is not a file.")
    'caf�.jpg is not a file.'
    """
    return click.format_filename(str(text))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="samp")
@click.option("--debug", is_flag=True, help="Show the whole traceback of an error.")
def main(debug: bool) -> None:
    """Why did the model say that? Attributions that are clear, rigorous and fast.

    \b
    Example:
      samp explain cat.jpg --out why.png
    """
