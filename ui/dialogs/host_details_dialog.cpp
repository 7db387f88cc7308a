// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/dialogs/host_details_dialog.h"

#include "ui/dialogs/host_key_stop.h"
#include "ui/models/format.h"
#include "ui/widgets/form.h"
#include "ui/widgets/state_dot.h"

#include <QDir>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

namespace lockstep::ui {

HostDetailsDialog::HostDetailsDialog(const SshAccess& access, const ssh::Destination& destination,
                                     QWidget* parent)
    : QDialog(parent)
    , m_destination(destination)
    , m_test(access)
    , m_install(access, QDir::homePath() + QStringLiteral("/.ssh"))
    , m_dot(new StateDot)
    , m_words(makeLabel({}))
    , m_busy(new QProgressBar)
    , m_again(new QPushButton)
    , m_key(new QPushButton(tr("Put my key on it"))) {
    setWindowTitle(tr("Host %1").arg(plainText(destination.text(), 100)));
    auto* head = makeLabel(plainText(destination.text(), 200), "title");
    head->setFont(scaled(monospace(font()), 1.15, QFont::DemiBold));
    m_words->setWordWrap(true);
    m_words->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_words->setAccessibleName(tr("State of the connection"));
    m_busy->setRange(0, 0);
    m_busy->setTextVisible(false);
    m_busy->setFixedHeight(4);
    m_busy->setAccessibleName(tr("Test under way"));
    auto* status = new QHBoxLayout;
    status->setSpacing(8);
    status->addWidget(m_dot, 0, Qt::AlignTop);
    status->addWidget(m_words, 1);

    m_resolved = makeFacts(tr("SSH configuration"));
    m_facts = makeFacts(tr("The host"));
    m_banners = makeFacts(tr("The server says on login:"));
    auto* inner = new QWidget;
    inner->setProperty("kind", QStringLiteral("page"));
    auto* facts = new QVBoxLayout(inner);
    facts->setContentsMargins(0, 0, 0, 0);
    facts->setSpacing(12);
    for (Card* card : {m_facts, m_resolved, m_banners})
        facts->addWidget(card);
    facts->addStretch(1);
    auto* scroll = new QScrollArea;
    scroll->setWidgetResizable(true);
    scroll->setWidget(inner);
    scroll->setFocusPolicy(Qt::StrongFocus);
    scroll->setAccessibleName(tr("Facts about the host"));

    m_key->setAutoDefault(false);
    m_key->setToolTip(tr("For a host that asks for a password: writes your public key there, so "
                         "that it asks no more. Where you have no key, one is made."));
    m_again->setAutoDefault(false);
    connect(m_key, &QPushButton::clicked, this, [this] {
        m_showsInstall = true;
        m_install.start(m_destination);
    });
    connect(m_again, &QPushButton::clicked, this, [this] {
        if (m_test.isRunning())
            m_test.cancel();
        else if (m_install.isRunning())
            m_install.cancel();
        else
            startTest();
    });
    auto* close = new QPushButton(tr("Close"));
    close->setDefault(true);
    connect(close, &QPushButton::clicked, this, &QDialog::reject);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(8);
    buttons->addWidget(m_key);
    buttons->addStretch(1);
    buttons->addWidget(m_again);
    buttons->addWidget(close);

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 20, 24, 20);
    column->setSpacing(12);
    column->addWidget(head);
    column->addLayout(status);
    column->addWidget(m_busy);
    column->addWidget(scroll, 1);
    column->addLayout(buttons);
    resize(560, 560);
    connect(&m_test, &ConnectionTest::changed, this, &HostDetailsDialog::refresh);
    connect(&m_install, &KeyInstall::changed, this, &HostDetailsDialog::refresh);
    refresh();
}

void HostDetailsDialog::startTest() {
    m_showsInstall = false;
    m_test.start(m_destination);
}

Card* HostDetailsDialog::makeFacts(const QString& title) {
    auto* card = new Card(title);
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(16);
    grid->setVerticalSpacing(4);
    grid->setColumnStretch(1, 1);
    card->body()->addLayout(grid);
    card->hide();
    return card;
}

void HostDetailsDialog::fill(Card* card, const QList<HostFact>& facts) {
    auto* grid = static_cast<QGridLayout*>(card->body()->itemAt(0)->layout());
    if (facts.size() * 2 == grid->count())
        return; // a test only ever adds the whole
    while (QLayoutItem* item = grid->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    for (int row = 0; row < facts.size(); ++row) {
        auto* name = makeLabel(facts[row].name, "muted");
        QStringList lines;
        for (const QString& line : facts[row].value.split(QLatin1Char('\n')))
            lines.append(plainText(line));
        auto* value = makeLabel(lines.join(QLatin1Char('\n')));
        value->setWordWrap(true);
        value->setTextInteractionFlags(Qt::TextSelectableByMouse);
        value->setAccessibleName(facts[row].name + QStringLiteral(": ") + facts[row].value);
        grid->addWidget(name, row, 0, Qt::AlignTop);
        grid->addWidget(value, row, 1, Qt::AlignTop);
    }
    card->setVisible(!facts.isEmpty());
}

void HostDetailsDialog::refresh() {
    const bool runs = m_test.isRunning() || m_install.isRunning();
    m_busy->setVisible(runs);
    const QString words = m_showsInstall ? m_install.words() : m_test.words();
    const bool passed = m_showsInstall ? m_install.state() == KeyInstall::State::Done
                                       : m_test.state() == ConnectionTest::State::Passed;
    const bool failed = m_showsInstall ? m_install.state() == KeyInstall::State::Failed
                                       : m_test.state() == ConnectionTest::State::Failed;
    m_dot->setState(runs     ? DotShape::Half
                    : passed ? DotShape::Full
                    : failed ? DotShape::Cross
                             : DotShape::Ring,
                    runs     ? Tone::Accent
                    : passed ? Tone::Good
                    : failed ? Tone::Error
                             : Tone::Muted,
                    words);
    m_words->setText(words);
    m_again->setText(runs                                            ? tr("Cancel")
                     : m_test.state() == ConnectionTest::State::Idle ? tr("Test connection")
                                                                     : tr("Test again"));
    m_key->setEnabled(!runs);
    fill(m_resolved, m_test.resolved());
    fill(m_facts, m_test.facts());
    fill(m_banners, m_test.banners());
    const auto& error = m_showsInstall ? m_install.error() : m_test.error();
    if (failed && error && error->code == Code::HostKeyChanged)
        showStop();
}

void HostDetailsDialog::showStop() {
    const auto& error = m_showsInstall ? m_install.error() : m_test.error();
    auto* stop = new HostKeyStop(*error, this);
    stop->setAttribute(Qt::WA_DeleteOnClose);
    stop->open();
}

} // namespace lockstep::ui
