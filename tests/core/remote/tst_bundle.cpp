// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The worker's bundle as the build makes it.
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/remote/bundle.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

using namespace lockstep;
using namespace lockstep::remote;

namespace {

const QString kBin = QStringLiteral(LOCKSTEP_BIN_DIR);

} // namespace

class TestBundle : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void packsTheSameInputToTheSameBytes() {
        QTemporaryDir folder;
        QStringList texts;
        for (const char* name : {"a", "b"}) {
            const QString out = folder.filePath(QString::fromLatin1(name));
            QCOMPARE(QProcess::execute(
                         QStringLiteral(LOCKSTEP_BUILD_DIR "/tools/lockstep-pack"),
                         {kBin + u"/lockstep-worker"_qs, kBin + u"/lockstep-helper"_qs, out}),
                     0);
            texts +=
                QString::fromStdString(files::read(out.toStdString() + "/bundle.json").value());
        }
        QCOMPARE(texts[0], texts[1]);
        QCOMPARE(texts[0], QString::fromStdString(
                               files::read(kBin.toStdString() + "/bundle/bundle.json").value()));
    }

    void isWhatItsDescriptionSays() {
        const auto bundle = readBundle(kBin + u"/bundle"_qs);
        QVERIFY(bundle.ok());
        const auto packed = files::read(bundle->packedFile.toStdString());
        QVERIFY(packed.ok());
        QCOMPARE(static_cast<std::int64_t>(packed->size()), bundle->packedSize);
        QCOMPARE(QString::fromStdString(toHex(sha256(*packed))), bundle->packedHash);
        const auto helper = files::read(bundle->helperFile.toStdString());
        QVERIFY(helper.ok());
        QCOMPARE(QString::fromStdString(toHex(sha256(*helper))), bundle->helperHash);
        QVERIFY(bundle->loader.startsWith(u"ld-linux"));
    }

    void aMissingOrBrokenOneIsToldInWords() {
        QTemporaryDir folder;
        const auto missing = readBundle(folder.path());
        QVERIFY(!missing.ok());
        QCOMPARE(missing.error().code, Code::NotFound);
        QVERIFY(files::writeAtomic(folder.path().toStdString() + "/bundle.json", "{}").ok());
        const auto broken = readBundle(folder.path());
        QVERIFY(!broken.ok());
        QCOMPARE(broken.error().code, Code::Corrupt);
    }
};

QTEST_GUILESS_MAIN(TestBundle)
#include "tst_bundle.moc"
