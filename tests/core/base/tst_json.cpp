// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"
#include "core/base/json.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <limits>

using namespace lockstep;
using json::Dialect;
using json::Kind;
using json::Value;

namespace {

Value parsed(std::string_view text, Dialect dialect = Dialect::Strict) {
    auto value = json::parse(text, "test", dialect);
    return value.ok() ? *value : Value("error: " + value.error().message);
}

QString messageOf(std::string_view text, Dialect dialect = Dialect::Strict) {
    const auto value = json::parse(text, "file.json", dialect);
    if (value.ok())
        return "no error";
    if (value.error().code != Code::InvalidArgument || value.error().where != "file.json")
        return "wrong code or place";
    return QString::fromStdString(value.error().message);
}

} // namespace

class TestJson : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void tellsKindsApart() {
        QCOMPARE(parsed("null").kind(), Kind::Null);
        QCOMPARE(parsed("true").kind(), Kind::Bool);
        QCOMPARE(parsed("3").kind(), Kind::Integer);
        QCOMPARE(parsed("3.0").kind(), Kind::Number);
        QCOMPARE(parsed("3e0").kind(), Kind::Number);
        QCOMPARE(parsed("\"3\"").kind(), Kind::String);
        QCOMPARE(parsed("[]").kind(), Kind::Array);
        QCOMPARE(parsed("{}").kind(), Kind::Object);
    }

    void keepsIntegersThatFit64Bits() {
        QCOMPARE(parsed("9223372036854775807").toInteger(),
                 std::numeric_limits<std::int64_t>::max());
        QCOMPARE(parsed("-9223372036854775808").toInteger(),
                 std::numeric_limits<std::int64_t>::min());
        QCOMPARE(parsed("9223372036854775808").kind(), Kind::Number);
        QCOMPARE(parsed("18446744073709551616").toNumber(), 18446744073709551616.0);
    }

    void knowsTheLineOfEveryValue() {
        const Value root = parsed(R"({
  "a": 1
 ,"b": [
    true,
    2.5
  , "x",
    {"c":
     null
    }], "d":
  -7})");
        QCOMPARE(root.line(), 1);
        QCOMPARE(root.find("a")->line(), 2);
        const Value& b = *root.find("b");
        QCOMPARE(b.line(), 3);
        QCOMPARE(b.items()[0].line(), 4);
        QCOMPARE(b.items()[1].line(), 5);
        QCOMPARE(b.items()[2].line(), 6);
        QCOMPARE(b.items()[3].line(), 7);
        QCOMPARE(b.items()[3].find("c")->line(), 8);
        QCOMPARE(root.find("d")->line(), 10);
        QCOMPARE(Value(3).line(), 0);
    }

    void knowsLinesWithAnyLineEnding() {
        QCOMPARE(parsed("[1,\r\n2,\r\n3]").items()[2].line(), 3);
        QCOMPARE(parsed("[\n1\n]\n").items()[0].line(), 2);
        QCOMPARE(parsed("5\n").line(), 1);
    }

    void keepsTheOrderOfKeys() {
        const Value root = parsed(R"({"z":1,"a":2,"m":3})");
        QCOMPARE(root.members()[0].key, "z");
        QCOMPARE(root.members()[2].key, "m");
        QVERIFY(parsed(R"({"a":1,"b":2})") != parsed(R"({"b":2,"a":1})"));
    }

    void refusesWithPlaceAndReason_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("part");
        QTest::newRow("duplicate key") << QByteArray("{\"a\": 1,\n \"a\": 2}")
                                       << "line 2: the key \"a\" appears twice in one object";
        QTest::newRow("the same key written with an escape")
            << QByteArray("{\"a\": 1, \"\\u0061\": 2}") << "appears twice";
        QTest::newRow("missing comma") << QByteArray("{\"a\": 1\n\"b\": 2}") << "line 2, column ";
        QTest::newRow("trailing comma") << QByteArray("[1,]") << "line 1, column 4";
        QTest::newRow("comment") << QByteArray("// no\n{}") << "line 1, column 1";
        QTest::newRow("cut off") << QByteArray("{\"a\": [1, 2") << "line 1, column ";
        QTest::newRow("text after the document") << QByteArray("{} {}") << "line 1, column 4";
        QTest::newRow("single quotes") << QByteArray("{'a': 1}") << "line 1, column 2";
        QTest::newRow("empty") << QByteArray() << "This is empty; expected a JSON document.";
        QTest::newRow("only spaces") << QByteArray(" \r\n\t") << "This is empty";
        QTest::newRow("only a byte order mark") << QByteArray("\xEF\xBB\xBF") << "This is empty";
        QTest::newRow("NaN") << QByteArray("[NaN]") << "line 1, column 2";
        QTest::newRow("Infinity") << QByteArray("[-Infinity]") << "line 1, column 3";
        QTest::newRow("a number beyond doubles")
            << QByteArray("[1,\n1e999\n]") << "line 2: a number is too large";
        QTest::newRow("invalid UTF-8") << QByteArray("[\"\xFF\"]") << "line 1, column 3";
        QTest::newRow("a NUL byte") << QByteArray("[1\0]", 4) << "line 1, column 3";
    }
    void refusesWithPlaceAndReason() {
        QFETCH(QByteArray, text);
        QFETCH(QString, part);
        const QString message = messageOf(std::string_view(text.data(), text.size()));
        QVERIFY2(message.contains(part), qPrintable(message));
    }

    void readsNonFiniteNumbersOfKeras() {
        const Value root = parsed(
            "{\"a\": NaN, \"b\": [Infinity, -Infinity], \"c\": \"NaN \\\" NaN\"}", Dialect::Keras);
        QVERIFY(std::isnan(root.find("a")->toNumber()));
        QCOMPARE(root.find("b")->items()[0].toNumber(), std::numeric_limits<double>::infinity());
        QCOMPARE(root.find("b")->items()[1].toNumber(), -std::numeric_limits<double>::infinity());
        QCOMPARE(root.find("c")->toString(), "NaN \" NaN");
        QVERIFY(messageOf("{NaN: 1}", Dialect::Keras).contains("NaN stands for a key"));
        QVERIFY(messageOf("[NaN NaN]", Dialect::Keras) != "no error");
    }

    void takesNoTextForANumber() {
        // What the Keras dialect uses inside must stay a text where it stands in a document.
        QVERIFY(parsed("[\"\xEE\x80\x80lockstep:NaN\"]").items()[0].isString());
    }

    void skipsAByteOrderMark() {
        QCOMPARE(parsed("\xEF\xBB\xBF[1]"), Value::array({1}));
        QCOMPARE(parsed("\xEF\xBB\xBF[1]", Dialect::Keras), Value::array({1}));
    }

    void limitsTheDepth() {
        const auto nested = [](std::size_t depth) {
            return std::string(depth, '[') + std::string(depth, ']');
        };
        QCOMPARE(messageOf(nested(200)), "no error");
        QVERIFY(messageOf(nested(201)).contains("nested too deeply; expected at most 200 levels"));
        QVERIFY(messageOf(std::string(1000000, '[')).contains("nested too deeply"));
    }

    void dumpsWhatItRead_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("object") << QByteArray("{\"b\":1,\"a\":[true,false,null],\"c\":{}}");
        QTest::newRow("numbers") << QByteArray(
            "[0,-1,0.1,1.0,1e+30,-0.0,5e-324,1.7976931348623157e+308]");
        QTest::newRow("texts") << QByteArray("[\"\",\"é\",\"\\\"\\\\\\n\\t\",\"日本\"]");
    }
    void dumpsWhatItRead() {
        QFETCH(QByteArray, text);
        const std::string once = json::dump(parsed(text.toStdString()));
        QCOMPARE(QByteArray::fromStdString(once), text);
    }

    void dumpsPrettyAndStable() {
        const Value root =
            parsed("{\"name\":\"lab\",\"workers\":[{\"ssh\":null,\"address\":\"10.0.0.1:22\"},\n"
                   "            "
                   "{\"ssh\":\"a-very-long-destination@a-very-long-name-of-a-host.example.org\","
                   "\"address\":\"x\"}],\n"
                   "            \"empty\":[],\"none\":{},\"short\":[1,2,3]}");
        const std::string text = json::dumpPretty(root);
        QCOMPARE(QString::fromStdString(text), QString(R"({
  "name": "lab",
  "workers": [
    {"ssh": null, "address": "10.0.0.1:22"},
    {
      "ssh": "a-very-long-destination@a-very-long-name-of-a-host.example.org",
      "address": "x"
    }
  ],
  "empty": [],
  "none": {},
  "short": [1, 2, 3]
}
)"));
        QCOMPARE(json::dumpPretty(parsed(text)), text);
    }

    void dumpsNonFiniteNumbersAsKerasDoes() {
        const double infinity = std::numeric_limits<double>::infinity();
        const Value value = Value::array({std::nan(""), infinity, -infinity});
        QCOMPARE(json::dump(value), "[NaN,Infinity,-Infinity]");
        QCOMPARE(json::dump(parsed(json::dump(value), Dialect::Keras)), json::dump(value));
    }

    void changesMembersInPlace() {
        Value value;
        value.set("a", 1);
        value.set("b", 2);
        value.set("a", "x");
        QCOMPARE(json::dump(value), R"({"a":"x","b":2})");
        QVERIFY(value.remove("a"));
        QVERIFY(!value.remove("a"));
        QVERIFY(!Value(3).remove("a"));
        QVERIFY(Value("a").find("a") == nullptr);
        QCOMPARE(value.size(), std::size_t{1});
    }

    void comparesWithoutLines() {
        QCOMPARE(parsed("[\n1]"), parsed("[1]"));
        QVERIFY(parsed("1") != parsed("1.0"));
    }

    void readsFiles() {
        const QTemporaryDir dir;
        const std::string path = dir.filePath("a.json").toStdString();
        QVERIFY(files::writeAtomic(path, "{\"a\":\n 1}").ok());
        QCOMPARE(json::parseFile(path)->find("a")->line(), 2);
        QVERIFY(files::writeAtomic(path, "{").ok());
        QCOMPARE(json::parseFile(path).error().where, path);
        QCOMPARE(json::parseFile(path + "x").error().code, Code::NotFound);
    }

    void namesValuesForPeople() {
        QCOMPARE(json::nameOf(Value()), "null");
        QCOMPARE(json::nameOf(Value(true)), "true");
        QCOMPARE(json::nameOf(Value(3)), "the number 3");
        QCOMPARE(json::nameOf(Value(0.5)), "the number 0.5");
        QCOMPARE(json::nameOf(Value("a\"b")), "the text \"a\\\"b\"");
        QCOMPARE(json::nameOf(Value::array()), "an empty array");
        QCOMPARE(json::nameOf(Value::object()), "an object");
    }

    void shortensLongTextsBetweenCharacters() {
        std::string umlauts;
        for (int i = 0; i < 40; ++i)
            umlauts += "ä";
        const std::string name = json::nameOf(Value("x" + umlauts));
        QCOMPARE(name, "the text \"x" + umlauts.substr(0, 58) + "…\"");
    }
};

QTEST_APPLESS_MAIN(TestJson)
#include "tst_json.moc"
