// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/agent/detail/explain.h"

#include "core/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

namespace lockstep::agent::detail {

namespace {

std::string quoted(std::string_view text) {
    return "\"" + std::string(text) + "\"";
}

/// The beginning of a file, as much as a first line may be.
std::string headOf(const std::string& file) {
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return {};
    std::string head(512, '\0');
    const ssize_t got = ::read(fd, head.data(), head.size());
    ::close(fd);
    head.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return head;
}

/// The program that a script's first line names, or "".
std::string interpreterOf(const std::string& head) {
    if (!head.starts_with("#!"))
        return {};
    const std::string line = head.substr(2, head.find('\n') - 2);
    const std::size_t from = line.find_first_not_of(" \t");
    if (from == line.npos)
        return {};
    return line.substr(from, line.find_first_of(" \t", from) - from);
}

std::string missingInterpreter(const std::string& program, std::string interpreter) {
    if (interpreter.ends_with('\r')) {
        interpreter.pop_back();
        return "The first line of " + quoted(program) + " ends as on Windows, so that " +
               quoted(interpreter) +
               " is not found; save the file with Unix line ends (dos2unix does it).";
    }
    return "The first line of " + quoted(program) + " names the interpreter " +
           quoted(interpreter) +
           ", which is not on this host; name one that is, or begin argv "
           "with it.";
}

std::string whyNoAccess(const std::string& program, const std::string& file,
                        const struct stat& info) {
    if (S_ISDIR(info.st_mode))
        return quoted(program) + " is a folder, not a program.";
    struct statvfs system {};
    if (::statvfs(file.c_str(), &system) == 0 && (system.f_flag & ST_NOEXEC) != 0)
        return quoted(program) +
               " may not be executed: its file system is mounted with noexec; begin argv with "
               "an interpreter, or put the program somewhere else.";
    if ((info.st_mode & 0111) == 0)
        return quoted(program) +
               " may not be executed: its mode lacks the x bit; run chmod +x on it, or begin "
               "argv with its interpreter, e.g. python3.";
    const std::string interpreter = interpreterOf(headOf(file));
    return quoted(program) + " may not be executed by this user" +
           (interpreter.empty() ? std::string(".")
                                : ", or its interpreter " + quoted(interpreter) + " may not.");
}

std::string whyWrongFormat(const std::string& program, const std::string& head) {
    if (head.starts_with("\x7f"
                         "ELF"))
        return quoted(program) + " is built for another kind of processor than this host's.";
    if (head.empty())
        return quoted(program) + " is an empty file.";
    return quoted(program) +
           " is no program that the system knows: it is no binary, and its first line names no "
           "interpreter (#!/usr/bin/env python3); begin argv with the interpreter.";
}

/// The first of PATH that has the name, or "".
std::string foundIn(const std::string& path, const std::string& name) {
    for (std::size_t from = 0; from <= path.size();) {
        const std::size_t end = std::min(path.find(':', from), path.size());
        const std::string folder = path.substr(from, end - from);
        const std::string file = (folder.empty() ? "." : folder) + "/" + name;
        if (::access(file.c_str(), F_OK) == 0)
            return file;
        from = end + 1;
    }
    return {};
}

} // namespace

Error whyNotExecuted(const std::string& program, const std::string& cwd, const std::string& path,
                     int error) {
    std::string file = program;
    if (program.find('/') == program.npos) {
        file = foundIn(path, program);
        if (file.empty())
            return {Code::NotFound,
                    "There is no program " + quoted(program) +
                        " on this host; looked in PATH: " + path + ".",
                    program};
    } else if (program.front() != '/') {
        file = cwd + '/' + program;
    }
    struct stat info {};
    if (::stat(file.c_str(), &info) != 0) {
        std::string message = "There is no file " + quoted(file) + " on this host.";
        if (errno == EACCES)
            message =
                quoted(file) + " cannot be reached: a folder above it is closed to this user.";
        return {Code::NotFound, message, program};
    }
    const std::string head = headOf(file);
    std::string message;
    if (error == ENOENT)
        message = interpreterOf(head).empty()
                      ? quoted(program) + " needs a loader that is not on this host: it is built "
                                          "for another system."
                      : missingInterpreter(program, interpreterOf(head));
    else if (error == EACCES)
        message = whyNoAccess(program, file, info);
    else if (error == ENOEXEC)
        message = whyWrongFormat(program, head);
    else
        message = files::fromErrno(error, "execute", program).message;
    return {error == EACCES ? Code::PermissionDenied : Code::InvalidArgument, message, program};
}

} // namespace lockstep::agent::detail
