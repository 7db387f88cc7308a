// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/widgets/labels.h"

#include "ui/models/format.h"
#include "ui/models/problem_text.h"
#include "ui/widgets/icons.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QPainter>
#include <QVBoxLayout>

namespace lockstep::ui {

QLabel* makeLabel(const QString& text, const char* kind, QWidget* parent) {
    auto* label = new QLabel(text, parent);
    label->setTextFormat(Qt::PlainText);
    if (kind)
        label->setProperty("kind", QLatin1String(kind));
    return label;
}

ElidedLabel::ElidedLabel(const QString& text, QWidget* parent)
    : QLabel(parent) {
    setTextFormat(Qt::PlainText);
    setProperty("elides", true);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);
    setFullText(text);
}

void ElidedLabel::setFullText(const QString& text) {
    const QString safe = plainText(text, 1000);
    if (safe == m_full)
        return;
    m_full = safe;
    setAccessibleName(m_full);
    updateGeometry();
    elide();
}

QSize ElidedLabel::minimumSizeHint() const {
    return {fontMetrics().horizontalAdvance(QStringLiteral("mmm…")),
            QLabel::minimumSizeHint().height()};
}

QSize ElidedLabel::sizeHint() const {
    return {fontMetrics().horizontalAdvance(m_full) + 4, QLabel::sizeHint().height()};
}

void ElidedLabel::resizeEvent(QResizeEvent* event) {
    QLabel::resizeEvent(event);
    elide();
}

void ElidedLabel::changeEvent(QEvent* event) {
    QLabel::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange)
        elide();
}

void ElidedLabel::elide() {
    const QString shown = fontMetrics().elidedText(m_full, Qt::ElideRight, contentsRect().width());
    QLabel::setText(shown);
    setToolTip(shown == m_full ? QString() : m_full);
}

ProblemLabel::ProblemLabel(QWidget* parent)
    : QWidget(parent)
    , m_text(makeLabel({})) {
    m_text->setWordWrap(true);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(20, 0, 0, 0);
    layout->addWidget(m_text);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    hide();
}

void ProblemLabel::setProblem(const Problem* problem) {
    if (problem)
        setText(problem->severity == Severity::Error ? Tone::Error : Tone::Warning,
                sentenceOf(*problem));
    else
        setText(Tone::Error, {});
}

void ProblemLabel::setText(Tone tone, const QString& text) {
    if (m_text->text() == text && m_tone == tone)
        return;
    m_tone = tone;
    m_text->setText(text);
    setLook(m_text, "kind",
            tone == Tone::Error     ? QStringLiteral("error")
            : tone == Tone::Warning ? QStringLiteral("warning")
                                    : QStringLiteral("muted"));
    setAccessibleName(text);
    setHidden(text.isEmpty());
    update();
}

void ProblemLabel::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    drawIcon(painter, QRectF(0, 2, 14, 14), m_tone == Tone::Warning ? "warning" : "error",
             currentTokens().tone(m_tone));
}

Figure::Figure(const QString& name, QWidget* parent)
    : QWidget(parent)
    , m_value(makeLabel(QStringLiteral("–")))
    , m_name(makeLabel(name, "muted")) {
    m_value->setFont(scaled(font(), 1.55, QFont::Medium));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_value);
    layout->addWidget(m_name);
    setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    announce();
}

void Figure::setName(const QString& name) {
    m_name->setText(plainText(name, 60));
    announce();
}

void Figure::setValue(const QString& value, Tone tone) {
    if (m_value->text() != value) {
        m_value->setText(value);
        // Never narrower again, so that the row of figures does not jump with each digit.
        m_value->setMinimumWidth(std::max(m_value->minimumWidth(), m_value->sizeHint().width()));
        announce();
    }
    setLook(m_value, "kind",
            tone == Tone::Error     ? QStringLiteral("error")
            : tone == Tone::Warning ? QStringLiteral("warning")
                                    : QString());
}

void Figure::announce() {
    setAccessibleName(QStringLiteral("%1 %2").arg(m_name->text(), m_value->text()));
}

} // namespace lockstep::ui
