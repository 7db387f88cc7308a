// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/detail/fleet_private.h"

#include <set>

namespace lockstep::run {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kAtOnce = 4; ///< files on their way to one host
constexpr int kRounds = 3;         ///< of asking and sending
/// What a host surely copies and hashes in a second.
constexpr std::int64_t kCopyRate = 10'000'000;

QString text(const std::string& value) {
    return QString::fromStdString(value);
}

} // namespace

/// One host gets the folder: asks what is missing, sends it, asks again until it is made.
class Fleet::FolderPush : public std::enable_shared_from_this<FolderPush> {
public:
    using Sent = std::function<void(const std::string&, int, std::int64_t)>;
    using Done = std::function<void(Status)>;

    FolderPush(Entry& entry, const std::string& runId, const PushManifest& manifest, Sent sent,
               Done done)
        : m_entry(entry)
        , m_folder(manifest.folder)
        , m_bytes(manifest.bytes())
        , m_sent(std::move(sent))
        , m_done(std::move(done)) {
        m_request.store = entry.facts.machinePath().toStdString() + "/pushed";
        m_request.target = entry.runPath(runId) + "/job/" + kPushedFolder;
        m_request.entries = manifest.entries;
    }

    void ask() {
        const auto deadline = 60s + std::chrono::seconds(m_bytes / kCopyRate);
        m_entry.host->run(
            m_entry.facts.worker({QStringLiteral("assemble")}),
            QByteArray::fromStdString(agent::encode(m_request)),
            [self = shared_from_this()](Result<remote::Output> output) { self->answered(output); },
            deadline);
    }

private:
    void answered(const Result<remote::Output>& output) {
        const auto line = detail::replyLine(output);
        const auto reply =
            line ? agent::decodeAssembleReply(*line) : Result<agent::AssembleReply>(line.error());
        if (!reply)
            return m_done(reply.error());
        if (reply->ok()) {
            m_sent(m_entry.name, m_files, m_sentBytes);
            return m_done({});
        }
        if (++m_round > kRounds || !queue(reply->missing))
            return m_done(Error{Code::Corrupt,
                                "Files of the pushed folder arrive with other content than they "
                                "had when the run was launched; they were changed meanwhile.",
                                m_folder});
        const std::size_t count = std::min(kAtOnce, m_queue.size());
        for (std::size_t i = 0; i < count; ++i)
            sendNext();
    }

    bool queue(const std::vector<std::string>& missing) {
        std::set<std::string> wanted(missing.begin(), missing.end());
        for (const agent::FolderEntry& entry : m_request.entries)
            if (wanted.erase(entry.sha256) > 0)
                m_queue.push_back(entry);
        return !m_queue.empty();
    }

    void sendNext() {
        if (m_failure || m_queue.empty()) {
            if (m_underWay == 0)
                m_failure ? m_done(*m_failure) : ask();
            return;
        }
        const agent::FolderEntry entry = m_queue.back();
        m_queue.pop_back();
        ++m_underWay;
        ++m_files;
        m_sentBytes += entry.size;
        m_entry.host->putFile(text(m_folder + "/" + entry.path),
                              text(m_request.store + "/" + entry.sha256), 0600, {},
                              [self = shared_from_this()](Status put) {
                                  --self->m_underWay;
                                  if (!put && !self->m_failure)
                                      self->m_failure = put.error();
                                  self->sendNext();
                              });
    }

    Entry& m_entry;
    agent::AssembleRequest m_request;
    std::string m_folder;
    std::int64_t m_bytes;
    Sent m_sent;
    Done m_done;
    std::vector<agent::FolderEntry> m_queue;
    std::size_t m_underWay = 0;
    int m_round = 0;
    int m_files = 0;
    std::int64_t m_sentBytes = 0;
    std::optional<Error> m_failure;
};

std::string Fleet::pushedFolderOf(const std::string& task, const std::string& runId) const {
    return jobFolderOf(task, runId) + "/" + kPushedFolder;
}

void Fleet::pushFolder(const std::string& runId, const PushManifest& manifest,
                       std::function<void(const std::string&, int, std::int64_t)> sent,
                       Finished done) {
    auto batch = std::make_shared<Batch>(m_entries.size(), std::move(done));
    for (const auto& each : m_entries) {
        Entry& entry = *each;
        const auto answered = [this, &entry, batch](Status status) {
            batch->answer(status ? std::optional<Cause>()
                                 : causeOf(entry, entry.tasks.front(), status.error()));
        };
        std::make_shared<FolderPush>(entry, runId, manifest, sent, answered)->ask();
    }
}

} // namespace lockstep::run
