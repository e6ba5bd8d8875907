"""How OpenMP's threads wait for each other: they spin for a moment, then sleep, unless the user has chosen otherwise.

By default they spin for long, and so keep a core from the very threads they wait for as soon as anything else runs on
the machine. To sleep at once costs time even on an idle machine; a short spin costs none and does almost as well on a
busy one (`samp bench threads`).

The variables are read when the OpenMP runtime is loaded, which is when torch is imported; so commands set them before,
and processes are started with them. A program that imports samp keeps its own settings.
"""

from __future__ import annotations

from collections.abc import Mapping

# GNU's runtime: looks before it sleeps, 300,000 by default. LLVM's and Intel's: milliseconds, 200 by default.
SHORT_WAIT = {"GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "1"}


def wait_settings(present: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that let waiting threads soon sleep; none if this environment says how they wait.

    >>> wait_settings({}), wait_settings({"OMP_WAIT_POLICY": "active"})
    ({'GOMP_SPINCOUNT': '1000', 'KMP_BLOCKTIME': '1'}, {})
    """
    return {} if any(name in present for name in (*SHORT_WAIT, "OMP_WAIT_POLICY")) else dict(SHORT_WAIT)
