"""Builds the wheel and the source archive (PEP 517), with the binary if there is one.

`BASHD_BINARY=/absolute/path pip wheel .` makes a wheel for the machine that the binary is for, which has the command, too. Without it the
wheel is for any machine, and finds bashd there. The standard library is all that this needs.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import platform
import tarfile
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LICENSES = ("LICENSE-APACHE", "LICENSE-MIT")
# What `bashd stats` counts tokens with: packed if it is beside the binary.
VOCABULARY = "o200k_base.tiktoken"
# One time for all files, so that the same sources are the same archive.
TIME = (2020, 1, 1, 0, 0, 0)


def project():
    return tomllib.loads((HERE / "pyproject.toml").read_text())["project"]


def license_file(name):
    """In a checkout it is at the top; in a source archive it is here."""
    own = HERE / name
    return (own if own.exists() else HERE / "../.." / name).read_bytes()


def metadata():
    about = project()
    lines = ["Metadata-Version: 2.4", f"Name: {about['name']}", f"Version: {about['version']}", f"Summary: {about['description']}"]
    lines += [f"License-Expression: {about['license']}", *(f"License-File: {name}" for name in LICENSES)]
    lines += [f"Requires-Python: {about['requires-python']}", f"Keywords: {','.join(about['keywords'])}"]
    lines += [f"Classifier: {classifier}" for classifier in about["classifiers"]]
    lines += [f"Project-URL: {name}, {address}" for name, address in about["urls"].items()]
    for extra, needed in about["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f"Requires-Dist: {one}; extra == '{extra}'" for one in needed)]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", (HERE / "README.md").read_text()])


def sources():
    """The package's files, without what Python leaves beside them."""
    for path in sorted((HERE / "src").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.parts[-2] != "bin":
            yield str(path.relative_to(HERE / "src")), path.read_bytes(), 0o644


def information(tag):
    about = project()
    folder = f"bashd-{about['version']}.dist-info"
    scripts = "\n".join(f"{name} = {target}" for name, target in about["scripts"].items())
    pure = "true" if tag.endswith("-any") else "false"
    # A name may be for several systems, joined by dots; here each has its line.
    kind, systems = tag.rsplit("-", 1)
    tags = "".join(f"Tag: {kind}-{system}\n" for system in systems.split("."))
    wheel = f"Wheel-Version: 1.0\nGenerator: bashd\nRoot-Is-Purelib: {pure}\n{tags}"
    yield f"{folder}/METADATA", metadata().encode(), 0o644
    yield f"{folder}/WHEEL", wheel.encode(), 0o644
    yield f"{folder}/entry_points.txt", f"[console_scripts]\n{scripts}\n".encode(), 0o644
    for name in LICENSES:
        yield f"{folder}/licenses/{name}", license_file(name), 0o644


def binary_to_pack():
    """The binary to put in, if one is named. Whoever builds is in another directory than whoever asked for it."""
    binary = os.environ.get("BASHD_BINARY")
    if binary and not os.path.isabs(binary):
        raise SystemExit(f"BASHD_BINARY must be an absolute path, not {binary}")
    return binary


def tag_of(binary):
    """The tag of a wheel with this binary. BASHD_PLATFORM says for which system it was linked."""
    if not binary:
        return "py3-none-any"
    system = os.environ.get("BASHD_PLATFORM") or f"linux_{platform.machine()}"
    return f"py3-none-{system}"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    binary = binary_to_pack()
    tag = tag_of(binary)
    name = f"bashd-{project()['version']}-{tag}.whl"
    files = [*sources(), *information(tag)]
    if binary:
        files.append(("bashd/bin/bashd", Path(binary).read_bytes(), 0o755))
        vocabulary = Path(binary).parent / VOCABULARY
        if vocabulary.is_file():
            files.append((f"bashd/bin/{VOCABULARY}", vocabulary.read_bytes(), 0o644))
    record = []
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as wheel:
        for path, data, mode in files:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}")
            write(wheel, path, data, mode)
        path = f"bashd-{project()['version']}.dist-info/RECORD"
        write(wheel, path, "\n".join([*record, f"{path},,", ""]).encode(), 0o644)
    return name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    for path, data, _ in information(tag_of(binary_to_pack())):
        file = Path(metadata_directory) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return f"bashd-{project()['version']}.dist-info"


def write(wheel, path, data, mode):
    entry = zipfile.ZipInfo(path, TIME)
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(entry, data)


def build_sdist(sdist_directory, config_settings=None):
    base = f"bashd-{project()['version']}"
    files = [(f"src/{path}", data) for path, data, _ in sources()]
    files += [(name, (HERE / name).read_bytes()) for name in ("README.md", "pyproject.toml", "build_package.py")]
    files += [*((name, license_file(name)) for name in LICENSES), ("PKG-INFO", metadata().encode())]
    with tarfile.open(Path(sdist_directory) / f"{base}.tar.gz", "w:gz") as archive:
        for path, data in files:
            entry = tarfile.TarInfo(f"{base}/{path}")
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return f"{base}.tar.gz"
