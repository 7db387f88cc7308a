// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "tests/ui/support/made_up_check.h"
#include "ui/models/check_models.h"

#include <QAbstractItemModelTester>
#include <QTest>

using namespace lockstep::ui;

namespace {

int columnOf(const CheckHostsModel& model, const QString& name) {
    for (int column = 0; column < model.columnCount(); ++column)
        if (model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString() == name)
            return column;
    return -1;
}

} // namespace

class CheckModelsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void keepTheRulesOfItemModels() {
        CheckHostsModel hosts;
        CheckPairsModel pairs;
        CheckFindingsModel findings;
        const auto mode = QAbstractItemModelTester::FailureReportingMode::QtTest;
        const QAbstractItemModelTester a(&hosts, mode);
        const QAbstractItemModelTester b(&pairs, mode);
        const QAbstractItemModelTester c(&findings, mode);
        for (const int count : {2, 4, 4, 0, 32}) {
            const CheckView view = count == 0 ? CheckView() : madeUpCheckView(count);
            hosts.setView(view);
            pairs.setView(view);
            findings.setView(view);
            QCOMPARE(hosts.rowCount(), count);
            QCOMPARE(pairs.columnCount(), count);
            QCOMPARE(findings.rowCount(), static_cast<int>(view.findings.size()));
        }
    }

    void highlightsWhatDiffersButNoAmounts() {
        CheckHostsModel model;
        model.setView(madeUpCheckView(4));
        const auto differs = [&](int row, const QString& fact) {
            return model.index(row, columnOf(model, fact))
                .data(CheckHostsModel::DiffersRole)
                .toBool();
        };
        QVERIFY(differs(1, QStringLiteral("Driver")));
        QVERIFY(!differs(0, QStringLiteral("Driver")));
        QVERIFY(differs(2, QStringLiteral("C library")));
        QVERIFY(!differs(0, QStringLiteral("Load")));
        QVERIFY(!differs(0, QStringLiteral("System")));
    }

    void saysAPairInWords() {
        CheckPairsModel model;
        model.setView(madeUpCheckView(4));
        const QString dropped = model.index(0, 1).data(Qt::AccessibleTextRole).toString();
        QVERIFY(dropped.startsWith(QStringLiteral("worker:0 → worker:1: silently dropped")));
        QVERIFY(dropped.contains(QStringLiteral("in this direction")));
        QVERIFY(model.index(1, 0)
                    .data(Qt::ToolTipRole)
                    .toString()
                    .contains(QStringLiteral("good, 0.30")));
    }

    void showsTextOfHostsMadeSafe() {
        CheckView view = madeUpCheckView(2);
        view.findings[0].what = QStringLiteral("a\x1b[31mb");
        view.hosts[0].facts[0].value = QStringLiteral("x\u202ey");
        CheckFindingsModel findings;
        findings.setView(view);
        QVERIFY(!findings.index(0).data().toString().contains(QChar(0x1b)));
        CheckHostsModel hosts;
        hosts.setView(view);
        QVERIFY(
            !hosts.index(0, CheckHostsModel::FirstFact).data().toString().contains(QChar(0x202e)));
    }
};

QTEST_GUILESS_MAIN(CheckModelsTest)
#include "tst_check_models.moc"
