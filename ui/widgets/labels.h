// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Labels with a purpose: text that may be cut on purpose, a problem at its field, a headline
// number. All show plain text only. GUI thread.

#include "core/base/problem.h"
#include "ui/widgets/theme.h"

#include <QLabel>

namespace lockstep::ui {

/// A label that never makes its window wider: it ends with "…" and shows the whole in its tooltip.
class ElidedLabel final : public QLabel {
    Q_OBJECT
public:
    explicit ElidedLabel(const QString& text = {}, QWidget* parent = nullptr);
    void setFullText(const QString& text);
    const QString& fullText() const { return m_full; }
    QSize minimumSizeHint() const override;
    QSize sizeHint() const override;

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void elide();
    QString m_full;
};

/// A sign and a sentence in the colour of its tone; hidden while it has nothing to say.
class ProblemLabel final : public QWidget {
    Q_OBJECT
public:
    explicit ProblemLabel(QWidget* parent = nullptr);
    void setProblem(const Problem* problem);
    void setText(Tone tone, const QString& text);
    QString text() const { return m_text->text(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QLabel* m_text;
    Tone m_tone = Tone::Error;
};

/// A number in large tabular figures over its name.
class Figure final : public QWidget {
    Q_OBJECT
public:
    explicit Figure(const QString& name, QWidget* parent = nullptr);
    void setName(const QString& name);
    void setValue(const QString& value, Tone tone = Tone::Neutral);
    QString value() const { return m_value->text(); }

private:
    void announce();
    QLabel* m_value;
    QLabel* m_name;
};

/// A label of the given kind (see style_sheet.h) with plain text.
QLabel* makeLabel(const QString& text, const char* kind = nullptr, QWidget* parent = nullptr);

} // namespace lockstep::ui
