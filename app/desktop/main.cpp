// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// lockstep [CLUSTER.json] [JOB.json] [--theme system|light|dark] [--launch [--yes]]: the
// desktop application.
// Everything is made here and handed to those who need it.
#include "app/desktop/keyring.h"
#include "core/document/settings.h"
#include "core/run/run_folder.h"
#include "core/ssh/ssh_client.h"
#include "ui/dialogs/prompt_dialogs.h"
#include "ui/models/catalogue_library.h"
#include "ui/models/cluster_check_session.h"
#include "ui/models/controller_session.h"
#include "ui/models/job_description.h"
#include "ui/models/run_desk.h"
#include "ui/shell/main_window.h"
#include "ui/widgets/icons.h"
#include "ui/widgets/theme.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QDir>
#include <QFileInfo>
#include <QTextStream>
#include <QTimer>

#include <optional>

using namespace lockstep;
using namespace lockstep::ui;

namespace {

constexpr int kWrongInput = 2;

QString workerProgram() {
    return QDir(QCoreApplication::applicationDirPath()).filePath(QStringLiteral("lockstep-worker"));
}

ThemeChoice choiceOf(document::Theme theme) {
    switch (theme) {
    case document::Theme::Light:
        return ThemeChoice::Light;
    case document::Theme::Dark:
        return ThemeChoice::Dark;
    case document::Theme::System:
        break;
    }
    return ThemeChoice::System;
}

std::optional<document::Theme> themeOf(const QString& word) {
    if (word == QLatin1String("light"))
        return document::Theme::Light;
    if (word == QLatin1String("dark"))
        return document::Theme::Dark;
    if (word == QLatin1String("system"))
        return document::Theme::System;
    return {};
}

struct Arguments {
    QString cluster;
    QString job;
    std::optional<document::Theme> theme;
    bool launches = false; ///< at once, where no run is at work
    RunDesk::Warnings warnings = RunDesk::Warnings::Ask;
};

/// Documents in any order: which is which is told by their "format".
Document kindOf(const QString& path) {
    const auto value = json::parseFile(path.toStdString());
    const json::Value* format = value.ok() ? value->find("format") : nullptr;
    if (format && format->isString())
        return format->toString() == "lockstep-job" ? Document::Job : Document::Cluster;
    return path.contains(QStringLiteral(".job.")) ? Document::Job : Document::Cluster;
}

Arguments readArguments(const QCoreApplication& application) {
    QCommandLineParser parser;
    parser.setApplicationDescription(
        QCoreApplication::translate("main", "Trains one model on many machines."));
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addPositionalArgument(QStringLiteral("documents"),
                                 QCoreApplication::translate("main", "A cluster, a job, or both."),
                                 QStringLiteral("[CLUSTER.json] [JOB.json]"));
    const QCommandLineOption theme(QStringLiteral("theme"),
                                   QCoreApplication::translate("main", "Colours of the window."),
                                   QStringLiteral("system|light|dark"));
    parser.addOption(theme);
    const QCommandLineOption launch(
        QStringLiteral("launch"),
        QCoreApplication::translate("main", "Launch at once, unless a run is still at work."));
    parser.addOption(launch);
    const QCommandLineOption yes(
        QStringLiteral("yes"),
        QCoreApplication::translate("main", "With --launch: in spite of warnings of the check."));
    parser.addOption(yes);
    parser.process(application);
    Arguments arguments;
    arguments.launches = parser.isSet(launch);
    if (parser.isSet(yes))
        arguments.warnings = RunDesk::Warnings::Accept;
    for (const QString& path : parser.positionalArguments())
        (kindOf(path) == Document::Job ? arguments.job : arguments.cluster) =
            QFileInfo(path).absoluteFilePath();
    if (parser.isSet(theme)) {
        arguments.theme = themeOf(parser.value(theme));
        if (!arguments.theme) {
            QTextStream(stderr) << QCoreApplication::translate(
                                       "main",
                                       "lockstep: --theme is system, light or dark, not \"%1\".")
                                       .arg(parser.value(theme))
                                << Qt::endl;
            exit(kWrongInput);
        }
    }
    return arguments;
}

/// Theme, recent documents, geometry: read at the start, written when they change.
class Memory {
public:
    Memory()
        : settings(m_file.load(m_problems)) {}
    void save() { (void)m_file.save(settings); } // preferences may be lost, work may not
    void note(Document document, const QString& path) {
        const std::string absolute = QFileInfo(path).absoluteFilePath().toStdString();
        document::noteRecent(recent(document), absolute);
        save();
    }
    std::vector<std::string>& recent(Document document) {
        return document == Document::Cluster ? settings.recentClusters : settings.recentJobs;
    }
    QStringList recentPaths(Document document) {
        QStringList paths;
        for (const auto& path : recent(document))
            paths.append(QString::fromStdString(path));
        return paths;
    }

private:
    Problems m_problems;
    document::SettingsFile m_file;

public:
    document::Settings settings;
    document::ViewState view;
};

void openDocuments(MainWindow& window, Memory& memory, const Arguments& arguments) {
    const auto open = [&](Document document, const QString& given) {
        if (!given.isEmpty()) {
            window.openPath(document, given);
            return;
        }
        const QStringList recent = memory.recentPaths(document);
        if (!recent.isEmpty() && QFileInfo::exists(recent.front()))
            window.openPath(document, recent.front());
    };
    open(Document::Cluster, arguments.cluster);
    open(Document::Job, arguments.job);
}

} // namespace

int main(int argc, char** argv) {
    QApplication application(argc, argv);
    QCoreApplication::setApplicationName(QStringLiteral("lockstep"));
    QCoreApplication::setApplicationVersion(QStringLiteral(LOCKSTEP_VERSION));
    const Arguments arguments = readArguments(application);

    Memory memory;
    document::Theme theme = arguments.theme.value_or(memory.settings.theme);
    applyTheme(application, choiceOf(theme));
    QApplication::setWindowIcon(icon("lockstep", Ink::Accent));

    const std::unique_ptr<SecretStore> keyring = makeKeyring();
    PromptDialogs prompts(keyring.get());
    ssh::SshClient connections({}, &prompts);

    Workspace workspace;
    Describer describer(&workspace, workerProgram());
    CatalogueLibrary library{std::string()};
    run::ControllerOptions options;
    options.hosts = run::defaultHosts(workerProgram(), &connections);
    RunDesk desk(
        &workspace, [&options] { return std::make_unique<ControllerSession>(options); }, &library);
    ClusterCheckSession check(options.hosts);
    MainWindow window(&desk, accessThrough(&connections), &check);
    prompts.setWindow(&window);
    const auto showRecent = [&] {
        for (const Document document : {Document::Cluster, Document::Job})
            window.setRecent(document, memory.recentPaths(document));
    };
    QObject::connect(&window, &MainWindow::documentUsed, &window,
                     [&](Document document, const QString& path) {
                         memory.note(document, path);
                         showRecent();
                     });
    QObject::connect(&window, &MainWindow::themeWanted, &window, [&] {
        const bool dark = !currentTokens().dark;
        theme = dark ? document::Theme::Dark : document::Theme::Light;
        applyTheme(application, choiceOf(theme));
        memory.settings.theme = theme;
        memory.save();
    });
    QObject::connect(&window, &MainWindow::closed, &window, [&] {
        memory.view.setBytes("window.geometry", window.saveGeometry());
        (void)memory.view.save();
    });
    openDocuments(window, memory, arguments);
    showRecent();
    window.restoreGeometry(memory.view.bytes("window.geometry"));
    window.show();

    // A run that was left at work is on the screen again, once.
    const auto attached = std::make_shared<QMetaObject::Connection>();
    *attached = QObject::connect(
        &library, &RunLibrary::entriesChanged, &desk, [&desk, &arguments, attached] {
            QObject::disconnect(*attached);
            desk.attachToRunning();
            if (arguments.launches)
                desk.launch(arguments.warnings); // does nothing beside a run at work
        });
    library.refresh();
    return QApplication::exec();
}
