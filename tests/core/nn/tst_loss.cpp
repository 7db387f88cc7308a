// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/failure.h"
#include "core/base/philox.h"
#include "core/nn/detail/loss.h"

#include <QtTest>

#include <cmath>
#include <vector>

using namespace lockstep;
using namespace lockstep::nn;

namespace {

using Numbers = std::vector<float>;

LossSpec loss(LossKind kind, bool fromLogits = false, double smoothing = 0) {
    LossSpec spec;
    spec.kind = kind;
    spec.fromLogits = fromLogits;
    spec.labelSmoothing = smoothing;
    return spec;
}

const Numbers Y{0, 1, 0, 1, 0, 0};
const Numbers P{.2f, .7f, .1f, .3f, .3f, .4f};
const Numbers Z{1, 2, -1, .5f, 0, -.5f};
const Numbers classes{1, 0};

struct Golden {
    const char* name;
    LossSpec spec;
    Numbers predictions;
    Numbers labels;
    std::int64_t width;
    double expected; ///< mean over positions, from Keras
};

std::vector<Golden> goldens() {
    using enum LossKind;
    return {
        {"mse", loss(MeanSquaredError), P, Y, 3, .1466667},
        {"mae", loss(MeanAbsoluteError), P, Y, 3, .3333333},
        {"categorical", loss(CategoricalCrossentropy), P, Y, 3, .7803239},
        {"categorical logits", loss(CategoricalCrossentropy, true), Z, Y, 3, .5146409},
        {"categorical smoothed", loss(CategoricalCrossentropy, false, .1), P, Y, 3, .8288404},
        {"sparse", loss(SparseCategoricalCrossentropy), P, classes, 3, .7803239},
        {"sparse logits", loss(SparseCategoricalCrossentropy, true), Z, classes, 3, .5146409},
        {"binary", loss(BinaryCrossentropy), {.9f, .2f}, {1, 0}, 1, .1642520},
        {"binary smoothed", loss(BinaryCrossentropy, false, .1), {.9f, .2f}, {1, 0}, 1, .2538400},
        {"binary logits", loss(BinaryCrossentropy, true), {2, -1}, {1, 0}, 1, .2200949},
        {"binary at zero", loss(BinaryCrossentropy), {0}, {1}, 1, 16.118095},
        {"logits that saturate", loss(CategoricalCrossentropy, true), {1000, 0}, {0, 1}, 2, 1000},
    };
}

} // namespace

class TestLoss : public QObject {
    Q_OBJECT
private slots:
    void givesKerasNumbers_data() {
        QTest::addColumn<int>("index");
        int index = 0;
        for (const Golden& golden : goldens())
            QTest::newRow(golden.name) << index++;
    }

    void givesKerasNumbers() {
        QFETCH(int, index);
        const Golden golden = goldens()[std::size_t(index)];
        const double positions = double(golden.predictions.size()) / double(golden.width);
        const double got =
            detail::lossSum(golden.spec, golden.predictions, golden.labels, golden.width) /
            positions;
        QVERIFY2(std::abs(got / golden.expected - 1) < 1e-6,
                 qPrintable(QString::number(got, 'g', 9)));
    }

    void gradientsFitFiniteDifferences() {
        using enum LossKind;
        PhiloxStream random(11, RandomUse::RandomSource);
        for (const LossKind kind : {MeanSquaredError, MeanAbsoluteError, BinaryCrossentropy,
                                    CategoricalCrossentropy, SparseCategoricalCrossentropy})
            for (const bool logits : {false, true})
                for (const double smoothing : {0.0, 0.2}) {
                    const LossSpec spec = loss(kind, logits, smoothing);
                    constexpr std::size_t rows = 5, width = 4;
                    Numbers p(rows * width), y;
                    for (float& value : p)
                        value = static_cast<float>(0.1 + 0.8 * random.nextUnit());
                    for (std::size_t i = 0; i < rows; ++i) {
                        const std::size_t c = random.nextBelow(width);
                        if (kind == SparseCategoricalCrossentropy)
                            y.push_back(float(c));
                        else
                            for (std::size_t j = 0; j < width; ++j)
                                y.push_back(j == c ? 1.0f : 0.0f);
                    }
                    Numbers g(p.size());
                    detail::lossGradient(spec, p, y, width, 0.5f, g);
                    for (std::size_t i = 0; i < p.size(); ++i) {
                        constexpr float h = 1e-3f;
                        Numbers up = p, down = p;
                        up[i] += h;
                        down[i] -= h;
                        const double slope = 0.5 *
                                             (detail::lossSum(spec, up, y, width) -
                                              detail::lossSum(spec, down, y, width)) /
                                             (double(up[i]) - double(down[i]));
                        QVERIFY2(std::abs(g[i] - slope) < 2e-3 * (1 + std::abs(slope)),
                                 qPrintable(QStringLiteral("kind %1 logits %2: %3, expected %4")
                                                .arg(int(kind))
                                                .arg(logits)
                                                .arg(double(g[i]))
                                                .arg(slope)));
                    }
                }
    }

    void letsNoGradientThroughAClippedProbability() {
        Numbers g(1);
        detail::lossGradient(loss(LossKind::BinaryCrossentropy), Numbers{0}, Numbers{1}, 1, 1, g);
        QCOMPARE(g[0], 0.0f);
    }

    void refusesALabelThatIsNoClass() {
        for (const float bad : {3.0f, -1.0f, 0.5f, std::nanf("")})
            try {
                detail::lossSum(loss(LossKind::SparseCategoricalCrossentropy, true), {{1, 2, 3}},
                                {{bad}}, 3);
                QFAIL("accepted");
            } catch (const Failure& failure) {
                QCOMPARE(failure.error().code, Code::InvalidArgument);
            }
    }

    void countsAccuracyAsKerasDoes() {
        const auto metric = [](MetricKind kind, const Numbers& p, const Numbers& y,
                               std::int64_t width) {
            const MetricSum sum = detail::metricSum({kind, "m"}, p, y, width);
            return std::pair(sum.sum, sum.count);
        };
        using Pair = std::pair<double, double>;
        // Above one half, not at it; of every element.
        QCOMPARE(metric(MetricKind::BinaryAccuracy, {.6f, .5f, .4f, .9f}, {1, 1, 0, 0}, 2),
                 Pair(2, 4));
        // Ties go to the lowest index.
        QCOMPARE(metric(MetricKind::CategoricalAccuracy, {.4f, .4f, .2f, .1f, .2f, .7f},
                        {1, 0, 0, 0, 1, 0}, 3),
                 Pair(1, 2));
        QCOMPARE(metric(MetricKind::SparseCategoricalAccuracy, {.4f, .4f, .2f, .1f, .2f, .7f},
                        {0, 2}, 3),
                 Pair(2, 2));
        QCOMPARE(metric(MetricKind::MeanAbsoluteError, {1, 3}, {0, 0}, 2), Pair(2, 1));
        QCOMPARE(metric(MetricKind::MeanSquaredError, {1, 3}, {0, 0}, 2), Pair(5, 1));
        QCOMPARE(metric(MetricKind::MeanSquaredError, {}, {}, 2), Pair(0, 0));
    }
};

QTEST_APPLESS_MAIN(TestLoss)
#include "tst_loss.moc"
