// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// N workers with a global batch B give the numbers of one worker with B; all ranks hold the same
// bits; the same job on the same cluster gives them again.
#include "tests/integration/harness.h"

#include <QCryptographicHash>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QtEndian>
#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace lockstep::integration;

namespace {

/// SHA-256 over the tensors' bytes in the order of `names`, read without any code of ours.
QString digestOfSafetensors(const QString& path, const QStringList& names) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        return "cannot open " + path;
    const QByteArray bytes = file.readAll();
    const auto headerSize = static_cast<qsizetype>(qFromLittleEndian<quint64>(bytes.constData()));
    const QJsonObject header = QJsonDocument::fromJson(bytes.mid(8, headerSize)).object();
    QCryptographicHash hash(QCryptographicHash::Sha256);
    for (const QString& name : names) {
        const QJsonObject tensor = header[name].toObject();
        if (tensor["dtype"].toString() != "F32")
            return "no float32 tensor " + name + " among " + header.keys().join(", ");
        const QJsonArray place = tensor["data_offsets"].toArray();
        const qsizetype begin = place[0].toInt();
        hash.addData(bytes.mid(8 + headerSize + begin, place[1].toInt() - begin));
    }
    const QStringList all = header.keys();
    // Behind the model stands what the optimizer remembers.
    const auto tensors = std::count_if(all.begin(), all.end(), [](const QString& name) {
        return name != "__metadata__" && !name.startsWith("optimizer/");
    });
    if (tensors != names.size())
        return "other tensors than expected: " + header.keys().join(", ");
    return QString::fromLatin1(hash.result().toHex());
}

/// Empty where each value of `a` is within 1e-4 (relative) of `b`'s.
QString difference(const std::vector<double>& a, const std::vector<double>& b) {
    if (a.size() != b.size() || a.empty())
        return QString("%1 and %2 epochs").arg(a.size()).arg(b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(std::abs(a[i] - b[i]) <= 1e-4 * std::abs(b[i])))
            return QString("epoch %1: %2 and %3")
                .arg(i + 1)
                .arg(a[i], 0, 'g', 9)
                .arg(b[i], 0, 'g', 9);
    return {};
}

} // namespace

class TestEquality : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void anyNumberOfWorkersGivesTheNumbersOfOne_data() {
        QTest::addColumn<QString>("job");
        QTest::addColumn<QStringList>("settings");
        QTest::newRow("digits as they are") << "digits" << QStringList{"fit.epochs=4"};
        QTest::newRow("a batch that divides by none of 2, 3, 4")
            << "digits" << QStringList{"fit.epochs=3", "fit.global_batch_size=37"};
        QTest::newRow("fewer rows in a batch than workers")
            << "iris" << QStringList{"fit.epochs=2", "fit.global_batch_size=2"};
        QTest::newRow("a last batch with fewer rows than workers")
            << "iris" << QStringList{"fit.epochs=5", "fit.global_batch_size=17"};
        QTest::newRow("binary crossentropy, no shuffle")
            << "breast-cancer" << QStringList{"fit.epochs=5", "data.shuffle=0"};
        QTest::newRow("regression")
            << "dense-regression" << QStringList{"fit.epochs=3", "fit.global_batch_size=64"};
    }
    void anyNumberOfWorkersGivesTheNumbersOfOne() {
        QFETCH(QString, job);
        QFETCH(QStringList, settings);
        std::vector<double> one;
        for (const int workers : {1, 2, 3, 4}) {
            const Outcome first = run(job, workers, settings);
            QVERIFY2(first.exitCode == 0, qPrintable(first.all()));
            QCOMPARE(first.json()["status"].toString(), "finished");
            QCOMPARE(first.json()["workers"].toInt(), workers);
            if (workers == 1)
                one = first.losses();
            const QString apart = difference(first.losses(), one);
            QVERIFY2(apart.isEmpty(),
                     qPrintable(QString("%1 workers: %2").arg(workers).arg(apart)));
            const QString digest = commonDigest(first, workers);
            QVERIFY2(digest.size() == 64, qPrintable(digest));

            const Outcome second = run(job, workers, settings);
            QVERIFY2(second.exitCode == 0, qPrintable(second.all()));
            QCOMPARE(commonDigest(second, workers), digest);
            QVERIFY(second.losses() == first.losses());
        }
    }

    void theDigestIsThatOfTheExportedModel() {
        const Outcome outcome = run("digits", 3, {"fit.epochs=2"});
        QVERIFY2(outcome.exitCode == 0, qPrintable(outcome.all()));
        const QString file = m_machine.path("model.safetensors");
        const Outcome exported =
            m_machine.ctl({"export", outcome.json()["run"].toString(), "-o", file});
        QVERIFY2(exported.exitCode == 0, qPrintable(exported.all()));
        QCOMPARE(digestOfSafetensors(file, {"dense/kernel", "dense/bias", "dense_1/kernel",
                                            "dense_1/bias", "dense_2/kernel", "dense_2/bias"}),
                 commonDigest(outcome, 3));
    }

    void digitsAreLearned() {
        const Outcome outcome = m_machine.ctl(
            {"run", exampleJob("digits"), "--cluster", m_machine.cluster(2), "--json"});
        QVERIFY2(outcome.exitCode == 0, qPrintable(outcome.all()));
        const std::vector<double> losses = outcome.losses();
        QCOMPARE(losses.size(), std::size_t{30});
        QVERIFY2(losses.back() <= losses.front() / 3, qPrintable(outcome.out));
        const double accuracy = outcome.json()["final"].toObject()["val_accuracy"].toDouble();
        QVERIFY2(accuracy >= 0.95, qPrintable(QString::number(accuracy)));
        QVERIFY(outcome.json()["samples_per_second"].toDouble() > 0);
        for (const char* part : {"input", "compute", "all_reduce_wait", "update", "total"})
            QVERIFY2(outcome.json()["step_ms"].toObject()[part].isDouble(), part);
    }

    void cleanup() { QVERIFY2(m_machine.isQuiet(), qPrintable(m_machine.processesText())); }

private:
    Outcome run(const QString& job, int workers, const QStringList& settings) const {
        QStringList arguments{"run", exampleJob(job), "--local", QString::number(workers),
                              "--json"};
        for (const QString& setting : settings)
            arguments << "--set" << setting;
        return m_machine.ctl(arguments);
    }

    /// The digest that all workers have, or what is wrong.
    static QString commonDigest(const Outcome& outcome, int workers) {
        const QJsonObject digests = outcome.json()["digest"].toObject();
        if (digests.size() != workers)
            return QString("%1 digests").arg(digests.size());
        const QString first = digests["worker:0"].toString();
        for (const QString& task : digests.keys())
            if (digests[task].toString() != first)
                return task + " differs";
        return first;
    }

    Machine m_machine;
};

QTEST_GUILESS_MAIN(TestEquality)
#include "tst_equality.moc"
