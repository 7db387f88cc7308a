// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"
#include "core/metrics/csv.h"
#include "core/wire/event.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <sstream>

using namespace lockstep;
using namespace lockstep::metrics;

namespace {

/// Standard output of worker 0 and 1 as a run brought it home (tests/core/metrics/data), with the
/// times of its lines where they are kept.
std::vector<EventsFile> captured(const std::string& name) {
    const auto text = [&](const std::string& end) {
        const auto bytes =
            files::read(LOCKSTEP_SOURCE_DIR "/tests/core/metrics/data/" + name + end);
        return bytes ? *bytes : std::string();
    };
    return {{"worker:0", 1, "", text("-worker-0.txt"), text("-worker-0.idx")},
            {"worker:1", 1, "", text("-worker-1.txt"), text("-worker-1.idx")}};
}

/// These columns of the rows of one kind and task, "17-17 0.5528" and so on.
std::vector<std::string> column(const std::string& csv, const std::string& kind,
                                const std::string& task, const std::string& name) {
    const auto cellsOf = [](const std::string& line) {
        std::vector<std::string> cells;
        std::istringstream in(line);
        for (std::string cell; std::getline(in, cell, ',');)
            cells.push_back(cell);
        return cells;
    };
    std::istringstream in(csv);
    std::string line;
    std::getline(in, line);
    const auto header = cellsOf(line);
    const auto place = [&](const std::string& wanted) {
        return static_cast<std::size_t>(std::find(header.begin(), header.end(), wanted) -
                                        header.begin());
    };
    std::vector<std::string> found;
    while (std::getline(in, line)) {
        auto cells = cellsOf(line);
        cells.resize(header.size() + 1);
        if (cells[0] == kind && cells[1] == task)
            found.push_back(cells[place("first_step")] + "-" + cells[place("last_step")] + " " +
                            cells[place(name)]);
    }
    return found;
}

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

    // MultiWorkerMirroredStrategy and fit(), on two hosts.
    void chartsWhatTensorFlowPrinted() {
        using Cells = std::vector<std::string>;
        const std::string csv = toCsv(captured("ssh-fit")).text;
        const Cells epochs{"1-16 0.8036", "17-32 0.4307", "33-48 0.1993", "49-64 0.1047",
                           "65-80 0.0656"};
        const Cells accuracies{"1-16 0.5483", "17-32 0.7949", "33-48 0.9424", "49-64 0.9692",
                               "65-80 0.9878"};
        for (const char* task : {"worker:0", "worker:1"}) {
            QCOMPARE(column(csv, "epoch", task, "loss"), epochs);
            QCOMPARE(column(csv, "epoch", task, "accuracy"), accuracies);
        }
        // Keras redraws sums over the two workers: 2.2629, 2.0700, and so on.
        const Cells first{"1-1 1.13145", "2-4 1.035", "5-8 0.9358", "9-12 0.8652", "13-16 0.8036"};
        const Cells last{"49-49 0.12865", "50-53 0.11845", "54-57 0.1143",
                         "58-61 0.1054",  "62-64 0.1047",  "65-65 0.06205",
                         "66-68 0.07135", "69-72 0.0739",  "73-76 0.06845"};
        const Cells second{"17-17 0.5528", "18-21 0.51615", "22-25 0.47835", "26-29 0.45015",
                           "30-32 0.4307"};
        const Cells secondOfOther{"17-17 0.5528",  "18-20 0.5356", "21-23 0.5041",
                                  "24-27 0.46005", "28-30 0.4475", "31-32 0.4307"};
        const Cells third{"33-33 0.27135", "34-36 0.24935", "37-39 0.23865",
                          "40-42 0.223",   "43-45 0.21175", "46-48 0.1993"};
        const Cells end{"77-79 0.0655", "80-80 0.0656"};
        const Cells endOfOther{"77-78 0.06765", "79-80 0.0656"};
        const auto joined = [](std::initializer_list<Cells> parts) {
            Cells all;
            for (const Cells& part : parts)
                all.insert(all.end(), part.begin(), part.end());
            return all;
        };
        QCOMPARE(column(csv, "step", "worker:0", "loss_mean"),
                 joined({first, second, third, last, end}));
        QCOMPARE(column(csv, "step", "worker:1", "loss_mean"),
                 joined({first, secondOfOther, third, last, endOfOther}));
        const auto times = column(csv, "epoch", "worker:1", "time");
        QCOMPARE(times.front(), std::string("1-16 2026-12-01T13:54:22.981Z"));
        QCOMPARE(times.back(), std::string("65-80 2026-12-01T13:54:24.227Z"));
        QCOMPARE(column(csv, "step", "worker:0", "total_ms_mean").back(), std::string("80-80 20"));
    }

    // A loop of the user's own with Keras' Progbar: means, which are left as they are.
    void chartsWhatALoopOfOnesOwnPrinted() {
        const std::vector<std::string> losses{
            "1-1 5.4619",   "2-2 5.2565",   "3-3 5.326",    "4-4 4.9227",   "5-5 4.7635",
            "6-6 4.5903",   "7-7 4.4323",   "8-8 4.3474",   "9-9 4.2263",   "10-10 4.0793",
            "11-11 3.8726", "12-12 3.4589", "13-13 3.3801", "14-14 3.2416", "15-15 3.1302",
            "16-16 2.9726", "17-17 2.8158", "18-18 2.6939", "19-19 2.6005", "20-20 2.5064",
            "21-21 1.6311", "22-22 1.488",  "23-23 1.4011", "24-24 1.4984", "25-25 1.4789",
            "26-26 1.4099", "27-27 1.3446", "28-28 1.3094", "29-29 1.2258", "30-30 1.1665"};
        const std::string csv = toCsv(captured("ssh-loop")).text;
        for (const char* task : {"worker:0", "worker:1"}) {
            QCOMPARE(column(csv, "step", task, "loss_mean"), losses);
            QCOMPARE(column(csv, "epoch", task, "loss"),
                     (std::vector<std::string>{"1-10 4.0793", "11-20 2.5064", "21-30 1.1665"}));
        }
    }

    // TensorFlow's own log is no progress.
    void chartsNothingOfStandardError() {
        for (const char* task : {"0", "1"}) {
            const auto log =
                files::read(LOCKSTEP_SOURCE_DIR "/tests/core/metrics/data/ssh-fit-worker-" +
                            std::string(task) + ".stderr.txt");
            QVERIFY(log && log->find("oneDNN") != log->npos);
            QCOMPARE(linesOf(toCsv({{"worker:0", 1, "", *log}}).text).size(), std::size_t{1});
        }
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
