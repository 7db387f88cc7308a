// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/json_reader.h"

#include <QtTest>

using namespace lockstep;
using json::Reader;
using json::Value;

namespace {

/// A document under test, with the problems that reading it collects.
struct Document {
    explicit Document(std::string_view text)
        : value(*json::parse(text, "test")) {}

    Reader root() { return {&value, "", "doc.json", &problems}; }
    /// All problems, one a line, without the file.
    QString told() const {
        QStringList lines;
        for (const Problem& problem : problems) {
            Problem bare = problem;
            bare.file.clear();
            lines += QString::number(problem.line) + " " + QString::fromStdString(describe(bare));
        }
        return lines.join('\n');
    }

    Value value;
    Problems problems;
};

} // namespace

class TestJsonReader : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsWhatIsThere() {
        Document doc(R"({"t": true, "i": -3, "n": 2.5, "s": "x", "a": [1, 2], "o": {"k": 1}})");
        const Reader root = doc.root();
        QVERIFY(root.at("t").boolean() == true);
        QVERIFY(root.at("i").integer() == -3);
        QVERIFY(root.at("i").number() == -3.0);
        QVERIFY(root.at("n").number() == 2.5);
        QVERIFY(root.at("s").string() == "x");
        QVERIFY(root.at("s").oneOf({"w", "x"}) == "x");
        QCOMPARE(root.at("a").items().size(), std::size_t{2});
        QCOMPARE(root.at("a").items()[1].path(), "a.1");
        QCOMPARE(root.at("o").members()[0].first, "k");
        QCOMPARE(root.at("o").members()[0].second.path(), "o.k");
        QCOMPARE(doc.told(), "");
    }

    void saysNothingAboutMissingOrNull() {
        Document doc(R"({"none": null})");
        for (const char* key : {"none", "missing"}) {
            const Reader reader = doc.root().at(key);
            QVERIFY(reader.isAbsent());
            QVERIFY(!reader.boolean() && !reader.integer() && !reader.number());
            QVERIFY(!reader.string() && !reader.oneOf({"a"}));
            QVERIFY(reader.items().empty());
            QVERIFY(reader.members().empty());
        }
        QVERIFY(doc.root().at("none").exists());
        QVERIFY(!doc.root().at("missing").at("deeper").exists());
        QCOMPARE(doc.told(), "");
    }

    void namesMissingMembersAtTheirParent() {
        Document doc("{\n\"a\": {\n}}");
        QVERIFY(!doc.root().at("a").require("b", "a number").exists());
        QCOMPARE(doc.told(), "2 a.b: \"b\" is missing. Expected a number.");
    }

    void collectsEveryWrongKind() {
        Document doc(
            "{\"t\": 1,\n\"i\": 2.5,\n\"n\": \"3\",\n\"s\": [],\n\"a\": {},\n\"o\": null}");
        const Reader root = doc.root();
        QVERIFY(!root.at("t").boolean());
        QVERIFY(!root.at("i").integer(1, 9));
        QVERIFY(!root.at("n").number(0));
        QVERIFY(!root.at("s").string());
        QVERIFY(root.at("a").items().empty());
        QVERIFY(!root.at("o").isObject());
        QCOMPARE(doc.told(),
                 "1 t: The number 1 does not belong here. Expected true or false.\n"
                 "2 i: The number 2.5 does not belong here. Expected a whole number from 1 to 9.\n"
                 "3 n: The text \"3\" does not belong here. Expected a number of at least 0.0.\n"
                 "4 s: An empty array does not belong here. Expected a text.\n"
                 "5 a: An object does not belong here. Expected an array.\n"
                 "6 o: Null does not belong here. Expected an object.");
        QCOMPARE(doc.problems[0].file, "doc.json");
    }

    void holdsNumbersToTheirRange() {
        Document doc(R"({"i": 0, "n": 1.5})");
        QVERIFY(doc.root().at("i").integer(0, 0) == 0);
        QVERIFY(!doc.root().at("i").integer(1));
        QVERIFY(!doc.root().at("i").integer(std::numeric_limits<std::int64_t>::min(), -1));
        QVERIFY(doc.root().at("n").number(1.5, 1.5) == 1.5);
        QVERIFY(!doc.root().at("n").number(0, 1));
        QCOMPARE(doc.told(), "1 i: 0 is out of range. Expected a whole number of at least 1.\n"
                             "1 i: 0 is out of range. Expected a whole number of at most -1.\n"
                             "1 n: 1.5 is out of range. Expected a number from 0.0 to 1.0.");
    }

    void suggestsTheChoiceThatWasMeant() {
        Document doc(R"({"a": "Adma", "b": "zzz", "c": 3})");
        QVERIFY(!doc.root().at("a").oneOf({"sgd", "adam"}));
        QVERIFY(!doc.root().at("b").oneOf({"sgd", "adam"}));
        QVERIFY(!doc.root().at("c").oneOf({"sgd", "adam"}));
        QCOMPARE(doc.told(),
                 "1 a: \"Adma\" is not known here. Expected \"sgd\" or \"adam\". "
                 "Did you mean \"adam\"?\n"
                 "1 b: \"zzz\" is not known here. Expected \"sgd\" or \"adam\".\n"
                 "1 c: The number 3 does not belong here. Expected \"sgd\" or \"adam\".");
    }

    void warnsOfUnknownKeys() {
        Document doc("{\"epochs\": 1,\n\"epoch\": 2, \"Workers\": 3}");
        doc.root().warnUnknown({"epochs", "workers"});
        QVERIFY(!hasErrors(doc.problems));
        QCOMPARE(doc.told(), "2 warning: epoch: The key \"epoch\" is not known and is ignored. "
                             "Did you mean \"epochs\"?\n"
                             "2 warning: Workers: The key \"Workers\" is not known and is ignored. "
                             "Did you mean \"workers\"?");
    }

    void findsNearWordsOnly() {
        QCOMPARE(json::nearest("learning_rat", {"learning_rate", "momentum"}), "learning_rate");
        QCOMPARE(json::nearest("adamw", {"adam", "sgd"}), "adam");
        QCOMPARE(json::nearest("x", {"y"}), "");
        QCOMPARE(json::nearest("", {"a"}), "");
        QCOMPARE(json::nearest("word", {}), "");
    }

    void findsValuesByPath() {
        const Value root = *json::parse(R"({"workers": [{"address": "a:1"}]})", "test");
        QCOMPARE(json::findPath(root, "workers.0.address")->toString(), "a:1");
        for (const char* path : {"workers.1", "workers.x", "workers.-1", "workers.0.address.deep",
                                 "", "workers..0", "none"})
            QVERIFY2(json::findPath(root, path) == nullptr, path);
    }

    void setsValuesByPath() {
        Value root = *json::parse(R"({"fit": {"epochs": 5}, "workers": [1]})", "test");
        QVERIFY(json::setPath(root, "fit.epochs", 3).ok());
        QVERIFY(json::setPath(root, "new.deep.key", "x").ok());
        QVERIFY(json::setPath(root, "workers.1", 2).ok());
        QVERIFY(json::setPath(root, "workers.0", 9).ok());
        QCOMPARE(json::dump(root),
                 R"({"fit":{"epochs":3},"workers":[9,2],"new":{"deep":{"key":"x"}}})");
    }

    void changesNothingWhereAPathDoesNotFit_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("where");
        QTest::newRow("beyond the end") << "workers.3"
                                        << "workers.3";
        QTest::newRow("no number") << "workers.x.y"
                                   << "workers.x";
        QTest::newRow("below a number") << "fit.epochs.x"
                                        << "fit.epochs.x";
        QTest::newRow("two dots") << "a.b..c"
                                  << "a.b..c";
        QTest::newRow("dot at the end") << "fit."
                                        << "fit.";
        QTest::newRow("nothing") << ""
                                 << "";
    }
    void changesNothingWhereAPathDoesNotFit() {
        QFETCH(QString, path);
        const Value before = *json::parse(R"({"fit": {"epochs": 5}, "workers": [1]})", "test");
        Value root = before;
        const Status status = json::setPath(root, path.toStdString(), 1);
        QVERIFY(!status.ok());
        QCOMPARE(status.error().code, Code::InvalidArgument);
        QTEST(QString::fromStdString(status.error().where), "where");
        QCOMPARE(root, before);
    }
};

QTEST_APPLESS_MAIN(TestJsonReader)
#include "tst_json_reader.moc"
