// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Build tool: packs lockstep-worker, the libraries that it needs and the loader into the bundle
// that hosts get. The same input gives the same bytes. What it writes is read by
// core/helper/unpack.cpp and core/remote.
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/json.h"

#include <zlib.h>

#include <sys/utsname.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

constexpr std::size_t kLargest = 1u << 30;

std::string outputOf(const std::string& command) {
    FILE* pipe = ::popen(command.c_str(), "r");
    if (!pipe)
        throw std::runtime_error("cannot run " + command);
    std::string out;
    char piece[4096];
    while (const std::size_t got = std::fread(piece, 1, sizeof piece, pipe))
        out.append(piece, got);
    if (::pclose(pipe) != 0)
        throw std::runtime_error(command + " failed");
    return out;
}

std::string contentsOf(const fs::path& path) {
    auto bytes = files::read(path.string(), kLargest);
    if (!bytes)
        throw std::runtime_error(describe(bytes.error()));
    return std::move(*bytes);
}

/// Name in the bundle → file on this machine: what ldd says, and the loader.
std::map<std::string, fs::path> partsOf(const fs::path& worker, const fs::path& stripped) {
    std::map<std::string, fs::path> parts{{"lockstep-worker", stripped}};
    std::istringstream lines(outputOf("LC_ALL=C ldd '" + worker.string() + "'"));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name, arrow, path;
        words >> name >> arrow >> path;
        if (arrow == "=>" && path == "not")
            throw std::runtime_error(name + " is not found");
        if (arrow == "=>")
            parts["lib/" + name] = fs::canonical(path);
        else if (name.starts_with('/'))
            parts[fs::path(name).filename().string()] = fs::canonical(name);
    }
    return parts;
}

std::string deflated(const std::string& bytes) {
    uLongf size = ::compressBound(static_cast<uLong>(bytes.size()));
    std::string out(size, '\0');
    if (::compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                    reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uLong>(bytes.size()),
                    6) != Z_OK)
        throw std::runtime_error("zlib failed");
    out.resize(size);
    return out;
}

void check(const Status& status) {
    if (!status)
        throw std::runtime_error(describe(status.error()));
}

void pack(const fs::path& worker, const fs::path& helper, const fs::path& folder) {
    fs::create_directories(folder);
    const fs::path stripped = folder / "worker.stripped";
    outputOf("strip -s -o '" + stripped.string() + "' '" + worker.string() + "'");
    utsname machine{};
    ::uname(&machine);
    json::Value entries = json::Value::array();
    std::string contents;
    std::string loader;
    for (const auto& [name, path] : partsOf(worker, stripped)) {
        const std::string bytes = contentsOf(path);
        entries.append(json::Value::object({{"name", name},
                                            {"size", static_cast<std::int64_t>(bytes.size())},
                                            {"mode", name.starts_with("lib/") ? 0644 : 0755},
                                            {"sha256", toHex(sha256(bytes))}}));
        contents += bytes;
        if (name.starts_with("ld-"))
            loader = name;
    }
    fs::remove(stripped);
    if (loader.empty())
        throw std::runtime_error("ldd names no loader");
    const std::string manifest = json::dump(json::Value::object(
        {{"architecture", machine.machine}, {"loader", loader}, {"files", std::move(entries)}}));
    const std::string packed = deflated(manifest + "\n" + contents);
    check(files::writeAtomic((folder / "bundle.z").string(), packed));
    check(files::writeAtomic(
        (folder / "bundle.json").string(),
        json::dump(json::Value::object({{"format", "lockstep-bundle"},
                                        {"version", 1},
                                        {"architecture", machine.machine},
                                        {"loader", loader},
                                        {"hash", toHex(sha256(manifest))},
                                        {"packed", toHex(sha256(packed))},
                                        {"size", static_cast<std::int64_t>(packed.size())},
                                        {"helper", toHex(sha256(contentsOf(helper)))}})) +
            "\n"));
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::cerr << "usage: lockstep-pack WORKER HELPER FOLDER\n";
        return 2;
    }
    try {
        pack(argv[1], argv[2], argv[3]);
        return 0;
    } catch (const std::exception& failure) {
        std::cerr << "lockstep-pack: " << failure.what() << '\n';
        return 1;
    }
}
