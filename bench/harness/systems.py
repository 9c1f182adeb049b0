# SPDX-License-Identifier: MIT
"""The systems that are compared: where their programs are, how to find, build and name them."""

import dataclasses
import os
import re
import shutil
import subprocess
from typing import Callable, Optional, Sequence

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(BENCH)
EXAMPLES = {"http": "http_server.cpp"}  # rows whose program for weft is one of its examples


@dataclasses.dataclass(frozen=True)
class System:
    name: str
    title: str
    kind: str                     # "weft", "peer" or "reference" (a limit, never counted as a peer)
    toolchain: str                # "c++", "go" or "cargo"
    directory: str                # of its sources, below bench/
    colour: str                   # in charts
    libraries: Sequence[str] = ()
    extra: Sequence[str] = ()     # arguments for every program
    environment: tuple = ()       # pairs
    tree: str = ROOT              # for weft: the source tree it is built from
    library: str = ""             # for weft: a libweft.a to link instead of building one
    missing: Optional[Callable[[], str]] = None   # "" or the command that installs what is missing
    version: Optional[Callable[[], str]] = None

    def has(self, program: str) -> bool:
        return os.path.exists(self.source(program))

    def source(self, program: str) -> str:
        if self.toolchain == "go":
            return os.path.join(BENCH, self.directory, program, "main.go")
        if self.toolchain == "cargo":
            return os.path.join(BENCH, self.directory, "src", "workload", program + ".rs")
        if self.directory == "weft" and program in EXAMPLES:
            return os.path.join(self.tree, "examples", EXAMPLES[program])
        return os.path.join(BENCH, self.directory, program + ".cc")


def output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def header(path: str) -> str:
    for prefix in ("/usr/include", "/usr/local/include"):
        try:
            with open(os.path.join(prefix, path), encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            pass
    return ""


def defined(text: str, name: str) -> str:
    found = re.search(r"#\s*define\s+%s\s+\"?([\w.]+)" % name, text)
    return found.group(1) if found else ""


def compiler() -> str:
    return os.environ.get("CXX", "g++")


def compiler_version() -> str:
    lines = output(compiler(), "--version").splitlines()
    return lines[0] if lines else ""


def missing_compiler() -> str:
    return "" if shutil.which(compiler()) else "apt-get install g++"


def boost_version() -> str:
    return defined(header("boost/version.hpp"), "BOOST_LIB_VERSION").replace("_", ".")


def boost_package(name: str) -> str:
    # Debian 12 has two versions; Asio's channels came with the newer one.
    newer = "libboost%s1.81-dev" % name
    return newer if output("apt-cache", "show", newer) else "libboost%s-dev" % name


def missing_fiber() -> str:
    return missing_compiler() or ("" if header("boost/fiber/all.hpp") else "apt-get install " + boost_package("-fiber"))


def missing_asio() -> str:
    found = header("boost/asio/experimental/concurrent_channel.hpp")
    return missing_compiler() or ("" if found else "apt-get install " + boost_package(""))


def missing_tbb() -> str:
    return missing_compiler() or ("" if header("oneapi/tbb/version.h") else "apt-get install libtbb-dev")


def tbb_version() -> str:
    text = header("oneapi/tbb/version.h")
    return ".".join(part for part in (defined(text, "TBB_VERSION_MAJOR"), defined(text, "TBB_VERSION_MINOR")) if part)


def missing_go() -> str:
    return "" if shutil.which("go") else "apt-get install golang-go (or a newer one from go.dev)"


def go_version() -> str:
    return output("go", "env", "GOVERSION").removeprefix("go")


def missing_cargo() -> str:
    return "" if shutil.which("cargo") else "apt-get install cargo (or a newer one by rustup)"


def locked_version(crate: str) -> str:
    try:
        with open(os.path.join(BENCH, "tokio", "Cargo.lock"), encoding="utf-8") as file:
            found = re.search(r'name = "%s"\nversion = "([^"]+)"' % crate, file.read())
            return found.group(1) if found else ""
    except OSError:
        return ""


def weft_version(tree: str) -> str:
    return output("git", "-C", tree, "describe", "--always", "--dirty", "--tags") or "unknown"


SYSTEMS = [
    System("weft", "weft", "weft", "c++", "weft", "#d9480f", missing=missing_compiler, version=lambda: weft_version(ROOT)),
    System("go", "Go", "peer", "go", "go", "#1098ad", missing=missing_go, version=go_version),
    System("tokio", "Tokio", "peer", "cargo", "tokio", "#7048e8", missing=missing_cargo,
           version=lambda: locked_version("tokio")),
    System("kanal", "Tokio + kanal", "peer", "cargo", "tokio", "#b197fc", extra=("--channel", "kanal"), missing=missing_cargo,
           version=lambda: locked_version("kanal")),
    System("fiber", "Boost.Fiber", "peer", "c++", "fiber", "#2f9e44", libraries=("-lboost_fiber", "-lboost_context"),
           missing=missing_fiber, version=boost_version),
    System("asio", "Boost.Asio", "peer", "c++", "asio", "#94d82d", missing=missing_asio, version=boost_version),
    System("tbb", "oneTBB", "peer", "c++", "tbb", "#1c7ed6", libraries=("-ltbb",), missing=missing_tbb, version=tbb_version),
    System("threads", "OS threads", "reference", "c++", "threads", "#868e96", missing=missing_compiler),
    System("raw", "raw limit", "reference", "c++", "raw", "#ced4da", missing=missing_compiler),
]

BY_NAME = {system.name: system for system in SYSTEMS}

# What may be asked for by --peers: more than one column may come with one word.
PEER_WORDS = {
    "go": ("go",), "tokio": ("tokio", "kanal"), "kanal": ("kanal",), "fiber": ("fiber",), "asio": ("asio",),
    "boost": ("fiber", "asio"), "tbb": ("tbb",), "threads": ("threads",), "raw": ("raw",), "none": (),
    "all": ("go", "tokio", "kanal", "fiber", "asio", "tbb", "threads", "raw"),
}


def variant(base: System, name: str, colour: str, **changes) -> System:
    """Another column of weft: other environment variables, or another tree."""
    return dataclasses.replace(base, name="weft:" + name, title="weft " + name, kind="peer", colour=colour, **changes)
