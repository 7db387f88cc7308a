#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
"""The checks catch what they are for: each test plants one violation in a small tree of its own.
tst_checks.py QT_INCLUDE_DIR PROGRAM_WITH_QT"""

import os
import shutil
import sys
import tempfile
import unittest

import check_engine_binaries
import check_files
import check_floor_plan
from floor_plan import HARD_LINES, PLAN, Part

QT_INCLUDE = None
PROGRAM_WITH_QT = None


class Tree(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.root = self._folder.name

    def tearDown(self):
        self._folder.cleanup()

    def put(self, path, text=""):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def include(self, path, *headers):
        """The faults of a tree with this file alone."""
        for top in ("core", "ui", "app"):
            shutil.rmtree(os.path.join(self.root, top), ignore_errors=True)
        self.put(path, "".join(f"#include {header}\n" for header in headers))
        return check_floor_plan.check_includes(self.root, qt_include=QT_INCLUDE)

    def assertCaught(self, faults, part):
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(part, faults[0])


class Includes(Tree):
    def test_permits_what_the_plan_permits(self):
        self.assertEqual(self.include("core/base/a.cpp", '"core/base/a.h"', "<nlohmann/json.hpp>",
                                      "<vector>", "<sys/stat.h>"), [])
        self.assertEqual(self.include("core/train/a.h", '"core/nn/plan.h"', "<span>"), [])
        self.assertEqual(self.include("ui/charts/a.cpp", "<QLineSeries>", "<QWidget>",
                                      "<QtCharts/QChart>", '"ui/models/x.h"'), [])

    def test_catches_qt_in_the_engine_half(self):
        self.assertCaught(self.include("core/nn/a.cpp", "<QString>"), "Qt in the engine half")

    def test_catches_a_module_written_with_its_prefix(self):
        self.assertCaught(self.include("core/run/a.cpp", "<QtWidgets/QWidget>"), "Qt Widgets")

    def test_catches_a_class_of_another_module(self):
        self.assertCaught(self.include("core/run/a.cpp", "<QWidget>"), "may not use Qt Widgets")
        self.assertCaught(self.include("core/run/a.cpp", "<QtCharts>"), "may not use Qt Charts")

    def test_catches_charts_outside_of_their_folder(self):
        self.assertCaught(self.include("ui/pages/a.cpp", "<QChartView>"), "Qt Charts")

    def test_catches_widgets_in_models(self):
        self.assertCaught(self.include("ui/models/a.h", "<QStyledItemDelegate>"), "Qt Widgets")

    def test_catches_an_arrow_upwards(self):
        self.assertCaught(self.include("core/base/a.h", '"core/wire/event.h"'), "core/wire")
        self.assertCaught(self.include("core/base/a.h", '"ui/models/x.h"'), "ui/models")

    def test_catches_an_arrow_upwards_in_the_window(self):
        self.assertCaught(self.include("ui/models/a.h", '"ui/pages/x.h"'), "ui/pages")
        self.assertCaught(self.include("ui/models/a.h", '"core/nn/graph.h"'), "core/nn")

    def test_catches_the_engine_in_the_window(self):
        self.assertCaught(self.include("core/run/a.cpp", '"core/nn/graph.h"'), "core/nn")
        self.assertCaught(self.include("app/ctl/run.cpp", '"core/train/fit.h"'), "core/train")

    def test_catches_tensors_in_collectives(self):
        self.assertCaught(self.include("core/collective/ring/a.cpp", '"core/tensor/shape.h"'),
                          "core/tensor")

    def test_catches_third_party_headers_in_public_ones(self):
        self.assertCaught(self.include("core/tensor/a.h", "<dnnl.hpp>"), "public header")
        self.assertEqual(self.include("core/tensor/a.h"), [])
        self.assertEqual(self.include("core/tensor/detail/a.h", "<dnnl.hpp>"), [])

    def test_catches_third_party_headers_of_others(self):
        self.assertCaught(self.include("core/nn/a.cpp", "<dnnl.hpp>"), "<dnnl.hpp>")
        self.assertCaught(self.include("core/nn/a.cpp", "<libssh/libssh.h>"), "libssh")
        self.assertCaught(self.include("core/nn/a.cpp", "<boost/asio.hpp>"), "not in the floor plan")

    def test_catches_details_of_others(self):
        self.assertCaught(self.include("core/train/a.cpp", '"core/nn/detail/kernels.h"'), "private")

    def test_catches_input_and_output_where_there_must_be_none(self):
        self.assertCaught(self.include("core/wire/a.cpp", "<fstream>"), "must do without")
        self.assertCaught(self.include("core/wire/a.cpp", '"core/base/files.h"'), "must do without")
        self.assertCaught(self.include("core/cluster/a.cpp", "<sys/socket.h>"), "must do without")

    def test_catches_folders_that_nobody_planned(self):
        self.assertCaught(self.include("core/misc/a.cpp"), "core/misc is not in the floor plan")

    def test_names_the_line(self):
        self.put("core/nn/a.cpp", "// x\n\n#  include <QString>\n")
        faults = check_floor_plan.check_includes(self.root, qt_include=QT_INCLUDE)
        self.assertTrue(faults[0].startswith("core/nn/a.cpp:3: "), faults)


class Bans(Tree):
    def ban(self, path, text):
        self.put(path, text)
        return check_floor_plan.check_bans(self.root)

    def test_catches_each_word(self):
        for text in ("QEventLoop loop;", "app.processEvents();", "p.waitForFinished(1);",
                     "Qt::BlockingQueuedConnection", "QThread::msleep(3);"):
            self.assertCaught(self.ban("ui/pages/a.cpp", "\n" + text), "ui/pages/a.cpp:2: ")

    def test_catches_settings_outside_of_document(self):
        self.assertCaught(self.ban("ui/shell/a.cpp", "QSettings s;"), "core/document")
        self.put("ui/shell/a.cpp")
        self.assertEqual(self.ban("core/document/settings.cpp", "QSettings s;"), [])

    def test_catches_libraries_that_exit(self):
        for text in ("exit(1);", "std::abort();", "::exit(2);", "std::terminate();",
                     "if (x)\n    abort();", "f(); exit (1);"):
            self.assertCaught(self.ban("core/nn/a.cpp", text), "main.cpp")
        self.put("core/nn/a.cpp")
        self.assertEqual(self.ban("app/ctl/main.cpp", "std::exit(2);"), [])

    def test_looks_at_code_only(self):
        self.assertEqual(self.ban("ui/pages/a.cpp", '// exit(1)\n/* QEventLoop */ f("abort()");'
                                                    "reply->abort(); virtual void abort(int); int n = 1'000; g('\"');"), [])

    def test_sees_code_after_a_text(self):
        self.assertCaught(self.ban("ui/pages/a.cpp", 'f("x\\"y"); QEventLoop loop; g("z");'), ":1:")


class Table(Tree):
    plan = {"core/base": Part("engine", external=("sodium.h",)),
            "core/run": Part("control", ("core/base",), qt=("Core",))}
    good = ("| `core/base` | holds | - | `sodium.h` | Qt |\n"
            "| `core/run` | holds | `core/base` | `Qt6::Core` | Gui |\n")

    def check(self, text):
        self.put("core/README.md", text)
        return check_floor_plan.check_readme(self.root, self.plan)

    def test_agrees(self):
        self.assertEqual(self.check(self.good), [])

    def test_catches_a_missing_row(self):
        self.assertCaught(self.check(self.good.splitlines()[0]), "no row for core/run")

    def test_catches_other_words(self):
        self.assertCaught(self.check(self.good.replace("`core/base` | `Qt", "- | `Qt")), "lacks")
        self.assertCaught(self.check(self.good.replace("Core`", "Core`, `Qt6::Gui`")), "Qt6::Gui")
        self.assertCaught(self.check(self.good + "| `core/odd` | x | - | - | - |"), "core/odd")

    def test_the_plan_has_no_circles(self):
        self.assertEqual(check_floor_plan.check_plan(PLAN), [])
        circle = dict(self.plan, **{"core/base": Part("engine", ("core/run",))})
        self.assertTrue(any("circle" in fault for fault in check_floor_plan.check_plan(circle)))
        self.assertTrue(any("engine half" in fault for fault in check_floor_plan.check_plan(circle)))


class Files(Tree):
    head = ("// SPDX-License-Identifier: GPL-3.0-or-later\n"
            "// SPDX-FileCopyrightText: Lockstep contributors\n")

    def test_catches_files_without_a_licence(self):
        self.put("core/base/a.cpp", self.head)
        self.assertEqual(check_files.check_licences(self.root), [])
        self.put("core/base/b.cpp", "// SPDX-FileCopyrightText: Lockstep contributors\n")
        self.assertCaught(check_files.check_licences(self.root), "core/base/b.cpp")

    def test_catches_long_files(self):
        self.put("core/base/a.cpp", "\n" * HARD_LINES)
        self.assertEqual(check_files.check_lengths(self.root), [])
        self.put("core/base/b.h", "\n" * (HARD_LINES + 1))
        self.assertCaught(check_files.check_lengths(self.root), f"{HARD_LINES + 1} lines")

    def test_catches_strangers_at_the_top(self):
        for name in check_files.TOP_LEVEL:
            self.put(name)
        self.assertEqual(check_files.check_top_level(self.root), [])
        self.put("notes.txt")
        self.assertCaught(check_files.check_top_level(self.root), "notes.txt")
        os.remove(os.path.join(self.root, "notes.txt"))
        os.remove(os.path.join(self.root, "LICENSE"))
        self.assertCaught(check_files.check_top_level(self.root), "LICENSE: missing")

    def test_catches_libraries_without_a_readme(self):
        self.put("core/base/README.md")
        self.assertEqual(check_files.check_readmes(self.root), [])
        self.put("core/nn/a.h")
        self.assertCaught(check_files.check_readmes(self.root), "core/nn/README.md")


class Binaries(unittest.TestCase):
    def test_catches_a_program_that_needs_qt(self):
        faults = check_engine_binaries.check(PROGRAM_WITH_QT)
        self.assertTrue(any("libQt6Core" in fault for fault in faults), faults)


if __name__ == "__main__":
    QT_INCLUDE, PROGRAM_WITH_QT = sys.argv[1], sys.argv[2]
    unittest.main(argv=sys.argv[:1])
