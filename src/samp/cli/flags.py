"""Messages of the library in the words of the command line: arguments are called as the options they are there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import click

COMMAND = "samp.cli.command"  # where the context keeps the command that is run
# Arguments of the library whose options have another name.
ARGUMENTS = {"pixels_per_step": "--step"}
# An argument in a message: `name`, `name=value` or name=value after a word. A repr, as IG(steps=4, baseline=0), has
# brackets or commas before its names, and a value that is a call or a tuple cannot be given as an option.
QUOTED = re.compile(r"`(\w+)(?:=([^`(\[]*))?`")
BARE = re.compile(r"(?<=\w )(\w+)=('[^']*'|\"[^\"]*\"|[\w.+-]*\w|…|\.{3})?(?![\w(\['\"])")


def name_flags(message: str, flags: Mapping[str, str] | None = None) -> str:
    """Return the message with each argument that it names as the option of the running command, if there is one.

    `flags` are the options by the arguments that they set; those of the command that click is running if left out.

    >>> flags = {"trust": "--trust", "weights": "--weights", "device": "--device"}
    >>> name_flags("net.pt2 is code: give `trust=True`, or a file as `weights`. `forward` is another matter.", flags)
    'net.pt2 is code: give --trust, or a file as --weights. `forward` is another matter.'
    >>> name_flags("IG(steps=4, device='cpu') has no room there: pass device='cuda', or layer='conv'.", flags)
    "IG(steps=4, device='cpu') has no room there: pass --device cuda, or layer='conv'."
    """
    known = current_flags() if flags is None else flags

    def replace(found: re.Match[str]) -> str:
        name, value = found[1], (found[2] or "").strip("'\"")
        if name not in known:
            return found[0]
        return f"{known[name]} {value}" if value not in ("", "True", "…", "...") else known[name]

    return BARE.sub(replace, QUOTED.sub(replace, message))


def current_flags() -> dict[str, str]:
    """Return the options of the command that click is running, by the arguments that they set; none outside of one.

    >>> current_flags()
    {}
    """
    context = click.get_current_context(silent=True)
    if context is None:
        return {}
    command: click.Command = context.meta.get(COMMAND, context.command)
    return command_flags(command)


def command_flags(command: click.Command) -> dict[str, str]:
    """Return the long options of a command, by the arguments of the library that they set.

    >>> command_flags(click.Command("run", params=[click.Option(["--shard-size"]), click.Option(["--step"])]))
    {'shard_size': '--shard-size', 'step': '--step', 'pixels_per_step': '--step'}
    """
    options = [word for option in command.params for word in option.opts if word.startswith("--")]
    flags = {word.removeprefix("--").replace("-", "_"): word for word in options}
    return flags | {argument: word for argument, word in ARGUMENTS.items() if word in options}


def note_command(context: click.Context, command: click.Command | None, words: Sequence[str]) -> None:
    """Note in the context which command is about to run, so that its errors can name its options.

    Of a group, such as `samp bench`, it is the command that the first of the words names.
    """
    if isinstance(command, click.Group):
        name = next((word for word in words if not word.startswith("-")), "")
        command = command.get_command(context, name) or command
    if command is not None:
        context.meta[COMMAND] = command
