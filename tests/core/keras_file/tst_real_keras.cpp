// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Trains, exports, and lets Keras itself open what came out. Skips unless $LOCKSTEP_KERAS_PYTHON is
// a Python with keras and tf_keras.
#include "core/archive/safetensors.h"
#include "tests/support/lab.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <cstring>

using lockstep::support::Ended;

namespace {

const QString kCtl = QStringLiteral(LOCKSTEP_BIN_DIR "/lockstepctl");
const QString kFolder = QStringLiteral(LOCKSTEP_SOURCE_DIR "/resources/examples/digits/");
const QString kCheck = QStringLiteral(LOCKSTEP_SOURCE_DIR "/tests/core/keras_file/check.py");

Ended run(const QString& program, const QStringList& words) {
    return lockstep::support::runToEnd(QStringList{program} + words, {}, 200'000);
}

QJsonObject lastLine(const QByteArray& out) {
    return QJsonDocument::fromJson(out.trimmed().split('\n').last()).object();
}

} // namespace

class TestRealKeras : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        qputenv("XDG_DATA_HOME", m_folder.path().toUtf8());
        qputenv("TF_CPP_MIN_LOG_LEVEL", "3");
        const Ended trained =
            run(kCtl, {QStringLiteral("run"), kFolder + QStringLiteral("digits.job.json"),
                       QStringLiteral("--local"), QStringLiteral("2"), QStringLiteral("--json")});
        QVERIFY2(trained.exitCode == 0, trained.err.constData());
        m_final = lastLine(trained.out)[QStringLiteral("final")].toObject();
    }

    void writesTheFormThatTheNameAsksFor_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("format");
        QTest::addColumn<QByteArray>("begins");
        const QByteArray zip("PK\x03\x04");
        const QByteArray hdf5("\x89HDF\r\n\x1a\n");
        QTest::newRow("keras") << QStringLiteral("m.keras") << QString() << zip;
        QTest::newRow("weights") << QStringLiteral("m.weights.h5") << QString() << hdf5;
        QTest::newRow("legacy") << QStringLiteral("m.h5") << QString() << hdf5;
        QTest::newRow("as asked") << QStringLiteral("m.bin") << QStringLiteral("keras") << zip;
    }
    void writesTheFormThatTheNameAsksFor() {
        QFETCH(QString, file);
        QFETCH(QString, format);
        QFETCH(QByteArray, begins);
        QStringList words{QStringLiteral("export"), QStringLiteral("last"), QStringLiteral("-o"),
                          m_folder.filePath(file)};
        if (!format.isEmpty())
            words << QStringLiteral("--format") << format;
        const Ended exported = run(kCtl, words);
        QVERIFY2(exported.exitCode == 0, exported.err.constData());
        QFile out(m_folder.filePath(file));
        QVERIFY(out.open(QIODevice::ReadOnly));
        QCOMPARE(out.read(begins.size()), begins);
    }

    void opensWhatWasTrained_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<bool>("legacy");
        QTest::newRow(".keras, Keras 3") << QStringLiteral("model.keras") << false;
        QTest::newRow(".h5, Keras 3") << QStringLiteral("model.h5") << false;
        QTest::newRow(".h5, Keras 2") << QStringLiteral("model.h5") << true;
    }
    void opensWhatWasTrained() {
        QFETCH(QString, file);
        QFETCH(bool, legacy);
        const QString python = qEnvironmentVariable("LOCKSTEP_KERAS_PYTHON");
        if (python.isEmpty())
            QSKIP("LOCKSTEP_KERAS_PYTHON names no Python with Keras.");
        const QString path = m_folder.filePath(file);
        const QString weights = m_folder.filePath(QStringLiteral("model.weights.h5"));
        for (const QString& target : {path, weights}) {
            const Ended exported = run(kCtl, {QStringLiteral("export"), QStringLiteral("last"),
                                              QStringLiteral("-o"), target});
            QVERIFY2(exported.exitCode == 0, exported.err.constData());
        }
        QStringList words{kCheck, path, legacy ? QStringLiteral("-") : weights,
                          kFolder + QStringLiteral("digits.csv.gz")};
        if (legacy)
            words << QStringLiteral("--legacy");
        const Ended checked = run(python, words);
        QVERIFY2(checked.exitCode == 0, checked.err.constData());
        const QJsonObject said = lastLine(checked.out);
        qInfo("Keras %s: %s", qPrintable(said[QStringLiteral("version")].toString()),
              checked.out.trimmed().constData());
        // 1,437 of 1,797 rows were trained to nearly nothing, 360 are the validation's.
        const double expected = (1437 * m_final[QStringLiteral("loss")].toDouble() +
                                 360 * m_final[QStringLiteral("val_loss")].toDouble()) /
                                1797;
        QVERIFY(std::abs(said[QStringLiteral("loss")].toDouble() - expected) < 0.01);
        QVERIFY(said[QStringLiteral("accuracy")].toDouble() > 0.98);
        if (file.endsWith(QStringLiteral(".keras"))) { // with the optimizer as it was
            QCOMPARE(said[QStringLiteral("iterations")].toInt(), 30 * 45);
            QVERIFY(std::abs(said[QStringLiteral("slots")].toDouble() / slotSum() - 1) < 1e-6);
        }
        QVERIFY(said[QStringLiteral("after")].toDouble() < 0.2); // trains on
    }

private:
    /// Of the absolute values of all slots, as the engine wrote them.
    double slotSum() {
        const QString file = m_folder.filePath(QStringLiteral("model.safetensors"));
        run(kCtl, {QStringLiteral("export"), QStringLiteral("last"), QStringLiteral("-o"), file});
        const auto archive = lockstep::archive::read(file.toStdString());
        double sum = 0;
        for (const auto& array : archive->arrays)
            if (array.name.starts_with("optimizer/"))
                for (std::size_t at = 0; at < array.bytes.size(); at += sizeof(float)) {
                    float value = 0;
                    std::memcpy(&value, array.bytes.data() + at, sizeof value);
                    sum += std::abs(static_cast<double>(value));
                }
        return sum;
    }

    QTemporaryDir m_folder;
    QJsonObject m_final;
};

QTEST_GUILESS_MAIN(TestRealKeras)
#include "tst_real_keras.moc"
