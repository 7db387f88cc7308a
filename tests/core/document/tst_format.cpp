// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/document/format.h"

#include <QTest>

using namespace lockstep;
using namespace lockstep::document;

namespace {

/// A made-up format whose first version had one "host", its second "hosts", its third "machines".
Format madeUp() {
    Format format{"lockstep-cluster", 3, {}};
    format.migrations.push_back({2, 3, [](json::Value& document, std::vector<std::string>& notes) {
                                     for (json::Member& member : document.members())
                                         if (member.key == "hosts")
                                             member.key = "machines";
                                     notes.push_back("hosts are called machines now");
                                     return Status();
                                 }});
    format.migrations.push_back({1, 2, [](json::Value& document, std::vector<std::string>& notes) {
                                     const json::Value* host = document.find("host");
                                     if (!host)
                                         return Status(Error{Code::Corrupt, "No host.", {}});
                                     json::Value hosts = json::Value::array({*host});
                                     for (json::Member& member : document.members())
                                         if (member.key == "host")
                                             member = {"hosts", hosts};
                                     notes.push_back("one host became a list");
                                     return Status();
                                 }});
    return format;
}

} // namespace

class FormatTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void migratesBySingleStepsAndKeepsTheRest() {
        const auto opened =
            open(R"({"format":"lockstep-cluster","version":1,"z":1,"host":"a","other":{"k":[]}})",
                 "old.json", madeUp());
        QVERIFY2(opened.ok(), opened.ok() ? "" : describe(opened.error()).c_str());
        QCOMPARE(json::dump(opened->document),
                 std::string(R"({"format":"lockstep-cluster","version":3,"z":1,)"
                             R"("machines":["a"],"other":{"k":[]}})"));
        QCOMPARE(opened->readVersion, 1);
        QCOMPARE(opened->notes, (std::vector<std::string>{"one host became a list",
                                                          "hosts are called machines now"}));
        const auto second =
            open(R"({"format":"lockstep-cluster","version":2,"hosts":[]})", "x", madeUp());
        QCOMPARE(second->notes.size(), std::size_t(1));
        QCOMPARE(open(R"({"format":"lockstep-cluster","version":3})", "x", madeUp())->notes.size(),
                 std::size_t(0));
    }

    void saysWhereAMigrationFails() {
        const auto opened =
            open(R"({"format":"lockstep-cluster","version":1})", "old.json", madeUp());
        QVERIFY(!opened.ok());
        QCOMPARE(opened.error().code, Code::Corrupt);
        QCOMPARE(opened.error().where, std::string("old.json"));
    }

    void refusesWhatIsTooOld() {
        Format format = madeUp();
        format.migrations.pop_back();
        const auto opened =
            open(R"({"format":"lockstep-cluster","version":1,"host":"a"})", "x", format);
        QVERIFY(!opened.ok());
        QCOMPARE(opened.error().code, Code::Unsupported);
    }

    void refusesOtherHeaders_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const char* text, Code code, const char* says) {
            QTest::newRow(name) << text << static_cast<int>(code) << says;
        };
        const Code wrong = Code::InvalidArgument;
        row("nothing", "", wrong, "empty");
        row("no JSON", "{\"format\": }", wrong, "line 1");
        row("no object", "[]", wrong, "an empty array");
        row("no format", R"({"version":1})", wrong, "does not say its format");
        row("a TF_CONFIG", R"({"cluster":{},"task":{}})", wrong, "TF_CONFIG");
        row("a Keras model", R"({"class_name":"Sequential","config":{}})", wrong, "Keras model");
        row("a job", R"({"format":"lockstep-job","version":9})", wrong,
            "This is a job, expected a cluster.");
        row("a stranger", R"({"format":"x","version":1})", wrong, "\"x\"");
        row("no version", R"({"format":"lockstep-cluster"})", wrong, "missing");
        row("version 0", R"({"format":"lockstep-cluster","version":0})", wrong, "the number 0");
        row("a version that is a text", R"({"format":"lockstep-cluster","version":"1"})", wrong,
            "the text");
        row("newer", R"({"format":"lockstep-cluster","version":7,"workers":5})", Code::NewerFormat,
            "version 7");
    }
    void refusesOtherHeaders() {
        QFETCH(QString, text);
        QFETCH(QString, says);
        const auto opened = open(text.toStdString(), "some.json", clusterFormat());
        QVERIFY(!opened.ok());
        QTEST(static_cast<int>(opened.error().code), "code");
        QVERIFY2(opened.error().message.find(says.toStdString()) != std::string::npos,
                 opened.error().message.c_str());
        QCOMPARE(opened.error().where, std::string("some.json"));
    }

    void coversEveryOlderVersionOfOurFormats() {
        for (const Format* format : {&clusterFormat(), &jobFormat()}) {
            QCOMPARE(static_cast<int>(format->migrations.size()), format->version - 1);
            for (const Migration& step : format->migrations)
                QCOMPARE(step.to, step.from + 1);
        }
    }
};

QTEST_APPLESS_MAIN(FormatTest)
#include "tst_format.moc"
