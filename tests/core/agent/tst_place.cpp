// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/place.h"
#include "core/base/files.h"

#include <QDir>
#include <QFileInfo>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include <sys/stat.h>
#include <unistd.h>

#include <map>

using namespace lockstep;
using namespace lockstep::agent;

namespace {

Environment environment(std::map<std::string, std::string> variables) {
    return [variables](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

// Below a file no folder can be made, also not by root.
const std::string kImpossible = "/proc/version/x";

} // namespace

class TestPlace : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void takesTheFirstThatWorks() {
        QTemporaryDir folder;
        const std::string root = folder.path().toStdString();
        auto placed =
            place({}, environment({{"XDG_DATA_HOME", root + "/data"}, {"HOME", root + "/home"}}));
        QVERIFY(placed.ok());
        QCOMPARE(placed->base, root + "/data/lockstep");
        QVERIFY(placed->refused.empty());
        QVERIFY(QFileInfo(QString::fromStdString(placed->base + "/" + placed->machine)).isDir());
        QVERIFY(!QFileInfo::exists(folder.path() + "/home"));
        QCOMPARE(QDir(QString::fromStdString(placed->base)).entryList(QDir::Files | QDir::Hidden),
                 QStringList());

        placed = place({}, environment({{"XDG_DATA_HOME", kImpossible}, {"HOME", root + "/home"}}));
        QVERIFY(placed.ok());
        QCOMPARE(placed->base, root + "/home/.local/share/lockstep");
        QCOMPARE(placed->refused.size(), std::size_t(1));
        QCOMPARE(placed->refused[0].first, kImpossible + "/lockstep");
    }

    void ignoresRelativePathsInVariables() {
        QTemporaryDir folder;
        const auto placed = place(
            {}, environment({{"XDG_DATA_HOME", "data"}, {"HOME", folder.path().toStdString()}}));
        QVERIFY(placed.ok());
        QVERIFY(placed->base.rfind(folder.path().toStdString(), 0) == 0);
        QVERIFY(placed->refused.empty());
    }

    void makesPrivateFoldersInPublicOnes() {
        QTemporaryDir folder;
        const auto placed = place(
            {}, environment({{"HOME", kImpossible}, {"TMPDIR", folder.path().toStdString()}}));
        QVERIFY(placed.ok());
        QCOMPARE(placed->base,
                 folder.path().toStdString() + "/lockstep-" + std::to_string(::geteuid()));
        struct stat info {};
        QCOMPARE(::stat(placed->base.c_str(), &info), 0);
        QCOMPARE(info.st_mode & 07777, 0700u);
    }

    void refusesPublicFoldersThatOthersMayEnterOrOwn_data() {
        QTest::addColumn<bool>("isLink");
        QTest::newRow("mode 0755") << false;
        QTest::newRow("a link to somewhere else") << true;
    }
    void refusesPublicFoldersThatOthersMayEnterOrOwn() {
        QFETCH(bool, isLink);
        QTemporaryDir folder;
        const std::string trap =
            folder.path().toStdString() + "/lockstep-" + std::to_string(::geteuid());
        if (isLink)
            QCOMPARE(::symlink("/tmp", trap.c_str()), 0);
        else
            QCOMPARE(::mkdir(trap.c_str(), 0755), 0);
        const QString fallback = u"/tmp/lockstep-%1"_qs.arg(::geteuid());
        const bool wasThere = QFileInfo::exists(fallback);
        const auto placed = place(
            {}, environment({{"HOME", kImpossible}, {"TMPDIR", folder.path().toStdString()}}));
        if (!wasThere)
            QDir(fallback).removeRecursively();
        QVERIFY(placed.ok());
        QVERIFY(placed->base != trap);
        QCOMPARE(placed->refused.back().first, trap);
    }

    void saysEveryReasonWhereNoneWillDo() {
        const auto placed = place({kImpossible}, environment({}));
        QVERIFY(!placed);
        QCOMPARE(placed.error().code, Code::PermissionDenied);
        QVERIFY(placed.error().message.find(kImpossible) != std::string::npos);
    }

    void passesOverAMountWithoutExecution() {
        QTemporaryDir folder;
        const QString script = u"mount -t tmpfs -o noexec tmpfs \"$1\" || exit 77; "
                               "echo '{}' | XDG_DATA_HOME=\"$1\" HOME=\"$2\" \"$3\" place"_qs;
        QTemporaryDir home;
        QProcess process;
        process.start(u"unshare"_qs,
                      {u"--mount"_qs, u"sh"_qs, u"-c"_qs, script, u"sh"_qs, folder.path(),
                       home.path(), QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker")});
        QVERIFY(process.waitForFinished(20'000));
        if (process.exitCode() == 77 || process.readAllStandardError().contains("unshare"))
            QSKIP("needs the right to mount: run as root");
        QCOMPARE(process.exitCode(), 0);
        const auto placed =
            decodePlaceReply(process.readAllStandardOutput().trimmed().toStdString());
        QVERIFY(placed.ok());
        QCOMPARE(placed->base, home.path().toStdString() + "/.local/share/lockstep");
        QVERIFY(placed->refused.at(0).second.find("noexec") != std::string::npos);
    }

    void namesTheMachineBelowTheBase() {
        const std::string name = machineFolder();
        QCOMPARE(name, machineFolder());
        QVERIFY(name.find('/') == std::string::npos);
        QVERIFY(QRegularExpression(u"^[\\w.-]+-[0-9a-f]{8}$"_qs)
                    .match(QString::fromStdString(name))
                    .hasMatch());
    }
};

QTEST_GUILESS_MAIN(TestPlace)
#include "tst_place.moc"
