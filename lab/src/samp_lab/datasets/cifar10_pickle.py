"""CIFAR-10's Python batches, which are pickles, read without running anything in them.

A pickle is a program. This reader allows it to build dicts, lists, strings, numbers and an array of bytes, and to name
the functions that a numpy array is pickled with, which are replaced by stand-ins that only store their arguments.
"""

from __future__ import annotations

import io
import math
import os
import pickle
import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 2**27  # bytes; a batch has 31 MB
# What builds plain values; no persistent ids, no extension registry, no classes to call (INST, OBJ, NEWOBJ).
PLAIN = {
    *("PROTO", "FRAME", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "MEMOIZE"),
    *("INT", "BININT", "BININT1", "BININT2", "LONG1"),
    *("STRING", "SHORT_BINSTRING", "BINSTRING", "SHORT_BINBYTES", "BINBYTES"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE"),
    *("EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "EMPTY_LIST", "LIST", "APPEND", "APPENDS"),
    *("EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD"),  # which names they may use is restricted by `_Plain.find_class`
    *("PUT", "BINPUT", "LONG_BINPUT", "GET", "BINGET", "LONG_BINGET"),
}


def read_pickle(path: str | os.PathLike[str]) -> tuple[NDArray[np.uint8], list[int]]:
    """Return the rows and the labels of one Python batch: n 3072 bytes, and n whole numbers.

    >>> from tempfile import TemporaryDirectory
    >>> batch = {b"data": np.zeros((2, 3072), np.uint8), b"labels": [3, 8]}
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "test_batch"
    ...     _ = file.write_bytes(pickle.dumps(batch, protocol=2))
    ...     rows, labels = read_pickle(file)
    >>> rows.shape, labels
    ((2, 3072), [3, 8])
    """
    if Path(path).stat().st_size > MOST:
        raise ValueError(f"{path} has more than {MOST:,} bytes, too many for a batch of CIFAR-10: give the real one.")
    data = Path(path).read_bytes()
    try:
        _check_opcodes(data)
        batch = _Plain(io.BytesIO(data), encoding="bytes").load()
        named = {key.decode() if isinstance(key, bytes) else key: value for key, value in batch.items()}
        return named["data"].array(), [int(label) for label in named["labels"]]
    except Exception as error:  # reading a broken pickle can raise almost anything
        said = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{path} is no Python batch of CIFAR-10 ({said}): get it again, or take the binary version."
        ) from error


class _Array:
    """A stand-in for a numpy array until its bytes are read."""

    state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def array(self) -> NDArray[np.uint8]:
        _, shape, kind, fortran, data = self.state
        if not isinstance(kind, _Kind) or kind.name not in ("u1", b"u1") or fortran or not isinstance(data, bytes):
            raise ValueError("its data is no array of bytes")
        if len(shape) != 2 or math.prod(shape) != len(data):
            raise ValueError(f"its data is {len(data)} bytes, not {shape}")
        return np.frombuffer(bytearray(data), np.uint8).reshape(shape)


class _Kind:
    """A stand-in for a numpy dtype, of which only the name matters."""

    def __init__(self, name: object, *_: object) -> None:
        self.name = name

    def __setstate__(self, state: object) -> None:
        """Ignore byte order and alignment, which bytes do not have."""


def _new_array(*_: object) -> _Array:
    return _Array()


def _encode(text: str, encoding: str) -> bytes:
    """Return bytes in the form in which Python 3 pickles them for Python 2."""
    return text.encode("latin1")


KNOWN: dict[tuple[str, str], Callable[..., object]] = {
    ("numpy.core.multiarray", "_reconstruct"): _new_array,
    ("numpy._core.multiarray", "_reconstruct"): _new_array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Kind,
    ("_codecs", "encode"): _encode,
}


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., object]:
        if (module, name) not in KNOWN:
            raise ValueError(f"it asks for {module}.{name}, which no such batch needs and which is not run")
        return KNOWN[module, name]


def _check_opcodes(data: bytes) -> None:
    """Check the whole program before any of it runs."""
    for code, argument, _ in pickletools.genops(data):
        if code.name not in PLAIN:
            raise ValueError(f"it uses {code.name}, which no such batch needs")
        if code.name.endswith("PUT") and int(argument or 0) > len(data):  # the table of remembered values grows to that
            raise ValueError(f"it remembers a value as number {argument}, out of all proportion")
