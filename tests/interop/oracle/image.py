#!/usr/bin/env python3
"""Makes what the oracle boots: `image.py FOLDER` leaves `vmlinuz` and `initramfs` there.

The kernel is Debian's, of the package that `linux-image-amd64` names, with the modules of Soft-RoCE. A package that is in the folder
already does as well, and nothing is made twice. If something is missing, one line on standard output says what, and the status is 3.
"""

import lzma
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# In the order in which they are needed; what they need comes before them. Soft-RoCE asks for CRC32 by its name, not by a symbol.
MODULES = "virtio_pci virtio_net 9pnet_virtio 9p crc32_generic rdma_rxe ib_uverbs rdma_ucm".split()


class Missing(Exception):
    """Something that this machine doesn't have."""


def output(*command, folder=None):
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        raise Missing(f"there is no {command[0]}") from None
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["without a word"])[-1]
        raise Missing(f"{' '.join(command)}: {last}")
    return ran.stdout


def package(folder):
    """The kernel's package, downloaded unless it is there."""
    there = sorted(folder.glob("linux-image-*.deb"))
    if not there:
        listed = output("apt-cache", "depends", "linux-image-amd64")
        names = re.findall(r"(linux-image-[\d.]+-\d+-amd64)", listed)
        if not names:
            raise Missing("no package linux-image-amd64 is known (Debian: apt-get update)")
        with tempfile.TemporaryDirectory(dir=folder) as loading:
            output("apt-get", "download", names[0], folder=loading)
            for loaded in Path(loading).glob("*.deb"):
                loaded.rename(folder / loaded.name)
        there = sorted(folder.glob("linux-image-*.deb"))
    return there[-1]


def unpack(deb):
    """The kernel, and its modules by name."""
    kernel, modules = None, {}
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as unpacked:
        with tarfile.open(fileobj=unpacked.stdout, mode="r|") as archive:
            for entry in archive:
                path = Path(entry.name)
                if path.name.startswith("vmlinuz-"):
                    kernel = archive.extractfile(entry).read()
                if entry.isfile() and (found := re.fullmatch(r"(.+)\.ko(\.xz)?", path.name)):
                    module = archive.extractfile(entry).read()
                    name = found[1].replace("-", "_")
                    modules[name] = lzma.decompress(module) if found[2] else module
    if kernel is None or "rdma_rxe" not in modules:
        raise Missing(f"{deb.name} has no kernel with rdma_rxe")
    return kernel, modules


def needed(modules):
    """Names of modules, each behind those that it needs."""
    order = []

    def add(name):
        # What isn't a module is in the kernel.
        if name in order or name not in modules:
            return
        depends = re.search(rb"\0depends=([^\0]*)\0", modules[name])
        for other in depends[1].decode().split(",") if depends else []:
            add(other.replace("-", "_"))
        order.append(name)

    for name in MODULES:
        add(name)
    return order


class Archive:
    """An archive as the kernel reads it: cpio in its newc format (Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self):
        self.bytes = bytearray()
        self.count = 0

    def add(self, name, mode, data=b""):
        self.count += 1
        fields = [self.count, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
        self.bytes += b"070701" + "".join(f"{field:08X}" for field in fields).encode()
        for piece in name.encode() + b"\0", data:
            self.bytes += piece
            self.bytes += bytes(-len(self.bytes) % 4)

    def folder(self, name):
        self.add(name, 0o040755)

    def file(self, name, data, mode=0o644):
        self.add(name, 0o100000 | mode, data)


def initramfs(modules):
    busybox = shutil.which("busybox")
    if not busybox:
        raise Missing("there is no busybox (Debian: apt-get install busybox-static)")
    archive = Archive()
    for name in "bin", "dev", "proc", "sys", "host", "modules":
        archive.folder(name)
    archive.file("bin/busybox", Path(busybox).read_bytes(), 0o755)
    archive.file("init", (HERE / "init.sh").read_bytes(), 0o755)
    order = needed(modules)
    for name in order:
        archive.file(f"modules/{name}.ko", modules[name])
    archive.file("modules/order", "".join(f"{name}\n" for name in order).encode())
    archive.add("TRAILER!!!", 0)
    return archive.bytes


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    made = [folder / "vmlinuz", folder / "initramfs"]
    sources = [Path(__file__), HERE / "init.sh"]
    newest = max(source.stat().st_mtime for source in sources)
    if all(file.exists() and file.stat().st_mtime > newest for file in made):
        return
    kernel, modules = unpack(package(folder))
    for file, data in zip(made, [kernel, initramfs(modules)]):
        # A run that is cut short leaves nothing that looks whole.
        part = file.with_suffix(".part")
        part.write_bytes(data)
        part.rename(file)


try:
    main()
except Missing as reason:
    print(reason)
    sys.exit(3)
