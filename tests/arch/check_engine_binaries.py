#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
"""The worker runs on hosts that have no Qt: neither it nor a library of the engine half may need it.
check_engine_binaries.py FILE...: programs (and shared libraries) and static libraries."""

import os
import re
import subprocess
import sys

QT_SYMBOL = re.compile(r"\bU (Q[A-Z]\w*(::|\()|qt_|qDebug|qWarning|operator.*QString)")


def needed(path):
    output = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output.stdout)


def qt_symbols(path):
    output = subprocess.run(["nm", "-C", "-u", path], capture_output=True, text=True, check=True)
    return [line.strip() for line in output.stdout.splitlines() if QT_SYMBOL.search(line)]


def check(path):
    if not os.path.exists(path):
        return [f"{path}: not built"]
    if path.endswith(".a"):
        return [f"{path}: uses {symbol}" for symbol in qt_symbols(path)[:5]]
    libraries = needed(path)
    if not libraries:
        return [f"{path}: readelf names no needed library; expected a dynamically linked program"]
    return [f"{path}: needs {name}" for name in libraries if name.startswith("libQt")]


def main(arguments):
    faults = [fault for path in arguments[1:] for fault in check(path)]
    for fault in faults:
        print(fault)
    print(f"{len(arguments) - 1} files, {len(faults)} faults")
    return 1 if faults or len(arguments) < 2 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
