"""Features: groups of input elements that move together.

A group is a pixel (all its channels), a single element, a k×k patch, a superpixel, or whatever an integer mask defines
(pieces of a segmenter, tokens, table columns). Paths and metrics work on groups through a `Grouping`, which sums
elements over groups (`pool`: r n → r g), copies group values to their elements (`spread`: r g → r n) and finds the
groups with a true element (`any`: r n → r g). The n elements are the inputs flattened and, if there are several,
concatenated.
"""

from samp.groups.bind import bind, bind_levels, find_superpixels
from samp.groups.kinds import Elements, GroupKind, Groups, Patches, Pixels
from samp.groups.layout import check_input_layout, check_map_layout, looks_channels_last
from samp.groups.pooling import Channels, Grouping, Segments
from samp.groups.superpixels import Superpixels

__all__ = [
    "Channels",
    "Elements",
    "GroupKind",
    "Grouping",
    "Groups",
    "Patches",
    "Pixels",
    "Segments",
    "Superpixels",
    "bind",
    "bind_levels",
    "check_input_layout",
    "check_map_layout",
    "find_superpixels",
    "looks_channels_last",
]
