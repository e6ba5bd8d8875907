"""Results as tables of pandas, which samp does without unless one is asked for; only this module imports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pandas import DataFrame


def make_frame(records: Sequence[Mapping[str, Any]], index: str | None = None) -> DataFrame:
    """Return a table with a line for each record, with one of its columns as the index; None becomes NaN in numbers.

    Raises ImportError with advice if pandas is not installed.

    >>> make_frame([{"method": "ig", "deletion": 0.5}], index="method").loc["ig", "deletion"].item()
    0.5
    """
    try:
        import pandas
    except ModuleNotFoundError as error:
        if error.name != "pandas":
            raise
        raise ImportError("to_pandas() makes a table of pandas, which is not installed: pip install pandas.") from error
    frame = pandas.DataFrame([dict(record) for record in records])
    return frame if index is None or frame.empty else frame.set_index(index)
