// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/tensor/cpu/cpu_backend.h"

#include "core/base/failure.h"
#include "core/tensor/cpu/elementwise.h"
#include "core/tensor/cpu/matmul.h"

namespace lockstep::tensor {

namespace {

class CpuBackend final : public Backend {
public:
    explicit CpuBackend(int threads)
        : m_products(threads) {}

    std::unique_ptr<Matmul> prepareMatmul(const MatmulSpec& spec) override {
        LOCKSTEP_CHECK(spec.m > 0 && spec.k > 0 && spec.n > 0,
                       "[matmul] " << spec.m << " x " << spec.k << " x " << spec.n);
        return m_products.prepare(spec);
    }

    void activate(const Activation& f, std::span<const float> x, std::span<float> y,
                  std::int64_t width) override {
        checkSizes(x, y, width);
        detail::activate(f, x, y, width);
    }

    void activateBackward(const Activation& f, std::span<const float> x, std::span<const float> y,
                          std::span<const float> dy, std::span<float> dx,
                          std::int64_t width) override {
        checkSizes(x, y, width);
        checkSizes(dy, dx, width);
        detail::activateBackward(f, x, y, dy, dx, width);
    }

    void multiply(std::span<const float> x, std::span<const float> y, std::span<float> z) override {
        checkSizes(x, y, 1);
        checkSizes(x, z, 1);
        detail::multiply(x, y, z);
    }

    void columnSums(std::span<const float> x, std::span<float> sums) override {
        LOCKSTEP_CHECK(!sums.empty() && x.size() % sums.size() == 0,
                       "[columnSums] " << x.size() << " elements, " << sums.size() << " columns");
        detail::columnSums(x, sums);
    }

private:
    static void checkSizes(std::span<const float> x, std::span<const float> y, std::int64_t width) {
        LOCKSTEP_CHECK(
            x.size() == y.size() && width > 0 && x.size() % static_cast<std::size_t>(width) == 0,
            "[elementwise] sizes " << x.size() << " and " << y.size() << ", width " << width);
    }

    detail::MatmulMaker m_products;
};

} // namespace

std::unique_ptr<Backend> makeCpuBackend(int threads) {
    LOCKSTEP_CHECK(threads >= 1, "[makeCpuBackend] " << threads << " threads");
#ifdef LOCKSTEP_TSAN
    threads = 1;
#endif
    return std::make_unique<CpuBackend>(threads);
}

} // namespace lockstep::tensor
