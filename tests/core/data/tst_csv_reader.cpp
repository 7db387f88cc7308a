// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/failure.h"
#include "core/data/csv_reader.h"

#include <QTest>

#include <algorithm>
#include <cstring>

using namespace lockstep;
using lockstep::data::CsvReader;

namespace {

/// Gives `text` in pieces of `piece` bytes.
CsvReader::Read pieces(std::string text, std::size_t piece) {
    return
        [text = std::move(text), piece, at = std::size_t(0)](char* into, std::size_t size) mutable {
            const std::size_t count = std::min({piece, size, text.size() - at});
            std::memcpy(into, text.data() + at, count);
            at += count;
            return count;
        };
}

using Records = std::vector<std::vector<std::string>>;

Records readAll(const std::string& text, std::size_t piece = 1 << 20) {
    CsvReader reader(pieces(text, piece));
    Records records;
    while (reader.next())
        records.emplace_back(reader.cells().begin(), reader.cells().end());
    return records;
}

} // namespace

class TestCsvReader : public QObject {
    Q_OBJECT

private slots:
    void readsAByteOrderMarkBeforeAQuotedCell() {
        const std::string text = "\xEF\xBB\xBF\"a,b\",c\r\n1,2\r\n\"x\ny\",3\r\n";
        for (const std::size_t piece : {1U, 2U, 3U, 1000U})
            QCOMPARE(readAll(text, piece), (Records{{"a,b", "c"}, {"1", "2"}, {"x\ny", "3"}}));
    }

    void reads_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<Records>("records");
        const auto row = [](const char* name, const char* text, const Records& records) {
            QTest::newRow(name) << QByteArray(text) << records;
        };
        row("nothing", "", {});
        row("only line ends", "\n\n\n", {});
        row("no line end at the end", "1,2", {{"1", "2"}});
        row("line ends of all kinds", "1\r\n2\r3\n4", {{"1"}, {"2"}, {"3"}, {"4"}});
        row("blank lines between", "1\n\n\r\n2\n", {{"1"}, {"2"}});
        row("empty cells", ",\n,,\n", {{"", ""}, {"", "", ""}});
        row("an empty last cell without a line end", "1,", {{"1", ""}});
        row("doubled quotes", "\"a\"\"b\",\"\"\n", {{"a\"b", ""}});
        row("a quote inside a bare cell", "a\"b,1\n", {{"a\"b", "1"}});
        row("spaces are kept", " a , b \n", {{" a ", " b "}});
    }
    void reads() {
        QFETCH(QByteArray, text);
        QFETCH(Records, records);
        QCOMPARE(readAll(text.toStdString()), records);
        QCOMPARE(readAll(text.toStdString(), 1), records);
    }

    void countsLinesAcrossQuotedLineEnds() {
        CsvReader reader(pieces("skipped \"\r\n\"a\r\nb\nc\",1\n\n2,3\n", 4));
        QVERIFY(reader.skipLines(1));
        QVERIFY(reader.next());
        QCOMPARE(reader.line(), 2);
        QVERIFY(reader.next());
        QCOMPARE(reader.line(), 6);
        QVERIFY(!reader.next());
    }

    void saysWhereThereIsTooLittleToSkip() {
        CsvReader reader(pieces("a\nb", 10));
        QVERIFY(!reader.skipLines(3));
    }

    void refuses_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("line");
        QTest::newRow("a quote that is never closed") << QByteArray("1\n2\n\"3\n4\n") << 3;
        QTest::newRow("text after a closing quote") << QByteArray("1,2\n\"3\"4,5\n") << 2;
        QTest::newRow("UTF-16") << QByteArray("\xFF\xFE\x31\x00", 4) << 1;
    }
    void refuses() {
        QFETCH(QByteArray, text);
        QFETCH(int, line);
        CsvReader reader(pieces(text.toStdString(), 1000));
        try {
            while (reader.next()) {
            }
            QFAIL("nothing was refused");
        } catch (const Failure& failure) {
            QCOMPARE(failure.error().code, Code::Corrupt);
            QCOMPARE(reader.line(), line);
        }
    }
};

QTEST_APPLESS_MAIN(TestCsvReader)
#include "tst_csv_reader.moc"
