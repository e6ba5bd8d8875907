"""Objects on their way to a worker in another process."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from samp.batch.messages import error_line
from samp.batch.models import Model


@dataclass(frozen=True)
class Parcel:
    """Objects that are sent to a worker, as bytes.

    Whoever starts the worker would unpickle objects itself, before `sys.path` is set for their modules, and errors
    could not be caught.
    """

    modules: tuple[str, ...]
    content: bytes

    @classmethod
    def pack(cls, model: Model, *things: Any, dumps: Callable[[Any], bytes] = pickle.dumps) -> Parcel:
        """Pickle these objects; raises TypeError if they cannot be pickled."""
        try:
            return cls(model.modules, dumps(things))
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise TypeError(
                f"the data set or the model cannot be sent to workers ({error_line(error)}): open files when an item "
                "is read, define classes where they can be imported, or leave out `workers`."
            ) from error

    @lru_cache(maxsize=1)  # noqa: B019  # a process opens one parcel for many shards, and holds no other
    def unpack(self) -> Any:
        """Return the objects as a tuple; raises whatever importing their modules raises."""
        sys.path.extend(place for place in self.modules if place not in sys.path)
        return pickle.loads(self.content)
