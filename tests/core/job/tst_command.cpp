// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/job/command.h"

#include <QTest>

using namespace lockstep;
using namespace lockstep::job;

namespace {

JobSpec parse(const std::string& members, Problems& problems) {
    const auto document = json::parse(
        R"({"format": "lockstep-job", "version": 1, "kind": "command", )" + members + "}", "job");
    return document ? parseJob(*document, "job", problems) : JobSpec();
}

std::string valueOf(const Variables& variables, const std::string& name) {
    for (const auto& [known, value] : variables)
        if (known == name)
            return value;
    return "(none)";
}

} // namespace

class TstCommand : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void readsWhatATaskHasOfItsOwn() {
        Problems problems;
        const Command command = parse(R"("argv": ["python3", "t.py"], "working_directory": "src",
            "env": {"A": "job", "B": "job"},
            "tasks": {"worker:1": {"argv": ["./other"], "env": {"A": "task"}},
                      "evaluator:0": {"working_directory": "/data"}})",
                                      problems)
                                    .command;
        QVERIFY(problems.empty());
        QCOMPARE(argvOf(command, "worker:0").front(), std::string("python3"));
        QCOMPARE(argvOf(command, "worker:1").front(), std::string("./other"));
        QCOMPARE(argvOf(command, "evaluator:0").front(), std::string("python3"));
        QCOMPARE(workingDirectoryOf(command, "worker:0", "/run"), std::string("/run/src"));
        QCOMPARE(workingDirectoryOf(command, "evaluator:0", "/run"), std::string("/data"));
        QCOMPARE(workingDirectoryOf(Command(), "worker:0", "/run"), std::string("/run"));
    }

    void takesTheStrongestValueOfAVariable() {
        Problems problems;
        const Command command = parse(R"("argv": ["x"], "env": {"A": "job", "B": "job", "C": "job"},
            "tasks": {"worker:1": {"env": {"A": "task"}}})",
                                      problems)
                                    .command;
        const Variables all = variablesOf(command, "worker:1", {{"C", "passed"}, {"D", "passed"}},
                                          {{"A", "worker"}, {"B", "worker"}});
        QCOMPARE(all.size(), std::size_t{5});
        QCOMPARE(valueOf(all, "A"), std::string("task"));
        QCOMPARE(valueOf(all, "B"), std::string("worker"));
        QCOMPARE(valueOf(all, "C"), std::string("job"));
        QCOMPARE(valueOf(all, "D"), std::string("passed"));
        QCOMPARE(valueOf(all, kUnbuffered), std::string("1"));
        QCOMPARE(valueOf(variablesOf(command, "worker:0", {}, {{kUnbuffered, ""}}), kUnbuffered),
                 std::string());
    }

    void passesOnWhatIsAllowedAndNamesWhatCannotBe() {
        Problems problems;
        Command command = parse(R"("argv": ["x"], "pass_env": ["A", "WANDB_*"])", problems).command;
        const Variables own{{"A", "x\ny"},       {"AB", "1"},
                            {"WANDB_KEY", "k"},  {"FOO.BAR", "1"},
                            {"TF_CONFIG", "{}"}, {"BASH_FUNC_m%%", "() { echo; }"}};
        PassedVariables passed = passedVariables(command, own);
        QCOMPARE(passed.variables, (Variables{{"A", "x\ny"}, {"WANDB_KEY", "k"}}));
        QVERIFY(passed.dropped.empty());
        command.passEnv = {"*"};
        passed = passedVariables(command, own);
        QCOMPARE(passed.variables.size(), std::size_t{3});
        QCOMPARE(passed.dropped, (std::vector<std::string>{"FOO.BAR", "BASH_FUNC_m%%"}));
        QVERIFY(passedVariables(Command(), own).variables.empty());
    }

    void refusesWhatDoesNotFit_data() {
        QTest::addColumn<QString>("members");
        QTest::addColumn<QString>("path");
        const auto row = [](const char* members, const char* path) {
            QTest::addRow("%s", members) << members << path;
        };
        row(R"("argv": ["x"], "env": {"FOO.BAR": "1"})", "env.FOO.BAR");
        row(R"("argv": ["x"], "env": {"1A": "1"})", "env.1A");
        row(R"("argv": ["x"], "env": {"LOCKSTEP_RUN_ID": "1"})", "env.LOCKSTEP_RUN_ID");
        row(R"("argv": ["x"], "env": {"A": "a\u0000b"})", "env.A");
        row(R"("argv": ["x", "a\u0000b"])", "argv");
        row(R"("argv": ["x"], "pass_env": ["A*B"])", "pass_env");
        row(R"("argv": ["x"], "pass_env": "A")", "pass_env");
        row(R"("argv": ["x"], "push": 1)", "push");
        row(R"("argv": ["x"], "push": "")", "push");
        row(R"("argv": ["x"], "push": {"ignore": []})", "push");
        row(R"("argv": ["x"], "tasks": {"worker": {}})", "tasks.worker");
        row(R"("argv": ["x"], "tasks": {"worker:01": {}})", "tasks.worker:01");
        row(R"("argv": ["x"], "tasks": {"worker:1": {"argv": []}})", "tasks.worker:1.argv");
        row(R"("argv": ["x"], "tasks": {"worker:1": 5})", "tasks.worker:1");
    }
    void refusesWhatDoesNotFit() {
        QFETCH(QString, members);
        QFETCH(QString, path);
        Problems problems;
        parse(members.toStdString(), problems);
        QCOMPARE(problems.size(), std::size_t{1});
        QVERIFY(problems[0].severity == Severity::Error);
        QVERIFY2(QString::fromStdString(problems[0].path).startsWith(path),
                 problems[0].path.c_str());
    }

    void readsFoldersToPush() {
        Problems problems;
        QCOMPARE(parse(R"("argv": ["x"], "push": ".")", problems).command.push->folder,
                 std::string("."));
        const auto push =
            parse(R"("argv": ["x"], "push": {"folder": "src", "ignore": ["*.log"]})", problems)
                .command.push;
        QCOMPARE(push->ignore, std::vector<std::string>{"*.log"});
        QVERIFY(problems.empty());
    }

    void ignoresByNamePathAndKind_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<bool>("isFolder");
        QTest::addColumn<QString>("pattern");
        QTest::addColumn<bool>("expected");
        const auto row = [](const char* path, bool isFolder, const char* pattern, bool expected) {
            QTest::addRow("%s %s", path, pattern) << path << isFolder << pattern << expected;
        };
        row("a.pyc", false, "*.pyc", true);
        row("src/a.pyc", false, "*.pyc", true);
        row("a.py", false, "*.pyc", false);
        row("data", true, "data/", true);
        row("src/data", true, "data/", true);
        row("data", false, "data/", false);
        row("src/data", true, "/data/", false);
        row("data", true, "/data/", true);
        row("src/x.log", false, "src/*.log", true);
        row("src/deep/x.log", false, "src/*.log", false);
        row("x1", false, "x?", true);
        row("x", false, "x?", false);
        row("aXbXc", false, "a*b*c", true);
        row("aXbXd", false, "a*b*c", false);
        row("anything", false, "*", true);
        row("any", false, "", false);
    }
    void ignoresByNamePathAndKind() {
        QFETCH(QString, path);
        QFETCH(bool, isFolder);
        QFETCH(QString, pattern);
        QTEST(isIgnored(path.toStdString(), isFolder, {pattern.toStdString()}), "expected");
    }

    void neverPushesLeftovers() {
        for (const char* folder : {".git", "src/__pycache__", ".venv"})
            QVERIFY(isIgnored(folder, true, ignoredAlways()));
        QVERIFY(isIgnored("src/a.pyc", false, ignoredAlways()));
        QVERIFY(!isIgnored("src/train.py", false, ignoredAlways()));
        QVERIFY(!isIgnored(".gitignore", false, ignoredAlways()));
    }
};

QTEST_APPLESS_MAIN(TstCommand)
#include "tst_command.moc"
