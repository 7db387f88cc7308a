#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
"""Holds every #include of core/, ui/ and app/ against the floor plan, bans some words, and compares
the table of core/README.md with it. A link line is not enough: <QtWidgets/QWidget> compiles against
Qt6::Core alone.

check_floor_plan.py SOURCE_DIR [QT_INCLUDE_DIR]
"""

import functools
import os
import re
import sys

from floor_plan import BANS, BAN_EXCEPTIONS, PLAN

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
OUR_ROOTS = ("core/", "ui/", "app/", "tests/", "resources/")
SYSTEM = re.compile(r"(sys|linux|netinet|net|arpa|asm|bits)/.*|[a-z0-9_]+(\.h)?")
THIRD_PARTY = re.compile(r"(nlohmann|dnnl|oneapi|libssh|nccl|cuda|cudnn|cublas|hdf5|jpeglib|"
                         r"qt6keychain)[/._].*|"
                         r"(sodium|zlib|zip|nccl|dnnl|png|hdf5|sqlite3|jpeglib|cudnn)"
                         r"[\w.]*\.h(pp)?")


def code_files(root, folders=("core", "ui", "app")):
    """Paths below root of all C++ files, sorted."""
    found = []
    for top in folders:
        for folder, _, names in os.walk(os.path.join(root, top)):
            found += [os.path.relpath(os.path.join(folder, name), root) for name in names
                      if name.endswith((".cpp", ".h", ".cu"))]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def part_of(path):
    return "/".join(path.split("/")[:2])


def is_public_header(path):
    return path.endswith(".h") and "/detail/" not in path and path.startswith(("core/", "ui/"))


@functools.lru_cache(maxsize=None)
def qt_module(header, qt_include):
    """The module ("Core") of a Qt header as written, or None where it is none of Qt's."""
    match = re.fullmatch(r"Qt([A-Z]\w*)/\w+(\.h)?", header)
    if match:
        return match.group(1)
    match = re.fullmatch(r"Qt([A-Z]\w*)", header)  # <QtTest>: the whole module
    if match:
        return match.group(1)
    if not re.fullmatch(r"Q[A-Z]\w*|q[a-z0-9_]+\.h", header):
        return None
    if qt_include:
        for module in sorted(os.listdir(qt_include)):
            if os.path.exists(os.path.join(qt_include, module, header)):
                return module.removeprefix("Qt")
    return "of unknown module"


def judge_include(path, header, plan, qt_include):
    """What is wrong with this include, or None."""
    part = plan[part_of(path)]
    if header.startswith(OUR_ROOTS):
        target = part_of(header)
        if any(re.fullmatch(pattern, header) for pattern in part.forbidden):
            return f"{part_of(path)} must do without {header}"
        if target == part_of(path) or target in part.uses or target.startswith("resources"):
            if "/detail/" in header and target != part_of(path):
                return f"{header} is private to {target}"
            return None
        return f"{part_of(path)} may not use {target}"
    module = qt_module(header, qt_include)
    if module:
        if part.half == "engine":
            return f"Qt in the engine half ({header})"
        if module not in part.qt:
            return f"{part_of(path)} may not use Qt {module} ({header})"
        return None
    if any(re.fullmatch(pattern, header) for pattern in part.forbidden):
        return f"{part_of(path)} must do without <{header}>"
    if THIRD_PARTY.fullmatch(header):
        if header not in part.external:
            return f"{part_of(path)} may not use <{header}>"
        if is_public_header(path):
            return f"third-party <{header}> in a public header"
        return None
    if SYSTEM.fullmatch(header):
        return None
    return f"<{header}> is not in the floor plan"


def check_includes(root, plan=PLAN, qt_include=None):
    faults = []
    for path in code_files(root):
        if path.count("/") < 2:
            faults.append(f"{path}: code lies in a folder of the floor plan")
            continue
        if part_of(path) not in plan:
            faults.append(f"{path}: {part_of(path)} is not in the floor plan")
            continue
        text = read(root, path)
        for match in INCLUDE.finditer(text):
            fault = judge_include(path, match.group(2), plan, qt_include)
            if fault:
                line = text.count("\n", 0, match.start(1)) + 1
                faults.append(f"{path}:{line}: {fault}")
    return faults


def without_comments_and_texts(text):
    """The same number of lines, with comments and the contents of literals blanked."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
                         r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)
    return pattern.sub(lambda m: '""' + "\n" * m.group(0).count("\n"), text)


def check_bans(root):
    faults = []
    for path in code_files(root):
        text = without_comments_and_texts(read(root, path))
        for pattern, folders, why in BANS:
            if path.split("/")[0] not in folders:
                continue
            if any(part in pattern and re.fullmatch(files, path) for part, files in BAN_EXCEPTIONS):
                continue
            for match in re.finditer(pattern, text, re.MULTILINE):
                words = match.group(0).strip("; {})\n(")
                line = text.count("\n", 0, match.end()) + 1
                faults.append(f"{path}:{line}: {words} is banned here: {why}")
    return faults


def readme_rows(text):
    """Rows of the floor plan's table: part → (set of ours, set of externals)."""
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        match = re.fullmatch(r"`((?:core|ui|app)/\w+)`", cells[0]) if len(cells) == 5 else None
        if match:
            names = lambda cell: set(re.findall(r"`([^`]+)`", cell))
            rows[match.group(1)] = (names(cells[2]), names(cells[3]))
    return rows


def expected_row(part):
    return set(part.uses), set(part.external) | {"Qt6::" + module for module in part.qt}


def check_readme(root, plan=PLAN):
    """core/README.md has a row for every part of the plan, with the same words."""
    rows = readme_rows(read(root, "core/README.md"))
    faults = [f"core/README.md: no row for {name}" for name in plan if name not in rows]
    for name, (uses, external) in rows.items():
        if name not in plan:
            faults.append(f"core/README.md: {name} is not in tests/arch/floor_plan.py")
            continue
        for got, expected, what in zip((uses, external), expected_row(plan[name]),
                                       ("may use", "external")):
            for word in sorted(got - expected):
                faults.append(f"core/README.md: {name}: {what} names {word}; the plan does not")
            for word in sorted(expected - got):
                faults.append(f"core/README.md: {name}: {what} lacks {word}")
    return faults


def check_plan(plan=PLAN):
    """The plan itself: arrows go down only, the engine half sees no control half."""
    faults = []
    done = set()

    def walk(name, above):
        if name in above:
            faults.append(f"floor_plan.py: a circle: {' → '.join(above + (name,))}")
        elif name not in done:
            for below in plan[name].uses:
                walk(below, above + (name,))
            done.add(name)

    for name in plan:
        walk(name, ())
        for below in plan[name].uses:
            if plan[name].half == "engine" and plan[below].half != "engine":
                faults.append(f"floor_plan.py: {name} (engine half) uses {below}")
    return faults


def main(arguments):
    root = arguments[1]
    qt_include = arguments[2] if len(arguments) > 2 else None
    faults = (check_plan() + check_includes(root, qt_include=qt_include) + check_bans(root)
              + check_readme(root))
    for fault in faults:
        print(fault)
    print(f"{len(code_files(root))} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
