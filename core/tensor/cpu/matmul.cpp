// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/tensor/cpu/matmul.h"

#include "core/base/failure.h"
#include "core/tensor/cpu/cpu_backend.h"

#include <dnnl.hpp>

#include <algorithm>
#include <array>

// Of libgomp, which oneDNN runs on; compiling with -fopenmp for one call is not needed.
extern "C" void omp_set_num_threads(int threads);

namespace lockstep::tensor {

namespace detail {

namespace {

using Desc = dnnl::memory::desc;

[[noreturn]] void fail(dnnl_status_t status, const std::string& message) {
    const Code code = status == dnnl_out_of_memory   ? Code::OutOfMemory
                      : status == dnnl_unimplemented ? Code::Unsupported
                                                     : Code::Internal;
    throw Failure(code, "oneDNN could not compute a product: " + message + ".", "oneDNN");
}

/// Rows x columns of floats; transposed where memory holds columns x rows.
Desc matrix(std::int64_t rows, std::int64_t columns, bool transposed) {
    const dnnl::memory::dims strides =
        transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1};
    return Desc({rows, columns}, dnnl::memory::data_type::f32, strides);
}

dnnl::matmul::primitive_desc describeProduct(const MatmulSpec& spec, const dnnl::engine& engine) {
    const Desc a = matrix(spec.m, spec.k, spec.transposeA);
    const Desc b = matrix(spec.k, spec.n, spec.transposeB);
    const Desc c = matrix(spec.m, spec.n, false);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto product = spec.bias ? dnnl::matmul::desc(a, b, matrix(1, spec.n, false), c)
                                   : dnnl::matmul::desc(a, b, c);
    return dnnl::matmul::primitive_desc(product, attributes, engine);
}

/// Threads that a product is worth, by its size alone, so that two runs agree. Each gets work for
/// some 20 microseconds at least: less is lost in OpenMP's barriers, and on a busy machine far
/// more.
int threadsFor(const MatmulSpec& spec, int threads) {
    constexpr double kWorthOneThread = 4e6; // floating-point operations
    const double operations = 2.0 * static_cast<double>(spec.m) * static_cast<double>(spec.k) *
                              static_cast<double>(spec.n);
    return std::clamp(static_cast<int>(std::min(operations / kWorthOneThread, 1e6)), 1, threads);
}

class OneDnnMatmul final : public Matmul {
public:
    /// The calling thread must already be set to `threads`: oneDNN plans for what it finds.
    OneDnnMatmul(const MatmulSpec& spec, int threads, const dnnl::engine& engine,
                 const dnnl::stream& stream)
        : m_spec(spec)
        , m_threads(threads)
        , m_stream(stream)
        , m_description(describeProduct(spec, engine))
        , m_primitive(m_description)
        , m_a(m_description.src_desc(), engine, DNNL_MEMORY_NONE)
        , m_b(m_description.weights_desc(), engine, DNNL_MEMORY_NONE)
        , m_c(m_description.dst_desc(), engine, DNNL_MEMORY_NONE)
        , m_scratch(m_description.scratchpad_desc(), engine, DNNL_MEMORY_NONE) {
        add(DNNL_ARG_SRC, m_a);
        add(DNNL_ARG_WEIGHTS, m_b);
        add(DNNL_ARG_DST, m_c);
        if (spec.bias) {
            m_bias = dnnl::memory(m_description.bias_desc(), engine, DNNL_MEMORY_NONE);
            add(DNNL_ARG_BIAS, m_bias);
        }
        if (scratchElements() > 0)
            add(DNNL_ARG_SCRATCHPAD, m_scratch);
    }

    std::size_t scratchElements() const override {
        return (m_description.scratchpad_desc().get_size() + sizeof(float) - 1) / sizeof(float);
    }

    void bind(const MatmulOperands& operands) override {
        LOCKSTEP_CHECK(operands.scratch.size() >= scratchElements(),
                       "[matmul] scratch of " << operands.scratch.size() << ", expected "
                                              << scratchElements());
        // oneDNN takes what it only reads without const.
        m_a.set_data_handle(const_cast<float*>(operands.a));
        m_b.set_data_handle(const_cast<float*>(operands.b));
        m_c.set_data_handle(operands.c);
        if (m_spec.bias)
            m_bias.set_data_handle(const_cast<float*>(operands.bias));
        if (scratchElements() > 0)
            m_scratch.set_data_handle(operands.scratch.data());
    }

    /// The C call: the C++ one makes a map and a vector each time.
    void run() override {
        omp_set_num_threads(m_threads);
        const dnnl_status_t status =
            dnnl_primitive_execute(m_primitive.get(), m_stream.get(),
                                   static_cast<int>(m_argumentCount), m_arguments.data());
        if (status != dnnl_success)
            fail(status, std::to_string(m_spec.m) + " x " + std::to_string(m_spec.k) + " x " +
                             std::to_string(m_spec.n));
    }

private:
    void add(int argument, const dnnl::memory& memory) {
        m_arguments[m_argumentCount++] = {argument, memory.get()};
    }

    MatmulSpec m_spec;
    int m_threads;
    dnnl::stream m_stream;
    dnnl::matmul::primitive_desc m_description;
    dnnl::matmul m_primitive;
    dnnl::memory m_a;
    dnnl::memory m_b;
    dnnl::memory m_bias;
    dnnl::memory m_c;
    dnnl::memory m_scratch;
    std::array<dnnl_exec_arg_t, 5> m_arguments{};
    std::size_t m_argumentCount = 0;
};

} // namespace

struct MatmulMaker::Impl {
    int threads;
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
};

MatmulMaker::MatmulMaker(int threads)
    : m_impl(std::make_unique<Impl>(Impl{threads})) {}

MatmulMaker::~MatmulMaker() = default;

std::unique_ptr<Matmul> MatmulMaker::prepare(const MatmulSpec& spec) {
    try {
        const int threads = threadsFor(spec, m_impl->threads);
        omp_set_num_threads(threads);
        return std::make_unique<OneDnnMatmul>(spec, threads, m_impl->engine, m_impl->stream);
    } catch (const dnnl::error& error) {
        fail(error.status, error.message);
    }
}

} // namespace detail

const char* cpuInstructionSet() {
    switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
        return "sse41";
    case dnnl::cpu_isa::avx:
        return "avx";
    case dnnl::cpu_isa::avx2:
        return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
        return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
        return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
        return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
        return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
        return "avx512_core_amx";
    default:
        return "other";
    }
}

} // namespace lockstep::tensor
