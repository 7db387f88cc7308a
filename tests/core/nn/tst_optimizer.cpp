// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/failure.h"
#include "core/base/philox.h"
#include "core/nn/optimizer.h"

#include <QtTest>

#include <cmath>
#include <vector>

using namespace lockstep;
using namespace lockstep::nn;

namespace {

struct Golden {
    const char* name;
    OptimizerSpec spec;
    std::vector<float> expected; ///< two weights after each of three steps
};

OptimizerSpec sgd(double momentum = 0, bool nesterov = false) {
    OptimizerSpec spec;
    spec.momentum = momentum;
    spec.nesterov = nesterov;
    return spec;
}

OptimizerSpec adam(double weightDecay = 0) {
    OptimizerSpec spec;
    spec.kind = OptimizerKind::Adam;
    spec.weightDecay = weightDecay;
    return spec;
}

/// Keras' own numbers: w0 = [1, -2], rate 0.1, the gradients below.
std::vector<Golden> goldens() {
    OptimizerSpec decayed = sgd();
    decayed.weightDecay = 0.01;
    OptimizerSpec clipped = sgd();
    clipped.clipValue = 0.25;
    return {
        {"SGD", sgd(), {.99f, -1.98f, .96f, -2.02f, 1.01f, -2.08f}},
        {"SGD momentum", sgd(0.9), {.99f, -1.98f, .951f, -2.002f, .9659f, -2.0818f}},
        {"SGD nesterov", sgd(0.9, true), {.981f, -1.962f, .9159f, -2.0218f, .97931f, -2.15362f}},
        {"SGD weight decay",
         decayed,
         {.989f, -1.978f, .958011f, -2.016022f, 1.007053f, -2.0740058f}},
        {"SGD clipvalue", clipped, {.99f, -1.98f, .965f, -2.005f, .99f, -2.03f}},
        {"Adam", adam(), {.9000038f, -1.9000022f, .8082275f, -1.936612f, .8243188f, -2.0047474f}},
        {"AdamW",
         adam(0.004),
         {.8996038f, -1.8992022f, .8074677f, -1.9350523f, .823236f, -2.0024137f}},
    };
}

const float gradients[3][2] = {{.1f, -.2f}, {.3f, .4f}, {-.5f, .6f}};

} // namespace

class TestOptimizer : public QObject {
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
        std::vector<float> w{1, -2};
        Optimizer optimizer(golden.spec, 2);
        for (std::size_t step = 0; step < 3; ++step) {
            std::vector<float> g{gradients[step][0], gradients[step][1]};
            optimizer.apply(stepScalars(golden.spec, 0.1, step), w, g, 0, 2);
            for (std::size_t i = 0; i < 2; ++i)
                QVERIFY2(std::abs(w[i] - golden.expected[step * 2 + i]) < 3e-7f,
                         qPrintable(QString::number(double(w[i]), 'g', 9)));
        }
    }

    /// Any cut into slices, in any order, gives the bits of one pass over everything.
    void givesTheSameBitsInSlices() {
        OptimizerSpec amsgrad = adam();
        amsgrad.amsgrad = true;
        for (const OptimizerSpec& spec : {sgd(), sgd(0.9), sgd(0.9, true), adam(), amsgrad}) {
            PhiloxStream random(3, RandomUse::RandomSource);
            constexpr std::size_t n = 1009;
            std::vector<float> whole(n), g(n);
            for (float& value : whole)
                value = static_cast<float>(random.nextUnit() - 0.5);
            std::vector<float> parts = whole;
            Optimizer one(spec, n), other(spec, n);
            for (std::uint64_t step = 0; step < 5; ++step) {
                for (float& value : g)
                    value = static_cast<float>(random.nextUnit() - 0.5);
                const StepScalars scalars = stepScalars(spec, 0.01, step);
                std::vector<float> copy = g;
                one.apply(scalars, whole, g, 0, n);
                other.apply(scalars, parts, copy, 701, n);
                other.apply(scalars, parts, copy, 13, 701);
                other.apply(scalars, parts, copy, 0, 13);
                other.apply(scalars, parts, copy, 5, 5);
                QCOMPARE(parts, whole);
            }
        }
    }

    void hasKerasSlots() {
        const auto names = [](const OptimizerSpec& spec) {
            Optimizer optimizer(spec, 4);
            std::vector<std::string> list;
            for (const auto& slot : optimizer.slotBuffers())
                list.push_back(slot.name);
            return list;
        };
        QCOMPARE(names(sgd()), std::vector<std::string>{});
        QCOMPARE(names(sgd(0.5)), std::vector<std::string>{"momentum"});
        QCOMPARE(names(adam()), (std::vector<std::string>{"momentum", "velocity"}));
        QCOMPARE(slotBytesPerElement(adam()), 8u);
    }

    void refusesASliceOutside() {
        Optimizer optimizer(sgd(), 4);
        std::vector<float> w(4), g(4), tooLong(5);
        QVERIFY_THROWS_EXCEPTION(Failure, optimizer.apply({}, w, g, 2, 5));
        QVERIFY_THROWS_EXCEPTION(Failure, optimizer.apply({}, tooLong, g, 0, 4));
    }
};

QTEST_APPLESS_MAIN(TestOptimizer)
#include "tst_optimizer.moc"
