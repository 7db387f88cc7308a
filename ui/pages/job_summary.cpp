// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/job_summary.h"

#include "ui/models/format.h"
#include "ui/widgets/delegates.h"

#include <QGridLayout>
#include <QPainter>

#include <algorithm>

namespace lockstep::ui {
namespace {
const QString kUnknown = QStringLiteral("–");
constexpr int kCurvePoints = 120;
} // namespace

/// The learning rate over the warm-up and as many steps again.
class JobSummary::Curve final : public QWidget {
public:
    Curve() { setFixedHeight(44); }
    void setValues(const QList<double>& values) {
        m_values = values;
        update();
    }

protected:
    void paintEvent(QPaintEvent*) override {
        if (m_values.isEmpty())
            return;
        QPainter painter(this);
        const Tokens& t = currentTokens();
        painter.setPen(t.line);
        painter.drawLine(0, height() - 2, width(), height() - 2);
        paintCurve(painter, QRectF(rect()).adjusted(2, 6, -6, -4), m_values, t.seriesColor(0));
    }

private:
    QList<double> m_values;
};

JobSummary::JobSummary(Workspace* workspace, QWidget* parent)
    : QWidget(parent)
    , m_workspace(workspace)
    , m_card(new Card(tr("On this cluster")))
    , m_numbers(new QWidget)
    , m_grid(new QGridLayout(m_numbers))
    , m_curve(new Curve)
    , m_curveNote(makeLabel({}, "muted"))
    , m_sharding(makeLabel({}, "muted")) {
    m_grid->setContentsMargins(0, 0, 0, 0);
    m_grid->setHorizontalSpacing(12);
    m_grid->setVerticalSpacing(7);
    m_grid->setColumnStretch(1, 1);
    const auto line = [this] {
        m_grid->addWidget(makeLine(Qt::Horizontal), m_grid->rowCount(), 0, 1, 2);
    };
    m_replicas = row(tr("Replicas"), tr("Copies of the model, one on each worker"));
    m_globalBatch = row(tr("Global batch"), tr("Rows of one step over all replicas"));
    m_perReplica = row(tr("Batch per replica"), tr("Each replica's part of a global batch"));
    line();
    m_rows = row(tr("Rows to train"), tr("Of an epoch, validation left out"));
    m_steps = row(tr("Steps per epoch"), {});
    m_lastBatch = row(tr("Last batch"), tr("Rows of the last step of an epoch"));
    line();
    m_rate = row(tr("Learning rate"), tr("Of the optimizer, before scaling"));
    m_scaled = row(tr("Scaled rate"), tr("What training uses after the warm-up"));
    m_card->body()->addWidget(m_numbers);
    m_card->body()->addWidget(m_curve);
    m_card->body()->addWidget(m_curveNote);
    line();
    m_parameters = row(tr("Parameters"), tr("Of the model"));
    m_memory =
        row(tr("Memory per replica"), tr("Parameters, gradients, optimizer and activations"));
    m_allReduce = row(tr("Bytes per all-reduce"), tr("Gradients that every worker sums in a step"));
    m_sharding->setWordWrap(true);
    m_card->body()->addWidget(m_sharding);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_card);
    column->addStretch(1);
    connect(workspace, &Workspace::jobChanged, this, &JobSummary::refresh);
    connect(workspace, &Workspace::clusterChanged, this, &JobSummary::refresh);
    connect(workspace, &Workspace::descriptionChanged, this, &JobSummary::refresh);
    refresh();
}

QLabel* JobSummary::row(const QString& name, const QString& help) {
    auto* label = makeLabel(name, "muted");
    auto* value = makeLabel(kUnknown);
    value->setFont(scaled(font(), 1, QFont::Medium));
    value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setToolTip(help);
    value->setToolTip(help);
    const int at = m_grid->rowCount();
    m_grid->addWidget(label, at, 0);
    m_grid->addWidget(value, at, 1);
    return value;
}

void JobSummary::refresh() {
    const job::JobSpec& job = m_workspace->job();
    const bool isCommand = job.kind == job::JobKind::Command;
    m_numbers->setVisible(!isCommand);
    if (isCommand) {
        m_curve->hide();
        m_curveNote->hide();
        m_sharding->setText(tr("The program is started for each of %1, with its TF_CONFIG. What "
                               "Keras prints of loss, metrics and time per step is charted.")
                                .arg(countWords(static_cast<int>(m_workspace->cluster().size()),
                                                tr("1 worker"), tr("%1 workers"))));
        return;
    }
    const job::BatchSummary batch = m_workspace->batching();
    const JobDescription& description = m_workspace->description();
    const auto rows = m_workspace->trainRows();
    const auto count = [](std::int64_t n) { return n > 0 ? formatCount(n) : kUnknown; };
    m_replicas->setText(count(m_workspace->replicas()));
    m_globalBatch->setText(count(batch.globalBatch));
    m_perReplica->setText(
        batch.smallestReplicaBatch == batch.largestReplicaBatch
            ? count(batch.largestReplicaBatch)
            : QStringLiteral("%1–%2").arg(formatCount(batch.smallestReplicaBatch),
                                          formatCount(batch.largestReplicaBatch)));
    m_rows->setText(rows ? formatCount(*rows) : kUnknown);
    m_steps->setText(rows ? count(batch.stepsPerEpoch) : kUnknown);
    m_lastBatch->setText(rows ? count(batch.lastBatch) : kUnknown);
    m_rate->setText(batch.baseRate ? QString::number(*batch.baseRate, 'g', 4) : kUnknown);
    m_scaled->setText(batch.scaledRate ? QString::number(*batch.scaledRate, 'g', 4) : kUnknown);
    m_parameters->setText(count(description.parameters));
    m_memory->setText(description.memoryBytes > 0 ? formatBytes(double(description.memoryBytes))
                                                  : kUnknown);
    m_allReduce->setText(description.bytesPerAllReduce > 0
                             ? formatBytes(double(description.bytesPerAllReduce))
                             : kUnknown);
    QList<double> curve;
    if (batch.warmupSteps > 0 && batch.baseRate)
        for (int i = 0; i < kCurvePoints; ++i)
            curve.append(job::learningRate(job.fit, *batch.baseRate, std::max(1, batch.replicas),
                                           2 * batch.warmupSteps * i / kCurvePoints));
    m_curve->setVisible(!curve.isEmpty());
    m_curve->setValues(curve);
    m_curveNote->setVisible(!curve.isEmpty());
    m_curveNote->setText(tr("Warm-up over %1 steps").arg(formatCount(batch.warmupSteps)));
    m_sharding->setText(
        QString::fromStdString(job::effectiveSharding(job.data.shardPolicy).reason));
}

} // namespace lockstep::ui
