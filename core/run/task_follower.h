// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// One task's attempt, from the local copies of its files and on: replays what is there, then
// appends what the host sends, byte for byte from where the copies stop. So nothing is lost or
// doubled, whenever the control side was away. Thread: the caller's. A huge copy is read in pieces
// between events of the loop.

#include "core/agent/protocol.h"
#include "core/metrics/terminal.h"
#include "core/remote/host.h"
#include "core/run/run_folder.h"
#include "core/wire/event.h"
#include "core/wire/output_times.h"

#include <QObject>
#include <QTimer>

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace lockstep::run {

/// Opens a follow stream from the given offsets.
using OpenFollow = std::function<std::unique_ptr<remote::Stream>(
    const std::vector<std::pair<std::string, std::int64_t>>& offsets)>;

/// A line that the worker printed, as a terminal would show it.
struct OutputLine {
    std::string text;
    bool isError = false;
    std::optional<double> time; ///< on the host's clock, where the host wrote it down
};

class TaskFollower : public QObject {
    Q_OBJECT
public:
    TaskFollower(const RunFolder& folder, std::string task, int attempt, QObject* parent = nullptr);
    ~TaskFollower() override;

    const std::string& task() const { return m_task; }
    int attempt() const { return m_attempt; }
    bool isOver() const { return m_isOver; }
    /// When standard output first had `size` bytes, on the host's clock; nothing where that is not
    /// known (yet).
    std::optional<double> printedAt(std::int64_t size) const { return m_times[0].at(size); }

    /// Replays the copies, then replayed().
    void replay();
    /// After replay(): reads what another program appends to the copies, until stopTail().
    void tail();
    /// Reads the copies to their end once more, then replayed() again, and stops.
    void stopTail();
    /// After replay(): continues from the host. A broken stream is opened again, after longer and
    /// longer pauses, until there was no sign of life for `patience`; without one for ever.
    void follow(OpenFollow open,
                std::optional<std::chrono::milliseconds> patience = std::chrono::seconds(30));
    /// Looks away; the copies stay whole.
    void close();

Q_SIGNALS:
    void replayed();
    void eventReceived(const lockstep::wire::Event& event);
    /// A line of the events file that is no event.
    void faultReceived(const lockstep::Error& error);
    void lineReceived(const lockstep::run::OutputLine& line);
    /// Bytes of standard output, as they came.
    void outputReceived(const std::string& bytes);
    /// The host's clock, just now as far as the connection is quick.
    void clockSeen(double hostTime);
    void processChanged(const lockstep::agent::ProcessState& state);
    /// All that the host had when follow() began is here.
    void caughtUp();
    /// The process is over and every byte is here.
    void ended();
    /// The host is out of sight, and why; or (empty) in sight again.
    void awayChanged(const std::string& why);
    /// The host could not be followed for longer than allowed, or the copies could not be written.
    void lost(const lockstep::Error& error);

private:
    struct Copy {
        std::string name; ///< on the host
        std::string path; ///< here
        std::int64_t size = 0;
    };
    /// A line whose time is not here yet.
    struct HeldLine {
        std::string text;
        std::int64_t end;
        std::chrono::steady_clock::time_point since;
    };

    void readPiece();
    bool readSome(Copy& copy);
    void openStream();
    void take(const QByteArray& line);
    void noteCaughtUp();
    Status append(const agent::FileBytes& bytes);
    void feed(std::size_t copy, const std::string& bytes);
    void feedEvents(const std::string& bytes);
    enum class Release { Timed, All };
    void release(Release which);
    void streamClosed(const Result<remote::Exit>& end, const QByteArray& errorOutput);
    void fail(const Error& error);

    std::string m_task;
    int m_attempt;
    /// Events, the times of stdout and stderr, stdout, stderr: times first, so that a replay knows
    /// them when it comes to the lines.
    std::array<Copy, 5> m_copies;
    wire::LineSplitter m_events;
    std::array<wire::OutputTimes, 2> m_times;
    std::array<metrics::TerminalLines, 2> m_lines;
    std::array<std::deque<HeldLine>, 2> m_held;
    QTimer m_timer;   ///< pieces of the replay, looks of the tail, retries
    QTimer m_release; ///< lines that waited long enough for their time
    enum class Mode { Idle, Replaying, Tailing, Draining, Following } m_mode = Mode::Idle;
    OpenFollow m_open;
    std::optional<std::chrono::milliseconds> m_patience;
    std::chrono::milliseconds m_pause{}; ///< before the next try
    bool m_isAway = false;
    std::chrono::steady_clock::time_point m_lastLife;
    std::unique_ptr<remote::Stream> m_stream;
    std::optional<Error> m_lastError;
    bool m_isCaughtUp = false;
    bool m_isOver = false;
};

} // namespace lockstep::run
