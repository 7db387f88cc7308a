// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/metrics/csv.h"
#include "core/wire/event.h"

#include <QTest>

#include <cmath>
#include <sstream>

using namespace lockstep;
using namespace lockstep::metrics;

namespace {

std::string started(int rank) {
    wire::Started body;
    body.rank = rank;
    return wire::encode({100, body});
}

std::string steps(std::int64_t first, std::int64_t last, int epoch = 1) {
    wire::Steps body;
    body.epoch = epoch;
    body.first = first;
    body.last = last;
    body.loss = {0.1, std::nan(""), 0.30000000000000004};
    return wire::encode({101.5, body});
}

std::string epochEnd(int epoch, std::int64_t step) {
    return wire::encode(
        {102, wire::EpochEnded{epoch, step, 1.5, {{"loss", 0.25}, {"accuracy", 1}}, "d1"}});
}

std::vector<std::string> linesOf(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

} // namespace

class TstCsv : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void writesRowsInRankOrderWhateverTheOrderOfFiles() {
        const EventsFile chief{"chief:0", 1, started(0) + steps(1, 3) + epochEnd(1, 3)};
        const EventsFile second{"worker:0", 1, started(1) + steps(1, 2) + steps(3, 3)};
        const Csv csv = toCsv({second, chief});
        QCOMPARE(csv.text, toCsv({chief, second}).text);
        const auto lines = linesOf(csv.text);
        QCOMPARE(lines.size(), std::size_t{5});
        QVERIFY(lines[0].rfind("kind,task,attempt,epoch,first_step,last_step,time,", 0) == 0);
        QVERIFY(lines[0].size() > 20 &&
                lines[0].substr(lines[0].size() - 21) == ",digest,loss,accuracy");
        QVERIFY(lines[1].rfind("step,chief:0,1,1,1,3,1970-01-01T00:01:41.500Z,", 0) == 0);
        QVERIFY(lines[1].find(",0.1,NaN,0.30000000000000004,") != std::string::npos);
        QVERIFY(lines[2].rfind("epoch,chief:0,1,1,1,3,1970-01-01T00:01:42.000Z,1.5,", 0) == 0);
        QVERIFY(lines[2].find(",d1,0.25,1") != std::string::npos);
        QVERIFY(lines[3].rfind("step,worker:0,1,1,1,2,", 0) == 0);
        const auto commas = [](const std::string& s) {
            return std::count(s.begin(), s.end(), ',');
        };
        for (const std::string& line : lines)
            QCOMPARE(commas(line), commas(lines[0]));
    }

    void leavesOutALineThatIsNotWhole() {
        const std::string whole = started(0) + steps(1, 3);
        const std::string torn = whole + steps(4, 6);
        const Csv expected = toCsv({{"worker:0", 1, whole}});
        for (std::size_t cut = whole.size(); cut < torn.size(); ++cut)
            QCOMPARE(toCsv({{"worker:0", 1, torn.substr(0, cut)}}).text, expected.text);
        QVERIFY(toCsv({{"worker:0", 1, torn}}).text != expected.text);
    }

    void countsLinesThatAreNoEvents() {
        const Csv csv = toCsv({{"worker:0", 1, started(0) + "nonsense\n" + steps(1, 3)}});
        QCOMPARE(csv.unreadableLines, 1);
        QCOMPARE(linesOf(csv.text).size(), std::size_t{2});
    }

    void readsPrintedProgressWhereThereAreNoEvents() {
        EventsFile chief{"worker:0", 1, ""};
        chief.output = "starting\nEpoch 1/2\n\r2/4 [==>.] - ETA: 1s - loss: 2.0\b\r"
                       "4/4 [====] - 3s 5ms/step - loss: 1.5 - mae: 0.5\nEpoch 2/2\n"
                       "4/4 [====] - 1s 4ms/step - loss: 0.5 - mae: 0.25\n";
        chief.outputTimes = "9 101000\n" + std::to_string(chief.output.size() - 9) + " 500\n";
        EventsFile tenth{"worker:10", 1, "", "Epoch 1/1\n4/4 - 1s - 5ms/step - loss: 1.5\n"};
        const EventsFile second{"worker:2", 1, "", tenth.output};
        const Csv csv = toCsv({tenth, second, chief});
        QCOMPARE(csv.unreadableLines, 0);
        const auto lines = linesOf(csv.text);
        QCOMPARE(lines.size(), std::size_t{10});
        QVERIFY(lines[1].rfind("step,worker:0,1,1,1,2,1970-01-01T00:01:41.500Z,,,,,2,2,2,", 0) ==
                0);
        QVERIFY(lines[2].rfind("step,worker:0,1,1,3,4,1970-01-01T00:01:41.500Z,,,,,1.5,", 0) == 0);
        QVERIFY(lines[2].ends_with(",5,5,5,,,"));
        QVERIFY(lines[3].rfind("epoch,worker:0,1,1,1,4,1970-01-01T00:01:41.500Z,3,,", 0) == 0);
        QVERIFY(lines[3].ends_with(",,1.5,0.5"));
        QVERIFY(lines[5].rfind("epoch,worker:0,1,2,5,8,", 0) == 0);
        QVERIFY(lines[6].rfind("step,worker:2,1,1,1,4,,,,,,1.5,1.5,1.5,", 0) == 0); // no times
        QVERIFY(lines[8].rfind("step,worker:10,", 0) == 0);
        for (const std::string& line : lines)
            QCOMPARE(std::count(line.begin(), line.end(), ','),
                     std::count(lines[0].begin(), lines[0].end(), ','));
    }

    void coversEachStepOnceOverAttempts() {
        const EventsFile first{"worker:0", 1,
                               started(0) + steps(1, 5) + epochEnd(1, 5) + steps(6, 8, 2) +
                                   steps(9, 9, 2)};
        const EventsFile second{"worker:0", 2, started(0) + steps(6, 10, 2) + epochEnd(2, 10)};
        const auto lines = linesOf(toCsv({second, first}).text);
        QCOMPARE(lines.size(), std::size_t{5});
        QVERIFY(lines[3].rfind("step,worker:0,2,2,6,10,", 0) == 0);
        QVERIFY(lines[4].rfind("epoch,worker:0,2,2,6,10,", 0) == 0);
    }
};

QTEST_APPLESS_MAIN(TstCsv)
#include "tst_csv.moc"
