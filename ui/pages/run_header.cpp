// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/run_header.h"

#include "ui/models/format.h"
#include "ui/models/problem_text.h"
#include "ui/models/run_words.h"
#include "ui/widgets/flow_layout.h"
#include "ui/widgets/state_dot.h"

#include <QBoxLayout>

#include <algorithm>
#include <cmath>

namespace lockstep::ui {
namespace {

constexpr qsizetype kMostProblems = 4;
constexpr qsizetype kMostValues = 6; // metrics beside the loss that fit in two lines

QString progressText(const RunSession& session) {
    QStringList parts;
    if (!session.record().name.empty())
        parts.append(plainText(QString::fromStdString(session.record().name), 80));
    const Progress progress = progressOf(session.store());
    if (progress.epoch > 0)
        parts.append(progress.epochs > 0
                         ? QObject::tr("epoch %1/%2").arg(progress.epoch).arg(progress.epochs)
                         : QObject::tr("epoch %1").arg(progress.epoch));
    if (progress.step > 0)
        parts.append(progress.steps > 0 ? QObject::tr("step %1 of %2")
                                              .arg(formatCount(progress.step))
                                              .arg(formatCount(progress.steps))
                                        : QObject::tr("step %1").arg(formatCount(progress.step)));
    if (progress.seconds > 0)
        parts.append(formatDuration(progress.seconds));
    if (progress.remaining && !session.isOver())
        parts.append(*progress.remaining < 1
                         ? QObject::tr("nearly done")
                         : QObject::tr("about %1 left").arg(formatDuration(*progress.remaining)));
    if (session.isReadOnly())
        parts.append(QObject::tr("followed: another program started it"));
    else if (!session.isCaughtUp())
        parts.append(QObject::tr("reading what was written so far"));
    return parts.join(QStringLiteral("  ·  "));
}

} // namespace

RunHeader::RunHeader(QWidget* parent)
    : QWidget(parent)
    , m_dot(new StateDot)
    , m_state(makeLabel({}, "title"))
    , m_progress(new ElidedLabel)
    , m_notice(new QFrame)
    , m_failure(new ProblemLabel) {
    m_state->setFont(scaled(font(), 1.15, QFont::DemiBold));
    m_progress->setProperty("kind", QStringLiteral("muted"));
    auto* line = new QHBoxLayout;
    line->setSpacing(8);
    line->addWidget(m_dot);
    line->addWidget(m_state);
    line->addSpacing(8);
    line->addWidget(m_progress, 1);

    m_notice->setProperty("kind", QStringLiteral("notice"));
    m_notice->setProperty("tone", QStringLiteral("error"));
    auto* inside = new QVBoxLayout(m_notice);
    inside->setContentsMargins(12, 8, 12, 8);
    inside->addWidget(m_failure);
    m_notice->hide();

    auto* figures = new QWidget;
    m_row = new FlowLayout(figures, 32, 8);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);
    column->addLayout(line);
    column->addWidget(m_notice);
    column->addWidget(figures);
}

void RunHeader::setSession(const RunSession* session) {
    m_session = session;
    clearFigures();
    refresh();
}

void RunHeader::clearFigures() {
    while (QLayoutItem* item = m_row->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    m_figures.clear();
}

void RunHeader::refresh() {
    if (!m_session)
        return;
    Words words = wordsOf(m_session->state());
    // Of a run that was only opened, its end counts, not that we look at it.
    if (m_session->state() == run::State::Detached)
        words = wordsOf(m_session->record().status);
    m_dot->setState(words);
    m_state->setText(words.text);
    m_progress->setFullText(progressText(*m_session));
    showFailure();
    showFigures();
}

void RunHeader::showFailure() {
    QStringList sentences;
    // A refusal is told by its problems.
    const bool isRefused =
        m_session->state() == run::State::Refused && hasErrors(m_session->problems());
    if (const auto& cause = m_session->record().failure; cause && !isRefused) {
        QString who = plainText(QString::fromStdString(cause->task), 60);
        if (!cause->host.empty())
            who += QStringLiteral(" (%1)").arg(plainText(QString::fromStdString(cause->host), 60));
        const QString reason = plainText(QString::fromStdString(cause->reason), 800);
        sentences.append(cause->task.empty() || reason.contains(QString::fromStdString(cause->task))
                             ? reason
                             : QStringLiteral("%1: %2").arg(who, reason));
    }
    if (isRefused)
        for (const Problem& problem : m_session->problems())
            if (problem.severity == Severity::Error && sentences.size() < kMostProblems)
                sentences.append(sentenceOf(problem));
    m_failure->setText(Tone::Error, sentences.join(QLatin1Char('\n')));
    m_notice->setVisible(!sentences.isEmpty());
}

void RunHeader::showFigures() {
    const metrics::Store& store = m_session->store();
    struct Shown {
        QString name;
        QString value;
        Tone tone = Tone::Neutral;
    };
    QList<Shown> shown;
    const auto show = [&shown](const QString& name, double value) {
        shown.append(
            {name, formatValue(value), std::isfinite(value) ? Tone::Neutral : Tone::Error});
    };
    if (!store.loss().isEmpty())
        show(QStringLiteral("loss"), store.loss().lastValue());
    for (const auto& name : store.epochValueNames())
        if (name != "loss" && shown.size() <= kMostValues)
            show(QString::fromStdString(name), store.epochValue(name).lastValue());
    if (!store.samplesPerSecond().isEmpty())
        shown.append({tr("samples/s"), formatRate(store.samplesPerSecond().lastValue())});
    const double allReduce = newestMean(store, metrics::Quantity::AllReduceMs);
    if (std::isfinite(allReduce))
        shown.append({tr("all-reduce"), formatMilliseconds(allReduce)});
    const double step = newestMean(store, metrics::Quantity::StepMs);
    if (std::isfinite(step))
        shown.append({tr("step"), formatMilliseconds(step)});

    // Loss comes with the chief's first step, metrics with the first epoch: the row is made again
    // so that each has its place.
    const bool isSame =
        std::equal(shown.begin(), shown.end(), m_figures.begin(), m_figures.end(),
                   [](const Shown& one, const auto& there) { return one.name == there.first; });
    if (!isSame)
        clearFigures();
    for (qsizetype i = 0; i < shown.size(); ++i) {
        if (!isSame) {
            m_figures.append({shown[i].name, new Figure(shown[i].name)});
            m_row->addWidget(m_figures.back().second);
        }
        m_figures[i].second->setValue(shown[i].value, shown[i].tone);
    }
}

} // namespace lockstep::ui
