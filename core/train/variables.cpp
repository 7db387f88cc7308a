// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/variables.h"

#include "core/base/failure.h"
#include "core/base/json.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace lockstep::train {

static_assert(std::endian::native == std::endian::little, "digests are of little-endian bytes");

Sha256 digestOf(const nn::Network& network) {
    Sha256Stream hash;
    std::vector<float> clean;
    for (const nn::Variable& variable : network.variables()) {
        std::span<const float> values = network.valuesOf(variable);
        if (std::any_of(values.begin(), values.end(), [](float v) { return std::isnan(v); })) {
            clean.assign(values.begin(), values.end());
            for (float& value : clean)
                if (std::isnan(value))
                    value = std::numeric_limits<float>::quiet_NaN();
            values = clean;
        }
        hash.add(std::as_bytes(values));
    }
    return hash.finish();
}

void checkDigests(collective::Group& group, const Sha256& own,
                  const std::vector<std::string>& tasks) {
    const auto blocks = group.allGather(std::as_bytes(std::span(own)));
    std::map<std::string, std::vector<std::string>> holders;
    for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
        Sha256 digest{};
        std::memcpy(digest.data(), blocks[rank].data(), digest.size());
        holders[toHex(digest)].push_back(tasks[rank]);
    }
    if (holders.size() == 1)
        return;
    const auto majority = std::find_if(holders.begin(), holders.end(), [&](const auto& entry) {
        return 2 * entry.second.size() > tasks.size();
    });
    std::string text = "The workers no longer hold the same variables:";
    std::string where;
    for (const auto& [digest, names] : holders) {
        if (majority != holders.end() && digest == majority->first)
            continue;
        for (const std::string& name : names) {
            text += " " + name + " has " + digest.substr(0, 12) + ";";
            where += (where.empty() ? "" : ", ") + name;
        }
    }
    text += majority == holders.end() ? " there is no majority."
                                      : " the others have " + majority->first.substr(0, 12) + ".";
    throw Failure(Code::Corrupt,
                  text + " Usually a fault of memory or processor on the host that differs.",
                  where);
}

Result<archive::Written> writeModel(const nn::Network& network, const OptimizerState& state,
                                    const std::string& path, archive::Metadata metadata) {
    std::vector<archive::ArrayView> arrays;
    const auto add = [&](std::string name, const nn::Variable& variable,
                         std::span<const float> values) {
        arrays.push_back({std::move(name), archive::ElementType::Float32, variable.shape.dims(),
                          std::as_bytes(values)});
    };
    for (const nn::Variable& variable : network.variables())
        add(variable.name, variable, network.valuesOf(variable));
    for (const nn::Optimizer::Slot& slot : state.optimizer.slotBuffers())
        for (const nn::Variable& variable : network.variables())
            if (variable.trainable)
                add("optimizer/" + slot.name + '/' + variable.name, variable,
                    slot.values.span().subspan(variable.offset, variable.size));
    metadata.emplace_back("optimizer",
                          json::dump(json::Value::object({{"name", state.optimizer.spec().name},
                                                          {"iterations", state.iterations},
                                                          {"learning_rate", state.learningRate}})));
    return archive::write(path, arrays, metadata);
}

} // namespace lockstep::train
