// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "app/ctl/prompts.h"

#include <QTimer>

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace lockstep::ctl {

namespace {

using ssh::Question;

/// A server's text without what could drive the terminal.
QString plain(const QString& text) {
    QString out;
    for (const QChar c : text.left(4000))
        out += c.isPrint() || c == u'\n' ? c : QChar(u'·');
    return out;
}

QString hopOf(const Question& question) {
    if (question.hops < 2)
        return {};
    return QStringLiteral(" (hop %1 of %2 to %3)")
        .arg(question.hop)
        .arg(question.hops)
        .arg(question.destination);
}

QString nameOf(Question::Kind kind) {
    switch (kind) {
    case Question::Kind::HostKey:
        return QStringLiteral("whether its host key is right");
    case Question::Kind::Passphrase:
        return QStringLiteral("the passphrase of a key");
    case Question::Kind::Password:
        return QStringLiteral("a password");
    case Question::Kind::Interactive:
        return QStringLiteral("answers to its questions");
    case Question::Kind::Touch:
        break;
    }
    return QStringLiteral("a touch of the security key");
}

} // namespace

Prompts::Prompts()
    : m_terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
    if (m_terminal < 0)
        return;
    m_readable = std::make_unique<QSocketNotifier>(m_terminal, QSocketNotifier::Read);
    m_readable->setEnabled(false);
    connect(m_readable.get(), &QSocketNotifier::activated, this, &Prompts::lineCame);
}

Prompts::~Prompts() {
    setEcho(true);
    m_readable.reset();
    if (m_terminal >= 0)
        ::close(m_terminal);
}

void Prompts::say(const QString& text) {
    const QByteArray bytes = text.toUtf8();
    if (::write(m_terminal, bytes.constData(), static_cast<std::size_t>(bytes.size())) < 0)
        return; // the terminal went away: the read says so
}

void Prompts::setEcho(bool on) {
    termios settings{};
    if (m_terminal < 0 || m_isHidden == !on || ::tcgetattr(m_terminal, &settings) != 0)
        return;
    if (on)
        settings.c_lflag |= ECHO;
    else
        settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(m_terminal, TCSANOW, &settings);
    m_isHidden = !on;
}

ssh::Prompter::QuestionId Prompts::ask(const Question& question, Done done) {
    const QuestionId id = ++m_last;
    if (m_terminal < 0) {
        std::fprintf(stderr, "%s%s asks for %s, and there is no terminal to ask you.\n",
                     qPrintable(question.host), qPrintable(hopOf(question)),
                     qPrintable(nameOf(question.kind)));
        QTimer::singleShot(0, this, [done] { done(std::nullopt); });
        return id;
    }
    enqueue({id, question, std::move(done), {}, {}});
    return id;
}

void Prompts::confirm(const QString& text, std::function<void(std::optional<bool>)> done) {
    if (m_terminal < 0) {
        QTimer::singleShot(0, this, [done] { done(std::nullopt); });
        return;
    }
    enqueue({++m_last, {}, [done](const auto& answer) { done(answer.has_value()); }, {}, text});
}

void Prompts::enqueue(Waiting waiting) {
    m_waiting.push_back(std::move(waiting));
    if (m_waiting.size() == 1)
        QTimer::singleShot(0, this, &Prompts::showNext);
}

void Prompts::withdraw(QuestionId id) {
    const bool isShown = !m_waiting.empty() && m_waiting.front().id == id;
    std::erase_if(m_waiting, [&](const Waiting& each) { return each.id == id; });
    if (!isShown)
        return;
    setEcho(true);
    say(QStringLiteral("\n(no longer needed)\n"));
    showNext();
}

void Prompts::showNext() {
    m_readable->setEnabled(false);
    if (m_waiting.empty())
        return;
    const Question& question = m_waiting.front().question;
    if (const QString& own = m_waiting.front().own; !own.isEmpty()) {
        say(own + QStringLiteral(" (yes/no) "));
    } else if (question.kind == Question::Kind::HostKey) {
        say(QStringLiteral("\nThe host key of %1%2 is not known.\n%3 %4\n")
                .arg(question.host, hopOf(question), question.keyType, question.fingerprint));
        for (const QString& note : question.notes)
            say(note + u'\n');
        say(QStringLiteral(
                "Compare it with `ssh-keygen -l` on the host. Accept and write it to %1? "
                "(yes/no) ")
                .arg(question.knownHosts));
    } else if (question.kind == Question::Kind::Interactive) {
        say(QStringLiteral("\n%1%2 asks. The server says:\n%3\n")
                .arg(question.host, hopOf(question),
                     plain(question.title + u'\n' + question.instruction).trimmed()));
        prompt();
    } else if (question.kind == Question::Kind::Touch) {
        say(QStringLiteral("\nTouch your security key now, for %1%2.\n")
                .arg(question.host, hopOf(question)));
        return;
    } else {
        say(QStringLiteral("\nFor %1%2%3:\n")
                .arg(question.host, hopOf(question),
                     question.round > 1 ? QStringLiteral(", again, the last was not right")
                                        : QString()));
        prompt();
    }
    m_readable->setEnabled(true);
}

void Prompts::prompt() {
    const Waiting& shown = m_waiting.front();
    const Question::Prompt& next = shown.question.prompts[shown.replies.size()];
    say(plain(next.text).trimmed() + u' ');
    setEcho(next.echo);
}

void Prompts::lineCame() {
    char piece[1024];
    const ssize_t got = ::read(m_terminal, piece, sizeof piece);
    if (got <= 0 || m_waiting.empty())
        return finish(std::nullopt);
    m_line.append(piece, got);
    if (!m_line.endsWith('\n'))
        return;
    m_line.chop(1);
    Waiting& shown = m_waiting.front();
    const QString reply = QString::fromUtf8(m_line);
    m_line.fill('\0');
    m_line.clear();
    if (m_isHidden)
        say(QStringLiteral("\n"));
    setEcho(true);
    if (shown.question.kind == Question::Kind::HostKey || !shown.own.isEmpty())
        return finish(reply.trimmed() == u"yes" ? std::optional(ssh::Answer{}) : std::nullopt);
    shown.replies += reply;
    if (shown.replies.size() < shown.question.prompts.size())
        return prompt();
    finish(ssh::Answer{shown.replies});
}

void Prompts::finish(std::optional<ssh::Answer> answer) {
    setEcho(true);
    if (m_waiting.empty())
        return m_readable->setEnabled(false);
    const Waiting shown = std::move(m_waiting.front());
    m_waiting.pop_front();
    shown.done(std::move(answer));
    showNext();
}

} // namespace lockstep::ctl
