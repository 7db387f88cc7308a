// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/network.h"
#include "core/nn/optimizer.h"
#include "core/nn/plan.h"
#include "core/tensor/cpu/cpu_backend.h"
#include "tests/core/nn/support.h"

#include <QtTest>

#include <cmath>

using namespace lockstep;
using namespace lockstep::nn;
using namespace lockstep::nn::test;

/// Replays what golden/make_golden.py trained in Keras.
class TestKerasParity : public QObject {
    Q_OBJECT

    json::Value m_golden;

    /// Relative, and absolute near zero.
    static double distance(double got, double expected) {
        return std::abs(got - expected) / std::max(std::abs(expected), 1e-2);
    }

private slots:
    void initTestCase() {
        m_golden = valueOrThrow(
            json::parseFile(LOCKSTEP_SOURCE_DIR "/tests/core/nn/golden/keras_steps.json"));
    }

    void trainsAsKerasDoes_data() {
        QTest::addColumn<int>("index");
        int index = 0;
        for (const json::Value& item : m_golden.find("cases")->items())
            QTest::newRow(item.find("name")->toString().c_str()) << index++;
    }

    void trainsAsKerasDoes() {
        QFETCH(int, index);
        const json::Value& golden = m_golden.find("cases")->items()[std::size_t(index)];
        const Graph graph = graphOf(*golden.find("model"));
        Network network(graph, compileOf(*golden.find("compile"), graph), 1);
        for (const json::Member& weights : golden.find("weights")->members()) {
            const Variable* const variable = network.find(weights.key);
            QVERIFY2(variable, weights.key.c_str());
            const std::vector<float> numbers = numbersOf(weights.value);
            QCOMPARE(numbers.size(), variable->size);
            std::copy(numbers.begin(), numbers.end(), network.valuesOf(*variable).begin());
        }
        const auto backend = tensor::makeCpuBackend(1);
        std::vector<std::unique_ptr<Plan>> plans;
        for (const json::Value& batch : golden.find("batches")->items()) {
            const std::vector<float> x = numbersOf(*batch.find("x"));
            plans.push_back(std::make_unique<Plan>(
                network, *backend, std::int64_t(x.size()) / graph.features(), Mode::Training));
            plans.back()->setInputs(x, numbersOf(*batch.find("y")));
        }
        Optimizer optimizer(network.compile().optimizer, network.gradients().size());
        const json::Array& steps = golden.find("steps")->items();
        double worst = 0;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            Plan& plan = *plans[i % plans.size()];
            plan.forward(i, 0);
            const double divisor = network.compile().divisor(plan.rows());
            const double loss = plan.lossSum() / divisor;
            const double off = distance(loss, steps[i].find("loss")->toNumber());
            worst = std::max(worst, off);
            QVERIFY2(off <= 1e-5,
                     qPrintable(QStringLiteral("step %1: loss %2, Keras %3")
                                    .arg(i)
                                    .arg(loss, 0, 'g', 9)
                                    .arg(steps[i].find("loss")->toNumber(), 0, 'g', 9)));
            for (std::size_t j = 0; j < network.compile().metrics.size(); ++j) {
                const std::string& name = network.compile().metrics[j].name;
                const json::Value* const expected = steps[i].find(name);
                QVERIFY2(expected, name.c_str());
                const MetricSum sum = plan.metricSums()[j];
                QVERIFY2(distance(sum.sum / sum.count, expected->toNumber()) <= 1e-5, name.c_str());
            }
            plan.backward(divisor, [](std::size_t) {});
            optimizer.apply(stepScalars(optimizer.spec(), optimizer.spec().learningRate, i),
                            network.trainables(), network.gradients(), 0,
                            network.gradients().size());
        }
        for (const json::Member& weights : golden.find("last")->members()) {
            const std::vector<float> numbers = numbersOf(weights.value);
            const auto values = network.valuesOf(*network.find(weights.key));
            for (std::size_t i = 0; i < numbers.size(); ++i)
                QVERIFY2(std::abs(values[i] - numbers[i]) < 2e-5 * (1 + std::abs(numbers[i])),
                         weights.key.c_str());
        }
        qInfo("%.1f %% of the tolerance used", worst / 1e-5 * 100);
    }
};

QTEST_APPLESS_MAIN(TestKerasParity)
#include "tst_keras_parity.moc"
