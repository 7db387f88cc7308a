// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Models and compiles from JSON text, for tests.

#include "core/base/failure.h"
#include "core/base/json.h"
#include "core/base/json_reader.h"
#include "core/nn/compile.h"
#include "core/nn/graph.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::nn::test {

inline json::Value parse(std::string_view text) {
    return valueOrThrow(json::parse(text, "test", json::Dialect::Keras));
}

inline std::string describeAll(const Problems& problems) {
    std::string text;
    for (const Problem& problem : problems)
        text += describe(problem) + "\n";
    return text;
}

/// Throws with the problems where there are errors.
inline Graph graphOf(const json::Value& model, std::optional<std::int64_t> features = {}) {
    Problems problems;
    const auto graph = readModel(json::Reader(&model, "model", "test", &problems), features);
    if (!graph)
        throw Failure(Code::InvalidArgument, describeAll(problems));
    return *graph;
}

inline CompileSpec compileOf(const json::Value& compile, const Graph& graph) {
    Problems problems;
    const auto spec = readCompile(json::Reader(&compile, "compile", "test", &problems), graph);
    if (!spec)
        throw Failure(Code::InvalidArgument, describeAll(problems));
    return *spec;
}

/// A Sequential model of layers given as JSON, behind an input of `input` features.
inline json::Value sequential(const std::string& layers, const std::string& input = "[null, 6]") {
    return parse(R"({"class_name": "Sequential", "config": {"layers": [
        {"class_name": "InputLayer", "config": {"batch_shape": )" +
                 input + "}}," + layers + "]}}");
}

inline std::vector<float> numbersOf(const json::Value& array) {
    std::vector<float> numbers;
    for (const json::Value& item : array.items())
        numbers.push_back(static_cast<float>(item.toNumber()));
    return numbers;
}

} // namespace lockstep::nn::test
