// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One host: what its destination means, a connection test with progress and cancel, what the host
// is, and putting one's key on it. GUI thread.

#include "ui/models/connection_test.h"
#include "ui/models/key_install.h"

#include <QDialog>

class QGridLayout;
class QLabel;
class QProgressBar;
class QPushButton;

namespace lockstep::ui {

class Card;
class StateDot;

class HostDetailsDialog final : public QDialog {
    Q_OBJECT
public:
    HostDetailsDialog(const SshAccess& access, const ssh::Destination& destination,
                      QWidget* parent = nullptr);

    ConnectionTest* test() { return &m_test; }
    KeyInstall* keyInstall() { return &m_install; }
    /// As a first step, when the dialog opens.
    void startTest();

private:
    Card* makeFacts(const QString& title);
    void fill(Card* card, const QList<HostFact>& facts);
    void refresh();
    void showStop();

    ssh::Destination m_destination;
    ConnectionTest m_test;
    KeyInstall m_install;
    bool m_showsInstall = false; ///< the status line is about the key
    StateDot* m_dot;
    QLabel* m_words;
    QProgressBar* m_busy;
    Card* m_resolved;
    Card* m_facts;
    Card* m_banners;
    QPushButton* m_again;
    QPushButton* m_key;
};

} // namespace lockstep::ui
