// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/wire/event.h"

#include <QtTest>

#include <cmath>
#include <limits>

using namespace lockstep;
using namespace lockstep::wire;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One event of every kind, with every field away from its default.
std::vector<Event> everyEvent() {
    const Stat stat{1.5, 0.25, 1e10};
    return {
        {1.5, Started{"worker:1", 1, 3, "20260131T081403Z-ab", 2, "n1", "[fe80::1%eth0]:2222",
                      "0.1.0", "aa", "bb", true, 4}},
        {2.0, PhaseChanged{Phase::Joining, {"worker:0", "chief:0"}, 59.5}},
        {3.25, Planned{9000000000, 2, 3, 4, 5, 6, 7, 8, {9, 10}, "ring", "DATA"}},
        {4.0,
         Steps{2, 11, 20, 640, 320, 0.125, 1e-3, stat, stat, {2, 1, 3}, stat, stat, stat, stat}},
        {5.0, EpochEnded{3, 30, 2.5, {{"loss", 0.1}, {"val_accuracy", 0.975}}, "cc"}},
        {6.0, FileWritten{"model", "model.safetensors", 123, "dd"}},
        {7.0, Failed{"worker:2", "10.0.0.3:2222", "peer_lost", "killed", "It said \"no\".\n→ end"}},
        {8.0, Finished{"ee", 60, 1900, 3.5, 1, 2, 3, 4, 10}},
        {9.0, Logged{Level::Warning, "text with \t and é"}},
    };
}

Result<Event> decoded(const std::string& withLf) {
    return decode(std::string_view(withLf).substr(0, withLf.size() - 1));
}

QString faultOf(std::string_view line, Code code = Code::Corrupt) {
    const auto event = decode(line);
    if (event.ok())
        return "no error";
    if (event.error().code != code || event.error().where != "event")
        return "wrong code or place";
    return QString::fromStdString(event.error().message);
}

const std::string kLog = R"({"v":1,"event":"log","t":1,"level":"info","text":"x"})";

} // namespace

class TestEvent : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void bringsEveryEventBack() {
        const auto events = everyEvent();
        QCOMPARE(events.size() + 1, std::variant_size_v<Body>); // all but Unknown
        for (std::size_t i = 0; i < events.size(); ++i) {
            QCOMPARE(events[i].body.index(), i);
            const std::string line = encode(events[i]);
            QCOMPARE(line.find('\n'), line.size() - 1);
            const auto back = decoded(line);
            QVERIFY2(back.ok(), line.c_str());
            QVERIFY2(*back == events[i], line.c_str());
            QCOMPARE(encode(*back), line);
        }
    }

    void bringsDefaultsBack() {
        const Event event{0, Steps{}};
        QVERIFY(*decoded(encode(event)) == event);
        for (const Phase phase : {Phase::Preparing, Phase::Joining, Phase::Training,
                                  Phase::Validating, Phase::Finishing})
            QVERIFY(std::get<PhaseChanged>(decoded(encode({0, PhaseChanged{phase, {}, 0}}))->body)
                        .phase == phase);
    }

    void carriesNonFiniteNumbersAsTexts() {
        Steps steps;
        steps.loss = {std::nan(""), -kInfinity, kInfinity};
        steps.seconds = kInfinity;
        const std::string line = encode({1, steps});
        QVERIFY(line.find(R"("loss":["NaN","-Infinity","Infinity"])") != std::string::npos);
        const auto back = std::get<Steps>(decoded(line)->body);
        QVERIFY(std::isnan(back.loss.mean));
        QCOMPARE(back.loss.min, -kInfinity);
        QCOMPARE(back.loss.max, kInfinity);
        QCOMPARE(back.seconds, kInfinity);

        const std::string epoch = encode({1, EpochEnded{1, 1, 1, {{"loss", std::nan("")}}, ""}});
        QVERIFY(std::isnan(std::get<EpochEnded>(decoded(epoch)->body).values[0].second));
    }

    void ignoresUnknownFields() {
        const auto event =
            decode(R"({"v":1,"event":"log","t":1,"level":"info","text":"x","colour":{"a":[1]}})");
        QVERIFY(event.ok());
        QVERIFY(event->body == Body(Logged{Level::Info, "x"}));
    }

    void keepsUnknownEventsAsTheirLine() {
        const std::string line = R"({"v":1, "event":"checkpoint", "t":1e3, "x":1.50})";
        const auto event = decode(line);
        QVERIFY(event.ok());
        QCOMPARE(event->time, 1000.0);
        QCOMPARE(std::get<Unknown>(event->body).line, line);
        QCOMPARE(encode(*event), line + "\n");
    }

    void refusesANewerVersionByName() {
        QCOMPARE(faultOf(R"({"v":2,"event":"log","t":1})", Code::NewerFormat),
                 "This event has version 2; this program reads version 1.");
        QVERIFY(faultOf(R"({"v":0,"event":"log","t":1})").contains("version 0"));
    }

    void refusesWhatIsNoEvent_data() {
        QTest::addColumn<QString>("line");
        QTest::newRow("nothing") << "";
        QTest::newRow("half a line") << QString::fromStdString(kLog.substr(0, kLog.size() / 2));
        QTest::newRow("two lines") << QString::fromStdString(kLog + kLog);
        QTest::newRow("no object") << "[1]";
        QTest::newRow("no version") << R"({"event":"log","t":1,"level":"info","text":"x"})";
        QTest::newRow("no name") << R"({"v":1,"t":1,"level":"info","text":"x"})";
        QTest::newRow("no time") << R"({"v":1,"event":"log","level":"info","text":"x"})";
        QTest::newRow("a key twice")
            << R"({"v":1,"event":"log","t":1,"t":2,"level":"info","text":"x"})";
    }
    void refusesWhatIsNoEvent() {
        QFETCH(QString, line);
        const QString fault = faultOf(line.toStdString());
        QVERIFY2(fault.startsWith("This "), qPrintable(fault));
    }

    void namesTheFieldThatIsWrong_data() {
        QTest::addColumn<QString>("line");
        QTest::addColumn<QString>("field");
        QTest::newRow("missing") << R"({"v":1,"event":"log","t":1,"level":"info"})"
                                 << "text";
        QTest::newRow("another kind") << R"({"v":1,"event":"log","t":1,"level":"info","text":3})"
                                      << "text";
        QTest::newRow("a word for a number")
            << R"({"v":1,"event":"phase","t":1,"phase":"joining","waiting_for":[],"deadline_seconds":"soon"})"
            << "deadline_seconds";
        QTest::newRow("numbers among tasks")
            << R"({"v":1,"event":"phase","t":1,"phase":"joining","waiting_for":[1],"deadline_seconds":1})"
            << "waiting_for";
        QTest::newRow("an epoch beyond int")
            << R"({"v":1,"event":"epoch","t":1,"epoch":4294967297,"step":1,"seconds":1,"values":{},"digest":""})"
            << "epoch";
        QTest::newRow("a metric that is none")
            << R"({"v":1,"event":"epoch","t":1,"epoch":1,"step":1,"seconds":1,"values":{"loss":null},"digest":""})"
            << "values";
    }
    void namesTheFieldThatIsWrong() {
        QFETCH(QString, line);
        QFETCH(QString, field);
        const QString fault = faultOf(line.toStdString());
        QVERIFY2(fault.endsWith("lacks a right \"" + field + "\"."), qPrintable(fault));
    }

    void namesAStatOfTheWrongLength() {
        std::string line = encode({1, Steps{}});
        line.replace(line.find("[0.0,0.0,0.0]"), 13, "[0.0,0.0]");
        QVERIFY(decoded(line).error().message.find("lacks a right \"loss\"") != std::string::npos);
    }

    void everyCutOfALineIsNoEvent() {
        for (const Event& event : everyEvent()) {
            const std::string line = encode(event);
            for (std::size_t size = 0; size + 1 < line.size(); ++size)
                QVERIFY(!decode(std::string_view(line).substr(0, size)).ok());
        }
    }
};

QTEST_APPLESS_MAIN(TestEvent)
#include "tst_event.moc"
