# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
"""The floor plan of core/README.md as data: which folder may include what.

Adding a dependency means changing this table and the one in core/README.md; tst_floor_plan.py holds
both against each other and every #include against this one.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    half: str  # "engine" (no Qt), "control" (Qt6::Core), "gui"
    uses: tuple = ()  # our folders that it may include, besides itself
    qt: tuple = ()  # Qt modules
    external: tuple = ()  # third-party headers, in .cpp files and detail/ only
    forbidden: tuple = ()  # headers of ours or of the system, as regular expressions


SOCKETS = (r"sys/socket\.h", r"netinet/.*", r"netdb\.h", r"poll\.h")
FILES = (r"fstream", r"fcntl\.h", r"unistd\.h", r"filesystem", r"core/base/files\.h")

BASE = ("core/base",)
UI_CORE = ("core/run", "core/ssh", "core/metrics", "core/document", "core/cluster", "core/job",
           "core/base")
WIDGETS = ("Core", "Gui", "Widgets", "Svg")

PLAN = {
    # Shared by both halves
    "core/base": Part("engine", (), external=("nlohmann/json.hpp", "sodium.h")),
    "core/cluster": Part("engine", BASE, forbidden=SOCKETS),
    "core/job": Part("engine", BASE, forbidden=SOCKETS + FILES),
    "core/wire": Part("engine", BASE, forbidden=SOCKETS + FILES),
    # Engine half
    "core/tensor": Part("engine", BASE, external=("dnnl.hpp", "oneapi/dnnl/dnnl.hpp")),
    "core/collective": Part("engine", BASE + ("core/cluster",), external=("sodium.h",)),
    "core/nn": Part("engine", BASE + ("core/tensor",), forbidden=SOCKETS + FILES),
    "core/data": Part("engine", BASE + ("core/tensor", "core/job"), external=("zlib.h",),
                      forbidden=SOCKETS),
    "core/archive": Part("engine", BASE, forbidden=SOCKETS),
    "core/train": Part("engine", ("core/nn", "core/data", "core/tensor", "core/collective",
                                  "core/archive", "core/cluster", "core/job", "core/wire",
                                  "core/base")),
    "core/agent": Part("engine", ("core/base", "core/wire", "core/cluster")),
    "core/helper": Part("engine", ("core/agent", "core/base"), external=("zlib.h",)),
    # Control half
    "core/ssh": Part("control", BASE, qt=("Core",),
                     external=("libssh/callbacks.h", "libssh/libssh.h", "libssh/server.h")),
    "core/remote": Part("control", ("core/ssh", "core/helper", "core/base"), qt=("Core",)),
    "core/keras_file": Part("control", ("core/archive", "core/base"),
                            external=("hdf5.h", "zip.h")),
    "core/document": Part("control", ("core/base", "core/cluster", "core/job"), qt=("Core",)),
    "core/metrics": Part("control", ("core/base", "core/wire"), qt=("Core",)),
    "core/run": Part("control", ("core/remote", "core/ssh", "core/document", "core/metrics",
                                 "core/keras_file", "core/archive", "core/agent", "core/cluster",
                                 "core/job", "core/wire", "core/base"), qt=("Core", "Sql")),
    # The window
    "ui/models": Part("gui", UI_CORE, qt=("Core", "Gui")),
    "ui/widgets": Part("gui", ("ui/models",) + UI_CORE, qt=WIDGETS),
    "ui/charts": Part("gui", ("ui/models", "ui/widgets") + UI_CORE, qt=WIDGETS + ("Charts",)),
    "ui/dialogs": Part("gui", ("ui/charts", "ui/widgets", "ui/models") + UI_CORE, qt=WIDGETS),
    "ui/pages": Part("gui", ("ui/dialogs", "ui/charts", "ui/widgets", "ui/models") + UI_CORE,
                     qt=WIDGETS),
    "ui/shell": Part("gui", ("ui/pages", "ui/dialogs", "ui/charts", "ui/widgets", "ui/models")
                     + UI_CORE, qt=WIDGETS),
    # Programs
    "app/desktop": Part("gui", ("ui/shell", "ui/pages", "ui/dialogs", "ui/charts", "ui/widgets",
                                "ui/models", "core/remote") + UI_CORE, qt=WIDGETS,
                        external=("qt6keychain/keychain.h",)),
    "app/ctl": Part("control", ("core/run", "core/remote", "core/ssh", "core/document",
                                "core/metrics", "core/cluster", "core/job", "core/wire",
                                "core/base"),
                    qt=("Core",)),
    "app/helper": Part("engine", ("core/helper", "core/base"), external=("zlib.h",)),
    "app/worker": Part("engine", ("core/train", "core/agent", "core/nn", "core/data",
                                  "core/tensor", "core/collective", "core/archive",
                                  "core/cluster", "core/job", "core/wire", "core/base")),
}

ENDS = "only app/*/main.cpp ends a process"

# What no code may say, in which folders, and why. Comments and texts are not looked at.
BANS = [
    (r"\bQEventLoop\b", ("ui",), "nested event loops let anything happen in between"),
    (r"\bprocessEvents\b", ("ui",), "nested event loops let anything happen in between"),
    (r"\bwaitFor[A-Z]\w*\s*\(", ("ui",), "it blocks the window"),
    (r"\bBlockingQueuedConnection\b", ("ui", "app", "core"), "it blocks one thread on another"),
    (r"\bQThread::m?u?sleep\b", ("ui",), "it blocks the window"),
    (r"\bQSettings\b", ("ui", "app", "core"), "settings live in core/document"),
    (r"(?<!\w)(?:std)?::(?:exit|abort|quick_exit|terminate)\s*\(", ("ui", "app", "core"), ENDS),
    # Called bare, as a statement: functions of ours may have these names.
    (r"(?:^|[;{})])\s*(?:quick_exit|exit|abort(?=\s*\(\s*\)))\s*\(", ("ui", "app", "core"), ENDS),
]
BAN_EXCEPTIONS = [
    (r"\bQSettings\b", r"core/document/.*"),
    (r"exit", r"app/[a-z]+/main\.cpp"),
]

# Our code has a folder for everything; nothing else lies at the top.
TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", "app", "core", "ui",
             "resources", "tests", "packaging"}
TOP_LEVEL_DOT_FILES = {".ci", ".clang-format", ".clang-tidy", ".gitignore", ".git",
                       ".git-blame-ignore-revs", ".gitattributes", ".editorconfig"}
TOP_LEVEL_IGNORED = {"build", ".cache"}  # named in .gitignore

HARD_LINES = 700
