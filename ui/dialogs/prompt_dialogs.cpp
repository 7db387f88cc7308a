// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/dialogs/prompt_dialogs.h"

#include "ui/dialogs/host_keys_dialog.h"
#include "ui/dialogs/question_dialog.h"

#include <algorithm>
#include <utility>

namespace lockstep::ui {
namespace {

using ssh::Question;

constexpr std::chrono::milliseconds kGather{400};

bool isSecret(const Question& question) {
    return (question.kind == Question::Kind::Passphrase ||
            question.kind == Question::Kind::Password) &&
           question.prompts.size() == 1;
}

/// The name of the secret in the keyring.
QString secretName(const Question& question) {
    return question.kind == Question::Kind::Passphrase
               ? QStringLiteral("passphrase of ") + question.keyFile
               : QStringLiteral("password of ") + question.host;
}

} // namespace

PromptDialogs::PromptDialogs(SecretStore* secrets, QObject* parent)
    : Prompter(parent)
    , m_secrets(secrets) {
    m_gather.setSingleShot(true);
    m_gather.setInterval(kGather);
    connect(&m_gather, &QTimer::timeout, this, &PromptDialogs::showNext);
}

PromptDialogs::~PromptDialogs() {
    if (m_open)
        m_open->disconnect(this);
    delete m_open;
}

ssh::Prompter::QuestionId PromptDialogs::ask(const Question& question, Done done) {
    const Waiting waiting{++m_last, question, std::move(done)};
    if (question.kind == Question::Kind::HostKey) {
        m_keyQuestions.push_back(waiting);
        m_keys.add(waiting.id, question);
        if (!m_open)
            m_gather.start();
    } else if (m_secrets && isSecret(question)) {
        m_looking.push_back(waiting);
        askStore(waiting);
    } else {
        m_questions.push_back(waiting);
        QTimer::singleShot(0, this, &PromptDialogs::showNext);
    }
    return waiting.id;
}

void PromptDialogs::askStore(const Waiting& waiting) {
    const QString name = secretName(waiting.question);
    if (waiting.question.round > 1)
        m_secrets->forget(name); // it was not right
    const bool mayFind = waiting.question.round <= 1;
    const auto found = [self = QPointer<PromptDialogs>(this),
                        id = waiting.id](std::optional<QString> secret) {
        if (!self)
            return;
        const auto at = std::find_if(self->m_looking.begin(), self->m_looking.end(),
                                     [id](const Waiting& each) { return each.id == id; });
        if (at == self->m_looking.end())
            return; // withdrawn
        Waiting taken = std::move(*at);
        self->m_looking.erase(at);
        if (secret)
            return taken.done(ssh::Answer{{*secret}});
        self->m_questions.push_back(std::move(taken));
        self->showNext();
    };
    if (mayFind)
        m_secrets->find(name, found);
    else
        QTimer::singleShot(0, this, [found] { found(std::nullopt); });
}

ssh::Prompter::Done PromptDialogs::take(QuestionId id) {
    for (auto* queue : {&m_keyQuestions, &m_questions, &m_looking}) {
        const auto at = std::find_if(queue->begin(), queue->end(),
                                     [id](const Waiting& each) { return each.id == id; });
        if (at != queue->end()) {
            Done done = std::move(at->done);
            queue->erase(at);
            return done;
        }
    }
    return {};
}

void PromptDialogs::withdraw(QuestionId id) {
    const bool isOpen = m_open && qobject_cast<QuestionDialog*>(m_open) && !m_questions.empty() &&
                        m_questions.front().id == id;
    (void)take(id);
    m_keys.remove(id);
    const bool isEmptied =
        m_open && qobject_cast<HostKeysDialog*>(m_open) && m_keyQuestions.empty();
    if (isOpen || isEmptied) {
        m_open->disconnect(this);
        m_open->deleteLater();
        m_open->hide();
        m_open = nullptr;
        QTimer::singleShot(0, this, &PromptDialogs::showNext);
    }
}

void PromptDialogs::showNext() {
    if (m_open)
        return;
    if (!m_keyQuestions.empty() && !m_gather.isActive())
        showHostKeys();
    else if (!m_questions.empty())
        showQuestion();
}

void PromptDialogs::openDialog(QDialog* dialog) {
    m_open = dialog;
    dialog->setWindowModality(Qt::WindowModal);
    dialog->show();
    dialog->raise();
}

void PromptDialogs::showHostKeys() {
    auto* dialog = new HostKeysDialog(&m_keys, m_window);
    connect(dialog, &QDialog::finished, this,
            [this](int result) { answerHostKeys(result == QDialog::Accepted); });
    openDialog(dialog);
}

void PromptDialogs::showQuestion() {
    const Question& question = m_questions.front().question;
    auto* dialog =
        new QuestionDialog(question,
                           m_secrets && isSecret(question) ? QuestionDialog::Remember::Offered
                                                           : QuestionDialog::Remember::NotOffered,
                           m_window);
    connect(dialog, &QDialog::finished, this,
            [this](int result) { answerQuestion(result == QDialog::Accepted); });
    openDialog(dialog);
}

void PromptDialogs::answerHostKeys(bool accepted) {
    std::exchange(m_open, nullptr)->deleteLater();
    QList<std::pair<QuestionId, bool>> answers;
    for (const QuestionId id : m_keys.ids())
        answers.append({id, accepted && m_keys.isTicked(id)});
    for (const auto& [id, isRight] : answers) {
        m_keys.remove(id);
        if (const Done done = take(id))
            done(isRight ? std::optional(ssh::Answer{}) : std::nullopt);
    }
    QTimer::singleShot(0, this, &PromptDialogs::showNext);
}

void PromptDialogs::answerQuestion(bool accepted) {
    auto* dialog = qobject_cast<QuestionDialog*>(m_open);
    m_open = nullptr;
    dialog->deleteLater();
    const Waiting waiting = std::move(m_questions.front());
    m_questions.pop_front();
    if (accepted && dialog->wantsRemembering())
        m_secrets->keep(secretName(waiting.question), dialog->replies().front());
    waiting.done(accepted ? std::optional(ssh::Answer{dialog->replies()}) : std::nullopt);
    QTimer::singleShot(0, this, &PromptDialogs::showNext);
}

} // namespace lockstep::ui
