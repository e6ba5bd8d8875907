"""A hub that cannot be reached: one sentence with a way out, and no minute of retries.

The packages are stood in for by the part of their API that is called, and downloads go to a port where nobody listens.
With the packages at hand, the same is asked of them in a process of its own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

import samp
from samp import models
from samp.models.fetching import HubError, fetch


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> str:
    """An address of this machine where nobody listens, which is the hub's for now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        place = f"http://127.0.0.1:{taken.getsockname()[1]}"
    for name in [name for name in os.environ if name.lower().endswith("_proxy") or name.endswith("_OFFLINE")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_ENDPOINT", place)
    return place


def stand_in(monkeypatch: pytest.MonkeyPatch, name: str, **content: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__.update(content)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def hub(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """What huggingface_hub has of its switch."""
    stand_in(monkeypatch, "huggingface_hub")
    return stand_in(
        monkeypatch, "huggingface_hub.constants", HF_HUB_OFFLINE=False, is_offline_mode=lambda: NotImplemented
    )


def transformers(monkeypatch: pytest.MonkeyPatch, read_config: Callable[..., Any]) -> None:
    auto = SimpleNamespace(from_pretrained=read_config)
    stand_in(
        monkeypatch,
        "transformers",
        AutoConfig=auto,
        AutoModelForImageClassification=auto,
        ImageProcessingMixin=SimpleNamespace(get_image_processor_dict=lambda name: ({}, None)),
    )


def test_weights_that_cannot_be_downloaded_lead_to_a_file(
    nowhere: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))

    def get_model(name: str, weights: Any) -> nn.Module:
        torch.hub.load_state_dict_from_url(f"{nowhere}/{name}.pth", progress=False)  # as torchvision does it
        return nn.Flatten()

    stand_in(
        monkeypatch,
        "torchvision.models",
        list_models=lambda module: ["resnet50"],
        get_model_weights=lambda name: SimpleNamespace(DEFAULT=object()),
        get_model=get_model,
    )
    with pytest.raises(HubError, match=r"torchvision:resnet50 could not be loaded \(.*refused\): .* file as `weights`"):
        models.load("torchvision:resnet50")
    assert socket.getdefaulttimeout() is None


def test_a_hub_that_cannot_be_reached_is_asked_for_its_cache_alone(
    nowhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants, offline = hub(monkeypatch), []

    def create_model(name: str, pretrained: bool) -> nn.Module:
        offline.append(constants.HF_HUB_OFFLINE)
        raise FileNotFoundError("not in the cache")

    known = {"is_model": lambda name: True, "get_pretrained_cfg": lambda name: None}
    stand_in(monkeypatch, "timm", **known, create_model=create_model)
    sentence = r"timm:resnet18 could not be loaded \(127.0.0.1 cannot be reached: .*, and its cache has not got it\)"
    with pytest.raises(HubError, match=f"{sentence}: .* give a checkpoint file as `weights`"):
        models.load("timm:resnet18")
    assert offline == [True]
    assert constants.HF_HUB_OFFLINE is False


def test_a_hub_that_answers_is_asked_as_ever(nowhere: str, monkeypatch: pytest.MonkeyPatch) -> None:
    constants, offline = hub(monkeypatch), []

    def read_config(name: str, trust_remote_code: bool) -> Any:
        offline.append(constants.HF_HUB_OFFLINE)
        raise OSError("a/b is not a valid model identifier.\nand more")

    transformers(monkeypatch, read_config)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{listening.getsockname()[1]}")
        with pytest.raises(HubError, match=r"hf:a/b could not be loaded \(a/b is not a valid model identifier\): "):
            models.load("hf:a/b")
    assert offline == [False]


@pytest.mark.parametrize("proxy", ["http_proxy", "all_proxy"])
def test_behind_a_proxy_only_asking_shows(nowhere: str, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    constants, offline = hub(monkeypatch), []
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    monkeypatch.setenv(proxy, nowhere)

    def read_config(name: str, trust_remote_code: bool) -> Any:
        offline.append(constants.HF_HUB_OFFLINE)
        raise OSError("no")

    transformers(monkeypatch, read_config)
    with pytest.raises(HubError):
        models.load("hf:a/b")
    assert offline == [False]


@pytest.mark.parametrize("switch", ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_the_switch_of_the_hub_is_honoured_and_named(
    nowhere: str, monkeypatch: pytest.MonkeyPatch, switch: str
) -> None:
    hub(monkeypatch)
    monkeypatch.setenv(switch, "1")
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("nothing may be asked"))

    def read_config(name: str, trust_remote_code: bool) -> Any:
        raise OSError("offline")

    transformers(monkeypatch, read_config)
    with pytest.raises(HubError, match=rf"hf:a/b could not be loaded \({switch} is set, .*give .* as hf:FOLDER"):
        models.load("hf:a/b")


def test_a_folder_asks_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("nothing may be asked"))

    def read_config(name: str, trust_remote_code: bool) -> Any:
        raise OSError("there is no config.json")

    transformers(monkeypatch, read_config)
    with pytest.raises(HubError, match=r"could not be loaded \(there is no config.json\)"):
        models.load(f"hf:{tmp_path}")


@pytest.mark.parametrize("trust", [False, True])
def test_code_in_a_repository_is_never_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, trust: bool) -> None:
    def read_config(name: str, trust_remote_code: bool) -> Any:
        assert trust_remote_code is False
        raise ValueError("Please pass the argument `trust_remote_code=True` to allow custom code to be run.")

    transformers(monkeypatch, read_config)
    with pytest.raises(HubError, match=r"brings Python code of its own, which samp does not run: .* module:factory"):
        models.load(f"hf:{tmp_path}", trust=trust)


def test_what_the_user_interrupts_is_left_alone() -> None:
    with pytest.raises(KeyboardInterrupt), fetch("hf:a/b", "wait", from_hub=False):
        raise KeyboardInterrupt


@pytest.mark.parametrize(("model", "package"), [("timm:resnet18", "timm"), ("hf:microsoft/resnet-18", "transformers")])
def test_the_real_packages_do_not_retry(nowhere: str, tmp_path: Path, model: str, package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}: pip install {package}")
    env = {**os.environ, "HF_ENDPOINT": nowhere, "HF_HOME": str(tmp_path)}
    words = [sys.executable, "-m", "samp", "explain", "--model", model]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 2
    assert "127.0.0.1 cannot be reached" in done.stderr
    assert "Retry" not in done.stderr


def test_real_code_in_a_repository_is_not_run(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs transformers: pip install transformers")
    names = {"AutoConfig": "evil.Config", "AutoModelForImageClassification": "evil.Net"}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "evil", "auto_map": names}))
    (tmp_path / "evil.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'trace')!r})\n")
    with pytest.raises(HubError, match="brings Python code of its own"):
        models.load(f"hf:{tmp_path}", trust=True)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("load", [models.load, samp.text.load])
def test_a_path_that_is_no_folder_is_not_asked_of_the_hub(load: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "nothing", tmp_path / "file"):
        with pytest.raises(HubError, match=f"^hf:{path} could not be loaded: there is no folder {path}.$"):
            load(f"hf:{path}")


@pytest.mark.parametrize("load", [models.load, samp.text.load])
def test_a_folder_without_a_net_is_not_blamed_on_the_network(load: Any, tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs transformers")
    with pytest.raises(HubError, match=r"could not be loaded \(.*\): give a folder as save_pretrained writes it\.$"):
        load(f"hf:{tmp_path}")
