"""Setups, which reports call test beds: a data set, a net, the protocol of Deletion and Insertion, and a reading."""

from __future__ import annotations

from dataclasses import dataclass

from samp.lookup import look_up


@dataclass(frozen=True)
class Setup:
    """A data set (`samp_lab.datasets`), a net (`samp_lab.nets`) and a protocol of Deletion and Insertion.

    `reading` says how the paper is read (`samp_lab.readings`): by its text, or as its authors' benchmark has it.

    >>> parse_setup("mnist")
    Setup(data='mnist', net='mnist', protocol='mnist', reading='text')
    >>> parse_setup("imagenet").title, parse_setup("mnist@authors").title
    ('ImageNet photos, ResNet-50', "MNIST, the authors' CNN")
    """

    data: str
    net: str
    protocol: str
    reading: str = "text"

    @property
    def name(self) -> str:
        """The name in commands and results: DATA/NET@reading, without what is the default."""
        whole = self.data.partition(":")[0]
        if self.reading == "text":  # stored results are keyed by these names, so that they never change
            return self.data if self.net == whole else f"{self.data}/{self.net}"
        own = DEFAULT_NETS[self.reading].get(whole) == self.net
        return f"{self.data}{'' if own else '/' + self.net}@{self.reading}"

    @property
    def title(self) -> str:
        """The heading in reports."""
        return f"{self.data_title}, {net_title(self.net)}"

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
    "mnist-authors": "the authors' CNN",
    "cifar10-authors": "the authors' CNN",
    "mnist-slim": "slim CNN",
    "cifar10-slim": "slim CNN",
    "mnist-slim-authors": "the authors' CNN, slim",
    "cifar10-slim-authors": "the authors' CNN, slim",
    "resnet50": "ResNet-50",
    "resnet50-uncropped": "ResNet-50 on uncropped photos",
    "mobilenet_v2": "MobileNetV2",
    "squeezenet1_1": "SqueezeNet 1.1",
    "efficientnet_lite0": "EfficientNet-Lite0",
    "efficientnet_lite1": "EfficientNet-Lite1",
    "efficientnet_lite2": "EfficientNet-Lite2",
    "dinov2_vits14": "DINOv2 ViT-S/14",
    "dinov2-cifar10": "DINOv2 ViT-S/14",
    "dinov2-cub": "DINOv2 ViT-S/14",
    "cub": "EfficientNet-Lite0, fine-tuned head",
    "counting": "blue-pixel counter",
    "mosaic": "the paper's CNN for several labels",
    "mosaic-slim": "slim CNN for several labels",
    "mnist-slim-56": "slim CNN on 56×56 pixels",
}
SEED = "-seed"
"""What comes between the name of a trained net and its training seed, as in mnist-seed1; the plain name is seed 0."""
IMAGENET_NETS = ("resnet50", "mobilenet_v2", "efficientnet_lite0", "squeezenet1_1")
"""The first is the paper's; the others show how far its findings depend on the net."""
TRANSFORMER = "dinov2_vits14"
"""A net without convolutions, with a head that was distilled from ResNet-50 (`samp_lab.training.head_recipes`)."""
_OWN_NETS = {name: name for name in ("mnist", "cifar10", "cub", "counting", "mosaic")}
_OWN_NETS |= {"counting-mixed": "counting", "digits": "mnist-slim", "digit-mosaic": "mnist-slim-56"}
DEFAULT_NETS = {
    "text": _OWN_NETS,
    "authors": _OWN_NETS
    | {"mnist": "mnist-authors", "cifar10": "cifar10-authors", "digits": "mnist-slim-authors"}
    | {"imagenet": "resnet50-uncropped"},
}
"""By reading and data set, the net that its name alone stands for; the first of IMAGENET_NETS for all others."""
PROTOCOL_OF = {"mnist": "mnist", "digits": "mnist", "cifar10": "cifar10"}  # all other data: ImageNet's protocol
LARGE_INPUT = "dinov2"
"""What the names of nets begin with that take any data at 224 × 224 pixels: their protocol is ImageNet's."""
PROTOCOL_ENDINGS = {"text": "", "authors": "-authors"}


def net_title(net: str) -> str:
    """Return a net's name in reports.

    >>> net_title("cifar10-seed2"), net_title("mine")
    ("the paper's CNN, seed 2", 'mine')
    """
    name, _, seed = net.partition(SEED)
    return NET_TITLES.get(name, name) + (f", seed {seed}" if seed else "")


def parse_setup(name: str) -> Setup:
    """Return the setup of a name: `mnist`, `imagenet/efficientnet_lite0`, `mnist:even` for every second image, and
    `mnist@authors` for the reading of the authors' benchmark.

    Raises ValueError for an unknown data set, half or reading.

    >>> parse_setup("imagenet/squeezenet1_1").net, parse_setup("mnist/mnist-slim").protocol
    ('squeezenet1_1', 'mnist')
    >>> parse_setup("cifar10/dinov2-cifar10").protocol
    'imagenet'
    >>> parse_setup("cifar10@authors").name, parse_setup("cifar10@authors").protocol
    ('cifar10@authors', 'cifar10-authors')
    """
    bed, _, reading = name.partition("@")
    reading = reading or "text"
    look_up(reading, PROTOCOL_ENDINGS, "reading")
    data, _, net = bed.partition("/")
    whole, colon, half = data.partition(":")
    look_up(whole, DATA_TITLES, "data set")
    if colon:
        look_up(half, HALVES, "half")
    size = "imagenet" if net.startswith(LARGE_INPUT) else PROTOCOL_OF.get(whole, "imagenet")
    protocol = size + PROTOCOL_ENDINGS[reading]
    return Setup(data, net or DEFAULT_NETS[reading].get(whole, IMAGENET_NETS[0]), protocol, reading)
