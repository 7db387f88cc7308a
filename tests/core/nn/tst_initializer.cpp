// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/initializer.h"
#include "tests/core/nn/support.h"

#include <QtTest>

#include <cmath>
#include <numeric>

using namespace lockstep;
using namespace lockstep::nn;
using namespace lockstep::nn::test;

namespace {

Initializer initializerOf(const std::string& text) {
    const json::Value value = parse(text);
    Problems problems;
    const auto initializer =
        readInitializer(json::Reader(&value, "", "test", &problems), Initializer::zeros());
    if (!initializer)
        throw Failure(Code::InvalidArgument, describeAll(problems));
    return *initializer;
}

std::vector<float> fill(const std::string& text, Shape shape, std::uint64_t seed = 1,
                        std::uint32_t variable = 0) {
    std::vector<float> values(std::size_t(shape.elements()));
    initialize(initializerOf(text), shape, seed, variable, values);
    return values;
}

struct Moments {
    double mean = 0, deviation = 0, largest = 0, kurtosis = 0;
};

Moments momentsOf(const std::vector<float>& values) {
    Moments m;
    const double n = double(values.size());
    for (const float v : values) {
        m.mean += v / n;
        m.largest = std::max(m.largest, std::abs(double(v)));
    }
    double second = 0, fourth = 0;
    for (const float v : values) {
        const double square = (v - m.mean) * (v - m.mean);
        second += square / n;
        fourth += square * square / n;
    }
    m.deviation = std::sqrt(second);
    m.kurtosis = fourth / (second * second);
    return m;
}

// Of the uniform, normal and (cut at two) truncated normal distribution.
constexpr double uniformKurtosis = 1.8;
constexpr double normalKurtosis = 3.0;
constexpr double truncatedKurtosis = 2.367;

} // namespace

class TestInitializer : public QObject {
    Q_OBJECT
private slots:
    void hasKerasDistributions_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<double>("mean");
        QTest::addColumn<double>("deviation");
        QTest::addColumn<double>("bound");
        QTest::addColumn<double>("kurtosis");
        const double none = 1e9;
        const double in = 300, out = 500, cut = 2 / 0.87962566103423978;
        const auto uniform = [&](const char* name, double limit) {
            QTest::newRow(name) << QString("\"%1\"").arg(name) << 0.0 << limit / std::sqrt(3)
                                << limit << uniformKurtosis;
        };
        const auto truncated = [&](const char* name, double deviation) {
            QTest::newRow(name) << QString("\"%1\"").arg(name) << 0.0 << deviation
                                << cut * deviation << truncatedKurtosis;
        };
        uniform("glorot_uniform", std::sqrt(6 / (in + out)));
        uniform("GlorotUniform", std::sqrt(6 / (in + out)));
        uniform("he_uniform", std::sqrt(6 / in));
        uniform("lecun_uniform", std::sqrt(3 / in));
        uniform("random_uniform", 0.05);
        uniform("uniform", 0.05);
        truncated("glorot_normal", std::sqrt(2 / (in + out)));
        truncated("he_normal", std::sqrt(2 / in));
        truncated("HeNormal", std::sqrt(2 / in));
        truncated("lecun_normal", std::sqrt(1 / in));
        QTest::newRow("random_normal")
            << "\"RandomNormal\"" << 0.0 << 0.05 << none << normalKurtosis;
        QTest::newRow("truncated_normal") << "\"TruncatedNormal\"" << 0.0
                                          << 0.05 * 0.87962566103423978 << 0.1 << truncatedKurtosis;
        QTest::newRow("variance_scaling, fan_out, untruncated")
            << R"({"class_name": "VarianceScaling", "config": {"scale": 3.0, "mode": "fan_out",
                   "distribution": "untruncated_normal", "seed": null}})"
            << 0.0 << std::sqrt(3 / out) << none << normalKurtosis;
        QTest::newRow("random_uniform with bounds")
            << R"({"class_name": "RandomUniform", "config": {"minval": 1.0, "maxval": 3.0}})" << 2.0
            << 1 / std::sqrt(3) << 3.0 << uniformKurtosis;
        QTest::newRow("random_normal with mean")
            << R"({"class_name": "RandomNormal", "config": {"mean": 1.0, "stddev": 2.0, "seed": 7}})"
            << 1.0 << 2.0 << none << normalKurtosis;
    }

    void hasKerasDistributions() {
        QFETCH(QString, text);
        QFETCH(double, mean);
        QFETCH(double, deviation);
        QFETCH(double, bound);
        QFETCH(double, kurtosis);
        const std::vector<float> values = fill(text.toStdString(), {300, 500});
        const Moments m = momentsOf(values);
        // 150,000 numbers: five standard errors of mean and deviation.
        QVERIFY(std::abs(m.mean - mean) < 5 * deviation / std::sqrt(150000));
        QVERIFY(std::abs(m.deviation / deviation - 1) < 0.01);
        QVERIFY2(std::abs(m.kurtosis - kurtosis) < 0.06, std::to_string(m.kurtosis).c_str());
        QVERIFY(m.largest <= bound * (1 + 1e-6));
        if (bound < 1e8)
            QVERIFY(m.largest > bound * 0.999);
    }

    void fillsLiterals() {
        for (const auto& [text, value] : std::vector<std::pair<std::string, float>>{
                 {"\"zeros\"", 0.0f},
                 {"\"Zeros\"", 0.0f},
                 {"\"zero\"", 0.0f},
                 {"\"ones\"", 1.0f},
                 {R"({"class_name": "Constant", "config": {"value": 2.5}})", 2.5f}})
            QCOMPARE(fill(text, {3}), std::vector<float>(3, value));
        QCOMPARE(fill(R"({"class_name": "Identity", "config": {"gain": 2.0}})", {2, 3}),
                 (std::vector<float>{2, 0, 0, 0, 2, 0}));
        QCOMPARE(fill("\"identity\"", {3, 2}), (std::vector<float>{1, 0, 0, 1, 0, 0}));
    }

    void makesOrthogonalMatrices() {
        for (const auto& [rows, columns] :
             {std::pair{40, 40}, std::pair{60, 20}, std::pair{20, 60}}) {
            const auto q =
                fill(R"({"class_name": "OrthogonalInitializer", "config": {"gain": 2.0}})",
                     Shape{rows, columns});
            const bool tall = rows >= columns;
            const int count = tall ? columns : rows, length = tall ? rows : columns;
            for (int a = 0; a < count; ++a)
                for (int b = 0; b <= a; ++b) {
                    double dot = 0;
                    for (int i = 0; i < length; ++i)
                        dot += double(q[std::size_t(tall ? i * columns + a : a * columns + i)]) *
                               double(q[std::size_t(tall ? i * columns + b : b * columns + i)]);
                    QVERIFY(std::abs(dot - (a == b ? 4 : 0)) < 1e-5);
                }
        }
    }

    void dependsOnSeedAndVariableAlone() {
        const auto first = fill("\"glorot_uniform\"", {10, 10}, 5, 2);
        QCOMPARE(fill("\"glorot_uniform\"", {10, 10}, 5, 2), first);
        QVERIFY(fill("\"glorot_uniform\"", {10, 10}, 6, 2) != first);
        QVERIFY(fill("\"glorot_uniform\"", {10, 10}, 5, 3) != first);
    }

    void refusesWhatItDoesNotKnow() {
        for (const char* text :
             {"\"glorot\"", "3", R"({"class_name": "GlorotUniform", "config": {"sed": 1}})",
              R"({"class_name": "VarianceScaling", "config": {"mode": "fan_mid"}})",
              R"({"class_name": "RandomNormal", "config": {"stddev": -1}})",
              R"({"class_name": "Constant", "config": {"value": [1]}})"})
            QVERIFY_THROWS_EXCEPTION(Failure, initializerOf(text));
    }
};

QTEST_APPLESS_MAIN(TestInitializer)
#include "tst_initializer.moc"
