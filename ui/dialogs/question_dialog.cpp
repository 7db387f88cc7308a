// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/dialogs/question_dialog.h"

#include "ui/models/format.h"
#include "ui/models/host_keys_model.h"
#include "ui/widgets/form.h"
#include "ui/widgets/icons.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

namespace lockstep::ui {
namespace {

using ssh::Question;

constexpr int kWidth = 460;
constexpr int kMostLines = 12;
constexpr qsizetype kLongestPrompt = 500;
constexpr qsizetype kLongestText = 4000;

QString titleOf(Question::Kind kind) {
    switch (kind) {
    case Question::Kind::Passphrase:
        return QuestionDialog::tr("Passphrase of a key");
    case Question::Kind::Password:
        return QuestionDialog::tr("Password");
    case Question::Kind::Interactive:
        return QuestionDialog::tr("The host asks");
    case Question::Kind::Touch:
        return QuestionDialog::tr("Touch your security key now");
    case Question::Kind::HostKey:
        break; // a dialog of its own
    }
    return {};
}

QString explanationOf(const Question& question) {
    switch (question.kind) {
    case Question::Kind::Passphrase:
        return QuestionDialog::tr("The private key %1 is locked. Its passphrase stays on this "
                                  "machine; the host does not see it.")
            .arg(plainText(question.keyFile, 300));
    case Question::Kind::Password:
        return QuestionDialog::tr("The password of this account is sent to the host, encrypted.");
    case Question::Kind::Touch:
        return QuestionDialog::tr("The key blinks until it is touched. This closes by itself.");
    default:
        return {};
    }
}

/// Multi-line text of a server: fixed width, never rich, as high as it needs to be.
QPlainTextEdit* makeServerText(const QString& text) {
    QStringList lines;
    for (const QString& line : text.left(kLongestText).split(QLatin1Char('\n')))
        lines.append(plainText(line.endsWith(QLatin1Char('\r')) ? line.chopped(1) : line));
    auto* view = new QPlainTextEdit(lines.join(QLatin1Char('\n')));
    view->setReadOnly(true);
    view->setTabChangesFocus(true);
    view->setProperty("kind", QStringLiteral("code"));
    view->setFont(monospace(view->font()));
    view->setAccessibleName(QuestionDialog::tr("What the server says"));
    const int rows = std::clamp(static_cast<int>(lines.size()), 1, kMostLines);
    view->setFixedHeight(rows * view->fontMetrics().lineSpacing() + 24);
    return view;
}

} // namespace

QuestionDialog::QuestionDialog(const Question& question, Remember remember, QWidget* parent)
    : QDialog(parent) {
    setWindowTitle(titleOf(question.kind));
    setMinimumWidth(kWidth);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 20, 24, 20);
    column->setSpacing(12);

    auto* head = makeLabel(titleOf(question.kind), "title");
    head->setFont(scaled(font(), 1.15, QFont::DemiBold));
    column->addWidget(head);
    auto* who = makeLabel(plainText(question.host, 200));
    who->setFont(scaled(monospace(font()), 1, QFont::DemiBold));
    who->setAccessibleName(tr("Who asks"));
    who->setWordWrap(true);
    auto* whoBox = new QVBoxLayout;
    whoBox->setSpacing(2);
    whoBox->addWidget(who);
    if (const QString hop = hopWords(question); !hop.isEmpty()) {
        auto* way = makeLabel(hop, "muted");
        way->setWordWrap(true);
        whoBox->addWidget(way);
    }
    column->addLayout(whoBox);
    if (const QString words = explanationOf(question); !words.isEmpty()) {
        auto* label = makeLabel(words, "muted");
        label->setWordWrap(true);
        column->addWidget(label);
    }
    if (question.round > 1 && question.kind != Question::Kind::Touch) {
        auto* again = new ProblemLabel;
        again->setText(Tone::Warning,
                       question.kind == Question::Kind::Interactive
                           ? tr("The host asks once more (round %1).").arg(question.round)
                           : tr("That was not right. Try again."));
        column->addWidget(again);
    }
    if (question.kind == Question::Kind::Interactive)
        column->addWidget(makeServerBox(question));
    else if (question.kind != Question::Kind::Touch)
        addPrompts(question, column);
    if (remember == Remember::Offered) {
        m_remember = new QCheckBox(tr("Remember it in the keyring of this desktop"));
        column->addWidget(m_remember);
    }
    column->addStretch(1);

    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addStretch(1);
    auto* cancel = new QPushButton(tr("Cancel"));
    cancel->setAutoDefault(false);
    connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
    buttons->addWidget(cancel);
    if (question.kind != Question::Kind::Touch) {
        auto* answer = new QPushButton(question.kind == Question::Kind::Passphrase ? tr("Unlock")
                                       : question.kind == Question::Kind::Password ? tr("Log in")
                                                                                   : tr("Answer"));
        answer->setDefault(true);
        answer->setProperty("kind", QStringLiteral("primary"));
        connect(answer, &QPushButton::clicked, this, &QDialog::accept);
        buttons->addWidget(answer);
    }
    column->addLayout(buttons);
    if (!m_edits.isEmpty())
        m_edits.front()->setFocus();
}

QWidget* QuestionDialog::makeServerBox(const Question& question) {
    auto* box = new Card(tr("The server says:"));
    QString text = question.title;
    if (!question.instruction.isEmpty())
        text += (text.isEmpty() ? QString() : QStringLiteral("\n")) + question.instruction;
    text = text.trimmed();
    if (!text.isEmpty())
        box->body()->addWidget(makeServerText(text));
    addPrompts(question, box->body());
    return box;
}

void QuestionDialog::addPrompts(const Question& question, QBoxLayout* column) {
    for (const Question::Prompt& prompt : question.prompts) {
        const bool isOurs = question.kind != Question::Kind::Interactive;
        const QString text =
            isOurs
                ? (question.kind == Question::Kind::Passphrase ? tr("Passphrase") : tr("Password"))
                : prompt.text.trimmed();
        auto* edit = new QLineEdit;
        if (!prompt.echo) {
            edit->setEchoMode(QLineEdit::Password);
            edit->setInputMethodHints(Qt::ImhHiddenText | Qt::ImhSensitiveData |
                                      Qt::ImhNoPredictiveText | Qt::ImhNoAutoUppercase);
        }
        if (text.contains(QLatin1Char('\n'))) { // a menu: it needs its lines
            column->addWidget(makeServerText(text));
            edit->setAccessibleName(plainText(text, kLongestPrompt));
            column->addWidget(edit);
        } else {
            column->addWidget(new Field(plainText(text, kLongestPrompt), edit));
        }
        m_edits.append(edit);
    }
}

QStringList QuestionDialog::replies() const {
    QStringList replies;
    for (const QLineEdit* edit : m_edits)
        replies.append(edit->text());
    return replies;
}

bool QuestionDialog::wantsRemembering() const {
    return m_remember && m_remember->isChecked();
}

} // namespace lockstep::ui
