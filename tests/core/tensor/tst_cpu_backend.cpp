// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/failure.h"
#include "core/base/philox.h"
#include "core/tensor/buffer.h"
#include "core/tensor/cpu/cpu_backend.h"

#include <QtTest>

#include <cmath>
#include <functional>
#include <vector>

using namespace lockstep;
using namespace lockstep::tensor;

namespace {

std::vector<float> randomNumbers(std::size_t n, std::uint32_t stream) {
    PhiloxStream random(7, RandomUse::RandomSource, stream);
    std::vector<float> values(n);
    for (float& value : values)
        value = static_cast<float>(random.nextUnit() * 4 - 2);
    return values;
}

/// C by a triple loop in double precision.
std::vector<double> naiveProduct(const MatmulSpec& s, const std::vector<float>& a,
                                 const std::vector<float>& b, const std::vector<float>& bias) {
    std::vector<double> c(static_cast<std::size_t>(s.m * s.n));
    for (std::int64_t i = 0; i < s.m; ++i)
        for (std::int64_t j = 0; j < s.n; ++j) {
            double sum = s.bias ? double(bias[std::size_t(j)]) : 0.0;
            for (std::int64_t l = 0; l < s.k; ++l)
                sum += double(a[std::size_t(s.transposeA ? l * s.m + i : i * s.k + l)]) *
                       double(b[std::size_t(s.transposeB ? j * s.k + l : l * s.n + j)]);
            c[std::size_t(i * s.n + j)] = sum;
        }
    return c;
}

struct NamedActivation {
    const char* name;
    Activation f;
    std::function<double(double)> exact;
};

double logistic(double x) {
    return 1.0 / (1.0 + std::exp(-x));
}

std::vector<NamedActivation> elementActivations() {
    using K = ActivationKind;
    return {
        {"linear", {K::Linear}, [](double x) { return x; }},
        {"relu", {K::Relu}, [](double x) { return x > 0 ? x : 0; }},
        {"relu with all options",
         {K::Relu, 1, 0.1f, 0.5f, 1.5f},
         [](double x) { return x > 0.5 ? std::min(x, 1.5) : double(0.1f) * (x - 0.5); }},
        {"elu", {K::Elu, 0.7f}, [](double x) { return x > 0 ? x : double(0.7f) * std::expm1(x); }},
        {"selu",
         {K::Selu},
         [](double x) {
             return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
         }},
        {"softplus", {K::Softplus}, [](double x) { return std::log1p(std::exp(x)); }},
        {"softsign", {K::Softsign}, [](double x) { return x / (1 + std::abs(x)); }},
        {"sigmoid", {K::Sigmoid}, logistic},
        {"tanh", {K::Tanh}, [](double x) { return std::tanh(x); }},
        {"exponential", {K::Exponential}, [](double x) { return std::exp(x); }},
        {"silu", {K::Silu}, [](double x) { return x * logistic(x); }},
        {"gelu", {K::Gelu}, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
    };
}

} // namespace

class TestCpuBackend : public QObject {
    Q_OBJECT
private slots:
    void multipliesMatricesOfEveryForm() {
        const auto backend = makeCpuBackend(2);
        for (const auto [m, k, n] :
             {std::array{1, 1, 1}, std::array{3, 5, 7}, std::array{64, 10, 16},
              std::array{33, 129, 65}, std::array{1, 300, 10}})
            for (const int form : {0, 1, 2, 3, 4}) {
                const MatmulSpec spec{m, k, n, (form & 1) != 0, (form & 2) != 0, form == 4};
                const auto a = randomNumbers(std::size_t(m) * std::size_t(k), 1);
                const auto b = randomNumbers(std::size_t(k) * std::size_t(n), 2);
                const auto bias = randomNumbers(std::size_t(n), 3);
                const auto product = backend->prepareMatmul(spec);
                Buffer c(std::size_t(m) * std::size_t(n));
                Buffer scratch(product->scratchElements());
                product->bind({a.data(), b.data(), bias.data(), c.span().data(), scratch.span()});
                product->run();
                const auto expected = naiveProduct(spec, a, b, bias);
                for (std::size_t i = 0; i < expected.size(); ++i)
                    QVERIFY2(std::abs(c.span()[i] - expected[i]) < 1e-6 * 4 * (k + 4),
                             qPrintable(QStringLiteral("%1x%2x%3 form %4 at %5: %6, expected %7")
                                            .arg(m)
                                            .arg(k)
                                            .arg(n)
                                            .arg(form)
                                            .arg(i)
                                            .arg(double(c.span()[i]))
                                            .arg(expected[i])));
            }
    }

    void givesTheSameBitsAgain() {
        const auto backend = makeCpuBackend(2);
        const auto a = randomNumbers(40 * 70, 1);
        const auto b = randomNumbers(70 * 50, 2);
        const auto product = backend->prepareMatmul({40, 70, 50, false, false, false});
        Buffer c(40 * 50), scratch(product->scratchElements());
        product->bind({a.data(), b.data(), nullptr, c.span().data(), scratch.span()});
        product->run();
        const std::vector<float> first(c.span().begin(), c.span().end());
        product->run();
        QVERIFY(std::equal(first.begin(), first.end(), c.span().begin()));
    }

    void activatesAsTheFormulaSays_data() {
        QTest::addColumn<int>("index");
        int index = 0;
        for (const auto& named : elementActivations())
            QTest::newRow(named.name) << index++;
    }

    void activatesAsTheFormulaSays() {
        QFETCH(int, index);
        const NamedActivation named = elementActivations()[std::size_t(index)];
        const auto backend = makeCpuBackend(1);
        const std::vector<float> x = randomNumbers(1003, 4);
        const std::vector<float> dy = randomNumbers(1003, 5);
        std::vector<float> y(x.size()), dx(x.size());
        backend->activate(named.f, x, y, 1);
        backend->activateBackward(named.f, x, y, dy, dx, 1);
        constexpr double h = 1e-5;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double exact = named.exact(x[i]);
            QVERIFY2(std::abs(y[i] - exact) < 2e-6 * (1 + std::abs(exact)), named.name);
            const double left = named.exact(x[i] - h);
            const double right = named.exact(x[i] + h);
            // Kinks lie between x - h and x + h of hardly any random x; those are skipped.
            if (std::abs((right - exact) - (exact - left)) > 1e-7)
                continue;
            const double slope = (right - left) / (2 * h) * double(dy[i]);
            QVERIFY2(std::abs(dx[i] - slope) < 1e-5 * (1 + std::abs(slope)), named.name);
        }
    }

    void keepsNaNAndInfinity() {
        const auto backend = makeCpuBackend(1);
        const float inf = std::numeric_limits<float>::infinity();
        const std::vector<float> x{std::nanf(""), -inf, inf, 1};
        std::vector<float> y(4);
        backend->activate({ActivationKind::Relu}, x, y, 1);
        QVERIFY(std::isnan(y[0]) && y[1] == 0 && y[2] == inf && y[3] == 1);
    }

    void softmaxRowsSumToOneAndSlopesFit() {
        const auto backend = makeCpuBackend(1);
        for (const auto kind : {ActivationKind::Softmax, ActivationKind::LogSoftmax}) {
            std::vector<float> x = randomNumbers(15, 6);
            x[2] = 80; // a row that would overflow without subtracting its maximum
            x[3] = 100;
            const std::vector<float> dy = randomNumbers(15, 7);
            std::vector<float> y(15), dx(15);
            backend->activate({kind}, x, y, 5);
            backend->activateBackward({kind}, x, y, dy, dx, 5);
            for (std::size_t row = 0; row < 15; row += 5) {
                double worst = 0;
                const auto weighted = [&](std::size_t at, double change) {
                    double sum = 0, result = 0;
                    for (std::size_t i = row; i < row + 5; ++i)
                        sum += std::exp(double(x[i]) + (i == at ? change : 0) - double(x[row + 3]));
                    for (std::size_t i = row; i < row + 5; ++i) {
                        const double z = double(x[i]) + (i == at ? change : 0) - double(x[row + 3]);
                        const double v =
                            kind == ActivationKind::Softmax ? std::exp(z) / sum : z - std::log(sum);
                        if (change == 0)
                            worst = std::max(worst, std::abs(v - double(y[i])) / (1 + std::abs(v)));
                        result += v * double(dy[i]);
                    }
                    return result;
                };
                weighted(row, 0);
                QVERIFY(worst < 1e-5);
                for (std::size_t i = row; i < row + 5; ++i) {
                    const double slope = (weighted(i, 1e-4) - weighted(i, -1e-4)) / 2e-4;
                    QVERIFY(std::abs(double(dx[i]) - slope) < 1e-5);
                }
            }
        }
    }

    void sumsColumns() {
        const auto backend = makeCpuBackend(1);
        std::vector<float> sums{9, 9, 9};
        backend->columnSums(std::vector<float>{1, 2, 3, 10, 20, 30}, sums);
        QCOMPARE(sums, (std::vector<float>{11, 22, 33}));
        backend->columnSums({}, sums);
        QCOMPARE(sums, (std::vector<float>{0, 0, 0}));
    }

    void refusesSizesThatDoNotFit() {
        const auto backend = makeCpuBackend(1);
        std::vector<float> three(3), four(4);
        QVERIFY_THROWS_EXCEPTION(Failure, backend->multiply(three, four, three));
        QVERIFY_THROWS_EXCEPTION(Failure,
                                 backend->activate({ActivationKind::Softmax}, four, four, 3));
        QVERIFY_THROWS_EXCEPTION(Failure, backend->prepareMatmul({0, 1, 1}));
    }
};

QTEST_APPLESS_MAIN(TestCpuBackend)
#include "tst_cpu_backend.moc"
