// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/graph.h"
#include "tests/core/nn/support.h"

#include <QtTest>

using namespace lockstep;
using namespace lockstep::nn;
using namespace lockstep::nn::test;

namespace {

/// Reads it and gives the problems.
Problems problemsOf(const std::string& text, std::optional<std::int64_t> features = {}) {
    const json::Value model = parse(text);
    Problems problems;
    const auto graph = readModel(json::Reader(&model, "model", "test", &problems), features);
    if (graph.has_value() == hasErrors(problems))
        throw Failure(Code::Internal, "a graph and errors, or neither");
    return problems;
}

std::string inSequential(const std::string& layers, const std::string& input = "[null, 10]") {
    return R"({"class_name": "Sequential", "config": {"layers": [
{"class_name": "InputLayer", "config": {"batch_shape": )" +
           input + "}},\n" + layers + "]}}";
}

const char* const dense = R"({"class_name": "Dense", "config": {"units": 4}})";

struct Row {
    const char* name;
    std::string layers;
    const char* path;
    const char* message;
};

const std::vector<Row>& badLayers() {
    static const std::vector<Row> rows{
        {"an unknown layer", R"({"class_name": "Conv2D", "config": {}})",
         "model.config.layers.1.class_name", "The layer \"Conv2D\" is not known here."},
        {"a misspelt layer", R"({"class_name": "Dens", "config": {}})",
         "model.config.layers.1.class_name", "The layer \"Dens\" is not known here."},
        {"an unknown option",
         R"({"class_name": "Dense", "config": {"units": 4, "activatoin": "relu"}})",
         "model.config.layers.1.config.activatoin", "The option \"activatoin\" is not known here."},
        {"a regularizer",
         R"({"class_name": "Dense", "config": {"units": 4, "kernel_regularizer": {"class_name": "L2"}}})",
         "model.config.layers.1.config.kernel_regularizer",
         "The option \"kernel_regularizer\" is not supported."},
        {"no units", R"({"class_name": "Dense", "config": {}})",
         "model.config.layers.1.config.units", "\"units\" is missing."},
        {"no config", R"({"class_name": "Dense"})", "model.config.layers.1",
         "The layer at place 1 (Dense) has no config."},
        {"zero units", R"({"class_name": "Dense", "config": {"units": 0}})",
         "model.config.layers.1.config.units", "0 is out of range."},
        {"units as text", R"({"class_name": "Dense", "config": {"units": "4"}})",
         "model.config.layers.1.config.units", "\"4\""},
        {"an unknown activation",
         R"({"class_name": "Dense", "config": {"units": 4, "activation": "rellu"}})",
         "model.config.layers.1.config.activation", "The activation \"rellu\" is not known here."},
        {"an unknown initializer",
         R"({"class_name": "Dense", "config": {"units": 4, "kernel_initializer": "xavier"}})",
         "model.config.layers.1.config.kernel_initializer",
         "The initializer \"xavier\" is not known here."},
        {"a bias of matrices",
         R"({"class_name": "Dense", "config": {"units": 4, "bias_initializer": "orthogonal"}})",
         "model.config.layers.1.config.bias_initializer", "A bias is a vector"},
        {"another data type",
         R"({"class_name": "Dense", "config": {"units": 4, "dtype": {"class_name": "DTypePolicy",
             "config": {"name": "mixed_bfloat16"}}}})",
         "model.config.layers.1.config.dtype.config.name",
         "The data type \"mixed_bfloat16\" is not supported."},
        {"a rate above one", R"({"class_name": "Dropout", "config": {"rate": 1.5}})",
         "model.config.layers.1.config.rate", "1.5 is out of range."},
        {"a shape that does not fit",
         R"({"class_name": "Reshape", "config": {"name": "fold", "target_shape": [3, -1]}})",
         "model.config.layers.1.config.target_shape",
         "The layer \"fold\" (Reshape) cannot make (3, -1) of its input (None, 10)."},
        {"two open dimensions",
         R"({"class_name": "Reshape", "config": {"target_shape": [-1, -1]}})",
         "model.config.layers.1.config.target_shape", "The layer \"reshape\" (Reshape)"},
        {"a shape of zero", R"({"class_name": "Reshape", "config": {"target_shape": [0, -1]}})",
         "model.config.layers.1.config.target_shape.0", "A dimension cannot be 0."},
        {"a shape beyond any number",
         R"({"class_name": "Reshape", "config": {"target_shape": [1000000000000, 1000000000000]}})",
         "model.config.layers.1.config.target_shape",
         "The layer \"reshape\" (Reshape) cannot make"},
        {"far too many units", R"({"class_name": "Dense", "config": {"units": 2000000000000}})",
         "model.config.layers.1.config.units", "out of range"},
        {"too many parameters", R"({"class_name": "Dense", "config": {"units": 2000000000}},
           {"class_name": "Dense", "config": {"units": 2000}})",
         "model.config.layers.2.config.units", "is too large."},
        {"a softmax over another axis", R"({"class_name": "Softmax", "config": {"axis": 0}})",
         "model.config.layers.1.config.axis", "A softmax over axis 0"},
        {"a second input", R"({"class_name": "InputLayer", "config": {"batch_shape": [null, 4]}})",
         "model.config.layers.1", "An InputLayer stands at place 1."},
        {"a class of the user's own",
         R"({"class_name": "Dense", "registered_name": "my>Dense", "config": {"units": 4}})",
         "model.config.layers.1.registered_name", "my>Dense is a class of your own."},
        {"a name with a slash", R"({"class_name": "Dense", "config": {"units": 4, "name": "a/b"}})",
         "model.config.layers.1.config.name", "A layer cannot be named \"a/b\"."},
        {"a layer that is a number", "3", "model.config.layers.1", "3"},
    };
    return rows;
}

} // namespace

class TestModelReader : public QObject {
    Q_OBJECT

    static Graph graphOfFile(const char* name) {
        return graphOf(valueOrThrow(
            json::parseFile(std::string(LOCKSTEP_SOURCE_DIR "/tests/core/nn/models/") + name,
                            json::Dialect::Keras)));
    }

private slots:
    void readsWhatKerasWrote_data() {
        QTest::addColumn<QString>("file");
        QTest::newRow("Keras 3") << "keras3.json";
        QTest::newRow("Keras 2") << "keras2.json";
    }

    void readsWhatKerasWrote() {
        QFETCH(QString, file);
        const Graph graph = graphOfFile(file.toUtf8().constData());
        QCOMPARE(graph.inputShape(), Shape({10}));
        QCOMPARE(graph.outputShape(), Shape({4}));
        std::vector<Layer> layers = graph.layers();
        QCOMPARE(layers.front().className, std::string("InputLayer"));
        layers.erase(layers.begin());
        const std::vector<std::pair<std::string, Shape>> expected{
            {"dense", {16}},     {"dropout", {16}},     {"middle", {12}}, {"activation", {12}},
            {"re_lu", {12}},     {"leaky_re_lu", {12}}, {"elu", {12}},    {"reshape", {3, 4}},
            {"dense_1", {3, 2}}, {"flatten", {6}},      {"dense_2", {4}}, {"softmax", {4}}};
        QCOMPARE(layers.size(), expected.size());
        for (std::size_t i = 0; i < layers.size(); ++i) {
            QCOMPARE(layers[i].name, expected[i].first);
            QCOMPARE(layers[i].output, expected[i].second);
        }
        QCOMPARE(graph.parameters(), 176 + 192 + 10 + 28);
        QCOMPARE(graph.trainableParameters(), 176 + 192 + 28);
        const auto& relu = std::get<ActivationConfig>(layers[4].config).activation;
        QVERIFY(relu.maxValue == 6.0f && relu.slope == 0.25f);
        QCOMPARE(std::get<ActivationConfig>(layers[5].config).activation.slope, 0.1f);
        QCOMPARE(std::get<ActivationConfig>(layers[6].config).activation.alpha, 0.5f);
        const auto& last = std::get<DenseConfig>(layers[10].config);
        QVERIFY(last.kernel.scale == 2.0 && last.kernel.mode == FanMode::Out);
        QVERIFY(last.kernel.distribution == InitializerKind::Uniform);
        QCOMPARE(last.bias.value, 0.25);
        QCOMPARE(std::get<DenseConfig>(layers[0].config).kernel.scale, 2.0);
        QVERIFY(!std::get<DenseConfig>(layers[2].config).useBias);
        QVERIFY(graph.lastActivation().kind == tensor::ActivationKind::Softmax);
    }

    void namesLayersAsKerasDoes() {
        const Graph graph = graphOf(parse(inSequential(
            std::string(dense) + "," + dense +
            R"(, {"class_name": "ReLU"}, {"class_name": "Dense", "config": {"units": 1, "name": "dense_2"}},)" +
            dense + "," + dense)));
        std::vector<std::string> names;
        for (const Layer& layer : graph.layers())
            names.push_back(layer.name);
        QCOMPARE(names, (std::vector<std::string>{"input_layer", "dense", "dense_1", "re_lu",
                                                  "dense_2", "dense_3", "dense_4"}));
    }

    void takesTheInputFromWhereKerasWritesIt() {
        const std::string units = R"("units": 4)";
        for (const std::string& text :
             {std::string(R"({"class_name": "Sequential", "config": {"layers": [
                  {"class_name": "Dense", "config": {"units": 4, "batch_input_shape": [null, 7]}}]}})"),
              std::string(R"({"class_name": "Sequential", "config": {"layers": [
                  {"class_name": "Dense", "config": {"units": 4, "input_shape": [7]}}]}})"),
              std::string(
                  R"({"class_name": "Sequential", "build_config": {"input_shape": [null, 7]},
                  "config": {"layers": [{"class_name": "Dense", "config": {"units": 4}}]}})"),
              std::string(R"({"class_name": "Sequential", "config": {"build_input_shape": [8, 7],
                  "layers": [{"class_name": "Dense", "config": {"units": 4}}]}})"),
              std::string(R"({"class_name": "Sequential", "config": [
                  {"class_name": "Dense", "config": {"units": 4, "input_shape": [7]}}]})")})
            QCOMPARE(graphOf(parse(text)).inputShape(), Shape({7}));
        const json::Value open = parse(
            R"({"class_name": "Sequential", "config": {"layers": [
                {"class_name": "Dense", "config": {"units": 4}}]}})");
        QCOMPARE(graphOf(open, 5).inputShape(), Shape({5}));
        QVERIFY_THROWS_EXCEPTION(Failure, graphOf(open));
    }

    void acceptsFeaturesThatFillTheInput() {
        const std::string text = inSequential(
            R"({"class_name": "Flatten", "config": {}}, )" + std::string(dense), "[null, 8, 8]");
        QVERIFY(problemsOf(text, 64).empty());
        const Problems problems = problemsOf(text, 63);
        QCOMPARE(problems.size(), 1u);
        QCOMPARE(
            problems[0].message,
            std::string("The model takes (None, 8, 8), so 64 features per row; the data has 63."));
        QCOMPARE(problems[0].path, std::string("model.config.layers.0"));
    }

    void refusesBadLayersByPath_data() {
        QTest::addColumn<int>("index");
        int index = 0;
        for (const Row& row : badLayers())
            QTest::newRow(row.name) << index++;
    }

    void refusesBadLayersByPath() {
        QFETCH(int, index);
        const Row& row = badLayers()[std::size_t(index)];
        const Problems problems = problemsOf(inSequential(row.layers + ",\n" + dense));
        QVERIFY2(problems.size() == 1, describeAll(problems).c_str());
        QCOMPARE(problems[0].path, std::string(row.path));
        QVERIFY2(problems[0].message.find(row.message) != std::string::npos,
                 problems[0].message.c_str());
        const bool second = row.layers.find('\n') != std::string::npos;
        QCOMPARE(problems[0].line, second ? 4 : 3);
        QVERIFY(!problems[0].expected.empty());
    }

    void refusesBadModels_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("message");
        QTest::newRow("a functional model") << R"({"class_name": "Functional", "config": {}})"
                                            << "model.class_name"
                                            << "A model of class \"Functional\" is not supported.";
        QTest::newRow("no class") << "{}"
                                  << "model.class_name"
                                  << "\"class_name\" is missing.";
        QTest::newRow("null") << "null"
                              << "model"
                              << "The model is missing.";
        QTest::newRow("no layers") << R"({"class_name": "Sequential", "config": {"layers": []}})"
                                   << "model.config.layers"
                                   << "The model has no layers.";
        QTest::newRow("layers that are none")
            << R"({"class_name": "Sequential", "config": {"layers": 3}})"
            << "model.config.layers"
            << "3";
        QTest::newRow("nothing to train")
            << R"({"class_name": "Sequential", "config": {"layers": [{"class_name": "Flatten",
                   "config": {"batch_input_shape": [null, 3]}}]}})"
            << "model.config.layers"
            << "The model has nothing to train.";
        QTest::newRow("an open dimension")
            << QString::fromStdString(inSequential(dense, "[null, null]"))
            << "model.config.layers.0.config.batch_shape.1"
            << "The input's dimension 1 is open.";
        QTest::newRow("no features") << QString::fromStdString(inSequential(dense, "[null]"))
                                     << "model.config.layers.1.config"
                                     << "The layer \"dense\" (Dense) gets (None,)";
        QTest::newRow("an input beyond any number")
            << QString::fromStdString(inSequential(dense, "[null, 1000000000000, 1000000000000]"))
            << "model.config.layers.0.config.batch_shape"
            << "is too large.";
        QTest::newRow("the same name twice")
            << QString::fromStdString(inSequential(
                   R"({"class_name": "Dense", "config": {"units": 1, "name": "a"}},
                      {"class_name": "Dense", "config": {"units": 1, "name": "a"}})"))
            << "model.config.layers.2.config.name"
            << "Two layers are named \"a\".";
    }

    void refusesBadModels() {
        QFETCH(QString, text);
        QFETCH(QString, path);
        QFETCH(QString, message);
        const Problems problems = problemsOf(text.toStdString());
        QVERIFY2(problems.size() == 1, describeAll(problems).c_str());
        QCOMPARE(QString::fromStdString(problems[0].path), path);
        QVERIFY2(QString::fromStdString(problems[0].message).contains(message),
                 problems[0].message.c_str());
    }

    void reportsEveryProblemAtOnce() {
        const Problems problems = problemsOf(inSequential(
            R"({"class_name": "Conv2D", "config": {}}, {"class_name": "LSTM", "config": {}})"));
        QCOMPARE(problems.size(), 2u);
    }
};

QTEST_APPLESS_MAIN(TestModelReader)
#include "tst_model_reader.moc"
