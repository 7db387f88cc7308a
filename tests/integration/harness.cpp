// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "tests/integration/harness.h"

#include <QDir>
#include <QDirIterator>
#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QRegularExpression>
#include <QThread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <random>

namespace lockstep::integration {

namespace {

QByteArray contents(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

bool isFree(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool free = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return free;
}

/// "worker:1" from the TF_CONFIG among a process' variables.
QString taskOf(const QList<QByteArray>& variables) {
    for (const QByteArray& variable : variables) {
        if (!variable.startsWith("TF_CONFIG="))
            continue;
        const QJsonObject task =
            QJsonDocument::fromJson(variable.mid(10)).object()["task"].toObject();
        return task["type"].toString() + ':' + QString::number(task["index"].toInt(-1));
    }
    return {};
}

bool isZombie(const QString& folder) {
    const QByteArray stat = contents(folder + "/stat");
    return stat.mid(stat.lastIndexOf(')') + 2, 1) == "Z";
}

} // namespace

QJsonObject Outcome::json() const {
    const QStringList lines = out.split('\n', Qt::SkipEmptyParts);
    return lines.isEmpty() ? QJsonObject()
                           : QJsonDocument::fromJson(lines.last().toUtf8()).object();
}

std::vector<double> Outcome::losses() const {
    std::vector<double> values;
    const QJsonArray epochs = json()["epochs"].toArray();
    for (const QJsonValue& epoch : epochs)
        values.push_back(epoch["loss"].toDouble());
    return values;
}

bool becomesTrue(const std::function<bool()>& condition, int milliseconds) {
    constexpr int kPoll = 10;
    QElapsedTimer timer;
    timer.start();
    while (!condition()) {
        if (timer.elapsed() > milliseconds)
            return false;
        QThread::msleep(kPoll); // other processes cannot wake us
    }
    return true;
}

Machine::Machine()
    : m_home(QDir::tempPath() + "/lockstep-test-XXXXXX")
    , m_environment(QProcessEnvironment::systemEnvironment()) {
    for (const char* folder : {"data", "tmp"})
        QDir(m_home.path()).mkpath(folder);
    setEnvironment("HOME", m_home.path());
    setEnvironment("XDG_DATA_HOME", path("data"));
    setEnvironment("TMPDIR", path("tmp"));
    setEnvironment("LOCKSTEP_TEST_MACHINE", m_home.path());
    m_environment.remove("TF_CONFIG");
    m_environment.remove("LOCKSTEP_WORKER");
}

Machine::~Machine() {
    for (const Running& process : processes())
        ::kill(process.pid, SIGKILL);
    isQuiet(); // before the folder goes
}

QString Machine::write(const QString& name, const QByteArray& bytes) const {
    const QString file = path(name);
    QDir().mkpath(QFileInfo(file).path());
    QFile out(file);
    if (!out.open(QIODevice::WriteOnly) || out.write(bytes) != bytes.size())
        qFatal("could not write %s", qPrintable(file));
    return file;
}

void Machine::setEnvironment(const QString& name, const QString& value) {
    m_environment.insert(name, value);
}

QString Machine::cluster(int count) const {
    QJsonArray workers;
    for (const int port : freePorts(count))
        workers.append(QJsonObject{{"ssh", QJsonValue::Null},
                                   {"address", "127.0.0.1:" + QString::number(port)}});
    const QJsonObject document{
        {"format", "lockstep-cluster"}, {"version", 1}, {"name", "test"}, {"workers", workers}};
    return write("test.cluster.json", QJsonDocument(document).toJson());
}

QByteArray Machine::tfConfig(const std::vector<int>& ports, int index) {
    QJsonArray addresses;
    for (const int port : ports)
        addresses.append("127.0.0.1:" + QString::number(port));
    const QJsonObject document{{"cluster", QJsonObject{{"worker", addresses}}},
                               {"task", QJsonObject{{"type", "worker"}, {"index", index}}}};
    return QJsonDocument(document).toJson(QJsonDocument::Compact);
}

std::unique_ptr<QProcess> Machine::start(const QString& program,
                                         const QStringList& arguments) const {
    auto process = std::make_unique<QProcess>();
    process->setProcessEnvironment(m_environment);
    process->setWorkingDirectory(m_home.path());
    process->setStandardInputFile(QProcess::nullDevice());
    process->start(QStringLiteral(LOCKSTEP_BIN_DIR "/") + program, arguments);
    return process;
}

std::unique_ptr<QProcess> Machine::startCtl(const QStringList& arguments) const {
    return start("lockstepctl", arguments);
}

std::unique_ptr<QProcess> Machine::startDesktop(const QStringList& arguments) const {
    return start("lockstep", QStringList{"-platform", "offscreen"} + arguments);
}

std::unique_ptr<QProcess> Machine::startWorker(const QStringList& arguments,
                                               const QByteArray& tfConfig) const {
    auto process = std::make_unique<QProcess>();
    QProcessEnvironment environment = m_environment;
    environment.insert("TF_CONFIG", QString::fromUtf8(tfConfig));
    process->setProcessEnvironment(environment);
    process->setWorkingDirectory(m_home.path());
    process->setStandardInputFile(QProcess::nullDevice());
    process->start(QStringLiteral(LOCKSTEP_BIN_DIR "/lockstep-worker"), arguments);
    return process;
}

Outcome Machine::finish(QProcess& process, int milliseconds) {
    const bool ended =
        process.state() == QProcess::NotRunning || process.waitForFinished(milliseconds);
    Outcome outcome;
    if (!ended) {
        process.kill();
        process.waitForFinished();
    }
    outcome.out = QString::fromUtf8(process.readAllStandardOutput());
    outcome.err = QString::fromUtf8(process.readAllStandardError());
    if (ended && process.exitStatus() == QProcess::NormalExit)
        outcome.exitCode = process.exitCode();
    if (!ended)
        outcome.err += "\n(did not end within " + QString::number(milliseconds) + " ms)";
    return outcome;
}

Outcome Machine::ctl(const QStringList& arguments, int milliseconds) const {
    return finish(*startCtl(arguments), milliseconds);
}

std::vector<Running> Machine::processes() const {
    std::vector<Running> found;
    const QByteArray mark = "LOCKSTEP_TEST_MACHINE=" + m_home.path().toUtf8();
    const QStringList entries = QDir("/proc").entryList(QDir::Dirs);
    for (const QString& entry : entries) {
        const pid_t pid = entry.toInt();
        const QString folder = "/proc/" + entry;
        if (pid <= 0 || pid == ::getpid())
            continue;
        const QList<QByteArray> variables = contents(folder + "/environ").split('\0');
        if (!variables.contains(mark) || isZombie(folder))
            continue;
        QStringList arguments = QString::fromUtf8(contents(folder + "/cmdline"))
                                    .split(QChar(u'\0'), Qt::SkipEmptyParts);
        found.push_back({pid, arguments, taskOf(variables)});
    }
    return found;
}

QString Machine::processesText() const {
    QStringList lines;
    for (const Running& process : processes())
        lines += QString::number(process.pid) + ' ' + process.arguments.join(' ');
    return lines.join('\n');
}

bool Machine::isQuiet(int milliseconds) const {
    return becomesTrue([&] { return processes().empty(); }, milliseconds);
}

Running Machine::worker(const QString& task) const {
    for (const Running& process : processes())
        if (process.isWorker() && process.task == task)
            return process;
    return {};
}

QStringList Machine::halfWrittenFiles() const {
    // mkostemp's names: six letters and digits after the file's own (files.cpp), or after a
    // probe's.
    static const QRegularExpression temporary(R"(\.[A-Za-z0-9]{6}$|lockstep-probe|\.part$|\.tmp$)");
    static const QRegularExpression finished(R"(\.(sqlite|events)$)");
    QStringList found;
    QDirIterator files(m_home.path(), QDir::Files | QDir::Hidden, QDirIterator::Subdirectories);
    while (files.hasNext()) {
        const QString name = QFileInfo(files.next()).fileName();
        if (temporary.match(name).hasMatch() && !finished.match(name).hasMatch())
            found += files.filePath();
    }
    return found;
}

QString Machine::hostRunFolder(const QString& run) const {
    // <base>/<machine>/runs/<run>, base being $XDG_DATA_HOME/lockstep.
    const QDir base(path("data/lockstep"));
    const QStringList machines = base.entryList(QDir::Dirs | QDir::NoDotAndDotDot);
    for (const QString& machine : machines)
        if (QFileInfo::exists(base.filePath(machine + "/runs/" + run)))
            return base.filePath(machine + "/runs/" + run);
    return {};
}

QString Machine::controlRunFolder(const QString& run) const {
    return path("data/lockstep/runs/" + run);
}

std::vector<int> freePorts(int count) {
    // Below the range from which the kernel takes ports for outgoing connections.
    constexpr int kFirst = 20000;
    constexpr int kLast = 32000;
    static std::mt19937 random{std::random_device{}()};
    for (;;) {
        const int first = std::uniform_int_distribution<int>(kFirst, kLast)(random);
        std::vector<int> ports;
        for (int port = first; port < first + count && isFree(port); ++port)
            ports.push_back(port);
        if (static_cast<int>(ports.size()) == count)
            return ports;
    }
}

QString exampleJob(const QString& name) {
    return QStringLiteral(LOCKSTEP_SOURCE_DIR "/resources/examples/%1/%1.job.json").arg(name);
}

unsigned printedSeed() {
    bool given = false;
    unsigned seed = qEnvironmentVariable("LOCKSTEP_SEED").toUInt(&given);
    if (!given)
        seed = std::random_device{}();
    qInfo("seed %u (LOCKSTEP_SEED=%u repeats it)", seed, seed);
    return seed;
}

} // namespace lockstep::integration
