#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
"""Every C++ file is as clang-format leaves it. Another major version than the pinned one formats
otherwise, so it skips, aloud. check_format.py SOURCE_DIR [CLANG_FORMAT]"""

import os
import re
import subprocess
import sys

from check_floor_plan import code_files

PINNED = 14
SKIPPED = 77  # CTest's SKIP_RETURN_CODE


def skip(why):
    print(f"SKIP: {why}")
    required = "format" in os.environ.get("LOCKSTEP_REQUIRE", "").split(",")
    return 1 if required else SKIPPED


def main(arguments):
    root = arguments[1]
    tool = arguments[2] if len(arguments) > 2 else "clang-format"
    try:
        told = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return skip("clang-format not found: install clang-format-14")
    version = re.search(r"version (\d+)", told)
    if not version or int(version.group(1)) != PINNED:
        return skip(f"clang-format {PINNED} is pinned, this is: {told.strip()}")
    files = [os.path.join(root, path) for path in code_files(root, ("core", "ui", "app", "tests",
                                                                    "resources"))]
    result = subprocess.run([tool, "--dry-run", "-Werror", *files], capture_output=True, text=True)
    faults = [line for line in result.stderr.splitlines() if ": error: " in line]
    for line in faults:
        print(os.path.relpath(line, root) if line.startswith(root) else line)
    print(f"{len(files)} files, {len(faults)} places that clang-format -i would change")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv))
