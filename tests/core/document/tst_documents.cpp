// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"
#include "core/base/json_reader.h"
#include "core/document/detail/origin.h"
#include "core/document/documents.h"

#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>

using namespace lockstep;
using namespace lockstep::document;

namespace {

// Not in our own layout, with keys that we do not know, and CRLF in one place.
constexpr const char* kCluster = "{\"version\": 1,\"format\": \"lockstep-cluster\",\r\n"
                                 " \"zz\": {\"b\": 1.50, \"a\": [ ]},\n"
                                 " \"name\": \"lab\",\n"
                                 " \"workers\": [\n"
                                 "  {\"address\": \"127.0.0.1:1\", \"ssh\": null, \"x\": true}]}";

} // namespace

class DocumentsTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::string m_path;

    void write(const std::string& text) { QVERIFY(files::writeAtomic(m_path, text).ok()); }
    std::string bytes(const std::string& path) const { return files::read(path).value(); }

private Q_SLOTS:
    void init() {
        QVERIFY(m_folder.isValid());
        m_path = m_folder.filePath(QString::fromUtf8("数据 集.cluster.json")).toStdString();
    }
    void cleanup() { QFile::remove(QString::fromStdString(m_path)); }

    void writesBackTheSameBytesWhereNothingChanged() {
        write(kCluster);
        auto document = loadCluster(m_path);
        QVERIFY(document.ok());
        QVERIFY(!document->isModified());
        QVERIFY(saveCluster(*document, m_path).ok());
        QCOMPARE(bytes(m_path), std::string(kCluster));
    }

    void keepsOrderAndUnknownKeysThroughAnEdit() {
        write(kCluster);
        auto document = loadCluster(m_path);
        cluster::Worker worker = document->spec.workers()[0];
        worker.address = "127.0.0.1:9";
        document->spec.set(0, worker);
        QVERIFY(document->isModified());
        QVERIFY(saveCluster(*document, m_path).ok());
        QVERIFY(!document->isModified());
        const std::string saved = bytes(m_path);
        QCOMPARE(json::dump(json::parse(saved, "x").value()),
                 std::string(R"({"version":1,"format":"lockstep-cluster","zz":{"b":1.5,"a":[]},)"
                             R"("name":"lab","workers":[{"address":"127.0.0.1:9","ssh":null,)"
                             R"("x":true}]})"));

        auto again = loadCluster(m_path);
        QVERIFY(saveCluster(*again, m_path).ok());
        QCOMPARE(bytes(m_path), saved);
        worker.address = "127.0.0.1:1";
        again->spec.set(0, worker);
        worker.address = "127.0.0.1:9";
        again->spec.set(0, worker);
        QVERIFY(!again->isModified());
    }

    void knowsTheLinesOfWhatItSaved() {
        ClusterDocument document = newCluster(cluster::localCluster(3, 2222));
        QVERIFY(document.isModified());
        cluster::Worker worker = document.spec.workers()[1];
        worker.address = "nonsense";
        document.spec.set(1, worker);
        QVERIFY(saveCluster(document, m_path).ok());
        QCOMPARE(document.origin.path, m_path);
        const Problems problems = cluster::validate(document.spec);
        QCOMPARE(problems.size(), std::size_t(1));
        QCOMPARE(problems[0].line, 7);
    }

    void opensADocumentWithItsProblems() {
        write("{\"format\": \"lockstep-cluster\", \"version\": 1,\n"
              " \"workers\": [{\"ssh\": null, \"address\": 5},\n"
              "  7]}");
        const auto document = loadCluster(m_path);
        QVERIFY(document.ok());
        QCOMPARE(document->spec.size(), std::size_t(2));
        QCOMPARE(document->problems.size(), std::size_t(2));
        QCOMPARE(document->problems[0].path, std::string("workers.0.address"));
        QCOMPARE(document->problems[0].line, 2);
        QCOMPARE(document->problems[0].file, m_path);
        QCOMPARE(document->problems[1].path, std::string("workers.1"));
        QCOMPARE(document->problems[1].line, 3);
    }

    void opensAJobWithItsProblems() {
        write("{\"format\": \"lockstep-job\", \"version\": 1, \"name\": \"j\",\n"
              " \"future\": 1,\n"
              " \"fit\": {\"epochs\": \"many\"}}");
        auto document = loadJob(m_path);
        QVERIFY(document.ok());
        const auto wrong = std::find_if(document->problems.begin(), document->problems.end(),
                                        [](const Problem& p) { return p.path == "fit.epochs"; });
        QVERIFY(wrong != document->problems.end());
        QCOMPARE(wrong->line, 3);
        QCOMPARE(wrong->file, m_path);

        json::Value edited = document->spec.document;
        QVERIFY(json::setPath(edited, "fit.epochs", 3).ok());
        document->setDocument(edited);
        QCOMPARE(document->spec.fit.epochs, std::int64_t(3));
        QVERIFY(document->isModified());
        QVERIFY(saveJob(*document, m_path).ok());
        QVERIFY(!document->isModified());
        QCOMPARE(json::dump(json::parseFile(m_path).value()),
                 std::string(R"({"format":"lockstep-job","version":1,"name":"j","future":1,)"
                             R"("fit":{"epochs":3}})"));
    }

    void startsAJobThatIsWhole() {
        JobDocument document = newJob("first");
        QVERIFY(!hasErrors(document.problems));
        QVERIFY(saveJob(document, m_path).ok());
        const auto back = loadJob(m_path);
        QVERIFY(back.ok());
        QVERIFY(!hasErrors(back->problems));
        QCOMPARE(back->spec.name, std::string("first"));
    }

    void namesTheOtherKindOfDocument() {
        write(R"({"format":"lockstep-job","version":1})");
        const auto cluster = loadCluster(m_path);
        QVERIFY(!cluster.ok());
        QCOMPARE(cluster.error().message, std::string("This is a job, expected a cluster."));
        QCOMPARE(cluster.error().where, m_path);
        write(kCluster);
        QCOMPARE(loadJob(m_path).error().message,
                 std::string("This is a cluster, expected a job."));
    }

    void namesAFileThatCannotBeRead() {
        QCOMPARE(loadCluster(m_path + ".none").error().code, Code::NotFound);
        QCOMPARE(loadJob(m_path + ".none").error().code, Code::NotFound);
        QVERIFY(!loadCluster(m_folder.path().toStdString()).ok());
        write("{");
        QVERIFY(!loadCluster(m_path).ok());
        write(R"({"format":"lockstep-cluster","version":2,"workers":[]})");
        QCOMPARE(loadCluster(m_path).error().code, Code::NewerFormat);
    }

    void leavesTheOldFileWhereSavingFails() {
        ClusterDocument document = newCluster(cluster::localCluster(1, 2222));
        const Status saved = saveCluster(document, m_path + ".none/x.cluster.json");
        QVERIFY(!saved.ok());
        QVERIFY(document.isModified());
        QVERIFY(document.origin.path.empty());
    }

    void keepsTheFileThatItMigrated() {
        const Format format{
            "lockstep-cluster", 2, {{1, 2, [](json::Value& value, std::vector<std::string>& notes) {
                                         value.set("added", true);
                                         notes.push_back("added");
                                         return Status();
                                     }}}};
        write(kCluster);
        const auto opened = open(kCluster, m_path, format);
        auto origin = detail::originOf(kCluster, m_path, *opened, format);
        QCOMPARE(origin->version, 1);
        QCOMPARE(origin->notes, std::vector<std::string>{"added"});
        json::Value document = opened->document;
        QVERIFY(document != origin->document);
        QVERIFY(detail::save(*origin, document, m_path, format).ok());
        QVERIFY(document == origin->document);
        QVERIFY(document.find("added")->line() > 0);
        QCOMPARE(origin->version, 2);
        QVERIFY(origin->notes.empty());
        QCOMPARE(bytes(m_path + ".v1"), std::string(kCluster));
        QCOMPARE(json::parseFile(m_path)->find("version")->toInteger(), std::int64_t(2));
        QVERIFY(QFile::remove(QString::fromStdString(m_path + ".v1")));

        document.set("added", false);
        QVERIFY(detail::save(*origin, document, m_path, format).ok());
        QVERIFY(!QFile::exists(QString::fromStdString(m_path + ".v1")));
    }

    void keepsLinksAndPermissions() {
        write(kCluster);
        const QString path = QString::fromStdString(m_path);
        QVERIFY(QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner));
        const QString link = m_folder.filePath(QStringLiteral("link.json"));
        QVERIFY(QFile::link(path, link));
        auto document = loadCluster(link.toStdString());
        document->spec.setName("renamed");
        QVERIFY(saveCluster(*document, link.toStdString()).ok());
        QVERIFY(QFileInfo(link).isSymLink());
        QCOMPARE(loadCluster(m_path)->spec.name(), std::string("renamed"));
        QCOMPARE(QFileInfo(path).permissions() & (QFile::ReadGroup | QFile::ReadOther),
                 QFile::Permissions());
    }
};

QTEST_APPLESS_MAIN(DocumentsTest)
#include "tst_documents.moc"
