// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "tests/support/sshd.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QTest>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lockstep::support {

namespace {

const QString kProgram = QStringLiteral("/usr/sbin/sshd");

QByteArray run(const QString& program, const QStringList& arguments) {
    QProcess process;
    process.start(program, arguments);
    process.waitForFinished(30'000);
    return process.readAllStandardOutput();
}

void write(const QString& path, const QByteArray& bytes) {
    QFile file(path);
    if (file.open(QIODevice::WriteOnly | QIODevice::Truncate))
        file.write(bytes);
    file.close();
    file.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner);
}

QByteArray read(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

bool answers(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool ok = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return ok;
}

} // namespace

int freePort() {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), size) != 0)
        address.sin_port = 0;
    else
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    ::close(fd);
    return ntohs(address.sin_port);
}

QString missingSshd() {
    for (const QString& program :
         {kProgram, QStringLiteral("/usr/bin/ssh-keygen"), QStringLiteral("/usr/bin/ssh")})
        if (!QFileInfo(program).isExecutable())
            return program + QStringLiteral(" is missing (openssh-server, openssh-client)");
    return {};
}

QString missingAccounts() {
#ifndef LOCKSTEP_PAM_STUB
    return QStringLiteral("libpam0g-dev is missing");
#endif
    if (::geteuid() != 0)
        return QStringLiteral("root is needed for accounts of the test's own");
    QProcess process;
    process.start(QStringLiteral("/usr/bin/unshare"),
                  {QStringLiteral("-m"), QStringLiteral("/bin/true")});
    process.waitForFinished(10'000);
    return process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0
               ? QString()
               : QStringLiteral("mount namespaces are not allowed here");
}

Sshd::Sshd(const QStringList& options, const QList<Account>& accounts)
    : m_options(options)
    , m_accounts(accounts) {
    makeKey(QStringLiteral("host_ed25519"), {QStringLiteral("-t"), QStringLiteral("ed25519")});
    makeKey(QStringLiteral("id_ed25519"), {QStringLiteral("-t"), QStringLiteral("ed25519")});
    authorize(clientKey());
    m_port = freePort();
    start();
}

Sshd::~Sshd() {
    stop();
}

void Sshd::start() {
    if (::geteuid() == 0)
        QDir().mkpath(QStringLiteral("/run/sshd")); // its empty folder for privilege separation
    QByteArray config = "ListenAddress 127.0.0.1\nPort " + QByteArray::number(m_port) +
                        "\nHostKey " + path(QStringLiteral("host_ed25519")).toUtf8() +
                        "\nAuthorizedKeysFile " + path(QStringLiteral("authorized_keys")).toUtf8() +
                        "\nPidFile none\nStrictModes no\nUsePAM no\nLogLevel VERBOSE\n"
                        "PermitRootLogin yes\nPasswordAuthentication no\n"
                        "KbdInteractiveAuthentication no\n";
    // The first value of an option counts, so ours go in front of the defaults above.
    for (const QString& option : m_options)
        config = option.toUtf8() + '\n' + config;
    write(path(QStringLiteral("sshd_config")), config);
    m_process.setStandardErrorFile(path(QStringLiteral("sshd.log")), QIODevice::Append);
    const QStringList words{kProgram, QStringLiteral("-D"), QStringLiteral("-e"),
                            QStringLiteral("-f"), path(QStringLiteral("sshd_config"))};
    if (m_accounts.isEmpty()) {
        m_process.start(words[0], words.mid(1));
    } else {
        writeAccounts();
        const QString script = QStringLiteral(
            "for name in passwd shadow group pam.d/sshd; do\n"
            "  mount --bind \"$0/etc/$name\" \"/etc/$name\" || exit 1\ndone\nexec \"$@\"");
        m_process.start(QStringLiteral("/usr/bin/unshare"),
                        QStringList{QStringLiteral("-m"), QStringLiteral("/bin/sh"),
                                    QStringLiteral("-c"), script, m_folder.path()} +
                            words);
    }
    QElapsedTimer waited;
    waited.start();
    while (!answers(m_port) && waited.elapsed() < 5000 && m_process.state() != QProcess::NotRunning)
        QTest::qWait(20);
}

void Sshd::writeAccounts() {
    QDir(m_folder.path()).mkpath(QStringLiteral("etc/pam.d"));
    QByteArray passwd = read(QStringLiteral("/etc/passwd"));
    QByteArray shadow = read(QStringLiteral("/etc/shadow"));
    QByteArray group = read(QStringLiteral("/etc/group"));
    int id = 40'000;
    for (const Account& account : m_accounts) {
        const QByteArray name = account.name.toUtf8();
        const QByteArray number = QByteArray::number(++id);
        const QByteArray hash =
            run(QStringLiteral("/usr/bin/openssl"),
                {QStringLiteral("passwd"), QStringLiteral("-6"), account.password})
                .trimmed();
        passwd += name + ":x:" + number + ':' + number + "::/:/bin/sh\n";
        shadow += name + ':' + hash + ":19000:0:99999:7:::\n";
        group += name + ":x:" + number + ":\n";
    }
    // sshd reads authorized_keys as the account.
    QFile::setPermissions(m_folder.path(), QFileDevice::ReadOwner | QFileDevice::WriteOwner |
                                               QFileDevice::ExeOwner | QFileDevice::ExeGroup |
                                               QFileDevice::ExeOther);
    write(path(QStringLiteral("etc/passwd")), passwd);
    write(path(QStringLiteral("etc/shadow")), shadow);
    write(path(QStringLiteral("etc/group")), group);
#ifdef LOCKSTEP_PAM_STUB
    write(path(QStringLiteral("etc/pam.d/sshd")),
          "auth required " LOCKSTEP_PAM_STUB "\naccount required pam_permit.so\n"
          "session required pam_permit.so\npassword required pam_deny.so\n");
#endif
    for (const char* name : {"etc/passwd", "etc/group", "authorized_keys"})
        QFile::setPermissions(path(QString::fromLatin1(name)),
                              QFileDevice::ReadOwner | QFileDevice::WriteOwner |
                                  QFileDevice::ReadGroup | QFileDevice::ReadOther);
}

void Sshd::stop() {
    if (m_process.state() == QProcess::NotRunning)
        return;
    // Its children serve the connections and outlive it otherwise.
    run(QStringLiteral("/usr/bin/pkill"),
        {QStringLiteral("-9"), QStringLiteral("-P"), QString::number(m_process.processId())});
    m_process.kill();
    m_process.waitForFinished(5000);
}

bool Sshd::isRunning() const {
    return m_process.state() == QProcess::Running && answers(m_port);
}

QString Sshd::makeKey(const QString& name, const QStringList& arguments) {
    const QString file = path(name);
    QFile::remove(file);
    QFile::remove(file + QStringLiteral(".pub"));
    QStringList words = arguments;
    if (!words.contains(QStringLiteral("-N")))
        words << QStringLiteral("-N") << QString();
    words << QStringLiteral("-q") << QStringLiteral("-f") << file;
    run(QStringLiteral("/usr/bin/ssh-keygen"), words);
    return file;
}

void Sshd::authorize(const QString& key) {
    authorizeLine(read(key + QStringLiteral(".pub")));
}

void Sshd::authorizeLine(const QByteArray& line) {
    QFile file(path(QStringLiteral("authorized_keys")));
    if (file.open(QIODevice::Append))
        file.write(line);
}

QString Sshd::fingerprint() const {
    const QByteArray line =
        run(QStringLiteral("/usr/bin/ssh-keygen"),
            {QStringLiteral("-l"), QStringLiteral("-f"), path(QStringLiteral("host_ed25519.pub"))});
    return QString::fromUtf8(line.split(' ').value(1));
}

QString Sshd::log() const {
    return QString::fromUtf8(read(path(QStringLiteral("sshd.log"))));
}

void Sshd::changeHostKey() {
    stop();
    makeKey(QStringLiteral("host_ed25519"), {QStringLiteral("-t"), QStringLiteral("ed25519")});
    start();
}

void Sshd::writeKnownHosts() {
    const QByteArray key = read(path(QStringLiteral("host_ed25519.pub")));
    write(knownHosts(), "[127.0.0.1]:" + QByteArray::number(m_port) + ' ' + key);
}

QString Sshd::writeConfig(const QString& alias, const QStringList& lines, bool isKnown) {
    if (isKnown)
        writeKnownHosts();
    const passwd* user = ::getpwuid(::geteuid());
    QByteArray text;
    for (const QString& line : lines)
        text += line.toUtf8() + '\n';
    text += "Host " + alias.toUtf8() + "\n  HostName 127.0.0.1\n  Port " +
            QByteArray::number(m_port) + "\n  User " + user->pw_name + "\n  IdentityFile " +
            clientKey().toUtf8() + "\nHost *\n  IdentitiesOnly yes\n  UserKnownHostsFile " +
            knownHosts().toUtf8() + "\n  GlobalKnownHostsFile /dev/null\n";
    const QString file = path(alias + QStringLiteral(".ssh_config"));
    write(file, text);
    return file;
}

} // namespace lockstep::support
