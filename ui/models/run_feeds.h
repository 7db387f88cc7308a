// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The three charts of a run, as feeds over its store. A feed holds a pointer that its owner changes
// with the run; without a store it is empty. GUI thread.

#include "core/metrics/store.h"
#include "ui/models/chart_data.h"

namespace lockstep::ui {

/// Up to so many workers are lines of their own; more become a band, a median and the slowest.
inline constexpr int kSingleLines = 8;

class StoreFeed : public ChartFeed {
public:
    void setStore(const metrics::Store* store);
    std::uint64_t generation() const override;

protected:
    const metrics::Store* store() const { return m_store; }
    void touch() { ++m_changes; }

private:
    const metrics::Store* m_store = nullptr;
    std::uint64_t m_changes = 0;
};

/// Loss of every step, metrics of every epoch, validation dashed in the hue of its sibling.
class LossFeed final : public StoreFeed {
public:
    enum class Show { Both, Loss, Metrics };
    void setShow(Show show);
    ChartData pull(const ChartRequest& request) const override;

private:
    Show m_show = Show::Both;
};

/// One quantity of each worker, and the total where there is one.
class WorkerFeed final : public StoreFeed {
public:
    enum class Total { None, SamplesPerSecond };
    WorkerFeed(metrics::Quantity quantity, Total total, QString totalLabel = {});
    ChartData pull(const ChartRequest& request) const override;

private:
    metrics::Quantity m_quantity;
    Total m_total;
    QString m_totalLabel;
};

} // namespace lockstep::ui
