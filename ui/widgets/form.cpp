// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/widgets/form.h"

#include "ui/widgets/icons.h"

#include <QButtonGroup>
#include <QComboBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include <cmath>

namespace lockstep::ui {

Field::Field(const QString& label, QWidget* editor, QWidget* parent)
    : QWidget(parent)
    , m_editor(editor)
    , m_problem(new ProblemLabel)
    , m_note(makeLabel({}, "muted")) {
    auto* name = makeLabel(label, "field");
    name->setBuddy(editor);
    editor->setAccessibleName(label);
    m_note->setWordWrap(true);
    m_note->hide();
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(name);
    layout->addWidget(editor);
    layout->addWidget(m_problem);
    layout->addWidget(m_note);
    // Not Maximum: that is the height at the preferred width, and a narrow problem needs more
    // lines.
    layout->addStretch(1);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);
}

void Field::setProblem(const Problem* problem) {
    m_problem->setProblem(problem);
    m_note->setVisible(!problem && !m_note->text().isEmpty());
    setMark(!problem                               ? QString()
            : problem->severity == Severity::Error ? QStringLiteral("error")
                                                   : QStringLiteral("warning"));
}

void Field::setMark(const QString& mark) {
    m_editor->setAccessibleDescription(m_problem->text());
    setLook(m_editor, "problem", mark);
}

void Field::setNote(const QString& note) {
    m_note->setText(note);
    m_note->setVisible(!note.isEmpty() && m_problem->text().isEmpty());
}

NumberField::NumberField(Kind kind, QWidget* parent)
    : QLineEdit(parent)
    , m_kind(kind) {
    connect(this, &QLineEdit::returnPressed, this, [this] { commit(); });
}

void NumberField::setBounds(double min, double max, double step) {
    m_min = min;
    m_max = max;
    m_step = step;
}

QString NumberField::print(double value) const {
    return m_kind == Kind::Whole ? QString::number(value, 'f', 0) : QString::number(value, 'g', 12);
}

void NumberField::setValue(std::optional<double> value) {
    m_value = value;
    if (!hasFocus() || !isModified())
        setText(value ? print(*value) : QString());
}

void NumberField::commit() {
    bool ok = false;
    double typed = text().trimmed().remove(QLatin1Char(',')).toDouble(&ok);
    ok = ok && std::isfinite(typed) && (m_kind == Kind::Real || typed == std::floor(typed));
    if (!ok || typed < m_min || typed > m_max) {
        setText(m_value ? print(*m_value) : QString());
        setModified(false);
        return;
    }
    setModified(false);
    if (m_value && *m_value == typed)
        return;
    m_value = typed;
    Q_EMIT edited(typed);
}

void NumberField::keyPressEvent(QKeyEvent* event) {
    const int direction = event->key() == Qt::Key_Up || event->key() == Qt::Key_PageUp       ? 1
                          : event->key() == Qt::Key_Down || event->key() == Qt::Key_PageDown ? -1
                                                                                             : 0;
    if (!direction || !m_value)
        return QLineEdit::keyPressEvent(event);
    const bool page = event->key() == Qt::Key_PageUp || event->key() == Qt::Key_PageDown;
    const double moved = std::clamp(*m_value + direction * m_step * (page ? 10 : 1), m_min, m_max);
    setText(print(moved));
    commit();
}

void NumberField::focusOutEvent(QFocusEvent* event) {
    QLineEdit::focusOutEvent(event);
    if (isModified())
        commit();
}

Segments::Segments(const QStringList& words, const QString& name, QWidget* parent)
    : QWidget(parent)
    , m_group(new QButtonGroup(this)) {
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    setAccessibleName(name);
    for (int i = 0; i < words.size(); ++i) {
        auto* button = new QPushButton(words[i]);
        button->setCheckable(true);
        button->setProperty("kind", QStringLiteral("segment"));
        button->setProperty("place", i == 0                  ? QStringLiteral("first")
                                     : i + 1 == words.size() ? QStringLiteral("last")
                                                             : QStringLiteral("middle"));
        button->setAccessibleName(QStringLiteral("%1: %2").arg(name, words[i]));
        // Wide enough for the bold word of the chosen one, with the style sheet's padding.
        constexpr int room = 34;
        const QFont bold = scaled(button->font(), 1, QFont::DemiBold);
        button->setMinimumWidth(QFontMetrics(bold).horizontalAdvance(words[i]) + room);
        m_group->addButton(button, i);
        layout->addWidget(button);
    }
    m_group->button(0)->setChecked(true);
    connect(m_group, &QButtonGroup::idClicked, this, &Segments::chosen);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

int Segments::current() const {
    return m_group->checkedId();
}

void Segments::setCurrent(int index) {
    m_group->button(index)->setChecked(true);
}

Card::Card(const QString& title, QWidget* parent)
    : QFrame(parent)
    , m_header(new QHBoxLayout)
    , m_body(new QVBoxLayout)
    , m_title(makeLabel(title, "title")) {
    setProperty("kind", QStringLiteral("card"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(16, 12, 16, 16);
    layout->setSpacing(8);
    m_header->setSpacing(8);
    m_header->addWidget(m_title);
    m_header->addStretch(1);
    m_body->setSpacing(8);
    layout->addLayout(m_header);
    layout->addLayout(m_body, 1);
    m_title->setVisible(!title.isEmpty());
}

void Card::setTitle(const QString& title) {
    m_title->setText(title);
    m_title->setVisible(!title.isEmpty());
}

EmptyState::EmptyState(const char* iconName, const QString& title, const QString& text,
                       QWidget* parent)
    : QWidget(parent)
    , m_actions(new QHBoxLayout) {
    auto* picture = new IconView(iconName, Ink::Muted, 40);
    auto* head = makeLabel(title, "title");
    head->setFont(scaled(font(), 1.25, QFont::DemiBold));
    head->setAlignment(Qt::AlignCenter);
    auto* words = makeLabel(text, "muted");
    words->setWordWrap(true);
    words->setAlignment(Qt::AlignHCenter | Qt::AlignTop);
    words->setFixedWidth(420);
    words->setMinimumHeight(words->heightForWidth(420));
    m_actions->setSpacing(8);
    m_actions->addStretch(1);
    m_actions->addStretch(1);
    auto* layout = new QVBoxLayout(this);
    layout->setSpacing(8);
    layout->addStretch(2);
    layout->addWidget(picture, 0, Qt::AlignHCenter);
    layout->addWidget(head);
    layout->addWidget(words, 0, Qt::AlignHCenter);
    layout->addSpacing(8);
    layout->addLayout(m_actions);
    layout->addStretch(3);
}

QPushButton* EmptyState::addAction(const QString& text, const char* iconName) {
    auto* button = new QPushButton(text);
    if (iconName)
        setIconBeside(button, iconName);
    m_actions->insertWidget(m_actions->count() - 1, button);
    return button;
}

QFrame* makeLine(Qt::Orientation orientation, QWidget* parent) {
    auto* line = new QFrame(parent);
    line->setProperty("kind", QStringLiteral("line"));
    if (orientation == Qt::Horizontal)
        line->setFixedHeight(1);
    else
        line->setFixedWidth(1);
    return line;
}

QToolButton* makeIconButton(const char* iconName, const QString& name, QWidget* parent) {
    auto* button = new QToolButton(parent);
    button->setIcon(icon(iconName));
    button->setIconSize(QSize(18, 18));
    button->setToolTip(name);
    button->setAccessibleName(name);
    button->setProperty("kind", QStringLiteral("quiet"));
    button->setFocusPolicy(Qt::StrongFocus);
    return button;
}

} // namespace lockstep::ui
