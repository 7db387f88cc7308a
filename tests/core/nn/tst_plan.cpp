// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/philox.h"
#include "core/nn/network.h"
#include "core/nn/optimizer.h"
#include "core/nn/plan.h"
#include "core/tensor/cpu/cpu_backend.h"
#include "tests/core/nn/support.h"

#include <QtTest>

#include <cmath>
#include <numeric>

using namespace lockstep;
using namespace lockstep::nn;
using namespace lockstep::nn::test;

namespace {

struct Model {
    const char* name;
    const char* layers;
    const char* compile;
    std::int64_t labels; ///< 0: class numbers from 0 to 2
};

/// Every layer and every loss, in models that are smooth enough for finite differences.
std::vector<Model> models() {
    return {
        {"mse", R"({"class_name": "Dense", "config": {"units": 5, "activation": "tanh"}},
                   {"class_name": "Dense", "config": {"units": 2}})",
         R"({"optimizer": "sgd", "loss": "mse", "metrics": ["mae", "mse"]})", 2},
        {"mae, reduction sum",
         R"({"class_name": "Dense", "config": {"units": 5, "activation": "softplus", "use_bias": false}},
            {"class_name": "Dense", "config": {"units": 2, "activation": "elu"}})",
         R"({"optimizer": "sgd", "loss": {"class_name": "MeanAbsoluteError",
             "config": {"reduction": "sum"}}})",
         2},
        {"dropout, softmax layer, sparse",
         R"({"class_name": "Dense", "config": {"units": 16, "activation": "gelu"}},
            {"class_name": "Dropout", "config": {"rate": 0.4}},
            {"class_name": "Dense", "config": {"units": 3}}, {"class_name": "Softmax"})",
         R"({"optimizer": "sgd", "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]})",
         0},
        {"sparse, from logits",
         R"({"class_name": "Dense", "config": {"units": 4, "activation": "silu"}},
            {"class_name": "Dense", "config": {"units": 3}})",
         R"({"optimizer": "sgd", "loss": {"class_name": "SparseCategoricalCrossentropy",
             "config": {"from_logits": true}}, "metrics": ["acc"]})",
         0},
        {"reshapes, a product over an inner axis, softmax inside",
         R"({"class_name": "Reshape", "config": {"target_shape": [2, 3]}},
            {"class_name": "Dense", "config": {"units": 4, "activation": "softmax"}},
            {"class_name": "Flatten"}, {"class_name": "Activation", "config": {"activation": "selu"}},
            {"class_name": "Dense", "config": {"units": 2, "activation": "sigmoid"}})",
         R"({"optimizer": "sgd", "loss": "binary_crossentropy", "metrics": ["accuracy"]})", 2},
        {"an output of two axes",
         R"({"class_name": "Dense", "config": {"units": 6, "activation": "sigmoid"}},
            {"class_name": "Reshape", "config": {"target_shape": [3, 2]}})",
         R"({"optimizer": "sgd", "loss": "mse"})", 6},
        {"a frozen layer between, log_softmax",
         R"({"class_name": "Dense", "config": {"units": 5, "activation": "softsign"}},
            {"class_name": "Dense", "config": {"units": 4, "trainable": false, "activation": "exponential"}},
            {"class_name": "ELU", "config": {"alpha": 0.5}},
            {"class_name": "Dense", "config": {"units": 3, "activation": "log_softmax"}})",
         R"({"optimizer": "sgd", "loss": "mse"})", 3},
        {"a frozen first layer, dropout before it",
         R"({"class_name": "Dropout", "config": {"rate": 0.2}},
            {"class_name": "Dense", "config": {"units": 5, "trainable": false}},
            {"class_name": "Dense", "config": {"units": 3, "activation": "softmax"}})",
         R"({"optimizer": "sgd", "loss": "categorical_crossentropy", "metrics": ["accuracy"]})", 3},
    };
}

struct Batch {
    std::vector<float> features;
    std::vector<float> labels;
};

class Trial {
public:
    explicit Trial(const Model& model)
        : m_graph(graphOf(sequential(model.layers)))
        , m_network(m_graph, compileOf(parse(model.compile), m_graph), 17)
        , m_backend(tensor::makeCpuBackend(1))
        , m_labels(model.labels) {
        // Away from zero, so that biases matter too.
        PhiloxStream random(5, RandomUse::RandomSource, 1);
        for (float& value : m_network.values())
            value += static_cast<float>(random.nextUnit() - 0.5) * 0.4f;
    }

    Batch batch(std::int64_t rows, std::uint32_t stream = 2) const {
        PhiloxStream random(5, RandomUse::RandomSource, stream);
        Batch batch;
        for (std::int64_t i = 0; i < rows * m_graph.features(); ++i)
            batch.features.push_back(static_cast<float>(random.nextUnit() * 2 - 1));
        for (std::int64_t i = 0; i < rows; ++i) {
            const std::uint64_t chosen = random.nextBelow(std::uint64_t(m_labels ? m_labels : 3));
            if (m_labels == 0)
                batch.labels.push_back(float(chosen));
            for (std::int64_t j = 0; j < m_labels; ++j)
                batch.labels.push_back(std::uint64_t(j) == chosen ? 1.0f : 0.0f);
        }
        return batch;
    }

    std::unique_ptr<Plan> plan(const Batch& batch, Mode mode = Mode::Training) {
        const std::int64_t rows = std::int64_t(batch.features.size()) / m_graph.features();
        auto plan = std::make_unique<Plan>(m_network, *m_backend, rows, mode);
        plan->setInputs(batch.features, batch.labels);
        return plan;
    }

    Network& network() { return m_network; }
    const Graph& graph() const { return m_graph; }

private:
    Graph m_graph;
    Network m_network;
    std::unique_ptr<tensor::Backend> m_backend;
    std::int64_t m_labels;
};

Batch part(const Batch& whole, std::size_t rows, std::size_t from, std::size_t to) {
    const auto cut = [&](const std::vector<float>& values) {
        const std::size_t width = values.size() / rows;
        return std::vector<float>(values.begin() + std::ptrdiff_t(from * width),
                                  values.begin() + std::ptrdiff_t(to * width));
    };
    return {cut(whole.features), cut(whole.labels)};
}

void addModelRows() {
    QTest::addColumn<int>("index");
    int index = 0;
    for (const Model& model : models())
        QTest::newRow(model.name) << index++;
}

} // namespace

class TestPlan : public QObject {
    Q_OBJECT
private slots:
    void gradientsFitFiniteDifferences_data() { addModelRows(); }

    void gradientsFitFiniteDifferences() {
        QFETCH(int, index);
        Trial trial(models()[std::size_t(index)]);
        const auto plan = trial.plan(trial.batch(7));
        Network& network = trial.network();
        const double divisor = network.compile().divisor(7);
        plan->forward(3, 40);
        plan->backward(divisor, [](std::size_t) {});
        const std::vector<float> gradients(network.gradients().begin(), network.gradients().end());
        QCOMPARE(gradients.size(), std::size_t(trial.graph().trainableParameters()));
        double norm = 0;
        for (std::size_t i = 0; i < gradients.size(); ++i) {
            float& w = network.trainables()[i];
            const float kept = w;
            const auto lossAt = [&](float value) {
                w = value;
                plan->forward(3, 40);
                return plan->lossSum() / divisor;
            };
            constexpr float h = 2e-3f;
            const float up = kept + h, down = kept - h;
            const double slope = (lossAt(up) - lossAt(down)) / (double(up) - double(down));
            w = kept;
            norm += slope * slope;
            QVERIFY2(std::abs(gradients[i] - slope) < 2e-3 * (0.1 + std::abs(slope)),
                     qPrintable(QStringLiteral("gradient %1: %2, expected %3")
                                    .arg(i)
                                    .arg(double(gradients[i]))
                                    .arg(slope)));
        }
        QVERIFY(norm > 1e-4);
    }

    void partsOfABatchSumToTheWhole_data() { addModelRows(); }

    void partsOfABatchSumToTheWhole() {
        QFETCH(int, index);
        Trial trial(models()[std::size_t(index)]);
        Network& network = trial.network();
        constexpr std::size_t rows = 11;
        const Batch batch = trial.batch(rows);
        const double divisor = network.compile().divisor(rows);
        const auto whole = trial.plan(batch);
        whole->forward(5, 0);
        whole->backward(divisor, [](std::size_t) {});
        const std::vector<float> expected(network.gradients().begin(), network.gradients().end());

        std::vector<double> sum(expected.size(), 0.0);
        double loss = 0, count = 0;
        std::vector<MetricSum> metrics(network.compile().metrics.size());
        for (const auto& [from, to] :
             std::vector<std::pair<std::size_t, std::size_t>>{{0, 6}, {6, 6}, {6, 11}}) {
            const auto own = trial.plan(part(batch, rows, from, to));
            std::fill(network.gradients().begin(), network.gradients().end(), 9.0f);
            own->forward(5, from);
            own->backward(divisor, [](std::size_t) {});
            for (std::size_t i = 0; i < sum.size(); ++i)
                sum[i] += double(network.gradients()[i]);
            loss += own->lossSum();
            count += own->lossCount();
            for (std::size_t i = 0; i < metrics.size(); ++i) {
                metrics[i].sum += own->metricSums()[i].sum;
                metrics[i].count += own->metricSums()[i].count;
            }
        }
        double scale = 0;
        for (const float g : expected)
            scale = std::max(scale, std::abs(double(g)));
        QVERIFY(scale > 0);
        for (std::size_t i = 0; i < sum.size(); ++i)
            QVERIFY(std::abs(sum[i] - double(expected[i])) < 1e-6 * scale);
        QVERIFY(std::abs(loss - whole->lossSum()) < 1e-5 * std::abs(loss));
        QCOMPARE(count, whole->lossCount());
        for (std::size_t i = 0; i < metrics.size(); ++i) {
            QVERIFY(std::abs(metrics[i].sum - whole->metricSums()[i].sum) < 1e-4);
            QCOMPARE(metrics[i].count, whole->metricSums()[i].count);
        }
    }

    void completesAGrowingPrefix_data() { addModelRows(); }

    /// What the callback names is never written again, and holds the final numbers.
    void completesAGrowingPrefix() {
        QFETCH(int, index);
        Trial trial(models()[std::size_t(index)]);
        Network& network = trial.network();
        for (const std::int64_t rows : {7, 0}) {
            const auto plan = trial.plan(trial.batch(rows));
            plan->forward(0, 0);
            plan->backward(7, [](std::size_t) {});
            const std::vector<float> expected(network.gradients().begin(),
                                              network.gradients().end());
            std::fill(network.gradients().begin(), network.gradients().end(), 9.0f);
            std::vector<std::size_t> ends;
            std::size_t done = 0;
            bool same = true;
            plan->backward(7, [&](std::size_t end) {
                ends.push_back(end);
                for (; done < end; ++done) {
                    same = same && network.gradients()[done] == expected[done];
                    network.gradients()[done] = -3.0f; // as an all-reduce in place does
                }
            });
            QVERIFY(same);
            QVERIFY(std::is_sorted(ends.begin(), ends.end()));
            QCOMPARE(ends.back(), network.gradients().size());
            for (const float g : network.gradients())
                QCOMPARE(g, -3.0f);
            if (rows == 0)
                QVERIFY(std::all_of(expected.begin(), expected.end(),
                                    [](float g) { return g == 0.0f; }));
        }
    }

    void laysVariablesOutInTheOrderOfBackward() {
        Trial trial(models()[6]);
        const auto& variables = trial.network().variables();
        std::vector<std::string> names;
        for (const Variable& variable : variables)
            names.push_back(variable.name);
        QCOMPARE(names,
                 (std::vector<std::string>{"dense/kernel", "dense/bias", "dense_1/kernel",
                                           "dense_1/bias", "dense_2/kernel", "dense_2/bias"}));
        QCOMPARE(variables[4].offset, 0u);
        QCOMPARE(variables[5].offset, 12u);
        QCOMPARE(variables[0].offset, 15u);
        QCOMPARE(variables[1].offset, 45u);
        QVERIFY(!variables[2].trainable);
        QCOMPARE(variables[2].offset, 50u);
        QCOMPARE(variables[3].offset, 70u);
        QCOMPARE(trial.network().gradients().size(), 50u);
        QCOMPARE(trial.network().values().size(), 74u);
    }

    void dropsByRowOfTheGlobalBatchAndStep() {
        Trial trial({"dropout",
                     R"({"class_name": "Dropout", "config": {"rate": 0.25}},
                        {"class_name": "Dense", "config": {"units": 6, "use_bias": false,
                         "kernel_initializer": "identity"}})",
                     R"({"optimizer": "sgd", "loss": "mse"})", 6});
        Network& network = trial.network();
        for (std::size_t i = 0; i < 36; ++i)
            network.values()[i] = i % 7 == 0 ? 1.0f : 0.0f;
        Batch ones = trial.batch(4000);
        std::fill(ones.features.begin(), ones.features.end(), 1.0f);
        const auto plan = trial.plan(ones);
        const auto outputs = [](Plan& p, std::uint64_t step, std::uint64_t row) {
            p.forward(step, row);
            return std::vector<float>(p.output().begin(), p.output().end());
        };
        const std::vector<float> first = outputs(*plan, 8, 100);
        std::size_t dropped = 0;
        for (const float value : first) {
            QVERIFY(value == 0.0f || std::abs(value - 4.0f / 3.0f) < 1e-6f);
            dropped += value == 0.0f ? 1 : 0;
        }
        // 24,000 elements: within five standard errors of a quarter.
        QVERIFY(std::abs(double(dropped) / 24000 - 0.25) < 5 * std::sqrt(0.25 * 0.75 / 24000));
        QCOMPARE(outputs(*plan, 8, 100), first);
        QVERIFY(outputs(*plan, 9, 100) != first);
        // Another replica that begins 10 rows later sees the same rows.
        const std::vector<float> later = outputs(*plan, 8, 110);
        QVERIFY(std::equal(first.begin() + 60, first.end(), later.begin()));
        const auto evaluation = trial.plan(ones, Mode::Evaluation);
        for (const float value : outputs(*evaluation, 8, 100))
            QCOMPARE(value, 1.0f);
    }

    void evaluatesLikeTrainingWithoutDropout_data() { addModelRows(); }

    void evaluatesLikeTrainingWithoutDropout() {
        QFETCH(int, index);
        const Model model = models()[std::size_t(index)];
        if (std::string(model.layers).find("Dropout") != std::string::npos)
            return;
        Trial trial(model);
        const Batch batch = trial.batch(9);
        const auto training = trial.plan(batch);
        const auto evaluation = trial.plan(batch, Mode::Evaluation);
        training->forward();
        evaluation->forward();
        QCOMPARE(evaluation->lossSum(), training->lossSum());
        QVERIFY(std::equal(training->output().begin(), training->output().end(),
                           evaluation->output().begin(), evaluation->output().end()));
        QVERIFY(evaluation->arenaBytes() <= training->arenaBytes());
        QVERIFY_THROWS_EXCEPTION(Failure, evaluation->backward(1, [](std::size_t) {}));
    }

    void estimatesItsMemory() {
        Trial trial(models()[0]);
        const auto plan = trial.plan(trial.batch(32));
        const MemoryEstimate estimate = estimateMemory(
            trial.graph(),
            compileOf(parse(R"({"optimizer": "adam", "loss": "mse"})"), trial.graph()), 32);
        QCOMPARE(estimate.parametersBytes, 4 * (35 + 12));
        QCOMPARE(estimate.gradientsBytes, 4 * (35 + 12));
        QCOMPARE(estimate.optimizerBytes, 8 * (35 + 12));
        QVERIFY(std::size_t(estimate.activationsBytes) <= plan->arenaBytes());
        QVERIFY(std::size_t(estimate.activationsBytes) >= 32 * 4 * (6 + 2 + 5 + 5 + 2));
    }

    void sameSeedSameNetwork() {
        const Graph graph = graphOf(sequential(models()[0].layers));
        const CompileSpec compile = compileOf(parse(models()[0].compile), graph);
        Network one(graph, compile, 3), again(graph, compile, 3), other(graph, compile, 4);
        QVERIFY(std::equal(one.values().begin(), one.values().end(), again.values().begin()));
        QVERIFY(!std::equal(one.values().begin(), one.values().end(), other.values().begin()));
    }
};

QTEST_APPLESS_MAIN(TestPlan)
#include "tst_plan.moc"
