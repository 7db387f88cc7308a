// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/train/cores.h"

#include "core/base/files.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>

namespace lockstep::train {

namespace {

int coresByAffinity() {
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

/// This process' folder below a cgroup mount, from /proc/self/cgroup; `controller` is empty for v2.
std::string cgroupFolder(const std::string& controller) {
    const auto text = files::read("/proc/self/cgroup");
    std::istringstream lines(text ? *text : std::string());
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos)
            continue;
        const std::string names = line.substr(first + 1, second - first - 1);
        if (controller.empty()
                ? names.empty()
                : ("," + names + ",").find("," + controller + ",") != std::string::npos)
            return line.substr(second + 1);
    }
    return {};
}

/// Cores of quota microseconds every period; nothing limits where the text says so.
double coresOf(const std::string& quota, const std::string& period) {
    double q = 0;
    double p = 0;
    if (std::sscanf(quota.c_str(), "%lf", &q) != 1 || std::sscanf(period.c_str(), "%lf", &p) != 1 ||
        q <= 0 || p <= 0)
        return INFINITY;
    return q / p;
}

double coresByQuota() {
    double cores = INFINITY;
    // A limit may stand at any level above this process.
    for (std::string folder = cgroupFolder("");;) {
        if (const auto text = files::read("/sys/fs/cgroup" + folder + "/cpu.max")) {
            std::string quota;
            std::string period;
            std::istringstream(*text) >> quota >> period;
            cores = std::min(cores, coresOf(quota, period));
        }
        if (folder.empty() || folder == "/")
            break;
        folder = folder.substr(0, folder.rfind('/'));
    }
    const std::string v1 = "/sys/fs/cgroup/cpu" + cgroupFolder("cpu");
    const auto quota = files::read(v1 + "/cpu.cfs_quota_us");
    const auto period = files::read(v1 + "/cpu.cfs_period_us");
    if (quota && period)
        cores = std::min(cores, coresOf(*quota, *period));
    return cores;
}

} // namespace

int usableCores() {
    const int byAffinity = coresByAffinity();
    const double byQuota = coresByQuota();
    if (byQuota >= byAffinity)
        return byAffinity;
    return std::max(1, static_cast<int>(std::ceil(byQuota)));
}

int shareOfCores(int cores, int workersHere) {
    return std::max(1, cores / std::max(1, workersHere));
}

} // namespace lockstep::train
