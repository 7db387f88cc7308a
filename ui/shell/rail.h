// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The rail: one entry for each page, an icon over a word, with a badge for its problems.

#include <QFrame>

class QBoxLayout;
class QButtonGroup;

namespace lockstep::ui {

class Rail final : public QFrame {
    Q_OBJECT
public:
    explicit Rail(QWidget* parent = nullptr);
    /// The n-th entry opens with Ctrl+n.
    void add(const char* iconName, const QString& word);
    void setCurrent(int index);
    /// 0 errors and warnings: no badge.
    void setBadge(int index, int errors, int warnings);

Q_SIGNALS:
    void chosen(int index);
    void themeWanted();

private:
    QBoxLayout* m_column;
    QButtonGroup* m_group;
};

} // namespace lockstep::ui
