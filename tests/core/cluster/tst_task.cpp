// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/cluster/task.h"

#include <QTest>

using namespace lockstep;
using namespace lockstep::cluster;

class TaskTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsWhatItPrints() {
        for (const TaskId task : {TaskId{TaskType::Chief, 0}, TaskId{TaskType::Worker, 12},
                                  TaskId{TaskType::Ps, 1}, TaskId{TaskType::Evaluator, 0}}) {
            QCOMPARE(TaskId::parse(task.text()).value(), task);
            QCOMPARE(TaskId::parsePathName(task.pathName()).value(), task);
        }
        QCOMPARE((TaskId{TaskType::Worker, 3}.text()), std::string("worker:3"));
        QCOMPARE((TaskId{TaskType::Worker, 3}.pathName()), std::string("worker-3"));
    }

    void refusesOtherForms_data() {
        QTest::addColumn<QString>("text");
        for (const char* text :
             {"", "worker", "worker:", "worker:-1", "worker:+1", "worker:01", "worker:1x",
              "worker: 1", "master:0", "Worker:0", "worker-0", "worker:99999999999", ":0"})
            QTest::newRow(text) << QString::fromUtf8(text);
    }
    void refusesOtherForms() {
        QFETCH(QString, text);
        const auto task = TaskId::parse(text.toStdString());
        QVERIFY(!task.ok());
        QVERIFY(task.error().message.find("worker:0") != std::string::npos);
    }

    void ordersAsRanks() {
        QVERIFY((TaskId{TaskType::Chief, 0} < TaskId{TaskType::Worker, 0}));
        QVERIFY((TaskId{TaskType::Worker, 2} < TaskId{TaskType::Worker, 10}));
        QVERIFY((TaskId{TaskType::Worker, 10} < TaskId{TaskType::Evaluator, 0}));
    }
};

QTEST_APPLESS_MAIN(TaskTest)
#include "tst_task.moc"
