"""Messages of the library in the words of the command line."""

from __future__ import annotations

import re

FLAGS = ("data", "out", "model", "weights", "trust", "classes", "size", "mean", "std", "channels", "device", "dtype")


def name_flags(said: str) -> str:
    """A message with the arguments that it names, of `samp.models.load` and of runs, as the options that they are here.

    >>> name_flags("net.pt2 is code: give `trust=True`, or a file as `weights`. `forward` is another matter.")
    'net.pt2 is code: give --trust, or a file as --weights. `forward` is another matter.'
    """
    return re.sub(rf"`({'|'.join(FLAGS)})(=True)?`", r"--\1", said)
