"""Boxes around the objects of a photo, and readers of the files they come in.

>>> from samp.annotations import Annotation, Box, crop_boxes
>>> photo = Annotation((Box("dog", 40, 60, 180, 220),), size=(240, 320))
>>> crop_boxes(photo, 224).size
(224, 224)
"""

from __future__ import annotations

from samp.annotations.box_files import read_coco, read_voc, read_yolo
from samp.annotations.boxes import Annotation, Box, as_mask, crop_boxes, overlap, tight_box

__all__ = [
    "Annotation",
    "Box",
    "as_mask",
    "crop_boxes",
    "overlap",
    "read_coco",
    "read_voc",
    "read_yolo",
    "tight_box",
]
