// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// Run: a program with its three pipes, in a session of its own.
#include "core/base/files.h"
#include "core/helper/detail/task.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockstep::helper::detail {

namespace {

constexpr std::size_t kInputLimit = 8u << 20; ///< queued for a program that does not read

struct Pipe {
    int read = -1;
    int write = -1;

    bool open() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0)
            return false;
        read = ends[0];
        write = ends[1];
        return true;
    }
    ~Pipe() {
        close(read);
        close(write);
    }
    static void close(int& fd) {
        if (fd >= 0)
            ::close(fd);
        fd = -1;
    }
};

/// Its words and environment as exec takes them; made before the fork, which may allocate nothing.
struct Words {
    std::vector<std::string> texts;
    std::vector<char*> pointers;

    void finish() {
        for (std::string& text : texts)
            pointers.push_back(text.data());
        pointers.push_back(nullptr);
    }
};

Words environmentWith(const json::Value* added) {
    Words words;
    for (char** each = environ; *each; ++each) {
        const std::string_view entry = *each;
        const std::string_view name = entry.substr(0, entry.find('='));
        if (!added || !added->isObject() || !added->contains(name))
            words.texts.emplace_back(entry);
    }
    if (added && added->isObject())
        for (const json::Member& member : added->members())
            if (member.value.isString())
                words.texts.push_back(member.key + "=" + member.value.toString());
    words.finish();
    return words;
}

class Program : public Task {
public:
    Program(const json::Value& request, Reply reply)
        : m_reply(std::move(reply)) {
        Words words;
        words.texts.push_back(textAt(request, "program"));
        if (const json::Value* args = request.find("args"); args && args->isArray())
            for (const json::Value& arg : args->items())
                words.texts.push_back(arg.isString() ? arg.toString() : std::string());
        words.finish();
        m_name = words.texts[0];
        start(words, environmentWith(request.find("env")), textAt(request, "cwd"));
    }
    ~Program() override {
        if (m_pid > 0) {
            ::kill(-m_pid, SIGKILL);
            ::waitpid(m_pid, nullptr, 0);
        }
        if (m_pidFd >= 0)
            ::close(m_pidFd);
    }

    bool isRunning() const { return m_pid > 0; }

    void want(std::vector<pollfd>& wanted, bool mayOutput) const override {
        if (m_pidFd >= 0)
            wanted.push_back({m_pidFd, POLLIN, 0});
        if (m_input.write >= 0 && !m_queue.empty())
            wanted.push_back({m_input.write, POLLOUT, 0});
        if (!mayOutput)
            return;
        for (const int fd : {m_output.read, m_errors.read})
            if (fd >= 0)
                wanted.push_back({fd, POLLIN, 0});
    }

    bool advance(bool mayOutput) override {
        feed();
        if (mayOutput) {
            drain(m_output.read, Kind::Output, 1);
            drain(m_errors.read, Kind::ErrorOutput, 1);
        }
        int status = 0;
        if (::waitpid(m_pid, &status, WNOHANG) != m_pid)
            return false;
        // What it left in its pipes; a child of its own may hold them open for ever.
        drain(m_output.read, Kind::Output, 1 << 10);
        drain(m_errors.read, Kind::ErrorOutput, 1 << 10);
        ::kill(-m_pid, SIGKILL);
        m_pid = 0;
        m_reply.send(Kind::Exited,
                     json::dump(WIFSIGNALED(status)
                                    ? json::Value::object({{"signal", WTERMSIG(status)}})
                                    : json::Value::object({{"exit_code", WEXITSTATUS(status)}})));
        return true;
    }

    void input(std::string_view bytes) override {
        if (m_queue.size() + bytes.size() > kInputLimit) {
            ::kill(-m_pid, SIGKILL); // it reads nothing; its exit answers
            return;
        }
        m_queue += bytes;
        feed();
    }
    void inputEnd() override {
        m_isInputOver = true;
        feed();
    }

private:
    void start(const Words& words, const Words& environment, const std::string& folder) {
        Pipe failure;
        if (!m_input.open() || !m_output.open() || !m_errors.open() || !failure.open())
            return m_reply.failed(files::fromErrno(errno, "make a pipe for", m_name));
        const pid_t pid = ::fork();
        if (pid < 0)
            return m_reply.failed(files::fromErrno(errno, "start", m_name));
        if (pid == 0) {
            ::setsid();
            ::prctl(PR_SET_PDEATHSIG, SIGKILL); // a helper that is killed takes it along
            ::dup2(m_input.read, 0);
            ::dup2(m_output.write, 1);
            ::dup2(m_errors.write, 2);
            ::signal(SIGPIPE, SIG_DFL);
            int error = 0;
            if (!folder.empty() && ::chdir(folder.c_str()) != 0)
                error = errno;
            if (error == 0) {
                ::execvpe(words.pointers[0], words.pointers.data(), environment.pointers.data());
                error = errno;
            }
            (void)!::write(failure.write, &error, sizeof error);
            ::_exit(127);
        }
        Pipe::close(m_input.read);
        Pipe::close(m_output.write);
        Pipe::close(m_errors.write);
        Pipe::close(failure.write);
        int error = 0;
        ssize_t got = 0;
        do
            got = ::read(failure.read, &error, sizeof error);
        while (got < 0 && errno == EINTR);
        if (got == sizeof error) {
            ::waitpid(pid, nullptr, 0);
            return m_reply.failed(
                {error == ENOENT ? Code::NotFound : Code::PermissionDenied,
                 std::string("The program could not be started: ") + std::strerror(error) + ".",
                 m_name});
        }
        m_pid = pid;
        m_pidFd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); // kernels before 5.3: -1
        for (const int fd : {m_input.write, m_output.read, m_errors.read})
            ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    }

    void feed() {
        while (m_input.write >= 0 && !m_queue.empty()) {
            const ssize_t put =
                ::write(m_input.write, m_queue.data() + m_fed, m_queue.size() - m_fed);
            if (put < 0 && (errno == EAGAIN || errno == EINTR))
                return;
            if (put < 0) { // it does not read any more
                m_queue.clear();
                return Pipe::close(m_input.write);
            }
            m_fed += static_cast<std::size_t>(put);
            if (m_fed == m_queue.size() || m_fed > kPiece) {
                m_queue.erase(0, m_fed);
                m_fed = 0;
            }
        }
        if (m_isInputOver && m_queue.empty())
            Pipe::close(m_input.write);
    }

    void drain(int& fd, Kind kind, int pieces) {
        std::string& piece = scratch();
        for (int i = 0; fd >= 0 && i < pieces; ++i) {
            const ssize_t got = ::read(fd, piece.data(), piece.size());
            if (got < 0)
                return;
            if (got == 0)
                return Pipe::close(fd);
            m_reply.send(kind, std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
        }
    }

    Reply m_reply;
    std::string m_name;
    pid_t m_pid = 0;
    int m_pidFd = -1;
    Pipe m_input;
    Pipe m_output;
    Pipe m_errors;
    std::string m_queue;
    std::size_t m_fed = 0; ///< bytes of m_queue
    bool m_isInputOver = false;
};

} // namespace

std::unique_ptr<Task> startProgram(const json::Value& request, Reply reply) {
    auto program = std::make_unique<Program>(request, std::move(reply));
    if (!program->isRunning())
        return nullptr;
    return program;
}

} // namespace lockstep::helper::detail
