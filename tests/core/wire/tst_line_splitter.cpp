// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/wire/event.h"

#include <QtTest>

using namespace lockstep::wire;

using Lines = std::vector<std::string>;

class TestLineSplitter : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void doesNotDependOnWhereTheStreamIsCut() {
        std::string stream;
        Lines expected;
        for (int i = 0; i < 4; ++i) {
            const std::string line =
                encode({i / 3.0, Logged{Level::Info, "läuft " + std::to_string(i)}});
            stream += line;
            expected.push_back(line.substr(0, line.size() - 1));
        }
        stream += "{\"v\":1,\"event\""; // not yet a line
        for (std::size_t first = 0; first <= stream.size(); ++first) {
            for (std::size_t second = first; second <= stream.size(); ++second) {
                LineSplitter splitter;
                Lines lines;
                for (const auto& [from, to] :
                     {std::pair(std::size_t{0}, first), std::pair(first, second),
                      std::pair(second, stream.size())}) {
                    const Lines more =
                        splitter.add(std::string_view(stream).substr(from, to - from));
                    lines.insert(lines.end(), more.begin(), more.end());
                }
                QVERIFY(lines == expected);
                QCOMPARE(splitter.pending(), std::size_t{14});
            }
        }
    }

    void takesBytesOneByOne() {
        LineSplitter splitter;
        Lines lines;
        for (const char byte : std::string("a\n\nbc\r\nd"))
            for (const std::string& line : splitter.add(std::string_view(&byte, 1)))
                lines.push_back(line);
        QVERIFY(lines == (Lines{"a", "", "bc\r"}));
        QCOMPARE(splitter.pending(), std::size_t{1});
        QVERIFY(splitter.add("\n") == Lines{"d"});
        QCOMPARE(splitter.pending(), std::size_t{0});
    }

    void holdsALineUntilItsEnd() {
        LineSplitter splitter;
        QVERIFY(splitter.add("half").empty());
        QVERIFY(splitter.add("").empty());
        QVERIFY(splitter.add(" and half\nx\n") == (Lines{"half and half", "x"}));
    }

    void dropsOverlongLinesAndGoesOn_data() {
        QTest::addColumn<int>("piece");
        QTest::newRow("in one piece") << (1 << 27);
        QTest::newRow("in pieces of 1 MiB") << (1 << 20);
        QTest::newRow("in odd pieces") << 999983;
    }
    void dropsOverlongLinesAndGoesOn() {
        QFETCH(int, piece);
        const std::string stream = "before\n" + std::string((16u << 20) + 1, 'x') + "\nbetween\n" +
                                   std::string(40u << 20, 'y') + "\nafter\n" +
                                   std::string(16u << 20, 'z') + "\n";
        LineSplitter splitter;
        Lines lines;
        for (std::size_t at = 0; at < stream.size(); at += static_cast<std::size_t>(piece)) {
            for (std::string& line :
                 splitter.add(std::string_view(stream).substr(at, static_cast<std::size_t>(piece))))
                lines.push_back(std::move(line));
            QVERIFY(splitter.pending() <= (16u << 20)); // memory is bounded whatever comes
        }
        QCOMPARE(lines.size(), std::size_t{4});
        QCOMPARE(lines[0], "before");
        QCOMPARE(lines[1], "between");
        QCOMPARE(lines[2], "after");
        QCOMPARE(lines[3].size(), std::size_t{16u << 20}); // the longest that is allowed
        QCOMPARE(splitter.droppedLines(), std::size_t{2});
        QCOMPARE(splitter.pending(), std::size_t{0});
    }
};

QTEST_APPLESS_MAIN(TestLineSplitter)
#include "tst_line_splitter.moc"
