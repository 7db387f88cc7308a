// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/files.h"
#include "core/document/settings.h"

#include <QDir>
#include <QTemporaryDir>
#include <QTest>

using namespace lockstep;
using namespace lockstep::document;

class SettingsTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::string m_path;

    std::string text() const { return files::read(m_path).value(); }

private Q_SLOTS:
    void init() {
        m_path = m_folder.filePath(QStringLiteral("deep/lockstep/settings.json")).toStdString();
        QDir(m_folder.filePath(QStringLiteral("deep"))).removeRecursively();
    }

    void livesInTheConfigFolder() {
        const QByteArray before = qgetenv("XDG_CONFIG_HOME");
        qputenv("XDG_CONFIG_HOME", "/somewhere/else");
        QCOMPARE(configFolder(), std::string("/somewhere/else/lockstep"));
        QCOMPARE(SettingsFile().path(), std::string("/somewhere/else/lockstep/settings.json"));
        for (const char* ignored : {"", "relative"}) {
            qputenv("XDG_CONFIG_HOME", ignored);
            QCOMPARE(configFolder(), QDir::homePath().toStdString() + "/.config/lockstep");
        }
        qputenv("XDG_CONFIG_HOME", before);
    }

    void givesDefaultsWithoutAFile() {
        Problems problems;
        QCOMPARE(SettingsFile(m_path).load(problems), Settings());
        QVERIFY(problems.empty());
    }

    void readsWhatItSaved() {
        Settings settings;
        settings.theme = Theme::Dark;
        settings.localWorkers = 5;
        settings.recentJobs = {"/a b/数据.job.json", "/c"};
        QVERIFY(SettingsFile(m_path).save(settings).ok());
        Problems problems;
        QCOMPARE(SettingsFile(m_path).load(problems), settings);
        QVERIFY(problems.empty());
        const std::string first = text();
        QVERIFY(SettingsFile(m_path).save(settings).ok());
        QCOMPARE(text(), first);
    }

    void writesNoDefaultsAndKeepsUnknownKeys() {
        Settings settings;
        settings.theme = Theme::Light;
        QVERIFY(SettingsFile(m_path).save(settings).ok());
        QCOMPARE(json::dump(json::parse(text(), "x").value()),
                 std::string(R"({"format":"lockstep-settings","version":1,"theme":"light"})"));
        QVERIFY(files::writeAtomic(m_path, R"({"format":"lockstep-settings","version":1,)"
                                           R"("later":[1],"theme":"light"})")
                    .ok());
        settings.theme = Theme::System;
        settings.firstPort = 3000;
        QVERIFY(SettingsFile(m_path).save(settings).ok());
        QCOMPARE(json::dump(json::parse(text(), "x").value()),
                 std::string(R"({"format":"lockstep-settings","version":1,"later":[1],)"
                             R"("first_port":3000})"));
    }

    void takesTheDefaultForWhatIsWrongAndSaysSo() {
        QVERIFY(files::makeFolders(m_folder.filePath(QStringLiteral("deep/lockstep")).toStdString())
                    .ok());
        QVERIFY(files::writeAtomic(m_path, "{\"format\":\"lockstep-settings\",\"version\":1,\n"
                                           "\"theme\":\"drak\",\n\"local_workers\":0,\n"
                                           "\"first_port\":4000,\"recent_jobs\":[\"/a\",5]}")
                    .ok());
        Problems problems;
        const Settings settings = SettingsFile(m_path).load(problems);
        QCOMPARE(settings.theme, Theme::System);
        QCOMPARE(settings.localWorkers, 2);
        QCOMPARE(settings.firstPort, 4000);
        QCOMPARE(settings.recentJobs, std::vector<std::string>{"/a"});
        QCOMPARE(problems.size(), std::size_t(3));
        QVERIFY(!hasErrors(problems));
        QCOMPARE(problems[0].path, std::string("theme"));
        QCOMPARE(problems[0].line, 2);
    }

    void keepsABrokenFileBeside() {
        QVERIFY(SettingsFile(m_path).save({}).ok());
        QVERIFY(files::writeAtomic(m_path, "{ theme: dark }").ok());
        Problems problems;
        QCOMPARE(SettingsFile(m_path).load(problems), Settings());
        QCOMPARE(problems.size(), std::size_t(1));
        QVERIFY(SettingsFile(m_path).save({}).ok());
        QCOMPARE(files::read(m_path + ".broken").value(), std::string("{ theme: dark }"));
        problems.clear();
        SettingsFile(m_path).load(problems);
        QVERIFY(problems.empty());
    }

    void leavesANewerFileAlone() {
        QVERIFY(SettingsFile(m_path).save({}).ok());
        const std::string newer = R"({"format":"lockstep-settings","version":2,"theme":"dark"})";
        QVERIFY(files::writeAtomic(m_path, newer).ok());
        Problems problems;
        QCOMPARE(SettingsFile(m_path).load(problems), Settings());
        QCOMPARE(problems.size(), std::size_t(1));
        QCOMPARE(SettingsFile(m_path).save({}).error().code, Code::NewerFormat);
        QCOMPARE(text(), newer);
    }

    void keepsTheNewestRecentFiles() {
        std::vector<std::string> recent;
        for (int i = 0; i < 12; ++i)
            noteRecent(recent, "/" + std::to_string(i));
        noteRecent(recent, "/5");
        QCOMPARE(recent.size(), std::size_t(10));
        QCOMPARE(recent[0], std::string("/5"));
        QCOMPARE(recent[1], std::string("/11"));
        QCOMPARE(std::count(recent.begin(), recent.end(), "/5"), std::ptrdiff_t(1));
    }

    void keepsTheStateOfWindows() {
        const QByteArray geometry("\0\x01\xff geometry", 12);
        {
            ViewState state(m_path);
            QVERIFY(state.bytes("window.geometry").isEmpty());
            state.setBytes("window.geometry", geometry);
            QVERIFY(state.save().ok());
        }
        QCOMPARE(ViewState(m_path).bytes("window.geometry"), geometry);
        QVERIFY(files::writeAtomic(m_path, "torn").ok());
        ViewState torn(m_path);
        QVERIFY(torn.bytes("window.geometry").isEmpty());
        QVERIFY(torn.save().ok());
    }
};

QTEST_APPLESS_MAIN(SettingsTest)
#include "tst_settings.moc"
