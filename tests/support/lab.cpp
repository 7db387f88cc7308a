// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "tests/support/lab.h"

#include <QFile>
#include <QProcessEnvironment>
#include <QRegularExpression>
#include <QSet>
#include <QStandardPaths>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace lockstep::support {

namespace {

/// Debian roots are made by debootstrap the first time: a minute, or several on a slow line.
constexpr int kUpMilliseconds = 600'000;
constexpr int kVerbMilliseconds = 60'000;

QString script(const QString& name) {
    return QStringLiteral(LOCKSTEP_SOURCE_DIR "/tests/lab/") + name;
}

std::unique_ptr<QProcess> start(const QStringList& command) {
    auto process = std::make_unique<QProcess>();
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert(QStringLiteral("LOCKSTEP_LAB_RELAY"), QStringLiteral(LOCKSTEP_LAB_RELAY));
    process->setProcessEnvironment(environment);
    process->start(command.first(), command.mid(1));
    return process;
}

QString firstLine(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readLine()).trimmed()
                                          : QString();
}

} // namespace

QString missingLab() {
    if (geteuid() != 0)
        return QStringLiteral("A lab of hosts in namespaces needs root.");
    for (const char* program : {"sshd", "ssh-keygen", "ssh", "ip", "tc", "nft", "unshare",
                                "nsenter", "openssl", "debootstrap", "fish", "zsh", "tcsh"}) {
        const QString name = QString::fromLatin1(program);
        if (QStandardPaths::findExecutable(name).isEmpty() &&
            QStandardPaths::findExecutable(name, {QStringLiteral("/usr/sbin")}).isEmpty())
            return QStringLiteral("A lab needs the program %1, which is missing.").arg(name);
    }
    return {};
}

Ended runToEnd(const QStringList& command, const QByteArray& input, int milliseconds) {
    const std::unique_ptr<QProcess> process = start(command);
    process->write(input);
    process->closeWriteChannel();
    Ended ended;
    const bool isEnded = process->waitForFinished(milliseconds);
    if (!isEnded) {
        process->kill();
        process->waitForFinished(5000);
    }
    ended.out = process->readAllStandardOutput();
    ended.err = process->readAllStandardError();
    if (isEnded && process->exitStatus() == QProcess::NormalExit)
        ended.exitCode = process->exitCode();
    return ended;
}

Lab::Lab(const QStringList& spec) {
    QStringList command{script(QStringLiteral("up")), QStringLiteral("--owner"),
                        QString::number(getpid())};
    const QString cache = qEnvironmentVariable("LOCKSTEP_LAB_CACHE");
    if (!cache.isEmpty())
        command += {QStringLiteral("--cache"), cache};
    if (!spec.isEmpty())
        command += {QStringLiteral("--spec"), QStringLiteral("-")};
    const Ended ended = runToEnd(command, spec.join(u'\n').toUtf8() + (spec.isEmpty() ? "" : "\n"),
                                 kUpMilliseconds);
    if (ended.exitCode == 0)
        m_folder = QString::fromUtf8(ended.out).trimmed();
    else
        m_error = QString::fromUtf8(ended.err);
}

Lab::~Lab() {
    if (m_ownNetwork >= 0)
        leaveNetwork();
    if (isUp())
        runToEnd({script(QStringLiteral("down")), m_folder}, {}, kVerbMilliseconds);
}

QStringList Lab::manyHosts(int count) {
    QStringList lines;
    for (int i = 0; i < count; ++i)
        lines += QStringLiteral("n%1").arg(i);
    return lines;
}

QStringList Lab::manyHostsBehindGw(int count) {
    QStringList lines{QStringLiteral("gw jump")};
    for (int i = 0; i < count; ++i)
        lines += QStringLiteral("n%1 via=gw").arg(i);
    return lines;
}

QString Lab::log(const QString& host) const {
    QFile file(path(QStringLiteral("log/%1.log").arg(host)));
    return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

int Lab::mostHandshakesAtOnce(const QString& host) const {
    // A connection is known by the port it comes from: "Connection from 192.168.77.1 port 4711 on",
    // "Accepted publickey for bash from 192.168.77.1 port 4711 ssh2", "Connection closed by ...".
    static const QRegularExpression pattern(
        QStringLiteral("^(Connection from|Accepted|Connection closed|Connection reset|"
                       "Received disconnect|Disconnected).*? port (\\d+)"));
    QSet<QString> open;
    qsizetype most = 0;
    const QStringList lines = log(host).split(u'\n');
    for (const QString& line : lines) {
        const QRegularExpressionMatch match = pattern.match(line);
        if (!match.hasMatch())
            continue;
        if (match.captured(1) == u"Connection from")
            open.insert(match.captured(2));
        else
            open.remove(match.captured(2));
        most = std::max(most, open.size());
    }
    return static_cast<int>(most);
}

QString Lab::password() const {
    return firstLine(path(QStringLiteral("password")));
}

QString Lab::clusterFile(const QStringList& hosts, const QString& name) {
    const Ended ended = runToEnd(QStringList{script(QStringLiteral("lab")), QStringLiteral("--lab"),
                                             m_folder, QStringLiteral("cluster")} +
                                     hosts,
                                 {}, kVerbMilliseconds);
    m_error = QString::fromUtf8(ended.err);
    QFile file(home() + u'/' + name + QStringLiteral(".cluster.json"));
    if (ended.exitCode != 0 || !file.open(QIODevice::WriteOnly))
        return {};
    file.write(ended.out);
    return file.fileName();
}

QString Lab::address(const QString& host, const QString& networks) const {
    QFile file(path(QStringLiteral("links")));
    if (!file.open(QIODevice::ReadOnly))
        return {};
    const QStringList lines = QString::fromUtf8(file.readAll()).split(u'\n');
    for (const QString& line : lines) {
        const QStringList words = line.split(u' ');
        if (words.size() == 7 && words[0] == host && networks.contains(words[1]))
            return words[5];
    }
    return {};
}

QString Lab::dataAddress(const QString& host) const {
    return address(host, QStringLiteral("d"));
}

QString Lab::sshAddress(const QString& host) const {
    return address(host, QStringLiteral("si"));
}

QString Lab::hostPath(const QString& host, const QString& path) const {
    const QString init = firstLine(this->path(QStringLiteral("init"))).section(u' ', 0, 0);
    QString inside = path;
    if (inside.startsWith(QStringLiteral("/dev/shm")))
        inside.replace(0, 8, QStringLiteral("/shm"));
    return QStringLiteral("/proc/%1/root%2/hosts/%3%4").arg(init, m_folder, host, inside);
}

QStringList Lab::controller() const {
    return {script(QStringLiteral("exec")), QStringLiteral("--lab"), m_folder};
}

Ended Lab::onController(const QStringList& command, const QByteArray& input,
                        int milliseconds) const {
    return runToEnd(controller() + command, input, milliseconds);
}

std::unique_ptr<QProcess> Lab::startOnController(const QStringList& command) const {
    return start(controller() + command);
}

QStringList Lab::onHostCommand(const QString& host, const QStringList& command) const {
    return QStringList{script(QStringLiteral("lab")), QStringLiteral("--lab"), m_folder,
                       QStringLiteral("on"), host} +
           command;
}

Ended Lab::onHost(const QString& host, const QStringList& command, const QByteArray& input,
                  int milliseconds) const {
    return runToEnd(onHostCommand(host, command), input, milliseconds);
}

std::unique_ptr<QProcess> Lab::startOnHost(const QString& host, const QStringList& command) const {
    return start(onHostCommand(host, command));
}

bool Lab::enterNetwork() {
    const QString init = firstLine(path(QStringLiteral("init"))).section(u' ', 0, 0);
    const int target =
        open(qPrintable(QStringLiteral("/proc/%1/ns/net").arg(init)), O_RDONLY | O_CLOEXEC);
    if (m_ownNetwork < 0)
        m_ownNetwork = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    const bool isDone = target >= 0 && m_ownNetwork >= 0 && setns(target, CLONE_NEWNET) == 0;
    if (target >= 0)
        close(target);
    return isDone;
}

bool Lab::leaveNetwork() {
    const bool isDone = m_ownNetwork >= 0 && setns(m_ownNetwork, CLONE_NEWNET) == 0;
    if (m_ownNetwork >= 0)
        close(m_ownNetwork);
    m_ownNetwork = -1;
    return isDone;
}

bool Lab::run(const QStringList& arguments) {
    const Ended ended = runToEnd(
        QStringList{script(QStringLiteral("lab")), QStringLiteral("--lab"), m_folder} + arguments,
        {}, kVerbMilliseconds);
    m_error = QString::fromUtf8(ended.err);
    return ended.exitCode == 0;
}

bool Lab::drop(const QString& from, const QString& to, int port) {
    QStringList words{QStringLiteral("drop"), from, to};
    if (port != 0)
        words += QString::number(port);
    return run(words);
}

bool Lab::reject(const QString& from, const QString& to, int port) {
    return run({QStringLiteral("reject"), from, to, QString::number(port)});
}

bool Lab::cut(const QString& host) {
    return run({QStringLiteral("cut"), host});
}

bool Lab::loss(const QString& host, double percent) {
    return run({QStringLiteral("loss"), host, QString::number(percent)});
}

bool Lab::narrow(const QString& host, int bytes) {
    return run({QStringLiteral("narrow"), host, QString::number(bytes)});
}

bool Lab::rate(const QString& host, const QString& rate, const QString& network) {
    return run({QStringLiteral("rate"), host, rate, network});
}

bool Lab::delay(const QString& host, const QString& time, const QString& network) {
    return run({QStringLiteral("delay"), host, time, network});
}

bool Lab::mtu(const QString& host, int bytes) {
    return run({QStringLiteral("mtu"), host, QString::number(bytes)});
}

bool Lab::heal(const QString& host) {
    return run(host.isEmpty() ? QStringList{QStringLiteral("heal")}
                              : QStringList{QStringLiteral("heal"), host});
}

bool Lab::introduce() {
    QFile links(path(QStringLiteral("links")));
    if (!links.open(QIODevice::ReadOnly))
        return false;
    QByteArray batch;
    QStringList hosts;
    // "n0 d eth1 … <link address> <address>"
    for (const QByteArray& line : links.readAll().split('\n'))
        if (const auto parts = line.split(' '); parts.size() >= 7 && parts[1] == "d") {
            hosts << QString::fromUtf8(parts[0]);
            batch +=
                "neigh replace " + parts[5] + " lladdr " + parts[4] + " dev eth1 nud permanent\n";
        }
    for (const QString& host : hosts) {
        const Ended ended = onHost(host,
                                   {QStringLiteral("ip"), QStringLiteral("-force"),
                                    QStringLiteral("-b"), QStringLiteral("-")},
                                   batch);
        if (ended.exitCode != 0) {
            m_error = QString::fromUtf8(ended.err);
            return false;
        }
    }
    return true;
}

bool Lab::reboot(const QString& host) {
    return run({QStringLiteral("reboot"), host});
}

bool Lab::stopSshd(const QString& host) {
    return run({QStringLiteral("sshd"), host, QStringLiteral("stop")});
}

bool Lab::startSshd(const QString& host) {
    return run({QStringLiteral("sshd"), host, QStringLiteral("start")});
}

bool Lab::changeHostKey(const QString& host) {
    return run({QStringLiteral("newkey"), host});
}

bool Lab::nat(const QString& host, int port) {
    return run({QStringLiteral("nat"), host, QString::number(port)});
}

} // namespace lockstep::support
