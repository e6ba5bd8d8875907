"""Setups, which reports call test beds: a data set, a net, and the protocol of Deletion and Insertion."""

from __future__ import annotations

from dataclasses import dataclass

from samp.lookup import look_up


@dataclass(frozen=True)
class Setup:
    """A data set (`samp_lab.datasets`), a net (`samp_lab.nets`) and a protocol of Deletion and Insertion.

    >>> parse_setup("mnist")
    Setup(data='mnist', net='mnist', protocol='mnist')
    >>> parse_setup("imagenet").title
    'ImageNet photos, MobileNetV2'
    """

    data: str
    net: str
    protocol: str

    @property
    def name(self) -> str:
        """The name in commands and results: the data set alone where it has a net of its own."""
        return self.data if self.net == self.data.partition(":")[0] else f"{self.data}/{self.net}"

    @property
    def title(self) -> str:
        """The heading in reports."""
        return f"{self.data_title}, {NET_TITLES.get(self.net, self.net)}"

    @property
    def data_title(self) -> str:
        """The data set's name in reports.

        >>> parse_setup("imagenet:even").data_title
        'ImageNet photos (even half)'
        """
        name, _, half = self.data.partition(":")
        return DATA_TITLES.get(name, name) + (f" ({half} half)" if half else "")


HALVES = {"even": 0, "odd": 1}
"""Every second image of a data set, in its own order: methods are tuned on one half and reported on the other."""
DATA_TITLES = {
    "mnist": "MNIST",
    "cifar10": "CIFAR-10",
    "imagenet": "ImageNet photos",
    "digits": "twenty digits",
    "photos": "free photos",
    "coco": "COCO photos",
    "voc": "VOC2007 photos",
    "cub": "CUB photos",
    "counting": "coloured shapes",
    "counting-mixed": "shapes in mixed colours",
    "mosaic": "MNIST mosaics",
    "digit-mosaic": "mosaics of twenty digits",
}
NET_TITLES = {
    "mnist": "the paper's CNN",
    "cifar10": "the paper's CNN",
    "mnist-slim": "slim CNN",
    "cifar10-slim": "slim CNN",
    "mobilenet_v2": "MobileNetV2",
    "squeezenet1_1": "SqueezeNet 1.1",
    "efficientnet_lite0": "EfficientNet-Lite0",
    "efficientnet_lite1": "EfficientNet-Lite1",
    "efficientnet_lite2": "EfficientNet-Lite2",
    "resnet50": "ResNet-50",
    "cub": "EfficientNet-Lite0, fine-tuned head",
    "counting": "blue-pixel counter",
    "mosaic": "the paper's CNN for several labels",
    "mosaic-slim": "slim CNN for several labels",
    "mnist-slim-56": "slim CNN on 56×56 pixels",
}
IMAGENET_NETS = ("mobilenet_v2", "efficientnet_lite0", "squeezenet1_1")  # the first stands for the paper's ResNet-50
DEFAULT_NETS = {name: name for name in ("mnist", "cifar10", "cub", "counting", "mosaic")}
DEFAULT_NETS |= {"counting-mixed": "counting", "digits": "mnist-slim", "digit-mosaic": "mnist-slim-56"}
PROTOCOL_OF = {"mnist": "mnist", "digits": "mnist", "cifar10": "cifar10"}  # all other data: ImageNet's protocol


def parse_setup(name: str) -> Setup:
    """Return the setup of a name: `mnist`, `imagenet/efficientnet_lite0`, or `mnist:even` for every second image.

    Raises ValueError for an unknown data set.

    >>> parse_setup("imagenet/squeezenet1_1").net, parse_setup("mnist/mnist-slim").protocol
    ('squeezenet1_1', 'mnist')
    """
    data, _, net = name.partition("/")
    whole, colon, half = data.partition(":")
    look_up(whole, DATA_TITLES, "data set")
    if colon:
        look_up(half, HALVES, "half")
    return Setup(data, net or DEFAULT_NETS.get(whole, IMAGENET_NETS[0]), PROTOCOL_OF.get(whole, "imagenet"))
