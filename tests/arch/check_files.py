#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
"""What every file of ours has: a licence line, a bounded length, a place. check_files.py SOURCE_DIR"""

import os
import sys

from floor_plan import HARD_LINES, TOP_LEVEL, TOP_LEVEL_DOT_FILES, TOP_LEVEL_IGNORED

SPDX = ("SPDX-License-Identifier: GPL-3.0-or-later", "SPDX-FileCopyrightText: ")
FOLDERS = ("app", "core", "ui", "resources", "tests", "packaging")
CODE = (".cpp", ".h", ".cu", ".py", ".sh")
LIMITED = (".cpp", ".h", ".cu")


def our_files(root):
    for top in FOLDERS:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders[:] = [name for name in folders if name not in ("__pycache__", "data")]
            for name in sorted(names):
                yield os.path.relpath(os.path.join(folder, name), root)


def check_licences(root):
    faults = []
    for path in our_files(root):
        if path.endswith(CODE):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                head = "".join(file.readlines()[:4])
            faults += [f"{path}: the first lines lack {line}" for line in SPDX if line not in head]
    return faults


def check_lengths(root):
    """Tests and tables are exempt, as style wants it."""
    faults = []
    for path in our_files(root):
        if path.endswith(LIMITED) and not path.startswith("tests/"):
            with open(os.path.join(root, path), "rb") as file:
                lines = file.read().count(b"\n")
            if lines > HARD_LINES:
                faults.append(f"{path}: {lines} lines; at most {HARD_LINES}")
    return faults


def check_top_level(root):
    allowed = TOP_LEVEL | TOP_LEVEL_DOT_FILES | TOP_LEVEL_IGNORED
    faults = [f"{name}: does not belong at the top level"
              for name in sorted(os.listdir(root)) if name not in allowed]
    return faults + [f"{name}: missing at the top level" for name in sorted(TOP_LEVEL)
                     if not os.path.exists(os.path.join(root, name))]


def check_readmes(root):
    core = os.path.join(root, "core")
    return [f"core/{name}/README.md: missing" for name in sorted(os.listdir(core))
            if os.path.isdir(os.path.join(core, name))
            and not os.path.exists(os.path.join(core, name, "README.md"))]


def main(arguments):
    root = arguments[1]
    faults = (check_licences(root) + check_lengths(root) + check_top_level(root)
              + check_readmes(root))
    for fault in faults:
        print(fault)
    print(f"{len(list(our_files(root)))} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
