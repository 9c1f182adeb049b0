# SPDX-License-Identifier: MIT
"""Builds the programs of every system whose toolchain is present. A program that does not build is a cell that says so."""

import concurrent.futures
import glob
import hashlib
import os
import re
import shlex
import shutil
import subprocess

from . import systems

CXX_FLAGS = ["-std=c++20", "-O2", "-DNDEBUG", "-pthread"]


class Failure(Exception):
    pass


def first_error(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if re.search(r"\berror\b|undefined reference|cannot find", line, re.IGNORECASE):
            return line.replace(systems.ROOT + os.sep, "")
    return lines[-1].replace(systems.ROOT + os.sep, "") if lines else "no message"


def run(command, directory=None, environment=None, timeout=1800):
    try:
        done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=timeout)
    except OSError as error:
        raise Failure("%s: %s" % (command[0], error.strerror)) from error
    except subprocess.TimeoutExpired as error:
        raise Failure("%s took more than %d s" % (command[0], timeout)) from error
    if done.returncode != 0:
        raise Failure(first_error(done.stderr + done.stdout))
    return done.stdout


class Builder:
    """Programs go to <directory>/bench/<system>/, weft's library to <directory>/release."""

    def __init__(self, directory: str, jobs: int, say):
        self.directory = directory
        self.jobs = jobs
        self.say = say
        self.commands = {}   # (system, program) -> command
        self.failures = {}   # (system, program) or (system, None) -> message

    def command(self, system, program):
        return self.commands.get((system.name, program))

    def failure(self, system, program) -> str:
        return self.failures.get((system.name, None)) or self.failures.get((system.name, program)) or ""

    def build(self, wanted):
        """wanted: system -> set of program names."""
        for system, programs in wanted.items():
            programs = sorted(program for program in programs if system.has(program))
            if not programs:
                continue
            missing = system.missing() if system.missing else ""
            if missing:
                self.failures[system.name, None] = "missing: " + missing
                self.say("%s: skipped; to include it: %s" % (system.title, missing))
                continue
            try:
                {"go": self._go, "cargo": self._cargo, "c++": self._cxx}[system.toolchain](system, programs)
            except Failure as failure:
                self.failures[system.name, None] = str(failure)
                self.say("%s: not built: %s" % (system.title, failure))

    def _go(self, system, programs):
        self.say("%s: building" % system.title)
        out = os.path.join(self.directory, "bench", system.name)
        os.makedirs(out, exist_ok=True)
        environment = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="", CGO_ENABLED="0")
        run(["go", "build", "-o", out + os.sep, "./..."], os.path.join(systems.BENCH, system.directory), environment)
        for program in programs:
            self.commands[system.name, program] = [os.path.join(out, program)]

    def _cargo(self, system, programs):
        self.say("%s: building" % system.title)
        out = os.path.join(self.directory, "bench", system.directory)
        environment = dict(os.environ, CARGO_TARGET_DIR=out)
        command = ["cargo", "build", "--release", "--locked", "--quiet", "--jobs", str(self.jobs)]
        run(command, os.path.join(systems.BENCH, system.directory), environment)
        for program in programs:
            self.commands[system.name, program] = [os.path.join(out, "release", "weftbench"), program]

    def _cxx(self, system, programs):
        out = os.path.join(self.directory, "bench", system.name.replace(":", "-"))
        os.makedirs(out, exist_ok=True)
        flags, libraries, inputs = [], list(system.libraries), []
        if system.directory == "weft":
            include, flags, library = self.weft_library(system)
            flags = ["-I", include] + flags
            libraries = [library]
        for word in flags + libraries:  # a rebuilt library or a changed header of weft means building again
            if os.path.isfile(word):
                inputs.append(word)
            elif os.path.isdir(word):
                inputs += glob.glob(os.path.join(word, "weft", "**", "*.h"), recursive=True)
        inputs += glob.glob(os.path.join(systems.BENCH, "common", "*.h"))
        inputs += glob.glob(os.path.join(systems.BENCH, system.directory, "*.h"))
        if system.directory == "weft":
            inputs += glob.glob(os.path.join(system.tree, "examples", "*", "*.h"))

        def compile_one(program):
            target = os.path.join(out, program)
            command = [systems.compiler(), *CXX_FLAGS, "-I", systems.BENCH, *flags, system.source(program), *libraries,
                       "-o", target]
            if not fresh(target, command, inputs + [system.source(program)]):
                run(command, timeout=300)
                mark(target, command, inputs + [system.source(program)])
            return [target]

        self.say("%s: building" % system.title)
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            futures = {pool.submit(compile_one, program): program for program in programs}
            for future, program in futures.items():
                try:
                    self.commands[system.name, program] = future.result()
                except Failure as failure:
                    self.failures[system.name, program] = str(failure)
                    self.say("%s: %s not built: %s" % (system.title, program, failure))

    def weft_library(self, system):
        """(include directory, flags, libweft.a): the given one, or one built here as a release."""
        if system.library:
            if not os.path.isfile(system.library):
                raise Failure("%s: no such file" % system.library)
            directory = os.path.dirname(os.path.abspath(system.library))
            include, flags = weft_environment(directory, system.tree)
            return include, flags, os.path.abspath(system.library)
        tree = system.tree
        own = tree == systems.ROOT
        directory = os.path.join(self.directory, "release" if own else "release-" + system.name.replace(":", "-"))
        self.say("%s: building the library" % system.title)
        configure = ["cmake", "-S", tree, "-B", directory, "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                     "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g -DNDEBUG", "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O2 -g -DNDEBUG"]
        if not os.path.exists(os.path.join(directory, "CMakeCache.txt")):
            if directory == os.path.join(tree, "build", "release"):
                configure = ["cmake", "--preset", "release"]
            elif shutil.which("ninja"):
                configure += ["-G", "Ninja"]
            if directory != os.path.join(tree, "build", "release"):
                configure += ["-DWEFT_BUILD_TESTS=OFF", "-DWEFT_BUILD_EXAMPLES=OFF", "-DWEFT_BUILD_TOOLS=OFF"]
            run(configure, tree)
        run(["cmake", "--build", directory, "--target", "weft", "-j", str(self.jobs)])
        library = os.path.join(directory, "libweft.a")
        if not os.path.exists(library):
            raise Failure("cmake built no libweft.a: the sources are not there yet")
        include, flags = weft_environment(directory, tree)
        return include, flags, library


def environment_values(directory: str) -> dict:
    """What the weft.env that CMake leaves beside the library says."""
    values = {}
    try:
        with open(os.path.join(directory, "weft.env"), encoding="utf-8") as file:
            for line in file:
                name, found, value = line.strip().partition("=")
                if found:
                    values[name] = "".join(shlex.split(value))
    except OSError:
        pass
    return values


def weft_environment(directory: str, tree: str):
    """Include directory and flags for users of the library."""
    values = environment_values(directory)
    return values.get("weft_include", os.path.join(tree, "include")), shlex.split(values.get("weft_flags", ""))


def digest(command, inputs) -> str:
    total = hashlib.sha256(repr(command).encode())
    for path in sorted(set(inputs)):
        with open(path, "rb") as file:
            total.update(hashlib.sha256(file.read()).digest())
    return total.hexdigest()


def fresh(target, command, inputs) -> bool:
    try:
        with open(target + ".inputs", encoding="ascii") as file:
            return os.path.exists(target) and file.read() == digest(command, inputs)
    except OSError:
        return False


def mark(target, command, inputs):
    with open(target + ".inputs", "w", encoding="ascii") as file:
        file.write(digest(command, inputs))
