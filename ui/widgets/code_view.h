// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// JSON and other fixed-width text: coloured, copyable, with the parts that changed since the last
// text tinted for a while. GUI thread.

#include <QPlainTextEdit>

class QTimer;

namespace lockstep::ui {

class CodeView final : public QPlainTextEdit {
    Q_OBJECT
public:
    explicit CodeView(const QString& name, QWidget* parent = nullptr);
    /// Shows `text` and tints the lines that the text before did not have. Keeps the scroll place.
    void showText(const QString& text);
    /// Marks one line (1-based; 0 for none) as the place of a problem.
    void markLine(int line);

protected:
    void changeEvent(QEvent* event) override;

private:
    void tint();
    QList<int> m_changed;
    int m_marked = 0;
    QTimer* m_fade;
};

} // namespace lockstep::ui
