// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The real lockstep-helper over a pair of pipes.
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/helper/protocol.h"
#include "core/helper/self_check.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <map>

using namespace lockstep;
using namespace lockstep::helper;

namespace {

const QString kHelper = QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-helper");

std::string text(const QString& value) {
    return value.toStdString();
}

/// The control side's end.
class Line {
public:
    Line() {
        m_process.start(kHelper, {QStringLiteral("serve"), QStringLiteral("abc")});
        if (!m_process.waitForStarted(5000))
            qFatal("the helper does not start");
    }
    ~Line() {
        m_process.closeWriteChannel();
        m_process.waitForFinished(5000);
    }

    void send(std::uint32_t request, Kind kind, std::string_view payload = {}) {
        std::string bytes;
        append(bytes, kind, request, payload);
        m_process.write(bytes.data(), static_cast<qint64>(bytes.size()));
    }
    void ask(std::uint32_t request, Kind kind, const json::Value& payload) {
        send(request, kind, json::dump(payload));
    }
    /// Reads until `request` got an answer of this kind; false after ten seconds.
    bool gets(std::uint32_t request, Kind kind) {
        for (const QDeadlineTimer deadline(10'000); !deadline.hasExpired();) {
            for (const Frame& frame : answers[request])
                if (frame.kind == kind)
                    return true;
            m_process.waitForReadyRead(50);
            read();
        }
        return false;
    }
    std::string payload(std::uint32_t request, Kind kind) {
        std::string all;
        for (const Frame& frame : answers[request])
            if (frame.kind == kind)
                all += frame.payload;
        return all;
    }
    void read() {
        const QByteArray bytes = m_process.readAllStandardOutput();
        m_reader.add({bytes.constData(), static_cast<std::size_t>(bytes.size())});
        for (auto frame = m_reader.next(); frame.ok() && *frame; frame = m_reader.next())
            answers[(**frame).request].push_back(**frame);
    }
    QProcess& process() { return m_process; }

    std::map<std::uint32_t, std::vector<Frame>> answers;

private:
    QProcess m_process;
    FrameReader m_reader;
};

json::Value script(const std::string& words) {
    json::Value args = json::Value::array();
    args.append("-c");
    args.append(words);
    return json::Value::object({{"program", "/bin/sh"}, {"args", std::move(args)}});
}

bool lives(pid_t pid) {
    return ::kill(pid, 0) == 0 || errno != ESRCH;
}

} // namespace

class TestHelper : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void saysHelloAndAnswersAPing() {
        Line line;
        QVERIFY(line.gets(0, Kind::Hello));
        QCOMPARE(line.payload(0, Kind::Hello), std::string(R"({"version":1,"hash":"abc"})"));
        line.send(0, Kind::Ping);
        QVERIFY(line.gets(0, Kind::Pong));
    }

    void runsAProgramWithInputEnvironmentAndFolder() {
        QTemporaryDir folder;
        Line line;
        json::Value request = script("cat; echo \"$MINE|$(pwd)\"; echo oh >&2; exit 3");
        request.set("env", json::Value::object({{"MINE", "x 'y' $z"}}));
        request.set("cwd", text(folder.path()));
        line.ask(7, Kind::Run, request);
        line.send(7, Kind::Input, "in\n");
        line.send(7, Kind::InputEnd);
        QVERIFY(line.gets(7, Kind::Exited));
        QCOMPARE(line.payload(7, Kind::Output), "in\nx 'y' $z|" + text(folder.path()) + "\n");
        QCOMPARE(line.payload(7, Kind::ErrorOutput), std::string("oh\n"));
        QCOMPARE(line.payload(7, Kind::Exited), std::string(R"({"exit_code":3})"));
    }

    void tellsWhyAProgramDoesNotStart() {
        Line line;
        line.ask(1, Kind::Run, json::Value::object({{"program", "/no/such/program"}}));
        QVERIFY(line.gets(1, Kind::Failed));
        QCOMPARE(decodeError(line.payload(1, Kind::Failed)).code, Code::NotFound);
        line.ask(2, Kind::Run, script("kill -9 $$"));
        QVERIFY(line.gets(2, Kind::Exited));
        QCOMPARE(line.payload(2, Kind::Exited), std::string(R"({"signal":9})"));
    }

    void aCancelKillsTheWholeGroup() {
        Line line;
        line.ask(1, Kind::Run, script("sleep 1000 & echo $!; wait"));
        QVERIFY(line.gets(1, Kind::Output));
        const pid_t pid = std::stoi(line.payload(1, Kind::Output));
        QVERIFY(lives(pid));
        line.send(1, Kind::Cancel);
        line.process().waitForBytesWritten(1000);
        QTRY_VERIFY(!lives(pid));
        QCOMPARE(line.answers[1].size(), std::size_t{1}); // no answer any more
    }

    void theEndOfTheInputEndsAllButWhatDetachedItself() {
        pid_t child = 0;
        pid_t detached = 0;
        {
            Line line;
            line.ask(1, Kind::Run, script("echo $$; sleep 1000"));
            line.ask(2, Kind::Run, script("setsid sh -c 'echo $$; exec sleep 1000' & wait"));
            QVERIFY(line.gets(1, Kind::Output) && line.gets(2, Kind::Output));
            child = std::stoi(line.payload(1, Kind::Output));
            detached = std::stoi(line.payload(2, Kind::Output));
            line.process().closeWriteChannel();
            QVERIFY(line.process().waitForFinished(5000));
            QCOMPARE(line.process().exitCode(), 0);
        }
        QTRY_VERIFY(!lives(child));
        QVERIFY(lives(detached));
        ::kill(detached, SIGKILL);
    }

    void aReaderThatLagsBehindSlowsTheProgramDown() {
        Line line;
        QVERIFY(line.gets(0, Kind::Hello));
        line.ask(1, Kind::Run, script("head -c 200000000 /dev/zero"));
        line.process().waitForBytesWritten(1000);
        // Nobody reads for a while, in which an unbounded queue would take it all.
        QThread::msleep(700);
        const auto status =
            files::read("/proc/" + std::to_string(line.process().processId()) + "/status");
        QVERIFY(status.ok());
        const auto at = status->find("VmHWM:");
        QVERIFY(at != std::string::npos);
        const long kib = std::stol(status->substr(at + 6));
        QVERIFY2(kib < 40'000, qPrintable(QString::number(kib)));
        QVERIFY(line.gets(1, Kind::Exited));
        QCOMPARE(line.payload(1, Kind::Output).size(), std::size_t{200'000'000});
    }

    void aFileGetsItsNameOnlyWhenWhole() {
        QTemporaryDir folder;
        const std::string path = text(folder.filePath(QStringLiteral("a $(b) 'c'")));
        Line line;
        line.ask(1, Kind::Put, json::Value::object({{"path", path}, {"mode", 0640}}));
        line.send(1, Kind::Input, "first ");
        line.send(0, Kind::Ping);
        QVERIFY(line.gets(0, Kind::Pong));
        QVERIFY(!files::read(path).ok());
        line.send(1, Kind::Input, "second");
        line.send(1, Kind::InputEnd);
        QVERIFY(line.gets(1, Kind::Done));
        QCOMPARE(*files::read(path), std::string("first second"));
        struct stat facts {};
        QCOMPARE(::stat(path.c_str(), &facts), 0);
        QCOMPARE(facts.st_mode & 07777, 0640u);
        line.ask(2, Kind::Fetch, json::Value::object({{"path", path}}));
        QVERIFY(line.gets(2, Kind::Done));
        QCOMPARE(line.payload(2, Kind::Output), std::string("first second"));
        QCOMPARE(line.payload(2, Kind::Size), std::string(R"({"size":12})"));
    }

    void aCancelledFileLeavesNothing() {
        QTemporaryDir folder;
        Line line;
        line.ask(1, Kind::Put,
                 json::Value::object(
                     {{"path", text(folder.filePath(QStringLiteral("x")))}, {"mode", 0600}}));
        line.send(1, Kind::Input, std::string(100'000, 'x'));
        line.send(1, Kind::Cancel);
        line.send(0, Kind::Ping);
        QVERIFY(line.gets(0, Kind::Pong));
        QVERIFY(QDir(folder.path())
                    .entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot)
                    .isEmpty());
    }

    void bytesThatAreNoFramesEndIt() {
        Line line;
        line.process().write(QByteArray(100, '\xff'));
        QVERIFY(line.process().waitForFinished(5000));
        QCOMPARE(line.process().exitCode(), 2);
    }

    void refusesFoldersOfOthersAndADamagedSelf() {
        QTemporaryDir folder;
        const std::string self = text(kHelper);
        const std::string hash = toHex(sha256(*files::read(self)));
        const std::string path = text(folder.path());
        QVERIFY(::chmod(path.c_str(), 0700) == 0);
        QVERIFY(checkSelf(self, hash, path, FolderKind::Public).ok());
        QVERIFY(::chmod(path.c_str(), 0755) == 0);
        QVERIFY(checkSelf(self, hash, path, FolderKind::Own).ok());
        const Status open = checkSelf(self, hash, path, FolderKind::Public);
        QVERIFY(!open.ok() && open.error().message.find("0700") != std::string::npos);
        QVERIFY(::symlink("/tmp", (path + "/link").c_str()) == 0);
        QVERIFY(!checkSelf(self, hash, path + "/link", FolderKind::Public).ok());
        const Status other = checkSelf(self, std::string(64, '0'), path, FolderKind::Own);
        QVERIFY(!other.ok() && other.error().code == Code::Corrupt);
    }

    void onlyFoldersOfRunsAreRemoved() {
        Line line;
        line.ask(1, Kind::Remove, json::Value::object({{"path", "/tmp"}}));
        line.ask(2, Kind::Remove, json::Value::object({{"path", "/x/runs/../../tmp"}}));
        QVERIFY(line.gets(1, Kind::Failed) && line.gets(2, Kind::Failed));
        QTemporaryDir folder;
        const std::string run = text(folder.path()) + "/runs/r1";
        QVERIFY(files::makeFolders(run + "/deep").ok());
        line.ask(3, Kind::Remove, json::Value::object({{"path", run}}));
        QVERIFY(line.gets(3, Kind::Done));
        QVERIFY(!QDir(QString::fromStdString(run)).exists());
    }
};

QTEST_GUILESS_MAIN(TestHelper)
#include "tst_helper.moc"
