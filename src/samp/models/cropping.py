"""The whole photo resized and its centre cut out, to the pixel as torchvision, timm and transformers do it.

They round twice, the resized photo's longer side and the corner of the cut, and not all alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from PIL import Image

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class ResizeThenCrop:
    """Resize the photo to `sides`, then cut out its centre; a photo that is too small then gets a black border.

    >>> whole = ResizeThenCrop(256)
    >>> whole.resize_to((640, 480)), whole.box((640, 480), (224, 224))
    ((341, 256), (108.85630498533725, 30.0, 529.266862170088, 450.0))
    >>> whole.crop(Image.new("RGB", (640, 480)), (224, 224), Image.Resampling.BILINEAR).size
    (224, 224)
    """

    sides: int | tuple[int, int]
    """The shorter side, with the longer in proportion; or height and width, whatever the photo's."""
    nearest: bool = False
    """Where the cut would begin at half a pixel: at the nearest even one, as in torchvision, else the one before."""

    def resize_to(self, photo: tuple[int, int]) -> tuple[int, int]:
        """Return width and height of the whole photo (width, height) after resizing."""
        if isinstance(self.sides, tuple):
            return self.sides[1], self.sides[0]
        width, height = photo
        if width <= height:
            return self.sides, int(self.sides * height / width)
        return int(self.sides * width / height), self.sides

    def crop(self, photo: Image.Image, shape: tuple[int, int], resample: Image.Resampling) -> Image.Image:
        """Return the part of the photo that the net sees, at `shape` (height, width)."""
        resized = photo.resize(self.resize_to(photo.size), resample)
        left, top = self._corner(resized.size, shape)
        return resized.crop((left, top, left + shape[1], top + shape[0]))

    def box(self, photo: tuple[int, int], shape: tuple[int, int]) -> Box:
        """Return left, top, right and bottom of that part in pixels of the photo (width, height)."""
        resized = self.resize_to(photo)
        left, top = self._corner(resized, shape)
        across, down = photo[0] / resized[0], photo[1] / resized[1]
        right, bottom = (left + shape[1]) * across, (top + shape[0]) * down
        return max(left * across, 0.0), max(top * down, 0.0), min(right, float(photo[0])), min(bottom, float(photo[1]))

    def _corner(self, resized: tuple[int, int], shape: tuple[int, int]) -> tuple[int, int]:
        left, top = (resized[0] - shape[1]) / 2, (resized[1] - shape[0]) / 2
        return (round(left), round(top)) if self.nearest else (int(left // 1), int(top // 1))
