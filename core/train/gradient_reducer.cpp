// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/gradient_reducer.h"

#include <algorithm>

namespace lockstep::train {

std::vector<std::size_t> bucketEnds(std::size_t elements, std::int64_t bytesPerPack) {
    constexpr std::size_t kFirst = (256u << 10) / sizeof(float);
    constexpr std::size_t kLater = (4u << 20) / sizeof(float);
    const std::size_t given = static_cast<std::size_t>(bytesPerPack) / sizeof(float);
    std::vector<std::size_t> ends;
    for (std::size_t end = 0; end < elements;) {
        const std::size_t size = bytesPerPack > 0 ? std::max<std::size_t>(1, given)
                                 : ends.empty()   ? kFirst
                                                  : kLater;
        end = std::min(elements, end + size);
        ends.push_back(end);
    }
    return ends;
}

GradientReducer::GradientReducer(collective::Group& group, std::span<float> gradients,
                                 std::vector<std::size_t> ends)
    : m_group(group)
    , m_gradients(gradients)
    , m_ends(std::move(ends)) {
    m_works.reserve(m_ends.size());
}

void GradientReducer::complete(std::size_t end) {
    while (m_works.size() < m_ends.size() && m_ends[m_works.size()] <= end) {
        const std::size_t bucket = m_works.size();
        m_works.push_back(m_group.allReduceSum(
            m_gradients.subspan(beginOf(bucket), endOf(bucket) - beginOf(bucket))));
    }
}

double GradientReducer::milliseconds() const {
    if (m_works.empty())
        return 0;
    const auto span = m_works.back().times().ended - m_works.front().times().started;
    return std::chrono::duration<double, std::milli>(span).count();
}

} // namespace lockstep::train
