// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/nn/plan.h"

#include "core/base/failure.h"
#include "core/nn/detail/dropout.h"
#include "core/nn/detail/layout.h"
#include "core/nn/detail/loss.h"
#include "core/nn/optimizer.h"

#include <algorithm>

namespace lockstep::nn {

using detail::Block;
using detail::Step;
using detail::StepKind;

namespace {

/// The products of one Dense layer.
struct Products {
    std::unique_ptr<tensor::Matmul> forward;
    std::unique_ptr<tensor::Matmul> kernelGradient;
    std::unique_ptr<tensor::Matmul> inputGradient;
    std::span<float> biasGradient; ///< empty without a trainable bias
};

/// The end of the gradients of `layer` in the flat buffer, see Note [Flat order].
std::size_t flatEnd(const Network& network, std::size_t layer) {
    std::size_t end = 0;
    for (const Variable& variable : network.variables())
        if (variable.layer == layer && variable.trainable)
            end = std::max(end, variable.offset + variable.size);
    return end;
}

} // namespace

struct Plan::Impl {
    Impl(Network& ofNetwork, tensor::Backend& onBackend, std::int64_t ownRows, Mode forMode)
        : network(ofNetwork)
        , backend(onBackend)
        , rows(ownRows)
        , mode(forMode)
        , layout(detail::layOut(network.graph(), network.compile(), rows, mode))
        , products(layout.steps.size())
        , ends(layout.steps.size())
        , metrics(network.compile().metrics.size()) {
        prepareProducts();
        std::size_t scratch = 0;
        forEachProduct(
            [&](tensor::Matmul& m) { scratch = std::max(scratch, m.scratchElements()); });
        arena = tensor::Buffer(layout.size + scratch);
        for (std::size_t i = 0; i < layout.steps.size(); ++i)
            if (products[i].forward)
                bindProducts(layout.steps[i], products[i]);
    }

    std::span<float> at(const Block& block) {
        return arena.span().subspan(block.offset, block.size);
    }

    void prepareProducts() {
        for (std::size_t i = 0; i < layout.steps.size(); ++i) {
            const Step& step = layout.steps[i];
            if (step.kind != StepKind::Product)
                continue;
            const Layer& layer = network.graph().layers()[step.layer];
            const bool bias = std::get<DenseConfig>(layer.config).useBias;
            ends[i] = layer.trainable ? flatEnd(network, step.layer) : 0;
            if (rows == 0)
                continue;
            const std::int64_t m = step.positions;
            const std::int64_t in = layer.input.last();
            const std::int64_t out = step.width;
            products[i].forward = backend.prepareMatmul({m, in, out, false, false, bias});
            if (step.hasGradient && layer.trainable)
                products[i].kernelGradient =
                    backend.prepareMatmul({in, m, out, true, false, false});
            if (step.hasInputGradient)
                products[i].inputGradient = backend.prepareMatmul({m, out, in, false, true, false});
        }
    }

    template <class F>
    void forEachProduct(F f) {
        for (Products& p : products)
            for (auto* product : {&p.forward, &p.kernelGradient, &p.inputGradient})
                if (*product)
                    f(**product);
    }

    void bindProducts(const Step& step, Products& p) {
        const Layer& layer = network.graph().layers()[step.layer];
        const Variable& kernel = *network.find(layer.name + "/kernel");
        const Variable* const bias = network.find(layer.name + "/bias");
        const std::span<float> scratch = arena.span().subspan(layout.size);
        const float* const w = network.valuesOf(kernel).data();
        const float* const b = bias ? network.valuesOf(*bias).data() : nullptr;
        p.forward->bind({at(step.x).data(), w, b, at(step.y).data(), scratch});
        if (p.kernelGradient) {
            float* const dw = network.gradients().data() + kernel.offset;
            p.kernelGradient->bind({at(step.x).data(), at(step.dy).data(), nullptr, dw, scratch});
            if (bias)
                p.biasGradient = network.gradients().subspan(bias->offset, bias->size);
        }
        if (p.inputGradient)
            p.inputGradient->bind({at(step.dy).data(), w, nullptr, at(step.dx).data(), scratch});
    }

    void runForward(const Step& step, Products& p, std::uint64_t stepNumber,
                    std::uint64_t firstRow) {
        switch (step.kind) {
        case StepKind::Product:
            return p.forward->run();
        case StepKind::Activation:
            return backend.activate(step.activation, at(step.x), at(step.y), step.width);
        case StepKind::Dropout: {
            const Layer& layer = network.graph().layers()[step.layer];
            const detail::DropoutPlace place{network.seed(), static_cast<std::uint32_t>(step.layer),
                                             stepNumber, firstRow};
            detail::fillDropoutMask(place, std::get<DropoutConfig>(layer.config).rate,
                                    static_cast<std::size_t>(layer.output.elements()),
                                    at(step.mask));
            return backend.multiply(at(step.x), at(step.mask), at(step.y));
        }
        }
    }

    void runBackward(const Step& step, Products& p, std::size_t end, const OnComplete& onComplete) {
        switch (step.kind) {
        case StepKind::Product:
            if (p.kernelGradient) {
                p.kernelGradient->run();
                if (!p.biasGradient.empty())
                    backend.columnSums(at(step.dy), p.biasGradient);
            }
            if (end > 0)
                onComplete(end);
            if (p.inputGradient)
                p.inputGradient->run();
            return;
        case StepKind::Activation:
            if (step.hasInputGradient)
                backend.activateBackward(step.activation, at(step.x), at(step.y), at(step.dy),
                                         at(step.dx), step.width);
            return;
        case StepKind::Dropout:
            if (step.hasInputGradient)
                backend.multiply(at(step.dy), at(step.mask), at(step.dx));
            return;
        }
    }

    std::int64_t outputWidth() const { return network.graph().outputShape().last(); }

    Network& network;
    tensor::Backend& backend;
    std::int64_t rows;
    Mode mode;
    detail::Layout layout;
    std::vector<Products> products; ///< one per step
    std::vector<std::size_t> ends;  ///< one per step; 0 where nothing becomes complete
    std::vector<MetricSum> metrics;
    tensor::Buffer arena;
    double lossSum = 0;
};

Plan::Plan(Network& network, tensor::Backend& backend, std::int64_t rows, Mode mode) {
    LOCKSTEP_CHECK(rows >= 0, "[plan] " << rows << " rows");
    m_impl = std::make_unique<Impl>(network, backend, rows, mode);
}

Plan::~Plan() = default;

std::int64_t Plan::rows() const {
    return m_impl->rows;
}

Mode Plan::mode() const {
    return m_impl->mode;
}

std::span<float> Plan::features() {
    return m_impl->at(m_impl->layout.features);
}

std::span<float> Plan::labels() {
    return m_impl->at(m_impl->layout.labels);
}

void Plan::setInputs(std::span<const float> newFeatures, std::span<const float> newLabels) {
    LOCKSTEP_CHECK(newFeatures.size() == features().size() && newLabels.size() == labels().size(),
                   "[plan] inputs of " << newFeatures.size() << " and " << newLabels.size()
                                       << ", expected " << features().size() << " and "
                                       << labels().size());
    std::copy(newFeatures.begin(), newFeatures.end(), features().begin());
    std::copy(newLabels.begin(), newLabels.end(), labels().begin());
}

void Plan::forward(std::uint64_t step, std::uint64_t firstRow) {
    Impl& impl = *m_impl;
    impl.lossSum = 0;
    std::fill(impl.metrics.begin(), impl.metrics.end(), MetricSum{});
    if (impl.rows == 0)
        return;
    for (std::size_t i = 0; i < impl.layout.steps.size(); ++i)
        impl.runForward(impl.layout.steps[i], impl.products[i], step, firstRow);
    const CompileSpec& compile = impl.network.compile();
    const std::int64_t width = impl.outputWidth();
    impl.lossSum = detail::lossSum(compile.loss, impl.at(impl.layout.prediction), labels(), width);
    for (std::size_t i = 0; i < compile.metrics.size(); ++i)
        impl.metrics[i] =
            detail::metricSum(compile.metrics[i], impl.at(impl.layout.output), labels(), width);
}

std::span<const float> Plan::output() const {
    return m_impl->at(m_impl->layout.output);
}

double Plan::lossSum() const {
    return m_impl->lossSum;
}

double Plan::lossCount() const {
    return static_cast<double>(m_impl->rows * m_impl->network.compile().lossElementsPerRow);
}

std::span<const MetricSum> Plan::metricSums() const {
    return m_impl->metrics;
}

void Plan::backward(double divisor, const OnComplete& onComplete) {
    Impl& impl = *m_impl;
    LOCKSTEP_CHECK(impl.mode == Mode::Training, "[plan] backward of an evaluation plan");
    LOCKSTEP_CHECK(divisor > 0, "[plan] divisor " << divisor);
    if (impl.rows == 0) {
        std::fill(impl.network.gradients().begin(), impl.network.gradients().end(), 0.0f);
    } else {
        detail::lossGradient(impl.network.compile().loss, impl.at(impl.layout.prediction), labels(),
                             impl.outputWidth(), static_cast<float>(1 / divisor),
                             impl.at(impl.layout.lossGradient));
    }
    for (std::size_t i = impl.layout.steps.size(); i-- > 0;) {
        const Step& step = impl.layout.steps[i];
        if (step.hasGradient && impl.rows > 0)
            impl.runBackward(step, impl.products[i], impl.ends[i], onComplete);
        else if (step.hasGradient && impl.ends[i] > 0)
            onComplete(impl.ends[i]);
    }
}

std::size_t Plan::arenaBytes() const {
    return m_impl->arena.bytes();
}

MemoryEstimate estimateMemory(const Graph& graph, const CompileSpec& compile, std::int64_t rows) {
    MemoryEstimate estimate;
    const auto element = static_cast<std::int64_t>(sizeof(float));
    const std::int64_t trainable = graph.trainableParameters();
    estimate.parametersBytes = graph.parameters() * element;
    estimate.gradientsBytes = trainable * element;
    estimate.optimizerBytes =
        trainable * static_cast<std::int64_t>(slotBytesPerElement(compile.optimizer));
    estimate.activationsBytes =
        static_cast<std::int64_t>(detail::layOut(graph, compile, rows, Mode::Training).size) *
        element;
    return estimate;
}

} // namespace lockstep::nn
