// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/document/settings.h"

#include "core/base/files.h"
#include "core/base/json_reader.h"
#include "core/document/format.h"

#include <QDir>
#include <QString>

#include <algorithm>
#include <filesystem>

namespace lockstep::document {

namespace {

constexpr std::size_t kRecent = 10;
constexpr std::size_t kLimit = 1u << 20;

const Format& settingsFormat() {
    static const Format format{"lockstep-settings", 1, {}};
    return format;
}

const Format& viewFormat() {
    static const Format format{"lockstep-view", 1, {}};
    return format;
}

const std::vector<std::string>& themeNames() {
    static const std::vector<std::string> names = {"system", "light", "dark"};
    return names;
}

/// Every setting, once: key, field, range. `visit` reads or writes them.
template <class Visitor, class S>
void describeFields(Visitor& visit, S& settings) {
    visit.choice("theme", settings.theme, themeNames());
    visit.integer("local_workers", settings.localWorkers, 1, 64);
    visit.integer("first_port", settings.firstPort, 1, 65535);
    visit.paths("recent_clusters", settings.recentClusters);
    visit.paths("recent_jobs", settings.recentJobs);
}

/// Leaves a field as it is where the file has nothing or something wrong for it.
class FieldReader {
public:
    explicit FieldReader(const json::Reader& root)
        : m_root(root) {}

    template <class E>
    void choice(const char* key, E& field, const std::vector<std::string>& names) {
        if (const auto name = m_root.at(key).oneOf(names))
            field = static_cast<E>(std::find(names.begin(), names.end(), *name) - names.begin());
    }
    void integer(const char* key, int& field, int min, int max) {
        if (const auto value = m_root.at(key).integer(min, max))
            field = static_cast<int>(*value);
    }
    void paths(const char* key, std::vector<std::string>& field) {
        for (const json::Reader& item : m_root.at(key).items())
            if (const auto path = item.string(); path && field.size() < kRecent)
                field.push_back(*path);
    }

private:
    const json::Reader& m_root;
};

/// Writes what differs from the default, and removes what does not.
class FieldWriter {
public:
    explicit FieldWriter(json::Value& document)
        : m_document(document) {}

    template <class E>
    void choice(const char* key, const E& field, const std::vector<std::string>& names) {
        write(key, names[static_cast<std::size_t>(field)]);
    }
    void integer(const char* key, int field, int, int) { write(key, field); }
    void paths(const char* key, const std::vector<std::string>& field) {
        json::Value list = json::Value::array();
        for (const std::string& path : field)
            list.append(path);
        write(key, std::move(list));
    }

    void startWriting(const json::Value* defaults) { m_defaults = defaults; }

private:
    void write(const char* key, json::Value value) {
        const json::Value* standard = m_defaults ? m_defaults->find(key) : nullptr;
        if (standard && *standard == value)
            m_document.remove(key);
        else
            m_document.set(key, std::move(value));
    }

    json::Value& m_document;
    const json::Value* m_defaults = nullptr;
};

json::Value header(const Format& format) {
    return json::Value::object({{"format", format.name}, {"version", format.version}});
}

Status saveBeside(const std::string& path, const json::Value& document) {
    LOCKSTEP_TRY(files::makeFolders(std::filesystem::path(path).parent_path().string(), 0700));
    return files::writeAtomic(path, json::dumpPretty(document), files::Durability::Renamed, 0600);
}

} // namespace

void noteRecent(std::vector<std::string>& recent, const std::string& path) {
    std::erase(recent, path);
    recent.insert(recent.begin(), path);
    recent.resize(std::min(recent.size(), kRecent));
}

std::string configFolder() {
    QString base = qEnvironmentVariable("XDG_CONFIG_HOME");
    if (!QDir::isAbsolutePath(base)) // the base directory specification ignores relative ones
        base = QDir::homePath() + QStringLiteral("/.config");
    return QDir::cleanPath(base + QStringLiteral("/lockstep")).toStdString();
}

SettingsFile::SettingsFile(std::string path)
    : m_path(std::move(path)) {}

Settings SettingsFile::load(Problems& problems) {
    Settings settings;
    const auto text = files::read(m_path, kLimit);
    if (!text && text.error().code == Code::NotFound)
        return settings;
    const auto opened = text ? open(*text, m_path, settingsFormat()) : text.error();
    if (!opened) {
        problems.push_back({Severity::Warning,
                            m_path,
                            {},
                            0,
                            opened.error().message,
                            {},
                            "The defaults are used."});
        return settings;
    }
    const json::Reader root(&opened->document, "", m_path, &problems);
    FieldReader reader(root);
    const std::size_t before = problems.size();
    describeFields(reader, settings);
    for (std::size_t i = before; i < problems.size(); ++i) {
        problems[i].severity = Severity::Warning; // nothing is refused for it
        problems[i].hint = "The default is used.";
    }
    return settings;
}

Status SettingsFile::save(const Settings& settings) {
    json::Value document = header(settingsFormat());
    if (const auto text = files::read(m_path, kLimit)) {
        auto opened = open(*text, m_path, settingsFormat());
        if (opened)
            document = std::move(opened->document);
        else if (opened.error().code == Code::NewerFormat)
            return opened.error();
        else // a person may want back what they typed
            LOCKSTEP_TRY(
                files::writeAtomic(m_path + ".broken", *text, files::Durability::Renamed, 0600));
    }
    json::Value defaults = json::Value::object();
    FieldWriter defaultWriter(defaults);
    const Settings standard;
    describeFields(defaultWriter, standard);
    FieldWriter writer(document);
    writer.startWriting(&defaults);
    describeFields(writer, settings);
    return saveBeside(m_path, document);
}

ViewState::ViewState(std::string path)
    : m_path(std::move(path))
    , m_values(json::Value::object()) {
    const auto text = files::read(m_path, kLimit);
    if (!text)
        return;
    const auto opened = open(*text, m_path, viewFormat());
    if (!opened)
        return;
    for (const json::Member& member : opened->document.members())
        if (member.key != "format" && member.key != "version" && member.value.isString())
            m_values.set(member.key, member.value);
}

QByteArray ViewState::bytes(const std::string& name) const {
    const json::Value* value = m_values.find(name);
    if (!value)
        return {};
    const std::string& text = value->toString();
    return QByteArray::fromBase64(QByteArray::fromStdString(text));
}

void ViewState::setBytes(const std::string& name, const QByteArray& bytes) {
    m_values.set(name, bytes.toBase64().toStdString());
}

Status ViewState::save() const {
    json::Value document = header(viewFormat());
    for (const json::Member& member : m_values.members())
        document.set(member.key, member.value);
    return saveBeside(m_path, document);
}

} // namespace lockstep::document
