// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// The form of a job that starts a program of the user's own.
#include "ui/pages/job_form.h"

#include <QGridLayout>
#include <QPlainTextEdit>
#include <QToolButton>

namespace lockstep::ui {
namespace {

constexpr int kLines = 4;

QString qs(const std::string& text) {
    return QString::fromStdString(text);
}

/// The lines up to the last one that says something.
QStringList linesOf(const QString& text) {
    QStringList lines = text.split(QLatin1Char('\n'));
    while (!lines.isEmpty() && lines.back().isEmpty())
        lines.removeLast();
    return lines;
}

json::Value argvOf(const QString& text) {
    json::Value argv = json::Value::array();
    for (const QString& word : linesOf(text))
        argv.append(word.toStdString());
    return argv;
}

json::Value variablesOf(const QString& text) {
    json::Value variables = json::Value::object();
    for (const QString& line : linesOf(text)) {
        const auto equals = line.indexOf(QLatin1Char('='));
        const QString value = equals < 0 ? QString() : line.mid(equals + 1);
        if (!line.isEmpty())
            variables.set(line.left(equals).toStdString(), value.toStdString());
    }
    return variables.size() > 0 ? variables : json::Value();
}

} // namespace

Field* JobForm::lines(const QString& label, const std::string& path,
                      std::function<QString(Job)> shown,
                      std::function<json::Value(const QString&)> read) {
    auto* edit = new QPlainTextEdit;
    edit->setTabChangesFocus(true);
    edit->setLineWrapMode(QPlainTextEdit::NoWrap);
    edit->setFixedHeight(edit->fontMetrics().lineSpacing() * kLines + 16);
    edit->setUndoRedoEnabled(false); // the window's undo knows every step
    auto* field = new Field(label, edit);
    connect(edit, &QPlainTextEdit::textChanged, this, [this, edit, path, read] {
        if (!m_isRefreshing)
            set(path, read(edit->toPlainText()));
    });
    m_refreshers.push_back([edit, shown, read](Job job) {
        const QString text = shown(job);
        const QString typed = edit->toPlainText();
        if (typed != text && (!edit->hasFocus() || !(read(typed) == read(text))))
            edit->setPlainText(text);
    });
    add(path, field);
    return field;
}

Field* JobForm::pushedFolder() {
    auto* edit = new QLineEdit;
    auto* field = new Field(tr("Folder to push, from the job's folder on"), edit);
    connect(edit, &QLineEdit::textEdited, this, [this](const QString& typed) {
        const json::Value* push = m_workspace->jobDocument().find("push");
        if (typed.isEmpty())
            set("push", json::Value());
        else // what it leaves out stays
            set(push && push->isObject() ? "push.folder" : "push", typed.toStdString());
    });
    m_refreshers.push_back([edit](Job job) {
        const QString text = job.command.push ? qs(job.command.push->folder) : QString();
        if (edit->text() != text && !edit->hasFocus())
            edit->setText(text);
    });
    add("push", field);
    return field;
}

QWidget* JobForm::makeProgram() {
    auto* card = new Card(tr("Program"));
    card->header()->insertWidget(1, makeLabel(tr("started for every worker"), "muted"));
    auto* json = new QToolButton;
    json->setText(tr("Edit as JSON"));
    json->setProperty("kind", QStringLiteral("quiet"));
    json->setToolTip(tr("What single workers have of their own is edited in the JSON of the job"));
    connect(json, &QToolButton::clicked, this, &JobForm::jsonWanted);
    card->header()->addWidget(json);

    auto* grid = new QGridLayout;
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(12);
    grid->setVerticalSpacing(10);
    const auto argv = [](Job job) {
        QStringList words;
        for (const std::string& word : job.command.argv)
            words.append(qs(word));
        return words.join(QLatin1Char('\n'));
    };
    const auto variables = [](Job job) {
        QStringList words;
        for (const auto& [name, value] : job.command.env)
            words.append(qs(name + "=" + value));
        return words.join(QLatin1Char('\n'));
    };
    grid->addWidget(lines(tr("Program and arguments, one a line"), "argv", argv, argvOf), 0, 0);
    grid->addWidget(lines(tr("Variables, NAME=VALUE"), "env", variables, variablesOf), 0, 1);
    grid->addWidget(pushedFolder(), 1, 0);
    Field* directory = text(tr("Working directory on the hosts"), "working_directory",
                            [](Job job) { return qs(job.command.workingDirectory); });
    static_cast<QLineEdit*>(directory->editor())
        ->setPlaceholderText(tr("the pushed folder, or the run's"));
    grid->addWidget(directory, 1, 1);
    card->body()->addLayout(grid);
    return card;
}

} // namespace lockstep::ui
