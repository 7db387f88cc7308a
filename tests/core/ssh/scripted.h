// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// What tests of connections share: a person who answers by a script, and collectors of results.

#include "core/ssh/connection.h"
#include "core/ssh/prompter.h"

#include <QDir>
#include <QTest>
#include <QTimer>

#include <chrono>
#include <optional>

/// Skips loudly with the reason `missing`; fails where LOCKSTEP_REQUIRE names sshd.
#define SKIP_OR_FAIL_WITHOUT(missing)                                                              \
    do {                                                                                           \
        const QString why = (missing);                                                             \
        if (!why.isEmpty() && qgetenv("LOCKSTEP_REQUIRE").contains("sshd"))                        \
            QFAIL(qPrintable(why));                                                                \
        if (!why.isEmpty())                                                                        \
            QSKIP(qPrintable(why));                                                                \
    } while (false)

namespace lockstep::ssh {

/// Answers with what a test put in, and keeps what was asked. A touch is never answered.
class ScriptedPrompter : public Prompter {
public:
    QuestionId ask(const Question& question, Done done) override {
        questions += question;
        if (question.kind != Question::Kind::Touch && !isSilent) {
            const std::optional<Answer> answer =
                answers.isEmpty() ? std::nullopt : answers.takeFirst();
            QTimer::singleShot(thinks, this, [done, answer] { done(answer); });
        }
        return ++m_last;
    }
    void withdraw(QuestionId) override { ++withdrawn; }

    QList<Question> questions;
    QList<std::optional<Answer>> answers;
    bool isSilent = false;
    std::chrono::milliseconds thinks{0};
    int withdrawn = 0;

private:
    QuestionId m_last = 0;
};

struct Opened {
    bool isDone = false;
    Status status;
};

inline Status open(Connection& connection, int milliseconds = 20'000) {
    Opened opened;
    connection.open([&](Status status) { opened = {true, status}; });
    if (!QTest::qWaitFor([&] { return opened.isDone; }, milliseconds))
        return Error{Code::TimedOut, "open() did not answer", {}};
    return opened.status;
}

inline QString textOf(const Status& status) {
    return status.ok() ? QString() : QString::fromStdString(describe(status.error()));
}

/// What a program printed, and how it ended.
struct Said {
    QByteArray out;
    QByteArray err;
    std::optional<Result<Exit>> end;
};

inline void collect(Channel& channel, Said& said) {
    QObject::connect(&channel, &Channel::received,
                     [&said](const QByteArray& bytes) { said.out += bytes; });
    QObject::connect(&channel, &Channel::errorReceived,
                     [&said](const QByteArray& bytes) { said.err += bytes; });
    QObject::connect(&channel, &Channel::closed,
                     [&said](const Result<Exit>& end) { said.end = end; });
}

/// Runs a line of sh to its end.
inline Said sh(Connection& connection, const QByteArray& line) {
    Said said;
    const auto channel = connection.exec("exec /bin/sh");
    collect(*channel, said);
    channel->write(line + '\n');
    channel->closeWrite();
    (void)QTest::qWaitFor([&] { return said.end.has_value(); }, 20'000);
    return said;
}

inline int entriesOf(const QString& folder) {
    return static_cast<int>(
        QDir(folder).entryList(QDir::AllEntries | QDir::System | QDir::NoDotAndDotDot).size());
}
inline int openFiles() {
    return entriesOf(QStringLiteral("/proc/self/fd"));
}
inline int threads() {
    return entriesOf(QStringLiteral("/proc/self/task"));
}

} // namespace lockstep::ssh
