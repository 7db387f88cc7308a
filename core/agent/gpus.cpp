// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/detail/capture.h"
#include "core/agent/probe.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <sstream>

namespace lockstep::agent {

namespace {

constexpr int kDeadlineMs = 8000;
constexpr int kNotRunning = 9; ///< nvidia-smi's exit code for a driver that is not loaded
constexpr const char* kColumns =
    "--query-gpu=name,memory.total,driver_version,compute_cap,mig.mode.current";

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    return first == std::string::npos
               ? std::string()
               : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// A cell, or "" where nvidia-smi has no value for it: "[N/A]", "[Not Supported]".
std::string cell(std::istringstream& row) {
    std::string text;
    std::getline(row, text, ',');
    text = trimmed(text);
    return text.starts_with("[") || text == "N/A" ? std::string() : text;
}

void readTable(HostProbe& probe, const std::string& table) {
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
        if (trimmed(line).empty() || line.find(',') == std::string::npos)
            continue;
        std::istringstream row(line);
        Gpu gpu;
        gpu.name = cell(row);
        const std::string memory = cell(row);
        std::from_chars(memory.data(), memory.data() + memory.size(), gpu.memoryMiB);
        if (const std::string driver = cell(row); !driver.empty())
            probe.driver = driver;
        gpu.computeCapability = cell(row);
        gpu.isMig = cell(row) == "Enabled";
        probe.gpus.push_back(gpu);
    }
}

std::string toolIn(const std::vector<std::string>& folders) {
    for (const std::string& folder : folders)
        if (::access((folder + "/nvidia-smi").c_str(), X_OK) == 0)
            return folder + "/nvidia-smi";
    return {};
}

bool deviceIsClosed() {
    return ::access("/dev/nvidiactl", F_OK) == 0 && ::access("/dev/nvidiactl", R_OK | W_OK) != 0 &&
           errno == EACCES;
}

GpuState stateOfFailure(const detail::Captured& answer) {
    const auto says = [&](const char* text) { return answer.out.find(text) != std::string::npos; };
    if (says("version mismatch"))
        return GpuState::Mismatch;
    if (says("No devices were found"))
        return GpuState::None;
    if (says("nsufficient Permissions") || deviceIsClosed())
        return GpuState::PermissionDenied;
    if (answer.exitCode == kNotRunning || says("couldn't communicate"))
        return GpuState::NotRunning;
    return GpuState::Failed;
}

std::string cudaOf(const std::string& overview) {
    constexpr std::string_view kKey = "CUDA Version:";
    const std::size_t at = overview.find(kKey);
    if (at == std::string::npos)
        return {};
    std::istringstream rest(overview.substr(at + kKey.size()));
    std::string version;
    rest >> version;
    return version == "N/A" ? std::string() : version;
}

} // namespace

const std::vector<std::string>& gpuToolFolders() {
    static const std::vector<std::string> folders = {"/usr/bin",       "/usr/sbin",
                                                     "/usr/local/bin", "/usr/lib/wsl/lib",
                                                     "/opt/bin",       "/opt/nvidia/bin"};
    return folders;
}

void probeGpus(HostProbe& probe, const std::vector<std::string>& folders) {
    const std::string tool = toolIn(folders);
    if (tool.empty()) {
        probe.gpuState = deviceIsClosed() ? GpuState::PermissionDenied : GpuState::NoDriver;
        return;
    }
    const auto table =
        detail::capture({tool, kColumns, "--format=csv,noheader,nounits"}, kDeadlineMs);
    if (!table.started || table.exitCode != 0) {
        probe.gpuState = stateOfFailure(table);
        probe.gpuWords = trimmed(table.out).substr(0, 500);
        if (probe.gpuWords.empty())
            probe.gpuWords = tool + " ended with exit code " + std::to_string(table.exitCode);
        return;
    }
    readTable(probe, table.out);
    probe.gpuState = probe.gpus.empty() ? GpuState::None : GpuState::Ready;
    if (!probe.gpus.empty())
        probe.cuda = cudaOf(detail::capture({tool}, kDeadlineMs).out);
}

} // namespace lockstep::agent
