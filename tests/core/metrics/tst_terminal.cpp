// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/metrics/terminal.h"

#include <QElapsedTimer>
#include <QTest>

using namespace lockstep::metrics;

class TstTerminal : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void showsWhatATerminalWould_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("line");
        const auto row = [](const char* name, const QByteArray& bytes, const char* line) {
            QTest::addRow("%s", name) << bytes << QString::fromUtf8(line);
        };
        row("carriage return overwrites", "10%\r20%\r100%\n", "100%");
        row("what is not overwritten stays", "abcdef\rXY\n", "XYcdef");
        row("carriage return before the line feed", "done\r\n", "done");
        row("backspaces", "12345\b\b\bab\n", "12ab5");
        row("backspaces at the begin", "\b\b\bx\n", "x");
        row("erases to the end", "progress 5%\rok\x1b[K\n", "ok");
        row("erases the line", "abc\x1b[2Kd\n", "   d");
        row("erases to the cursor", "abc\x1b[2D\x1b[1Kx\n", " xc");
        row("moves in the line", "abc\x1b[3Dx\x1b[1Cy\x1b[1Gz\n", "zby"); // a,b,c → x,b,y → z,b,y
        row("colours", "\x1b[31merr\x1b[0m\n", "err");
        row("256 colours", "\x1b[38;5;196;1mred\x1b[m\n", "red");
        row("cursor up", "\x1b[Aup\n", "up");
        row("window title", "\x1b]0;title\x07x\n", "x");
        row("title ended by ESC backslash", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "link");
        row("a title without end", "\x1b]0;title\n", "");
        row("character sets", "\x1b(Bx\x1b=y\n", "xy");
        row("half an escape before the end", "x\x1b[3\n", "x");
        row("NUL and bell", QByteArray("a\0b\x07\n", 5), "ab");
        row("no UTF-8", "a\xff\xfe\n", "a\uFFFD\uFFFD");
        row("half a character", "a\xe2\x94\n", "a\uFFFD");
        row("half a character, then text", "a\xe2\x94z\n", "a\uFFFDz");
        row("overlong", "\xc0\xaf\xe0\x80\xaf\n", "\uFFFD\uFFFD\uFFFD");
        row("surrogate", "\xed\xa0\x80\n", "\uFFFD");
        row("UTF-8", "Größe ━ 中文 🚀\n", "Größe ━ 中文 🚀");
        row("text that turns around",
            "a\xe2\x80\xae"
            "b\n",
            "ab");
        row("tabs stay", "a\tb\n", "a\tb");
        row("blanks at the end", "abc\r   \n", "");
    }
    void showsWhatATerminalWould() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, line);
        TerminalLines whole;
        const auto lines = whole.add({bytes.data(), static_cast<std::size_t>(bytes.size())});
        QCOMPARE(lines.size(), std::size_t{1});
        QCOMPARE(QString::fromStdString(lines[0].text), line);
        QCOMPARE(lines[0].end, bytes.size());
        // In pieces of one byte it is the same.
        TerminalLines pieces;
        std::vector<TerminalLines::Line> found;
        for (const char byte : bytes)
            for (auto& one : pieces.add({&byte, 1}))
                found.push_back(std::move(one));
        QCOMPARE(found.size(), std::size_t{1});
        QCOMPARE(QString::fromStdString(found[0].text), line);
    }

    void showsTheLineThatIsNotOver() {
        TerminalLines terminal;
        QVERIFY(terminal.add("10%\r20").empty());
        QCOMPARE(terminal.unfinished(), std::string("20%"));
    }

    void takesALineOfTenMegabytesAtOnce() {
        TerminalLines terminal;
        const std::string block(std::size_t{10} << 20, 'x');
        QElapsedTimer timer;
        timer.start();
        QVERIFY(terminal.add(block).empty());
        const auto lines = terminal.add("\nnext\n");
        QVERIFY2(timer.elapsed() < 5000, qPrintable(QString::number(timer.elapsed())));
        QCOMPARE(lines.size(), std::size_t{2});
        QCOMPARE(lines[0].text.size(), block.size());
        QCOMPARE(lines[1].text, std::string("next"));
    }

    void keepsADayOfRedrawsShort() {
        TerminalLines terminal;
        for (int i = 0; i < 100'000; ++i)
            QVERIFY(
                terminal.add("\r" + std::to_string(i) + " of 100000 steps, loss 0.1234").empty());
        const auto lines = terminal.add("\n");
        QCOMPARE(lines[0].text, std::string("99999 of 100000 steps, loss 0.1234"));
    }

    void leavesOutWhatIsBeyondTheLongestLine() {
        TerminalLines terminal;
        const std::string block(std::size_t{1} << 20, 'x');
        for (int i = 0; i < 17; ++i)
            terminal.add(block);
        const auto lines = terminal.add("\n");
        QVERIFY(lines[0].text.size() < TerminalLines::kLongestLine + 32);
        QVERIFY(lines[0].text.ends_with("cut]"));
    }

    void isNotMadeToHoldBlanksByAFewBytes() {
        TerminalLines terminal;
        std::string text;
        for (int i = 0; i < 100; ++i)
            text += "\x1b[999999999C";
        const auto lines = terminal.add(text + "x\n");
        QVERIFY(lines[0].text.size() < 2048);
    }
};

QTEST_APPLESS_MAIN(TstTerminal)
#include "tst_terminal.moc"
