"""A bar for long runs: images done, gradients per second."""

from __future__ import annotations

import time

from tqdm import tqdm


class Meter:
    """Counts walks that arrived and gradients spent; shows a bar on stderr if asked to.

    >>> meter = Meter(total=2, walks_per_image=2, show=False)
    >>> meter.hear(gradients=4, arrived=4)
    >>> meter.images, meter.gradients
    (2.0, 4)
    """

    def __init__(self, total: int, walks_per_image: int, show: bool) -> None:
        self.walks_per_image = walks_per_image
        self.walks, self.gradients, self.started = 0, 0, time.perf_counter()
        self.bar = tqdm(
            total=total,
            unit="image",
            disable=not show,
            bar_format="{l_bar}{bar}| {n:.4g}/{total} images [{elapsed}<{remaining}, {rate_fmt}{postfix}]",
        )

    @property
    def images(self) -> float:
        return self.walks / self.walks_per_image

    def hear(self, gradients: int, arrived: int) -> None:
        """A step cost this many gradients and brought this many walks home."""
        self.gradients += gradients
        self.walks += arrived
        self._show()

    def go_back_to(self, walks: int) -> None:
        """A batch is done again (memory ran out): only this many walks stand."""
        self.walks = walks
        self._show()

    def close(self) -> None:
        self.bar.close()

    def _show(self) -> None:
        self.bar.n = self.images
        seconds = max(time.perf_counter() - self.started, 1e-9)
        self.bar.set_postfix_str(f"{self.gradients / seconds:.1f} gradients/s", refresh=False)
        self.bar.update(0)
