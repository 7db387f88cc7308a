// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Form parts: a named editor with its problem below it, a number editor, a choice of two or three
// words, a card with a title. GUI thread.

#include "ui/widgets/labels.h"

#include <QFrame>
#include <QLineEdit>

#include <limits>
#include <optional>

class QBoxLayout;
class QButtonGroup;
class QPushButton;
class QToolButton;

namespace lockstep::ui {

/// Label, editor, problem. Gives the editor its accessible name and, on a problem, a marked border.
class Field final : public QWidget {
    Q_OBJECT
public:
    Field(const QString& label, QWidget* editor, QWidget* parent = nullptr);
    void setProblem(const Problem* problem);
    /// A quiet remark below the editor, shown while there is no problem.
    void setNote(const QString& note);
    QWidget* editor() const { return m_editor; }

private:
    void setMark(const QString& mark);
    QWidget* m_editor;
    ProblemLabel* m_problem;
    QLabel* m_note;
};

/// A line for one number. Up and Down step by `step`, Page keys by ten steps. Emits edited() when
/// editing ends with a number inside the bounds that differs; anything else is put back.
class NumberField final : public QLineEdit {
    Q_OBJECT
public:
    enum class Kind { Whole, Real };
    explicit NumberField(Kind kind, QWidget* parent = nullptr);
    void setBounds(double min, double max, double step = 1);
    void setValue(std::optional<double> value);
    std::optional<double> value() const { return m_value; }

Q_SIGNALS:
    void edited(double value);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    void commit();
    QString print(double value) const;
    Kind m_kind;
    double m_min = -std::numeric_limits<double>::max();
    double m_max = std::numeric_limits<double>::max();
    double m_step = 1;
    std::optional<double> m_value;
};

/// Two or three words of which one is chosen.
class Segments final : public QWidget {
    Q_OBJECT
public:
    explicit Segments(const QStringList& words, const QString& name, QWidget* parent = nullptr);
    int current() const;
    void setCurrent(int index);

Q_SIGNALS:
    void chosen(int index);

private:
    QButtonGroup* m_group;
};

/// A framed surface with an optional title line; add to body() and to header().
class Card final : public QFrame {
    Q_OBJECT
public:
    explicit Card(const QString& title = {}, QWidget* parent = nullptr);
    QBoxLayout* body() const { return m_body; }
    QBoxLayout* header() const { return m_header; }
    void setTitle(const QString& title);

private:
    QBoxLayout* m_header;
    QBoxLayout* m_body;
    QLabel* m_title;
};

/// What an empty page says: what belongs there, and the first step as a button.
class EmptyState final : public QWidget {
    Q_OBJECT
public:
    EmptyState(const char* iconName, const QString& title, const QString& text,
               QWidget* parent = nullptr);
    QPushButton* addAction(const QString& text, const char* iconName = nullptr);

private:
    QBoxLayout* m_actions;
};

/// A one-pixel line.
QFrame* makeLine(Qt::Orientation orientation, QWidget* parent = nullptr);
/// A flat button with an icon alone; `name` is its tooltip (with the shortcut) and accessible name.
QToolButton* makeIconButton(const char* iconName, const QString& name, QWidget* parent = nullptr);

} // namespace lockstep::ui
