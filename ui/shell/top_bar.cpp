// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/shell/top_bar.h"

#include "ui/models/format.h"
#include "ui/models/problems_model.h"
#include "ui/models/run_words.h"
#include "ui/widgets/form.h"
#include "ui/widgets/icons.h"
#include "ui/widgets/state_dot.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QMenu>
#include <QPushButton>

namespace lockstep::ui {
namespace {

constexpr int kHeight = 52;
constexpr int kMostListed = 12;

} // namespace

TopBar::TopBar(RunDesk* desk, QWidget* parent)
    : QFrame(parent)
    , m_desk(desk)
    , m_problems(new ProblemsModel(desk->workspace(), this))
    , m_dot(new StateDot)
    , m_text(new ElidedLabel)
    , m_problemButton(new QPushButton)
    , m_primary(new QPushButton) {
    setProperty("kind", QStringLiteral("bar"));
    setFixedHeight(kHeight);
    auto* name = makeLabel(QStringLiteral("Lockstep"), "title");
    name->setFont(scaled(font(), 1.1, QFont::DemiBold));
    m_cluster = makeDocument(Document::Cluster);
    m_job = makeDocument(Document::Job);
    m_problemButton->setProperty("kind", QStringLiteral("quiet"));
    m_problemButton->setToolTip(tr("Show what is wrong (Ctrl+E)"));
    m_problemButton->setShortcut(QKeySequence(QStringLiteral("Ctrl+E")));
    connect(m_problemButton, &QPushButton::clicked, this, &TopBar::showProblems);
    m_primary->setShortcut(QKeySequence(Qt::Key_F5));
    m_primary->setMinimumWidth(112);
    connect(m_primary, &QPushButton::clicked, desk, &RunDesk::runPrimary);

    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(16, 0, 16, 0);
    row->setSpacing(8);
    row->addWidget(new IconView("lockstep", Ink::Accent, 24));
    row->addWidget(name);
    row->addSpacing(16);
    row->addWidget(m_cluster);
    row->addWidget(m_job);
    row->addStretch(1);
    row->addWidget(m_problemButton);
    row->addWidget(m_dot);
    row->addWidget(m_text);
    row->addSpacing(8);
    row->addWidget(m_primary);

    connect(desk, &RunDesk::stateChanged, this, &TopBar::refresh);
    connect(desk, &RunDesk::shownChanged, this, &TopBar::refresh);
    connect(desk->workspace(), &Workspace::filesChanged, this, &TopBar::refresh);
    connect(desk->workspace(), &Workspace::problemsChanged, this, &TopBar::refresh);
    refresh();
}

QPushButton* TopBar::makeDocument(Document document) {
    auto* button = new QPushButton;
    button->setProperty("kind", QStringLiteral("document"));
    setIconBeside(button, document == Document::Cluster ? "cluster" : "job", Ink::Muted);
    button->setToolTip(document == Document::Cluster ? tr("Cluster document: new, open, save")
                                                     : tr("Job document: new, open, save"));
    auto* menu = new QMenu(button);
    connect(menu, &QMenu::aboutToShow, this, [this, document, menu] { fillMenu(document, menu); });
    button->setMenu(menu);
    return button;
}

void TopBar::fillMenu(Document document, QMenu* menu) {
    menu->clear();
    const auto add = [&](const char* sign, const QString& text, auto signal) {
        menu->addAction(icon(sign), text, this,
                        [this, document, signal] { (this->*signal)(document); });
    };
    add("new", tr("New"), &TopBar::newWanted);
    add("open", tr("Open …"), &TopBar::openWanted);
    add("save", tr("Save"), &TopBar::saveWanted);
    add("save", tr("Save as …"), &TopBar::saveAsWanted);
    const QStringList& recent = document == Document::Cluster ? m_recentClusters : m_recentJobs;
    if (recent.isEmpty())
        return;
    menu->addSeparator();
    for (const QString& path : recent) {
        auto* action =
            menu->addAction(plainText(QFileInfo(path).fileName(), 60), this,
                            [this, document, path] { Q_EMIT openPathWanted(document, path); });
        action->setToolTip(path);
    }
}

void TopBar::setRecent(Document document, const QStringList& paths) {
    (document == Document::Cluster ? m_recentClusters : m_recentJobs) = paths;
}

void TopBar::showProblems() {
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    for (int row = 0; row < std::min(m_problems->rowCount(), kMostListed); ++row) {
        const QModelIndex index = m_problems->index(row);
        const bool error = index.data(ProblemsModel::IsErrorRole).toBool();
        const auto document =
            static_cast<Document>(index.data(ProblemsModel::DocumentRole).toInt());
        const QString path = index.data(ProblemsModel::PathRole).toString();
        QString text = fontMetrics().elidedText(index.data().toString(), Qt::ElideRight, 560);
        text.replace(QLatin1Char('&'), QStringLiteral("&&"));
        auto* action = menu->addAction(
            icon(error ? "error" : "warning", error ? Ink::Error : Ink::Warning), text, this,
            [this, document, path] { Q_EMIT problemChosen(document, path); });
        action->setToolTip(index.data().toString());
    }
    menu->popup(m_problemButton->mapToGlobal(QPoint(0, m_problemButton->height())));
}

void TopBar::refresh() {
    const Workspace* workspace = m_desk->workspace();
    for (const auto& [button, document] :
         {std::pair(m_cluster, Document::Cluster), std::pair(m_job, Document::Job)}) {
        QString title = plainText(workspace->title(document), 28);
        if (workspace->isModified(document))
            title += QStringLiteral(" •");
        button->setText(title + QStringLiteral("  ▾"));
        button->setAccessibleName(
            tr("%1, %2").arg(document == Document::Cluster ? tr("Cluster") : tr("Job"), title));
    }
    const int errors = workspace->count(Document::Cluster, Severity::Error) +
                       workspace->count(Document::Job, Severity::Error);
    const int warnings = workspace->count(Document::Cluster, Severity::Warning) +
                         workspace->count(Document::Job, Severity::Warning);
    m_problemButton->setVisible(errors + warnings > 0);
    setIconBeside(m_problemButton, errors > 0 ? "error" : "warning",
                  errors > 0 ? Ink::Error : Ink::Warning);
    m_problemButton->setText(errors > 0 ? countWords(errors, tr("1 problem"), tr("%1 problems"))
                                        : countWords(warnings, tr("1 warning"), tr("%1 warnings")));
    showState();
    showPrimary();
}

void TopBar::showState() {
    const RunSession* session = m_desk->live() ? m_desk->live() : m_desk->shown();
    Words words;
    if (session && (m_desk->live() || session->state() != run::State::Detached))
        words = wordsOf(session->state());
    else if (m_desk->workspace()->canLaunch())
        words = {countWords(m_desk->workspace()->replicas(), tr("Ready: 1 worker"),
                            tr("Ready: %1 workers")),
                 Mood::Good};
    else
        words = {tr("Not ready"), Mood::Idle};
    m_dot->setState(words);
    m_text->setFullText(words.text);
}

void TopBar::showPrimary() {
    const PrimaryAction action = m_desk->primary();
    QString text;
    const char* sign = "launch";
    bool danger = false;
    switch (action) {
    case PrimaryAction::Launch:
        text = tr("Launch");
        break;
    case PrimaryAction::LaunchAgain:
        text = tr("Launch again");
        sign = "again";
        break;
    case PrimaryAction::Cancel:
        text = tr("Cancel");
        sign = "cancel";
        danger = true;
        break;
    case PrimaryAction::Stop:
        text = tr("Stop");
        sign = "stop";
        danger = true;
        break;
    case PrimaryAction::Stopping:
        text = tr("Stopping");
        sign = "stop";
        danger = true;
        break;
    }
    const bool enabled = m_desk->isPrimaryEnabled();
    // The look first: the text then asks for the room that it needs in it.
    setLook(m_primary, "kind", danger ? QStringLiteral("danger") : QStringLiteral("primary"));
    m_primary->setText(text);
    m_primary->setEnabled(enabled);
    setIconBeside(m_primary, sign, danger ? Ink::Error : Ink::OnAccent);
    m_primary->setToolTip(enabled ? tr("%1 (F5)").arg(text)
                                  : tr("First solve the problems of cluster and job"));
    m_primary->setShortcut(QKeySequence(Qt::Key_F5)); // a new text drops it
}

} // namespace lockstep::ui
