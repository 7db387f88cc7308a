// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/json_reader.h"
#include "core/data/inspect.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <zlib.h>

#include <algorithm>
#include <numeric>

using namespace lockstep;
using namespace lockstep::data;

namespace {

using Ids = std::vector<std::int64_t>;

Ids range(std::int64_t begin, std::int64_t end) {
    Ids ids(static_cast<std::size_t>(end - begin));
    std::iota(ids.begin(), ids.end(), begin);
    return ids;
}

std::string text(const Problem& problem) {
    return describe(problem);
}

} // namespace

class TestInspect : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;

    std::string folder() const { return m_folder.path().toStdString(); }

    void write(const char* name, const QByteArray& bytes) const {
        QFile file(m_folder.filePath(name));
        QVERIFY(file.open(QIODevice::WriteOnly));
        QCOMPARE(file.write(bytes), bytes.size());
    }

    /// A job with this training source, read from text so that its values have lines.
    static job::JobSpec jobOf(const std::string& data) {
        json::Value document = job::newJobDocument("x");
        auto value = json::parse(data, "data");
        if (!value.ok())
            qFatal("%s", describe(value.error()).c_str());
        document.set("data", std::move(value).value());
        Problems problems;
        job::JobSpec job = job::parseJob(*json::parse(json::dumpPretty(document), "x.job.json"),
                                         "x.job.json", problems);
        if (hasErrors(problems))
            qFatal("%s", describe(problems[0]).c_str());
        return job;
    }

    Inspection inspectCsv(const std::string& options) const {
        return inspect(jobOf("{\"train\": {\"source\": \"csv\", " + options + "}}"), folder());
    }

    Inspection inspectText(const QByteArray& bytes, const std::string& options = {}) const {
        write("d.csv", bytes);
        return inspectCsv("\"path\": \"d.csv\"" + (options.empty() ? "" : ", " + options));
    }

private slots:
    void initTestCase() { QVERIFY(m_folder.isValid()); }

    void readsFeaturesLabelsAndLines() {
        const Inspection found = inspectText("1,2,0\n\n 3 ,+4e0,1\n5,.6,2", "\"scale\": 0.5");
        QVERIFY2(found.problems.empty(),
                 found.problems.empty() ? "" : text(found.problems[0]).c_str());
        const Dataset& set = *found.train.dataset;
        QCOMPARE(set.rows, 3);
        QCOMPARE(found.features, 2);
        QCOMPARE(found.labels, 1);
        QCOMPARE(set.featureValues, (std::vector<float>{0.5F, 1, 1.5F, 2, 2.5F, 0.3F}));
        QCOMPARE(set.labelValues, (std::vector<float>{0, 1, 2}));
        QCOMPARE(set.lines, (Ids{1, 3, 4}));
        QCOMPARE(set.placeOf(2), folder() + "/d.csv:4");
        QCOMPARE(set.bytesRead, std::uint64_t(24));
        QCOMPARE(found.train.ids, range(0, 3));
        QCOMPARE(found.validation.size(), 0);
    }

    void findsTheLabelByNameAndNumber() {
        const QByteArray bytes = "\xEF\xBB\xBF\"kind, of\",a,b\n7,1,2\n8,3,4\n";
        for (const char* label : {"\"kind, of\"", "0", "-3"}) {
            const Inspection found =
                inspectText(bytes, std::string("\"header\": true, \"label\": ") + label);
            QVERIFY(found.ok());
            QCOMPARE(found.train.dataset->labelValues, (std::vector<float>{7, 8}));
            QCOMPARE(found.train.dataset->featureValues, (std::vector<float>{1, 2, 3, 4}));
            QCOMPARE(found.train.dataset->columnNames,
                     (std::vector<std::string>{"a", "b", "kind, of"}));
        }
    }

    void skipsLinesAtTheTop() {
        const Inspection found =
            inspectText("150,4,setosa,versicolor\n5.1,3.5,0\n4.9,3.0,1\n", "\"skip_lines\": 1");
        QVERIFY(found.ok());
        QCOMPARE(found.train.size(), 2);
        const Inspection both =
            inspectText("made by hand\nx,y\n1,2\n", "\"skip_lines\": 1, \"header\": true");
        QVERIFY(both.ok());
        QCOMPARE(both.train.size(), 1);
    }

    void readsGzipAlike() {
        const QByteArray bytes = "1,2,0\n3,4,1\n";
        const std::string path = folder() + "/d.csv.gz";
        gzFile file = gzopen(path.c_str(), "wb");
        QVERIFY(file);
        QCOMPARE(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), bytes.size());
        QCOMPARE(gzclose(file), Z_OK);
        const Inspection found = inspectCsv("\"path\": \"d.csv.gz\"");
        QVERIFY(found.ok());
        QCOMPARE(found.train.size(), 2);

        QFile whole(QString::fromStdString(path));
        QVERIFY(whole.open(QIODevice::ReadOnly));
        QByteArray cut = whole.readAll();
        cut.chop(9);
        write("cut.csv.gz", cut);
        const Inspection broken = inspectCsv("\"path\": \"cut.csv.gz\"");
        QCOMPARE(broken.problems.size(), std::size_t(1));
        QVERIFY(text(broken.problems[0]).find("cut off") != std::string::npos);
    }

    void namesTheFirstFiveBadPlacesAndCountsTheRest() {
        // 1000 rows; short rows at 700, 750 and 800, and from 900 on every tenth with a word.
        QByteArray bytes;
        for (int row = 1; row <= 1000; ++row) {
            if (row == 700 || row == 750 || row == 800)
                bytes += "1,2\n";
            else if (row >= 900 && row % 10 == 0)
                bytes += "1,word,0\n";
            else
                bytes += "1,2,0\n";
        }
        const Inspection found = inspectText(bytes);
        QVERIFY(!found.ok());
        QVERIFY(!found.train.dataset);
        QCOMPARE(found.problems.size(), std::size_t(6));
        const std::string file = folder() + "/d.csv";
        QVERIFY(text(found.problems[0]).starts_with(file + ":700:2: The row has 2 cells."));
        QVERIFY(text(found.problems[3]).starts_with(file + ":900:2: \"word\" is not a number."));
        QCOMPARE(found.problems[4].line, 910);
        QVERIFY(found.problems[5].message.find(" 9 more") != std::string::npos);
    }

    void refuses_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("options");
        QTest::addColumn<QString>("place"); ///< "line:column", or the path in the job
        QTest::addColumn<QString>("says");
        const auto row = [](const char* name, const char* bytes, const char* options,
                            const char* place, const char* says) {
            QTest::newRow(name) << QByteArray(bytes) << options << place << says;
        };
        row("an empty file", "", "", "data.train.path", "no rows");
        row("three line ends", "\n\n\n", "", "data.train.path", "no rows");
        row("a header alone", "a,b\n", "\"header\": true", "data.train.path", "header but no rows");
        row("not even a header", "", "\"header\": true", "data.train.path", "not even its header");
        row("too few lines", "1,2\n", "\"skip_lines\": 3", "data.train.skip_lines", "fewer lines");
        row("one column", "1\n2\n", "", "data.train.path", "1 column");
        row("semicolons", "1;2;3\n", "", "data.train.path", "1 column");
        row("no such label", "a,kind\n1,2\n", "\"header\": true, \"label\": \"knd\"",
            "data.train.label", "Did you mean \"kind\"");
        row("a label name twice", "a,a\n1,2\n", "\"header\": true, \"label\": \"a\"",
            "data.train.label", "Several columns");
        row("a label past the end", "1,2\n", "\"label\": 2", "data.train.label", "no column 2");
        row("a label before the start", "1,2\n", "\"label\": -3", "data.train.label",
            "no column -3");
        row("an empty cell", "1,2\n,4\n", "", "2:1", "empty");
        row("a word", "1,2\n3,x y\n", "", "2:2", "\"x y\" is not a number");
        row("NaN", "1,2\nnan,4\n", "", "2:1", "not a finite number");
        row("infinity", "1,2\n-Infinity,4\n", "", "2:1", "not a finite number");
        row("beyond double", "1,2\n1e999,4\n", "", "2:1", "not a finite number");
        row("beyond float", "1,2\n1e39,4\n", "", "2:1", "too large");
        row("hexadecimal", "1,2\n0x10,4\n", "", "2:1", "not a number");
        row("two signs", "1,2\n+-1,4\n", "", "2:1", "not a number");
        row("a decimal comma", "1,2\n\"1,5\",4\n", "", "2:1", "not a number");
        row("a long row", "1,2\n3,4,5\n", "", "2:3", "3 cells");
        row("a short row", "1,2,3\n4,5\n", "", "2:2", "2 cells");
        row("a header that was not announced", "a,2\n3,4\n", "", "1:1", "\"header\": true");
        row("a quote that is never closed", "1,2\n\"3,4\n", "", "2:0", "never closed");
    }
    void refuses() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, options);
        QFETCH(QString, place);
        QFETCH(QString, says);
        const Inspection found = inspectText(bytes, options.toStdString());
        QVERIFY(!found.train.dataset);
        QCOMPARE(found.problems.size(), std::size_t(1));
        const Problem& problem = found.problems[0];
        if (place.startsWith("data")) {
            QCOMPARE(problem.path, place.toStdString());
            QCOMPARE(problem.file, std::string("x.job.json"));
            QVERIFY(problem.line > 0);
        } else {
            QCOMPARE(problem.file, folder() + "/d.csv");
            QCOMPARE(QString("%1:%2").arg(problem.line).arg(problem.column), place);
        }
        QVERIFY2(text(problem).find(says.toStdString()) != std::string::npos,
                 text(problem).c_str());
    }

    void refusesFilesThatCannotBeRead() {
        for (const char* path : {"none.csv", ".", "/dev/null"}) {
            const Inspection found = inspectCsv(std::string("\"path\": \"") + path + "\"");
            QCOMPARE(found.problems.size(), std::size_t(1));
            QCOMPARE(found.problems[0].path, std::string("data.train.path"));
        }
    }

    void makesAnyRowOfRandomUniformAlone() {
        const Inspection found =
            inspect(jobOf(R"({"train": {"source": "random_uniform", "rows": 1000, "features": 10,
                                "labels": 2, "seed": 4}})"),
                    {});
        QVERIFY(found.ok());
        QCOMPARE(found.features, 10);
        QCOMPARE(found.labels, 2);
        const Dataset& set = *found.train.dataset;
        std::vector<float> row(12);
        randomUniformRow(4, 777, row);
        QVERIFY(std::equal(row.begin(), row.begin() + 10, set.featuresOf(777).begin()));
        QVERIFY(std::equal(row.begin() + 10, row.end(), set.labelsOf(777).begin()));
        double sum = 0;
        for (const float value : set.featureValues) {
            QVERIFY(value >= 0 && value < 1);
            sum += value;
        }
        QVERIFY(std::abs(sum / 10000 - 0.5) < 0.015); // 5 sigma
    }

    void refusesMoreRandomRowsThanMemoryHolds() {
        const Inspection found =
            inspect(jobOf(R"({"train": {"source": "random_uniform", "rows": 1000000000000,
                                "features": 1000000}})"),
                    {});
        QCOMPARE(found.problems.size(), std::size_t(1));
        QCOMPARE(found.problems[0].path, std::string("data.train.rows"));
    }

    void splitsValidationOnceForAnyNumberOfWorkers() {
        job::JobSpec job =
            jobOf(R"({"train": {"source": "random_uniform", "rows": 1797, "features": 1},
                      "validation_fraction": 0.2, "shuffle": 5})");
        const Inspection found = inspect(job, {});
        QVERIFY(found.ok());
        QCOMPARE(found.train.size(), 1437);
        QCOMPARE(found.validation.size(), 360);
        Ids all = found.train.ids;
        all.insert(all.end(), found.validation.ids.begin(), found.validation.ids.end());
        std::sort(all.begin(), all.end());
        QCOMPARE(all, range(0, 1797));
        QVERIFY(std::is_sorted(found.train.ids.begin(), found.train.ids.end()));
        QVERIFY(found.validation.ids != range(1437, 1797)); // not Keras' last rows
        QCOMPARE(inspect(job, {}).validation.ids, found.validation.ids);
        job.seed = 99;
        QVERIFY(inspect(job, {}).validation.ids != found.validation.ids);
    }

    void refusesAFractionThatLeavesNothing() {
        const Inspection found =
            inspect(jobOf(R"({"train": {"source": "random_uniform", "rows": 1, "features": 1},
                              "validation_fraction": 0.5})"),
                    {});
        QCOMPARE(found.problems.size(), std::size_t(1));
        QCOMPARE(found.problems[0].path, std::string("data.validation_fraction"));
    }

    void comparesValidationDataWithTrainingData() {
        write("t.csv", "1,2,3\n");
        write("v.csv", "1,2\n");
        const std::string train = R"({"train": {"source": "csv", "path": "t.csv"}, )";
        const Inspection bad = inspect(
            jobOf(train + R"("validation": {"source": "csv", "path": "v.csv"}})"), folder());
        QCOMPARE(bad.problems.size(), std::size_t(1));
        QCOMPARE(bad.problems[0].path, std::string("data.validation"));
        const Inspection both = inspect(jobOf(R"({"train": {"source": "csv", "path": "no.csv"},
                      "validation": {"source": "csv", "path": "none.csv"}})"),
                                        folder());
        QCOMPARE(both.problems.size(), std::size_t(2));
        const Inspection good = inspect(
            jobOf(train + R"("validation": {"source": "csv", "path": "t.csv"}})"), folder());
        QVERIFY(good.ok());
        QCOMPARE(good.validation.size(), 1);
    }

    void namesTheFirstLabelOutsideTheClasses() {
        const Inspection found = inspectText("0,1,2\n0,1,9\n0,1,10\n0,1,-1\n");
        const auto problem = checkLabels(found.train, 10);
        QVERIFY(problem);
        QCOMPARE(problem->line, 3);
        QCOMPARE(problem->column, 3);
        QVERIFY(text(*problem).find("The label 10 is") != std::string::npos);
        QVERIFY(checkLabels(found.train, 11));
        QCOMPARE(checkLabels(found.train, 11)->line, 4);
        QVERIFY(!checkLabels(inspectText("0,1,2\n0,1,9\n").train, 10));
        QVERIFY(checkLabels(inspectText("0,1,0.5\n").train, 10));
    }

    void showsWhichRowsGoWhere_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<std::vector<Ids>>("ids");
        // Batches of 10: 4, 3 and 3 rows. Under OFF each replica reads all 100 rows.
        std::vector<Ids> cut(3);
        for (std::int64_t batch = 0; batch < 100; batch += 10) {
            for (const std::int64_t id : range(batch, batch + 4))
                cut[0].push_back(id);
            for (const std::int64_t id : range(batch + 4, batch + 7))
                cut[1].push_back(id);
            for (const std::int64_t id : range(batch + 7, batch + 10))
                cut[2].push_back(id);
        }
        QTest::newRow("DATA") << "DATA" << cut;
        QTest::newRow("AUTO takes DATA") << "AUTO" << cut;
        QTest::newRow("OFF") << "OFF" << std::vector<Ids>(3, range(0, 100));
    }
    void showsWhichRowsGoWhere() {
        QFETCH(QString, policy);
        QFETCH(std::vector<Ids>, ids);
        const std::string source = R"({"source": "random_uniform", "rows": 100, "features": 1})";
        job::JobSpec job = jobOf("{\"train\": " + source + ", \"auto_shard_policy\": \"" +
                                 policy.toStdString() + "\"}");
        job.fit.globalBatchSize = 10;
        const Inspection found = inspect(job, {});
        const auto previews = previewShards(job, found.train, 3, 1, 1000);
        QCOMPARE(previews.size(), std::size_t(3));
        Ids all;
        for (std::size_t rank = 0; rank < 3; ++rank) {
            QCOMPARE(previews[rank].ids, ids[rank]);
            QCOMPARE(previews[rank].rows, static_cast<std::int64_t>(ids[rank].size()));
            QCOMPARE(previews[rank].rowsRead, 100);
            all.insert(all.end(), ids[rank].begin(), ids[rank].end());
        }
        const bool off = policy == "OFF";
        QCOMPARE(previews[0].steps, off ? 25 : 10);
        QCOMPARE(previews[2].steps, off ? 34 : 10);
        QCOMPARE(all.size(), std::size_t(off ? 300 : 100));
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        QCOMPARE(all, range(0, 100));
        QCOMPARE(previewShards(job, found.train, 3, 1, 5)[1].ids,
                 Ids(ids[1].begin(), ids[1].begin() + 5));
    }
};

QTEST_APPLESS_MAIN(TestInspect)
#include "tst_inspect.moc"
