// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/task_follower.h"

#include "core/base/clock.h"
#include "core/base/files.h"

#include <QRandomGenerator>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace lockstep::run {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPiece = 64 * 1024; ///< a few milliseconds of decoding
constexpr auto kTailEvery = 100ms;
constexpr std::chrono::milliseconds kFirstPause = 300ms;
constexpr std::chrono::milliseconds kLongestPause = 15s;
constexpr auto kAwayAfter = 2s; ///< a shorter break is not worth a word
/// How long a line waits for its time, which the host writes down a moment after it.
constexpr auto kTimeComesWithin = 400ms;

// Places in the list of copies.
constexpr std::size_t kEvents = 0;
constexpr std::size_t kTimes = 1;  ///< two: stdout, stderr
constexpr std::size_t kOutput = 3; ///< two

std::int64_t sizeOf(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

Status createEmpty(const std::string& path) {
    LOCKSTEP_TRY(files::makeFolders(path.substr(0, path.rfind('/')), 0700));
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return files::fromErrno(errno, "write", path);
    ::close(fd);
    return {};
}

} // namespace

TaskFollower::TaskFollower(const RunFolder& folder, std::string task, int attempt, QObject* parent)
    : QObject(parent)
    , m_task(std::move(task))
    , m_attempt(attempt) {
    const char* const names[] = {agent::kEventsFile, agent::kStdoutTimesFile,
                                 agent::kStderrTimesFile, agent::kStdoutFile, agent::kStderrFile};
    for (std::size_t i = 0; i < m_copies.size(); ++i)
        m_copies[i] = {names[i], folder.attemptFolder(m_task, attempt) + "/" + names[i], 0};
    m_timer.setSingleShot(true);
    m_release.setSingleShot(true);
    connect(&m_release, &QTimer::timeout, this, [this] { release(Release::Timed); });
    connect(&m_timer, &QTimer::timeout, this,
            [this] { m_mode == Mode::Following ? openStream() : readPiece(); });
}

TaskFollower::~TaskFollower() {
    close();
}

void TaskFollower::replay() {
    m_mode = Mode::Replaying;
    m_timer.start(0);
}

void TaskFollower::tail() {
    m_mode = Mode::Tailing;
    m_timer.start(0);
}

void TaskFollower::stopTail() {
    m_mode = Mode::Draining;
    m_timer.start(0);
}

void TaskFollower::readPiece() {
    bool moved = false;
    for (Copy& copy : m_copies)
        moved = moved || readSome(copy);
    if (moved) {
        m_timer.start(0);
    } else if (m_mode == Mode::Tailing) {
        m_timer.start(kTailEvery);
    } else {
        // Whoever follows on gets the times too.
        if (m_mode == Mode::Draining)
            release(Release::All);
        m_mode = Mode::Idle;
        Q_EMIT replayed();
    }
}

bool TaskFollower::readSome(Copy& copy) {
    const int fd = ::open(copy.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    std::string bytes(kPiece, '\0');
    const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), copy.size);
    ::close(fd);
    if (got <= 0)
        return false;
    bytes.resize(static_cast<std::size_t>(got));
    copy.size += got;
    feed(static_cast<std::size_t>(&copy - m_copies.data()), bytes);
    return true;
}

void TaskFollower::feed(std::size_t copy, const std::string& bytes) {
    if (copy == kEvents)
        return feedEvents(bytes);
    const std::size_t stream = (copy - kTimes) % 2;
    if (copy < kOutput) {
        m_times[stream].add(bytes);
    } else {
        if (stream == 0)
            Q_EMIT outputReceived(bytes);
        const auto now = Monotonic::now();
        for (metrics::TerminalLines::Line& line : m_lines[stream].add(bytes))
            m_held[stream].push_back({std::move(line.text), line.end, now});
    }
    release(Release::Timed);
}

void TaskFollower::feedEvents(const std::string& bytes) {
    for (const std::string& line : m_events.add(bytes)) {
        if (const auto event = wire::decode(line))
            Q_EMIT eventReceived(*event);
        else
            Q_EMIT faultReceived(event.error());
    }
}

/// Gives out the lines whose time is known, and those that waited too long for it.
void TaskFollower::release(Release which) {
    const auto now = Monotonic::now();
    bool isWaiting = false;
    for (std::size_t stream = 0; stream < m_held.size(); ++stream) {
        std::deque<HeldLine>& held = m_held[stream];
        while (!held.empty()) {
            const HeldLine& first = held.front();
            const bool isKnown = first.end <= m_times[stream].known();
            const bool isLate = m_mode != Mode::Replaying && now - first.since >= kTimeComesWithin;
            if (!isKnown && !isLate && which == Release::Timed) {
                isWaiting = true;
                break;
            }
            const OutputLine line{first.text, stream == 1, m_times[stream].at(first.end)};
            held.pop_front();
            Q_EMIT lineReceived(line);
        }
    }
    if (isWaiting && !m_release.isActive())
        m_release.start(kTimeComesWithin);
}

void TaskFollower::follow(OpenFollow open, std::optional<std::chrono::milliseconds> patience) {
    m_open = std::move(open);
    m_patience = patience;
    m_pause = kFirstPause;
    m_mode = Mode::Following;
    m_lastLife = Monotonic::now();
    // The host has all of them from the start; a worker that prints nothing leaves them empty.
    for (const Copy& copy : m_copies)
        if (const auto made = createEmpty(copy.path); !made)
            return fail(made.error());
    openStream();
}

void TaskFollower::openStream() {
    std::vector<std::pair<std::string, std::int64_t>> offsets;
    for (const Copy& copy : m_copies)
        offsets.emplace_back(copy.name, copy.size);
    m_stream = m_open(offsets);
    connect(m_stream.get(), &remote::Stream::lineReceived, this, &TaskFollower::take);
    connect(m_stream.get(), &remote::Stream::closed, this, &TaskFollower::streamClosed);
}

void TaskFollower::take(const QByteArray& line) {
    const auto item = agent::decodeFollowItem(
        std::string_view(line.constData(), static_cast<std::size_t>(line.size())));
    if (!item) {
        m_lastError = item.error();
        return;
    }
    m_lastLife = Monotonic::now();
    m_pause = kFirstPause;
    if (std::exchange(m_isAway, false))
        Q_EMIT awayChanged({});
    if (const auto* bytes = std::get_if<agent::FileBytes>(&*item)) {
        if (const Status done = append(*bytes); !done)
            fail(done.error());
    } else if (const auto* heartbeat = std::get_if<agent::Heartbeat>(&*item);
               heartbeat && heartbeat->utcSeconds > 0) {
        Q_EMIT clockSeen(heartbeat->utcSeconds);
        noteCaughtUp();
    } else if (const auto* state = std::get_if<agent::ProcessState>(&*item)) {
        Q_EMIT processChanged(*state);
    } else {
        noteCaughtUp();
        if (std::holds_alternative<agent::End>(*item)) {
            release(Release::All);
            m_isOver = true;
            m_mode = Mode::Idle;
            Q_EMIT ended();
        }
    }
}

void TaskFollower::noteCaughtUp() {
    if (m_isCaughtUp)
        return;
    m_isCaughtUp = true;
    Q_EMIT caughtUp();
}

Status TaskFollower::append(const agent::FileBytes& bytes) {
    for (std::size_t i = 0; i < m_copies.size(); ++i) {
        Copy& copy = m_copies[i];
        if (copy.name != bytes.file)
            continue;
        if (bytes.offset != copy.size || sizeOf(copy.path) != copy.size)
            return Error{Code::Internal,
                         "The host sent bytes from " + std::to_string(bytes.offset) +
                             " on, but the copy holds " + std::to_string(copy.size) + ".",
                         copy.path};
        const int fd = ::open(copy.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0)
            return files::fromErrno(errno, "write", copy.path);
        const auto want = static_cast<ssize_t>(bytes.bytes.size());
        const ssize_t wrote = ::write(fd, bytes.bytes.data(), bytes.bytes.size());
        const int error = wrote < 0 ? errno : ENOSPC;
        ::close(fd);
        if (wrote > 0)
            copy.size += wrote;
        if (wrote != want)
            return files::fromErrno(error, "write", copy.path);
        feed(i, bytes.bytes);
    }
    return {};
}

void TaskFollower::streamClosed(const Result<remote::Exit>& end, const QByteArray& errorOutput) {
    if (m_isOver || m_mode != Mode::Following)
        return;
    if (!m_lastError && !end)
        m_lastError = end.error();
    if (!m_lastError)
        m_lastError =
            Error{Code::Unreachable,
                  "Following " + m_task + " ended early: " + errorOutput.trimmed().toStdString(),
                  {}};
    const auto silence = Monotonic::now() - m_lastLife;
    if (m_patience && silence > *m_patience)
        return fail(*m_lastError);
    if (!m_isAway && silence > kAwayAfter) {
        m_isAway = true;
        Q_EMIT awayChanged(describe(*m_lastError));
    }
    m_lastError.reset();
    // Some jitter, so that many hosts do not come back all at once.
    const int jitter =
        QRandomGenerator::global()->bounded(static_cast<int>(m_pause.count()) / 4 + 1);
    m_timer.start(m_pause + std::chrono::milliseconds(jitter));
    m_pause = std::min(m_pause * 2, kLongestPause);
}

void TaskFollower::fail(const Error& error) {
    release(Release::All);
    close();
    Q_EMIT lost(error);
}

void TaskFollower::close() {
    m_mode = Mode::Idle;
    m_timer.stop();
    if (!m_stream)
        return;
    // It may be what is calling us.
    m_stream->disconnect(this);
    m_stream->close();
    m_stream.release()->deleteLater();
}

} // namespace lockstep::run
