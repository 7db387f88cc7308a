// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/config_push.h"

#include "core/base/hash.h"
#include "core/cluster/tf_config.h"

#include <QSysInfo>

#include <algorithm>
#include <cctype>

namespace lockstep::run {

namespace {

QString text(const std::string& value) {
    return QString::fromStdString(value);
}

std::string replaced(const std::string& value, const std::string& special,
                     const std::function<std::string(char)>& with) {
    std::string out;
    for (const char c : value)
        out += special.find(c) == std::string::npos ? std::string(1, c) : with(c);
    return out;
}

/// A cluster's name as a folder's.
std::string folderName(const std::string& name) {
    std::string folder = name.empty() ? "cluster" : name;
    for (char& c : folder)
        if (static_cast<unsigned char>(c) < 0x80 && !std::isalnum(static_cast<unsigned char>(c)) &&
            c != '-' && c != '_' && c != '.')
            c = '_';
    if (folder[0] == '.')
        folder[0] = '_';
    return folder;
}

} // namespace

std::vector<ShellFile> shellFiles(const std::string& value) {
    const auto afterBackslash = [](char c) { return std::string("\\") + c; };
    const std::string sh = replaced(value, "'", [](char) { return "'\\''"; });
    const std::string fish = replaced(value, "\\'", afterBackslash);
    // csh looks for its history's '!' and for line ends also between quotes.
    const std::string csh =
        replaced(value, "'!\n", [](char c) { return c == '\'' ? "'\\''" : std::string("\\") + c; });
    return {{"tf_config.sh", "TF_CONFIG='" + sh + "'\nexport TF_CONFIG\n"},
            {"tf_config.fish", "set -gx TF_CONFIG '" + fish + "'\n"},
            {"tf_config.csh", "setenv TF_CONFIG '" + csh + "'\n"}};
}

struct ConfigPush::Private {
    /// One machine and the places of its tasks in the results.
    struct Entry {
        std::string key;
        std::string base;
        std::shared_ptr<remote::Host> host;
        std::vector<std::size_t> tasks;
    };

    ConfigPush* q;
    HostFactory factory;
    cluster::ClusterSpec spec;
    std::vector<PushedConfig> results;
    std::vector<std::unique_ptr<Entry>> entries;
    std::size_t left = 0; ///< tasks

    void makeEntries();
    void begin();
    void prepare(Entry& entry);
    void push(Entry& entry, std::size_t place, const QString& machinePath);
    void putNext(Entry& entry, std::size_t place, std::shared_ptr<std::vector<ShellFile>> files,
                 std::size_t next);
    void finish(std::size_t place, Status status);
    void fail(Entry& entry, const Error& error);
};

ConfigPush::ConfigPush(HostFactory hosts, cluster::ClusterSpec spec, QObject* parent)
    : QObject(parent)
    , m_d(std::make_unique<Private>()) {
    m_d->q = this;
    m_d->factory = std::move(hosts);
    m_d->spec = std::move(spec);
    m_d->makeEntries();
}

ConfigPush::~ConfigPush() = default;

void ConfigPush::start() {
    QMetaObject::invokeMethod(
        this, [this] { m_d->begin(); }, Qt::QueuedConnection);
}

const std::vector<PushedConfig>& ConfigPush::results() const {
    return m_d->results;
}

bool ConfigPush::isSuccess() const {
    return std::all_of(m_d->results.begin(), m_d->results.end(),
                       [](const PushedConfig& result) { return result.status.ok(); });
}

void ConfigPush::Private::makeEntries() {
    std::vector<cluster::Worker> workers = spec.workers();
    std::stable_sort(workers.begin(), workers.end(),
                     [](const auto& a, const auto& b) { return a.task < b.task; });
    for (const cluster::Worker& worker : workers) {
        PushedConfig& result = results.emplace_back();
        result.task = worker.task.text();
        result.host =
            worker.isOnThisMachine() ? QSysInfo::machineHostName().toStdString() : worker.sshText();
        const std::string key = hostKey(worker);
        auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const auto& entry) { return entry->key == key; });
        if (at == entries.end()) {
            at = entries.insert(entries.end(), std::make_unique<Entry>());
            (*at)->key = key;
            (*at)->base = worker.base;
        }
        (*at)->tasks.push_back(results.size() - 1);
    }
    left = results.size();
}

void ConfigPush::Private::begin() {
    if (results.empty())
        Q_EMIT q->done();
    for (const auto& entry : entries) {
        const auto id = cluster::TaskId::parse(results[entry->tasks.front()].task);
        const auto worker = id ? spec.find(*id) : std::nullopt;
        auto made = factory(worker ? *worker : cluster::Worker{});
        if (!made) {
            fail(*entry, made.error());
            continue;
        }
        entry->host = std::move(*made);
        prepare(*entry);
    }
}

void ConfigPush::Private::prepare(Entry& entry) {
    entry.host->deploy([this, &entry](Result<QString> version) {
        if (!version)
            return fail(entry, version.error());
        entry.host->prepare(text(entry.base), [this, &entry](Result<remote::HostFacts> facts) {
            if (!facts)
                return fail(entry, facts.error());
            const auto places = entry.tasks;
            for (const std::size_t place : places)
                push(entry, place, facts->machinePath());
        });
    });
}

void ConfigPush::Private::push(Entry& entry, std::size_t place, const QString& machinePath) {
    PushedConfig& result = results[place];
    const auto id = cluster::TaskId::parse(result.task);
    const auto config =
        id ? cluster::tfConfigFor(spec, *id) : Result<cluster::TfConfig>(id.error());
    if (!config)
        return finish(place, config.error());
    result.folder =
        machinePath.toStdString() + "/tf_config/" + folderName(spec.name()) + "/" + id->pathName();
    const std::string value = config->dump();
    auto files = std::make_shared<std::vector<ShellFile>>(shellFiles(value));
    files->insert(files->begin(), {"tf_config.json", value});
    entry.host->makeFolder(text(result.folder), 0700, [this, &entry, place, files](Status made) {
        made ? putNext(entry, place, files, 0) : finish(place, made);
    });
}

/// Writes a file, reads it back, and goes on with the next.
void ConfigPush::Private::putNext(Entry& entry, std::size_t place,
                                  std::shared_ptr<std::vector<ShellFile>> files, std::size_t next) {
    if (next == files->size())
        return finish(place, {});
    const ShellFile& file = (*files)[next];
    const QString path = text(results[place].folder + "/" + file.name);
    const auto compare = [this, &entry, place, files, next, path](Result<QByteArray> bytes) {
        if (!bytes)
            return finish(place, bytes.error());
        const std::string hash = toHex(sha256(bytes->toStdString()));
        if (hash != toHex(sha256((*files)[next].text)))
            return finish(place, Error{Code::Corrupt,
                                       "What was read back differs from what was sent (SHA-256 " +
                                           hash + ").",
                                       path.toStdString()});
        if (next == 0)
            results[place].sha256 = hash;
        putNext(entry, place, files, next + 1);
    };
    entry.host->put(path, QByteArray::fromStdString(file.text), 0600,
                    [this, &entry, place, path, compare](Status put) {
                        put ? (void)entry.host->fetch(path, compare) : finish(place, put);
                    });
}

void ConfigPush::Private::finish(std::size_t place, Status status) {
    results[place].status = std::move(status);
    if (--left == 0)
        Q_EMIT q->done();
}

void ConfigPush::Private::fail(Entry& entry, const Error& error) {
    const auto places = entry.tasks;
    for (const std::size_t place : places)
        finish(place, error);
}

} // namespace lockstep::run
