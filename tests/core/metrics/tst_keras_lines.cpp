// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"
#include "core/metrics/keras_lines.h"

#include <QTest>

#include <cmath>

using namespace lockstep;
using namespace lockstep::metrics;

namespace {

std::string captured(const char* name) {
    const auto bytes =
        files::read(std::string(LOCKSTEP_SOURCE_DIR "/tests/core/metrics/data/") + name);
    return bytes ? *bytes : std::string();
}

std::vector<Progress> ends(const std::vector<Progress>& all) {
    std::vector<Progress> found;
    for (const Progress& one : all)
        if (one.isEpochEnd)
            found.push_back(one);
    return found;
}

std::vector<Progress> readAll(const std::string& text, int workers = 1) {
    return KerasReader(workers).add(text);
}

std::string nameList(const Progress& progress) {
    std::string names;
    for (const auto& [name, value] : progress.values)
        names += (names.empty() ? "" : " ") + name;
    return names;
}

} // namespace

class TstKerasLines : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsEachFormOfALine_data() {
        QTest::addColumn<QString>("line");
        QTest::addColumn<int>("step");
        QTest::addColumn<int>("steps");
        QTest::addColumn<double>("stepMs");
        QTest::addColumn<QString>("values");
        const auto row = [](const char* name, const char* line, int step, int steps, double ms,
                            const char* values) {
            QTest::addRow("%s", name)
                << QString::fromUtf8(line) << step << steps << ms << QString::fromLatin1(values);
        };
        row("keras 3, verbose 1, redraw",
            "\x1b[1m 1/45\x1b[0m \x1b[32m━━\x1b[0m\x1b[37m━━━\x1b[0m \x1b[1m8s\x1b[0m 180ms/step - "
            "accuracy: 0.5000 - loss: 5.0000e-04",
            1, 45, 180, "accuracy=0.5 loss=0.0005 ");
        row("keras 3, verbose 1, end", "45/45 ━━━━ 1s 18ms/step - loss: 0.5000 - val_loss: -1.5000",
            45, 45, 18, "loss=0.5 val_loss=-1.5 ");
        row("keras 3, bar without UTF-8", "45/45 ==== 1s 250us/step - loss: 0.5000", 45, 45, 0.25,
            "loss=0.5 ");
        row("keras 3, bar of unknown characters", " 3/45 ???? 1:02 2s/step - loss: nan", 3, 45,
            2000, "loss=nan ");
        row("keras 3, verbose 2", "45/45 - 1s - 18ms/step - accuracy: 0.5000 - loss: -1.5000e+00",
            45, 45, 18, "accuracy=0.5 loss=-1.5 ");
        row("keras 2, verbose 1, redraw",
            " 1/45 [>.............................] - ETA: 1:08 - loss: 0.5000 - mae: 0.1000", 1,
            45, -1, "loss=0.5 mae=0.1 ");
        row("keras 2, verbose 1, end",
            "45/45 [==============================] - 1s 18ms/step - loss: inf - mae: 1.0000e-04",
            45, 45, 18, "loss=inf mae=0.0001 ");
        row("keras 2, verbose 2",
            "45/45 - 1s - loss: 0.5000 - my metric/a: 0.1000 - 1s/epoch - 18ms/step", 45, 45, 18,
            "loss=0.5 my metric/a=0.1 ");
        row("unknown number of steps", "     12/Unknown \x1b[1m1s\x1b[0m 20ms/step - loss: 0.5000",
            12, 0, 20, "loss=0.5 ");
        row("keras 2, unknown number of steps", "     12/Unknown - 1s 20ms/step - loss: 0.5000", 12,
            0, 20, "loss=0.5 ");
        row("predict", "4/4 ━━━━━━━━━━━━━━━━━━━━ 0s 9ms/step", 4, 4, 9, "");
    }
    void readsEachFormOfALine() {
        QFETCH(QString, line);
        QFETCH(double, stepMs);
        QFETCH(QString, values);
        const auto read = parseKerasLine(line.toStdString());
        QVERIFY(read);
        QTEST(int(read->step), "step");
        QTEST(int(read->steps), "steps");
        QVERIFY(stepMs < 0 ? std::isnan(read->stepMs) : std::abs(read->stepMs - stepMs) < 1e-9);
        QString got;
        for (const auto& [name, value] : read->values)
            got += QStringLiteral("%1=%2 ").arg(QString::fromStdString(name)).arg(value);
        QCOMPARE(got, values);
    }

    void takesTheFinerTimeOfAnEpoch() {
        const auto line = parseKerasLine("10/10 - 0s - loss: 4.2 - 294ms/epoch - 29ms/step");
        QVERIFY(line);
        QCOMPARE(line->seconds, 0.294);
        QCOMPARE(parseKerasLine("10/10 - 3s - loss: 4.2 - 3s/epoch - 29ms/step")->seconds, 3.0);
        QCOMPARE(parseKerasLine("10/10 - 65s - 7s/step - loss: 4.2")->seconds, 65.0);
    }

    void readsNoOtherLines_data() {
        QTest::addColumn<QString>("line");
        for (const char* line :
             {"", "Epoch 1/5", "12/31/2026 - 5 files", "3/4", "1/2 - loss: 0.5",
              "10/10 tests passed", "45/45 - 1s - 18ms/step - loss: 0.5x",
              "45/45 - 1s - 18ms/step - loss: ",
              "45/45 [====] - 1s 18ms/step - loss: 0.5INFO:tensorflow:saved", "-1/5 - 1s",
              "99999999999999999999/5 - 1s - 1ms/step - loss: 1.0", "1/2 - 1s - a: b: 0.5"})
            QTest::addRow("%s", line) << QString::fromLatin1(line);
    }
    void readsNoOtherLines() {
        QFETCH(QString, line);
        QVERIFY(!parseKerasLine(line.toStdString()));
    }

    void followsWholeRuns_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("workers");
        QTest::addColumn<int>("redraws");
        QTest::addColumn<double>("loss");
        QTest::addColumn<double>("validation");
        QTest::addColumn<double>("stepMs");
        const auto row = [](const char* file, int workers, int redraws, double loss,
                            double validation, double ms) {
            QTest::addRow("%s", file)
                << QString::fromLatin1(file) << workers << redraws << loss << validation << ms;
        };
        row("keras3-v1.txt", 1, 3, 3.8857, 4.3989, 2);
        row("keras3-v2.txt", 1, 0, 4.6075, 5.2537, 2);
        row("keras2-v1.txt", 1, 3, 2.4505, 2.7638, 4);
        row("keras2-v2.txt", 1, 0, 4.7929, 5.4454, 2);
        row("keras2-v1-worker-0.txt", 2, 13, 4.5518, 5.0613, 52);
        row("keras2-v1-worker-1.txt", 2, 13, 4.5518, 5.0613, 45);
        row("keras2-v2-worker-0.txt", 2, 0, 3.8929, 4.3899, 30);
        row("keras2-v2-worker-1.txt", 2, 0, 3.8929, 4.3899, 32);
    }
    void followsWholeRuns() {
        QFETCH(QString, file);
        QFETCH(int, workers);
        QFETCH(int, redraws);
        QFETCH(double, loss);
        QFETCH(double, validation);
        QFETCH(double, stepMs);
        const auto all = readAll(captured(file.toUtf8().constData()), workers);
        const auto epochs = ends(all);
        // Not the evaluate() at the end.
        QCOMPARE(epochs.size(), std::size_t{3});
        QCOMPARE(int(all.size()), 3 + redraws);
        for (int i = 0; i < 3; ++i) {
            const Progress& epoch = epochs[static_cast<std::size_t>(i)];
            QCOMPARE(epoch.epoch, i + 1);
            QCOMPARE(epoch.epochs, 3);
            QCOMPARE(epoch.step, 10 * (i + 1));
            QCOMPARE(nameList(epoch), std::string("loss mae val_loss val_mae"));
            QVERIFY(epoch.seconds >= 0);
        }
        QCOMPARE(epochs[2].value("loss"), loss);
        QCOMPARE(epochs[2].value("val_loss"), validation);
        QCOMPARE(epochs[2].stepMs, stepMs);
    }

    void dividesTheSumsOverWorkersThatKeras2Redraws() {
        const auto all = readAll(captured("keras2-v1-worker-0.txt"), 2);
        // Those of the first epoch come again, once the end shows what they are.
        const std::vector<std::pair<std::int64_t, double>> expected{
            {1, 11.7435},      {5, 11.1107},     {8, 10.8081},     {1, 11.7435 / 2},
            {5, 11.1107 / 2},  {8, 10.8081 / 2}, {10, 5.3338},     {11, 10.8801 / 2},
            {14, 10.4216 / 2}, {17, 9.9486 / 2}, {20, 9.8709 / 2}, {20, 4.9355}};
        QVERIFY(all.size() > expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            QCOMPARE(all[i].step, expected[i].first);
            QCOMPARE(all[i].value("loss"), expected[i].second);
        }
        // One worker's are taken as they are.
        QCOMPARE(readAll(captured("keras2-v1-worker-0.txt"), 1)[4].value("loss"), 10.8801);
    }

    void readsTheSameInPiecesOfAnySize() {
        for (const char* name : {"keras3-v1.txt", "keras2-v1-worker-0.txt", "keras3-v2.txt"}) {
            const std::string text = captured(name);
            QVERIFY(!text.empty());
            const auto whole = readAll(text, 2);
            for (const std::size_t piece : {1, 7, 100}) {
                KerasReader reader(2);
                std::vector<Progress> all;
                for (std::size_t i = 0; i < text.size(); i += piece)
                    for (Progress& one : reader.add(std::string_view(text).substr(i, piece)))
                        all.push_back(std::move(one));
                QCOMPARE(all.size(), whole.size());
                for (std::size_t i = 0; i < all.size(); ++i) {
                    QCOMPARE(all[i].step, whole[i].step);
                    QCOMPARE(all[i].position, whole[i].position);
                    QCOMPARE(all[i].values, whole[i].values);
                }
            }
        }
    }

    void takesARedrawOnlyWhenItIsWhole() {
        KerasReader reader;
        QVERIFY(reader.add("\r 1/10 [=>...] - ETA: 1s - loss: 0.12").empty());
        QVERIFY(reader.add("34").empty());
        const auto found = reader.add("\b\b\b");
        QCOMPARE(found.size(), std::size_t{1});
        QCOMPARE(found[0].value("loss"), 0.1234);
    }

    void countsOneEpochWithoutHeader() {
        const auto epochs = ends(readAll(captured("keras3-v1-one-epoch.txt")));
        QCOMPARE(epochs.size(), std::size_t{1});
        QCOMPARE(epochs[0].epoch, 1);
        QCOMPARE(epochs[0].value("val_loss"), 5.2690);
        // fit() in a loop, each with one epoch.
        const std::string line = "10/10 - 1s - 97ms/step - loss: 5.0783\n";
        QCOMPARE(ends(readAll(line + line + line)).back().step, 30);
    }

    void countsOnOverCallsOfFit() {
        const auto epoch = [](const char* header, const char* loss) {
            return std::string("Epoch ") + header + "\n5/5 - 1s - 97ms/step - loss: " + loss + "\n";
        };
        const auto all = readAll(epoch("1/2", "4.0") + epoch("2/2", "3.0") + epoch("1/2", "2.0") +
                                 epoch("2/2", "1.0"));
        QCOMPARE(all.size(), std::size_t{4});
        QCOMPARE(all[3].epoch, 4);
        QCOMPARE(all[3].step, 20);
        // Continued from a checkpoint: the steps before are not ours.
        const auto late = readAll(epoch("4/9", "1.0") + epoch("5/9", "1.0"));
        QCOMPARE(late[0].step, 20);
        QCOMPARE(late[1].step, 25);
        QCOMPARE(late[1].epoch, 5);
    }

    void takesTheLineThatFollowsACheckpointMessage() {
        const auto all =
            readAll("Epoch 1/2\n\r10/10 ━━━━ 1s 9ms/step - loss: 2.0000\n"
                    "Epoch 1: val_loss improved from inf to 3.00000, saving model to m.keras\n"
                    "\b\b\r10/10 ━━━━ 1s 9ms/step - loss: 2.0000 - val_loss: 3.0000\nEpoch 2/2\n");
        QCOMPARE(ends(all).back().value("val_loss"), 3.0);
        QCOMPARE(ends(all).back().epoch, 1);
    }

    void endsAnEpochWhoseLastLineWasSpoiled() {
        const auto all = readAll("Epoch 1/2\n\r9/10 ━━━ 1s 9ms/step - loss: 2.5\b\b\r"
                                 "10/10 ━━━━ 1s 9ms/step - loss: 2.0\b\b\b"
                                 "WARNING:tensorflow: saved\nEpoch 2/2\n");
        QCOMPARE(ends(all).size(), std::size_t{1});
        QCOMPARE(ends(all)[0].value("loss"), 2.0);
    }

    void takesWindowsLineEnds() {
        const auto all = readAll("Epoch 1/2\r\n10/10 - 1s - 9ms/step - loss: 2.0\r\nEpoch 2/2\r\n");
        QCOMPARE(ends(all).size(), std::size_t{1});
        QCOMPARE(all.back().epochs, 2);
    }

    void isNotHeldUpByALongLine() {
        KerasReader reader;
        const std::string block(1 << 20, 'x');
        for (int i = 0; i < 10; ++i)
            QVERIFY(reader.add(block).empty());
        QCOMPARE(reader.add("\n5/5 - 1s - 9ms/step - loss: 2.0\n").size(), std::size_t{1});
    }
};

QTEST_APPLESS_MAIN(TstKerasLines)
#include "tst_keras_lines.moc"
