// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/network.h"
#include "core/nn/optimizer.h"
#include "core/nn/plan.h"
#include "core/tensor/cpu/cpu_backend.h"
#include "tests/core/nn/support.h"

#include <QtTest>

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

// Every operator new of the process comes here. Those that libdnnl calls by itself are told apart
// by the library that holds the return address.

namespace {

std::atomic<bool> counting{false};
std::atomic<int> ours{0};

bool isOneDnn(void* caller) {
    Dl_info info{};
    return dladdr(caller, &info) != 0 && info.dli_fname &&
           std::strstr(info.dli_fname, "libdnnl") != nullptr;
}

void* allocate(std::size_t size, void* caller) {
    if (counting.load(std::memory_order_relaxed) && !isOneDnn(caller))
        ++ours;
    void* const memory = std::malloc(size ? size : 1);
    if (!memory)
        throw std::bad_alloc();
    return memory;
}

} // namespace

// NOLINTBEGIN
void* operator new(std::size_t size) {
    return allocate(size, __builtin_return_address(0));
}
void* operator new[](std::size_t size) {
    return allocate(size, __builtin_return_address(0));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete[](void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
    std::free(memory);
}
// NOLINTEND

using namespace lockstep;
using namespace lockstep::nn;
using namespace lockstep::nn::test;

class TestNoAllocation : public QObject {
    Q_OBJECT
private slots:
    void seesAnAllocation() {
        counting = true;
        ::operator delete(::operator new(8)); // a new expression could be left out
        counting = false;
        QVERIFY(ours.exchange(0) >= 1);
    }

    void aStepAllocatesNothingOfOurs() {
        const Graph graph = graphOf(sequential(
            R"({"class_name": "Dense", "config": {"units": 64, "activation": "relu"}},
               {"class_name": "Dropout", "config": {"rate": 0.5}},
               {"class_name": "Reshape", "config": {"target_shape": [2, 32]}},
               {"class_name": "Dense", "config": {"units": 16, "activation": "tanh"}},
               {"class_name": "Flatten"},
               {"class_name": "Dense", "config": {"units": 3, "activation": "softmax"}})"));
        const json::Value compile = parse(
            R"({"optimizer": "adam", "loss": "sparse_categorical_crossentropy",
                "metrics": ["accuracy"]})");
        Network network(graph, compileOf(compile, graph), 1);
        const auto backend = tensor::makeCpuBackend(1);
        Plan plan(network, *backend, 32, Mode::Training);
        Plan evaluation(network, *backend, 32, Mode::Evaluation);
        Optimizer optimizer(network.compile().optimizer, network.gradients().size());
        const std::vector<float> x(32 * 6, 0.5f), y(32, 1.0f);
        std::size_t complete = 0;
        const Plan::OnComplete onComplete = [&](std::size_t end) { complete = end; };
        for (std::uint64_t step = 0; step < 10; ++step) {
            counting = step > 0; // oneDNN sets itself up in the first
            plan.setInputs(x, y);
            plan.forward(step, 0);
            plan.backward(32, onComplete);
            optimizer.apply(stepScalars(optimizer.spec(), 0.001, step), network.trainables(),
                            network.gradients(), 0, complete);
            evaluation.setInputs(x, y);
            evaluation.forward();
            counting = false;
        }
        QCOMPARE(complete, network.gradients().size());
        QCOMPARE(ours.load(), 0);
    }
};

QTEST_APPLESS_MAIN(TestNoAllocation)
#include "tst_no_allocation.moc"
