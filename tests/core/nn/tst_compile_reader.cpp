// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/compile.h"
#include "tests/core/nn/support.h"

#include <QtTest>

#include <limits>

using namespace lockstep;
using namespace lockstep::nn;
using namespace lockstep::nn::test;

namespace {

Graph modelOf(int outputs, const char* activation) {
    return graphOf(sequential(R"({"class_name": "Dense", "config": {"units": )" +
                              std::to_string(outputs) + R"(, "activation": ")" + activation +
                              R"("}})"));
}

struct Read {
    std::optional<CompileSpec> spec;
    Problems problems;
};

Read read(const std::string& text, const Graph& graph, std::optional<std::int64_t> labels = {}) {
    const json::Value compile = parse(text);
    Read result;
    result.spec =
        readCompile(json::Reader(&compile, "compile", "test", &result.problems), graph, labels);
    if (result.spec.has_value() == hasErrors(result.problems))
        throw Failure(Code::Internal, "a spec and errors, or neither");
    return result;
}

std::string withLoss(const std::string& loss, const std::string& metrics = "[]") {
    return R"({"optimizer": "sgd", "loss": )" + loss + R"(, "metrics": )" + metrics + "}";
}

} // namespace

class TestCompileReader : public QObject {
    Q_OBJECT
private slots:
    void readsOptimizersInEveryForm() {
        const Graph graph = modelOf(1, "linear");
        const auto optimizer = [&](const std::string& text) {
            const Read result = read(R"({"loss": "mse", "optimizer": )" + text + "}", graph);
            if (!result.spec)
                throw Failure(Code::Internal, describeAll(result.problems));
            return result.spec->optimizer;
        };
        QVERIFY(optimizer("\"SGD\"").kind == OptimizerKind::Sgd);
        QCOMPARE(optimizer("\"sgd\"").learningRate, 0.01);
        QCOMPARE(optimizer("\"adam\"").learningRate, 0.001);
        QCOMPARE(optimizer("\"AdamW\"").weightDecay, 0.004);
        // As Keras 3 writes it, and as Keras 2 does.
        const OptimizerSpec adam = optimizer(
            R"({"module": "keras.optimizers", "class_name": "Adam", "registered_name": null,
                "config": {"name": "adam", "learning_rate": 0.01, "weight_decay": null,
                "clipnorm": null, "global_clipnorm": null, "clipvalue": null, "use_ema": false,
                "ema_momentum": 0.99, "ema_overwrite_frequency": null, "loss_scale_factor": null,
                "gradient_accumulation_steps": null, "beta_1": 0.8, "beta_2": 0.99,
                "epsilon": 1e-6, "amsgrad": true}})");
        QVERIFY(adam.kind == OptimizerKind::Adam && adam.amsgrad);
        QCOMPARE(adam.learningRate, 0.01);
        QCOMPARE(adam.beta1, 0.8);
        QCOMPARE(adam.beta2, 0.99);
        QCOMPARE(adam.epsilon, 1e-6);
        const OptimizerSpec sgd = optimizer(
            R"({"class_name": "SGD", "config": {"name": "SGD", "weight_decay": null,
                "jit_compile": false, "is_legacy_optimizer": false, "learning_rate": 0.5,
                "momentum": 0.9, "nesterov": true}})");
        QVERIFY(sgd.nesterov && sgd.momentum == 0.9 && sgd.learningRate == 0.5);
    }

    void readsLossesInEveryForm() {
        const Graph one = modelOf(1, "linear");
        const Graph three = modelOf(3, "linear");
        const auto kind = [](const std::string& text, const Graph& graph) {
            const Read result = read(withLoss(text), graph);
            if (!result.spec)
                throw Failure(Code::Internal, describeAll(result.problems));
            return result.spec->loss.kind;
        };
        for (const char* name : {"\"mse\"", "\"MSE\"", "\"mean_squared_error\"",
                                 "\"MeanSquaredError\"", R"({"class_name": "MeanSquaredError"})",
                                 R"({"class_name": "function", "config": "mean_squared_error"})"})
            QVERIFY2(kind(name, one) == LossKind::MeanSquaredError, name);
        for (const char* name : {"\"mae\"", "\"MAE\"", "\"mean_absolute_error\""})
            QVERIFY2(kind(name, one) == LossKind::MeanAbsoluteError, name);
        for (const char* name : {"\"bce\"", "\"binary_crossentropy\"", "\"BinaryCrossentropy\""})
            QVERIFY2(kind(name, one) == LossKind::BinaryCrossentropy, name);
        QVERIFY(kind("\"categorical_crossentropy\"", three) == LossKind::CategoricalCrossentropy);
        QVERIFY(kind("\"SparseCategoricalCrossentropy\"", three) ==
                LossKind::SparseCategoricalCrossentropy);
        const Read full =
            read(withLoss(R"({"module": "keras.losses", "class_name": "CategoricalCrossentropy",
                "config": {"name": "c", "reduction": "sum", "from_logits": true,
                "label_smoothing": 0.1, "axis": -1}, "registered_name": null})"),
                 three);
        QVERIFY(full.spec && full.problems.empty());
        QVERIFY(full.spec->loss.fromLogits && full.spec->loss.labelSmoothing == 0.1);
        QVERIFY(full.spec->loss.reduction == Reduction::Sum);
        QCOMPARE(full.spec->divisor(17), 1.0);
    }

    void dividesByTheElementsOfTheGlobalBatch() {
        const Graph graph = graphOf(sequential(
            R"({"class_name": "Dense", "config": {"units": 12}},
               {"class_name": "Reshape", "config": {"target_shape": [3, 4]}})"));
        const CompileSpec spec = *read(withLoss("\"mse\""), graph).spec;
        QCOMPARE(spec.lossElementsPerRow, 3);
        QCOMPARE(spec.divisor(5), 15.0);
        QCOMPARE(spec.divisor(0), 1.0);
        QCOMPARE(spec.labels.columns, 12);
        QCOMPARE(read(withLoss("\"sparse_categorical_crossentropy\""), graph).spec->labels.columns,
                 3);
    }

    void computesCrossentropiesBeforeTheLastActivation() {
        const auto spec = [](int outputs, const char* activation, const char* loss) {
            return read(withLoss(loss), modelOf(outputs, activation));
        };
        QVERIFY(spec(3, "softmax", "\"categorical_crossentropy\"").spec->loss.beforeActivation);
        QVERIFY(spec(1, "sigmoid", "\"bce\"").spec->loss.beforeActivation);
        QVERIFY(!spec(3, "linear", "\"categorical_crossentropy\"").spec->loss.beforeActivation);
        QVERIFY(!spec(3, "softmax", "\"mse\"").spec->loss.beforeActivation);
        QVERIFY(spec(3, "softmax", "\"categorical_crossentropy\"").problems.empty());
        const Read mixed = spec(2, "softmax", "\"binary_crossentropy\"");
        QVERIFY(mixed.spec->loss.beforeActivation);
        QCOMPARE(mixed.problems.size(), 1u);
        QVERIFY(mixed.problems[0].severity == Severity::Warning);
        const Read twice = spec(3, "softmax", R"({"class_name": "CategoricalCrossentropy",
                                                  "config": {"from_logits": true}})");
        QCOMPARE(twice.problems.size(), 1u);
        QCOMPARE(twice.problems[0].path, std::string("compile.loss"));
    }

    void findsTheFormOfAccuracy() {
        const auto metric = [](int outputs, const char* loss, const char* name) {
            const Read result =
                read(withLoss(loss, std::string("[\"") + name + "\"]"), modelOf(outputs, "linear"));
            if (!result.spec)
                throw Failure(Code::Internal, describeAll(result.problems));
            return result.spec->metrics.at(0);
        };
        QVERIFY(metric(1, "\"mse\"", "accuracy").kind == MetricKind::BinaryAccuracy);
        QVERIFY(metric(3, "\"mse\"", "accuracy").kind == MetricKind::CategoricalAccuracy);
        QVERIFY(metric(3, "\"categorical_crossentropy\"", "acc").kind ==
                MetricKind::CategoricalAccuracy);
        QVERIFY(metric(3, "\"sparse_categorical_crossentropy\"", "acc").kind ==
                MetricKind::SparseCategoricalAccuracy);
        // The name in the history is what the user wrote.
        for (const char* name : {"accuracy", "acc", "Accuracy", "mae", "MAE", "mean_absolute_error",
                                 "MeanAbsoluteError", "mse", "binary_accuracy", "BinaryAccuracy"})
            QCOMPARE(metric(1, "\"mse\"", name).name, std::string(name));
    }

    void namesMetricObjectsAsKerasDoes() {
        const Read result =
            read(withLoss("\"mse\"", R"([{"class_name": "MeanAbsoluteError", "config": {}},
                {"class_name": "MeanSquaredError", "config": {"name": "error", "dtype": "float32"}},
                {"class_name": "BinaryAccuracy", "config": {"threshold": 0.25}}])"),
                 modelOf(1, "linear"));
        QVERIFY2(result.spec, describeAll(result.problems).c_str());
        QCOMPARE(result.spec->metrics[0].name, std::string("mean_absolute_error"));
        QCOMPARE(result.spec->metrics[1].name, std::string("error"));
        QCOMPARE(result.spec->metrics[2].name, std::string("binary_accuracy"));
        QCOMPARE(result.spec->metrics[2].threshold, 0.25f);
    }

    void countsAMetricThatIsListedTwiceOnce() {
        const Read result = read(withLoss("\"mse\"", R"(["mae", "mae"])"), modelOf(1, "linear"));
        QCOMPARE(result.spec->metrics.size(), 1u);
        QCOMPARE(result.problems.size(), 1u);
    }

    void refusesByPath_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("outputs");
        QTest::addColumn<int>("labels");
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("message");
        QTest::newRow("an unknown optimizer")
            << R"({"optimizer": "rmsprop", "loss": "mse"})" << 1 << 1 << "compile.optimizer"
            << "The optimizer \"rmsprop\" is not known here.";
        QTest::newRow("no optimizer") << R"({"loss": "mse"})" << 1 << 1 << "compile.optimizer"
                                      << "\"optimizer\" is missing.";
        QTest::newRow("no loss") << R"({"optimizer": "sgd"})" << 1 << 1 << "compile.loss"
                                 << "\"loss\" is missing.";
        QTest::newRow("an unknown loss")
            << R"({"optimizer": "sgd", "loss": "hubert"})" << 1 << 1 << "compile.loss"
            << "The loss \"hubert\" is not known";
        QTest::newRow("a schedule")
            << R"({"loss": "mse", "optimizer": {"class_name": "SGD", "config":
                  {"learning_rate": {"class_name": "ExponentialDecay", "config": {}}}}})"
            << 1 << 1 << "compile.optimizer.config.learning_rate"
            << "A learning rate schedule is not supported.";
        QTest::newRow("clipnorm")
            << R"({"loss": "mse", "optimizer": {"class_name": "SGD", "config": {"clipnorm": 1.0}}})"
            << 1 << 1 << "compile.optimizer.config.clipnorm"
            << "\"clipnorm\" is not supported.";
        QTest::newRow("a misspelt option")
            << R"({"loss": "mse", "optimizer": {"class_name": "SGD", "config": {"momentun": 0.9}}})"
            << 1 << 1 << "compile.optimizer.config.momentun"
            << "\"momentun\" is not known here.";
        QTest::newRow("another option of compile")
            << R"({"loss": "mse", "optimizer": "sgd", "loss_weights": [2]})" << 1 << 1
            << "compile.loss_weights"
            << "\"loss_weights\" is not supported.";
        QTest::newRow("labels that do not fit")
            << R"({"loss": "mse", "optimizer": "sgd"})" << 3 << 1 << "compile.loss"
            << "The model's output (None, 3) of layer \"dense\" does not fit the data's 1 label "
               "column";
        QTest::newRow("class numbers for a categorical loss")
            << R"({"loss": "categorical_crossentropy", "optimizer": "sgd"})" << 3 << 1
            << "compile.loss"
            << "does not fit";
        QTest::newRow("one output for classes")
            << R"({"loss": "sparse_categorical_crossentropy", "optimizer": "sgd"})" << 1 << 1
            << "compile.loss"
            << "A categorical loss needs an output per class";
        QTest::newRow("a reduction")
            << R"({"loss": {"class_name": "MeanSquaredError", "config": {"reduction": "none"}},
                   "optimizer": "sgd"})"
            << 1 << 1 << "compile.loss.config.reduction"
            << "\"none\" is not known here.";
        QTest::newRow("ignore_class")
            << R"({"loss": {"class_name": "SparseCategoricalCrossentropy", "config":
                   {"ignore_class": 0}}, "optimizer": "sgd"})"
            << 3 << 1 << "compile.loss.config.ignore_class"
            << "is not supported.";
        QTest::newRow("an unknown metric")
            << R"({"loss": "mse", "optimizer": "sgd", "metrics": ["mae", "auc"]})" << 1 << 1
            << "compile.metrics.1"
            << "The metric \"auc\" is not known here.";
        QTest::newRow("a metric that does not fit")
            << R"({"loss": "sparse_categorical_crossentropy", "optimizer": "sgd", "metrics": ["mae"]})"
            << 3 << 1 << "compile.metrics.0"
            << "The metric \"mae\" does not fit the labels";
        QTest::newRow("metrics that are no list")
            << R"({"loss": "mse", "optimizer": "sgd", "metrics": "mae"})" << 1 << 1
            << "compile.metrics"
            << "\"mae\"";
        QTest::newRow("null") << "null" << 1 << 1 << "compile"
                              << "is missing.";
    }

    void refusesByPath() {
        QFETCH(QString, text);
        QFETCH(int, outputs);
        QFETCH(int, labels);
        QFETCH(QString, path);
        QFETCH(QString, message);
        const Read result = read(text.toStdString(), modelOf(outputs, "linear"), labels);
        QVERIFY2(result.problems.size() == 1, describeAll(result.problems).c_str());
        QCOMPARE(QString::fromStdString(result.problems[0].path), path);
        QVERIFY2(QString::fromStdString(result.problems[0].message).contains(message),
                 result.problems[0].message.c_str());
    }

    void hintsAtTheOtherCategoricalLoss() {
        const Graph graph = modelOf(3, "softmax");
        QVERIFY(read(withLoss("\"categorical_crossentropy\""), graph, 1)
                    .problems[0]
                    .hint.find("sparse_categorical_crossentropy") != std::string::npos);
        QVERIFY(read(withLoss("\"sparse_categorical_crossentropy\""), graph, 3)
                    .problems[0]
                    .hint.find(" categorical_crossentropy") != std::string::npos);
    }

    void judgesLabels() {
        const LabelRule classes{1, 10};
        QVERIFY(classes.fault(0).empty() && classes.fault(9).empty());
        for (const double bad : {-1.0, 10.0, 2.5, std::numeric_limits<double>::quiet_NaN()})
            QVERIFY(!classes.fault(bad).empty());
        QCOMPARE(
            classes.fault(10),
            std::string("The label 10 is not a class: the model has 10 outputs, so classes are "
                        "whole numbers from 0 to 9."));
        const LabelRule any{1, 0};
        QVERIFY(any.fault(-2.5).empty());
        QVERIFY(!any.fault(std::numeric_limits<double>::infinity()).empty());
    }
};

QTEST_APPLESS_MAIN(TestCompileReader)
#include "tst_compile_reader.moc"
