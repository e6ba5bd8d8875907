"""Messages of the library in the words of the command line."""

from __future__ import annotations

import re

# Arguments of `samp.models.load`, `samp.run` and `samp.batch.Workers` that are options of the same name.
FLAGS = (
    *("data", "model", "weights", "trust", "classes", "size", "mean", "std", "channels", "device", "dtype"),
    *("out", "shard_size", "workers", "gpus_per_worker", "cpus_per_worker", "address"),
)


def name_flags(said: str) -> str:
    """Return a message in which the arguments of the library that stand in backticks are the options of the commands.

    >>> name_flags("net.pt2 is code: give `trust=True`, or a file as `weights`. `forward` is another matter.")
    'net.pt2 is code: give --trust, or a file as --weights. `forward` is another matter.'
    >>> name_flags('add `device="cuda"`, or leave out `gpus_per_worker`.')
    'add --device cuda, or leave out --gpus-per-worker.'
    """
    return re.sub(rf"`({'|'.join(FLAGS)})(?:=([^`]*))?`", _flag, said)


def _flag(argument: re.Match[str]) -> str:
    flag = "--" + argument[1].replace("_", "-")
    value = (argument[2] or "").strip("\"'")
    return f"{flag} {value}" if value and value != "True" else flag
