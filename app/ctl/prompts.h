// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Questions at the terminal, of SSH connections and of our own, one after the other; declined where
// there is no terminal. Secrets are read without echo and kept nowhere here.

#include "core/ssh/prompter.h"

#include <QSocketNotifier>

#include <deque>
#include <memory>

namespace lockstep::ctl {

class Prompts : public ssh::Prompter {
    Q_OBJECT
public:
    Prompts();
    ~Prompts() override;

    QuestionId ask(const ssh::Question& question, Done done) override;
    void withdraw(QuestionId id) override;
    /// A question of our own, answered by yes or no; no, told apart, where there is no terminal.
    void confirm(const QString& text, std::function<void(std::optional<bool>)> done);

private:
    struct Waiting {
        QuestionId id;
        ssh::Question question;
        Done done;
        QStringList replies;
        QString own; ///< a question of ours: yes or no
    };

    void enqueue(Waiting waiting);
    void showNext();
    void prompt();
    void lineCame();
    void finish(std::optional<ssh::Answer> answer);
    void setEcho(bool on);
    void say(const QString& text);

    int m_terminal = -1;
    bool m_isHidden = false;
    std::unique_ptr<QSocketNotifier> m_readable;
    QByteArray m_line;
    std::deque<Waiting> m_waiting; ///< the first is shown
    QuestionId m_last = 0;
};

} // namespace lockstep::ctl
