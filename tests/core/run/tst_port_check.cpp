// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/run/port_check.h"

#include <QTest>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace lockstep;
using namespace lockstep::run;

class TstPortCheck : public QObject {
    Q_OBJECT

    /// A socket that listens at a port of the system's choice.
    static std::pair<int, int> listenAnywhere() {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        if (::bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
            ::listen(fd, 1) != 0 ||
            ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0)
            return {-1, 0};
        return {fd, ntohs(address.sin_port)};
    }

private Q_SLOTS:
    void namesTheOwnerOfABusyPort() {
        const auto [fd, port] = listenAnywhere();
        QVERIFY(fd >= 0);
        const auto why = whyNotListen({"127.0.0.1", "", port});
        QVERIFY(why);
        QVERIFY2(why->find("process " + std::to_string(::getpid())) != std::string::npos,
                 why->c_str());
        QCOMPARE(portOwner(port)->pid, static_cast<int>(::getpid()));
        ::close(fd);
        QVERIFY(!whyNotListen({"127.0.0.1", "", port}));
        QVERIFY(!portOwner(port));
    }

    void refusesAnAddressThatIsNotOurs() {
        const auto why = whyNotListen({"192.0.2.1", "", 20'000});
        QVERIFY(why && why->find("192.0.2.1") != std::string::npos);
    }

    void leavesOutBusyPortsInARow() {
        const auto first = findFreePorts(3, 30'000);
        QVERIFY(first);
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(*first + 1));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        QCOMPARE(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        QCOMPARE(::listen(fd, 1), 0);
        const auto next = findFreePorts(3, *first);
        QVERIFY(next && *next > *first + 1);
        ::close(fd);
        QVERIFY(!findFreePorts(3, 65'534));
    }
};

QTEST_APPLESS_MAIN(TstPortCheck)
#include "tst_port_check.moc"
