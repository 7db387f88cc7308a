// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/collective/detail/handshake.h"
#include "tests/core/collective/support.h"

#include <QTest>

#include <atomic>
#include <mutex>

using namespace lockstep;
using namespace lockstep::collective;
using namespace lockstep::collective::test;

namespace {

/// A plain TCP connection to a port of this host.
int connectTo(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto deadline = Monotonic::now() + std::chrono::seconds(5);
    while (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        if (Monotonic::now() > deadline)
            break;
        else
            std::this_thread::sleep_for(Ms(5)); // until the listener is there
    return fd;
}

/// A program that is not ours: answers every connection with `answer`, or says nothing.
class OtherProgram {
public:
    OtherProgram(std::uint16_t port, std::string answer)
        : m_fd(bindPort(port))
        , m_answer(std::move(answer)) {
        ::listen(m_fd, 16);
        m_thread = std::jthread([this](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
                pollfd entry{m_fd, POLLIN, 0};
                if (::poll(&entry, 1, 20) <= 0)
                    continue;
                m_open.push_back(::accept4(m_fd, nullptr, nullptr, SOCK_CLOEXEC));
                [[maybe_unused]] const auto sent =
                    ::send(m_open.back(), m_answer.data(), m_answer.size(), MSG_NOSIGNAL);
            }
        });
    }
    ~OtherProgram() {
        m_thread.request_stop();
        m_thread.join();
        for (const int fd : m_open)
            ::close(fd);
        ::close(m_fd);
    }

private:
    int m_fd;
    std::string m_answer;
    std::vector<int> m_open;
    std::jthread m_thread;
};

Outcome joinOnly(const JoinOptions& options) {
    return runRanks({options}, [](Group&) {}).front();
}

bool contains(const std::optional<Error>& error, const std::string& part) {
    return error && error->message.find(part) != std::string::npos;
}

const char* text(const std::optional<Error>& error) {
    static std::string last;
    last = error ? describe(*error) : "no error";
    return last.c_str();
}

/// Two processes on two machines claim the same place: the second listens where another member
/// should be.
JoinOptions impostor(const std::vector<Member>& members, int claims, int sits) {
    JoinOptions options = optionsFor(claims, members);
    options.listenPort = members[static_cast<std::size_t>(sits)].port;
    options.hostName = "n" + std::to_string(sits);
    return options;
}

} // namespace

class TestJoin final : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void namesTheMissingWorkerWhileItWaitsAndAtTheDeadline() {
        const auto members = loopbackMembers(2);
        const std::string address = "127.0.0.1:" + std::to_string(members[1].port);
        JoinOptions options = optionsFor(0, members);
        options.joinTimeout = Ms(1800);
        std::vector<Missing> seen;
        std::vector<double> left;
        options.onWaiting = [&](const std::vector<Missing>& missing, double seconds) {
            seen = missing;
            left.push_back(seconds);
        };
        const Outcome outcome = joinOnly(options);
        QVERIFY(left.size() >= 2);
        QVERIFY(left.front() > left.back() && left.back() >= 0);
        QCOMPARE(seen.size(), std::size_t{1});
        QCOMPARE(seen[0].task, std::string("worker:1"));
        QCOMPARE(seen[0].address, address);
        QVERIFY(seen[0].reason.find("refused") != std::string::npos);
        QVERIFY(outcome.error);
        QCOMPARE(outcome.error->code, Code::TimedOut);
        QVERIFY2(contains(outcome.error, "worker:1 (" + address + "): connection refused"),
                 text(outcome.error));
        QVERIFY(outcome.seconds < 4.0);
    }

    void everyOneNamesWhoIsMissing_data() {
        QTest::addColumn<int>("absent");
        QTest::addRow("the chief") << 0;
        QTest::addRow("its neighbour") << 1;
        QTest::addRow("one that nobody of the chief's ring dials") << 2;
        QTest::addRow("the last") << 3;
    }

    void everyOneNamesWhoIsMissing() {
        QFETCH(const int, absent);
        auto options = optionsForAll(4);
        const std::string missing = options[static_cast<std::size_t>(absent)]
                                        .members[static_cast<std::size_t>(absent)]
                                        .task;
        options.erase(options.begin() + absent);
        // One started earlier than the others: when it gives up, all do, for the same reason.
        for (JoinOptions& each : options)
            each.joinTimeout =
                each.rank == 3 || (absent == 3 && each.rank == 1) ? Ms(1500) : Ms(15'000);
        for (const Outcome& outcome : runRanks(options, [](Group&) {})) {
            QVERIFY(outcome.error);
            QVERIFY2(outcome.error->code == Code::TimedOut, text(outcome.error));
            QVERIFY2(contains(outcome.error, missing), text(outcome.error));
            QVERIFY2(outcome.seconds < 6.0, text(outcome.error));
        }
    }

    void refusesAnIndexClaimedTwiceOnBothSides_data() {
        QTest::addColumn<int>("size");
        QTest::addColumn<int>("claimed");
        QTest::addColumn<int>("sits");
        QTest::addRow("two chiefs of two") << 2 << 0 << 1;
        QTest::addRow("two chiefs, the second on the last host") << 4 << 0 << 3;
        QTest::addRow("two chiefs, the second on a middle host") << 4 << 0 << 2;
        QTest::addRow("one worker twice") << 3 << 1 << 2;
        QTest::addRow("index 1 on both of two hosts") << 2 << 1 << 0;
    }

    void refusesAnIndexClaimedTwiceOnBothSides() {
        QFETCH(const int, size);
        QFETCH(const int, claimed);
        QFETCH(const int, sits);
        const auto members = loopbackMembers(size);
        std::vector<JoinOptions> options;
        for (int rank = 0; rank < size; ++rank) {
            if (rank == sits)
                continue; // the second claimant has its place
            options.push_back(optionsFor(rank, members));
            options.back().hostName = "n" + std::to_string(rank);
        }
        options.push_back(impostor(members, claimed, sits));
        const std::string index = std::to_string(claimed);
        const std::string place = "n" + std::to_string(sits);
        for (const Outcome& outcome : runRanks(options, [](Group&) {})) {
            QVERIFY(outcome.error);
            QVERIFY2(outcome.error->code == Code::Unauthenticated, text(outcome.error));
            QVERIFY2(outcome.seconds < 5.0, text(outcome.error));
            const bool isTwice = contains(outcome.error, "index " + index + " claimed twice: n") &&
                                 contains(outcome.error, "n" + index + " pid") &&
                                 contains(outcome.error, place + " pid");
            // Another worker may meet the second claimant before the two claims meet: then it is
            // named by the place where it sits.
            const bool isMisplaced =
                size > 2 &&
                contains(outcome.error, " answers as worker:" + index + " on " + place + " (pid");
            QVERIFY2(isTwice || isMisplaced, text(outcome.error));
        }
    }

    void refusesASecondClaimOnTheSameHost() {
        const auto members = loopbackMembers(2);
        const auto outcomes =
            runRanks({optionsFor(0, members), optionsFor(0, members)}, [](Group&) {});
        for (const Outcome& outcome : outcomes) {
            QVERIFY2(contains(outcome.error, "index 0 claimed twice"), text(outcome.error));
            QVERIFY(outcome.seconds < 5.0);
        }
    }

    void refusesASecondClaimWithoutDisturbingARunningGroup() {
        const auto members = loopbackMembers(2);
        const auto outcomes =
            runRanks({optionsFor(0, members), optionsFor(1, members)}, [&](Group& group) {
                group.barrier();
                if (group.rank() == 0) {
                    JoinOptions late = impostor(members, 1, 0);
                    late.listenPort = freePorts(1)[0];
                    const Outcome outcome = joinOnly(late);
                    if (!contains(outcome.error, "index 1 claimed twice"))
                        throw Failure(Code::Internal, text(outcome.error));
                }
                group.barrier();
            });
        QCOMPARE(firstError(outcomes), std::string());
    }

    void namesTheOwnerOfABusyPort() {
        const auto members = loopbackMembers(2);
        const OtherProgram other(members[1].port, {});
        const Outcome outcome = joinOnly(optionsFor(1, members));
        QVERIFY(outcome.error);
        QCOMPARE(outcome.error->code, Code::AlreadyExists);
        QVERIFY2(contains(outcome.error, "Port " + std::to_string(members[1].port)),
                 text(outcome.error));
        QVERIFY2(contains(outcome.error, "in use by pid " + std::to_string(::getpid()) + " ("),
                 text(outcome.error));
        QVERIFY2(contains(outcome.error, "tst_join"), text(outcome.error));
        QVERIFY(outcome.seconds < 5.0);
    }

    void namesAnotherProgramOnAPeersPort_data() {
        QTest::addColumn<QByteArray>("answer");
        QTest::addColumn<QByteArray>("expected");
        QTest::addRow("a web server") << QByteArray("HTTP/1.0 400 Bad request\r\n\r\n")
                                      << QByteArray("\"HTTP/1.0 400 Bad request\"");
        QTest::addRow("an SSH server")
            << QByteArray("SSH-2.0-OpenSSH_9.2\r\n") << QByteArray("SSH-2.0-OpenSSH_9.2");
        QTest::addRow("a silent one") << QByteArray() << QByteArray("nothing answered the hello");
    }

    void namesAnotherProgramOnAPeersPort() {
        QFETCH(const QByteArray, answer);
        QFETCH(const QByteArray, expected);
        const auto members = loopbackMembers(2);
        const OtherProgram other(members[1].port, answer.toStdString());
        JoinOptions options = optionsFor(0, members);
        options.joinTimeout = answer.isEmpty() ? Ms(3600) : Ms(1000);
        const Outcome outcome = joinOnly(options);
        QVERIFY2(contains(outcome.error, "worker:1") &&
                     contains(outcome.error, expected.toStdString()),
                 text(outcome.error));
    }

    void namesAnEngineOfAnotherRun_data() {
        QTest::addColumn<bool>("isJoined");
        QTest::addRow("still joining") << false;
        QTest::addRow("in its group") << true;
    }

    void namesAnEngineOfAnotherRun() {
        QFETCH(const bool, isJoined);
        const auto old = loopbackMembers(2);
        std::stop_source stopOld;
        std::vector<JoinOptions> left{optionsFor(1, old)};
        if (isJoined)
            left.push_back(optionsFor(0, old));
        for (JoinOptions& each : left) {
            each.runId = "20260131T130200Z-old";
            each.userName = "alice";
            each.secret.fill(9);
            each.stop = stopOld.get_token();
        }
        std::jthread oldRun([&] {
            runRanks(left, [&](Group& group) {
                while (!stopOld.stop_requested() && !group.verdict())
                    std::this_thread::sleep_for(Ms(5));
            });
        });
        auto members = loopbackMembers(1);
        members.push_back(old[1]);
        JoinOptions options = optionsFor(0, members);
        options.joinTimeout = Ms(1500);
        const Outcome outcome = joinOnly(options);
        stopOld.request_stop();
        QVERIFY2(contains(outcome.error, "127.0.0.1:" + std::to_string(old[1].port) +
                                             " belongs to run 20260131T130200Z-old, started "),
                 text(outcome.error));
        QVERIFY2(contains(outcome.error, " by alice"), text(outcome.error));
    }

    void waitsUntilAnEarlierAttemptIsGone() {
        const auto members = loopbackMembers(2);
        std::stop_source stopOld;
        JoinOptions earlier = optionsFor(1, members);
        earlier.stop = stopOld.get_token();
        std::atomic<bool> hasSeenIt{false};
        std::vector<JoinOptions> options{optionsFor(0, members), optionsFor(1, members)};
        for (JoinOptions& each : options)
            each.attempt = 2;
        options[0].onWaiting = [&](const std::vector<Missing>& missing, double) {
            if (!missing.empty() &&
                missing[0].reason.find("still runs attempt 1") != std::string::npos) {
                hasSeenIt = true;
                stopOld.request_stop();
            }
        };
        std::jthread old([&] { joinOnly(earlier); });
        std::vector<Outcome> first;
        std::jthread chief([&] { first = runRanks({options[0]}, [](Group&) {}); });
        old.join();
        const Outcome second = joinOnly(options[1]);
        chief.join();
        QVERIFY(hasSeenIt);
        QCOMPARE(firstError(first), std::string());
        QVERIFY2(!second.error, text(second.error));
    }

    void refusesAnotherSecretAndGoesOn() {
        const auto members = loopbackMembers(2);
        JoinOptions intruder = optionsFor(1, members);
        intruder.secret.fill(8);
        intruder.listenPort = freePorts(1)[0];
        std::vector<Outcome> chief;
        std::jthread waiting([&] {
            chief = runRanks({optionsFor(0, members)}, [](Group& group) { group.barrier(); });
        });
        const Outcome refused = joinOnly(intruder);
        QVERIFY(refused.error);
        QCOMPARE(refused.error->code, Code::Unauthenticated);
        QVERIFY2(contains(refused.error, "secret"), text(refused.error));
        const auto good = runRanks({optionsFor(1, members)}, [](Group& group) { group.barrier(); });
        waiting.join();
        QCOMPARE(firstError(chief), std::string());
        QCOMPARE(firstError(good), std::string());
    }

    void refusesACallerThatProvesNothing() {
        const auto members = loopbackMembers(2);
        std::stop_source stop;
        JoinOptions options = optionsFor(0, members);
        options.stop = stop.get_token();
        std::jthread waiting([&] { joinOnly(options); });
        detail::FrameSocket socket{detail::Fd(connectTo(members[0].port))};
        detail::Hello hello;
        hello.version = detail::kProtocolVersion;
        hello.from.runId = options.runId;
        hello.from.attempt = 1;
        hello.from.clusterHash = options.clusterHash;
        hello.from.rank = 1;
        hello.from.size = 2;
        hello.expectedRank = 0;
        socket.send(detail::FrameType::Hello, encode(hello));
        socket.send(detail::FrameType::Proof, std::string(32, 'x'));
        std::optional<detail::Refusal> refusal;
        bool isWelcome = false;
        const auto deadline = Monotonic::now() + std::chrono::seconds(5);
        while (!refusal && Monotonic::now() < deadline) {
            socket.pump();
            while (const auto frame = socket.next()) {
                isWelcome |= frame->type == detail::FrameType::Welcome;
                if (frame->type == detail::FrameType::Refusal)
                    refusal = detail::decodeRefusal(frame->payload);
            }
            std::vector<pollfd> fds{socket.interest()};
            detail::pollUntil(fds, Monotonic::now() + Ms(20));
        }
        stop.request_stop();
        QVERIFY(refusal);
        QVERIFY(!isWelcome);
        QCOMPARE(refusal->code, detail::RefusalCode::OtherSecret);
    }

    void refusesAnotherCluster() {
        const auto members = loopbackMembers(2);
        auto options = std::vector{optionsFor(0, members), optionsFor(1, members)};
        options[1].clusterHash = "c2";
        for (const Outcome& outcome : runRanks(options, [](Group&) {})) {
            QVERIFY(outcome.error);
            QVERIFY2(outcome.error->code == Code::Unauthenticated, text(outcome.error));
            QVERIFY2(contains(outcome.error, "another cluster in its TF_CONFIG"),
                     text(outcome.error));
            QVERIFY(outcome.seconds < 5.0);
        }
    }

    void saysThatAnAddressLeadsBackToItself() {
        const auto members = loopbackMembers(2);
        JoinOptions options =
            impostor(members, 1, 0); // the second worker, started on the first host
        options.joinTimeout = Ms(1200);
        const Outcome outcome = joinOnly(options);
        QVERIFY2(contains(outcome.error, "leads back to this worker itself"), text(outcome.error));
    }

    void strangersOnThePortDisturbNobody() {
        const auto members = loopbackMembers(2);
        const auto disturb = [&](std::vector<int>& open) {
            const std::string huge("LOCKSTEP 1\r\n\r\n\r\n\xff\xff\xff\xff\x01", 21);
            for (const std::string& bytes :
                 {std::string("GET / HTTP/1.1\r\nHost: n0\r\n\r\n"), std::string(100'000, 'z'),
                  std::string("LOCK"), huge, std::string()})
                for (const Member& member : members) {
                    open.push_back(connectTo(member.port));
                    [[maybe_unused]] const auto sent = ::send(
                        open.back(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
                }
        };
        std::vector<int> early;
        std::vector<int> late;
        std::atomic<int> wrong{0};
        std::vector<Outcome> chief;
        std::vector<Outcome> worker;
        const auto body = [&](Group& group) {
            for (int round = 0; round < 3; ++round) {
                std::vector<float> values(10'000, 1.0f);
                group.allReduceSum(std::span(values)).wait();
                wrong += values.back() != 2.0f;
                if (group.rank() == 0 && round == 0)
                    disturb(late);
                group.barrier();
            }
        };
        std::jthread first([&] { chief = runRanks({optionsFor(0, members)}, body); });
        const int waiting = connectTo(members[0].port); // the chief listens now
        early.push_back(waiting);
        [[maybe_unused]] const auto sent = ::send(waiting, "GET /", 5, MSG_NOSIGNAL);
        std::jthread second([&] { worker = runRanks({optionsFor(1, members)}, body); });
        first.join();
        second.join();
        for (const auto& list : {early, late})
            for (const int fd : list)
                ::close(fd);
        QCOMPARE(firstError(chief), std::string());
        QCOMPARE(firstError(worker), std::string());
        QCOMPARE(wrong.load(), 0);
        QVERIFY(late.size() == 10);
    }

    void dropsACallerThatStaysSilent() {
        const auto members = loopbackMembers(2);
        std::stop_source stop;
        JoinOptions options = optionsFor(0, members);
        options.stop = stop.get_token();
        std::jthread waiting([&] { joinOnly(options); });
        const int fd = connectTo(members[0].port);
        [[maybe_unused]] const auto sent = ::send(fd, "LOCKSTEP", 8, MSG_NOSIGNAL);
        pollfd entry{fd, POLLRDHUP, 0};
        const int closed = ::poll(&entry, 1, 6000);
        stop.request_stop();
        ::close(fd);
        QCOMPARE(closed, 1);
    }

    void canBeCancelled() {
        const auto members = loopbackMembers(3);
        std::stop_source stop;
        auto options = std::vector{optionsFor(0, members), optionsFor(1, members)};
        options[0].stop = stop.get_token();
        options[0].onWaiting = [&](const auto&, double) { stop.request_stop(); };
        for (const Outcome& outcome : runRanks(options, [](Group&) {})) {
            QVERIFY(outcome.error);
            QCOMPARE(outcome.error->code, Code::Cancelled); // it tells the one that had joined
            QVERIFY(contains(outcome.error, "worker:0 was stopped while joining"));
            QVERIFY(outcome.seconds < 5.0);
        }
    }

    void namesAnUnknownName() {
        auto members = loopbackMembers(2);
        members[1].host = "no-such-host.invalid";
        JoinOptions options = optionsFor(0, members);
        options.joinTimeout = Ms(1500);
        const Outcome outcome = joinOnly(options);
        QVERIFY2(contains(outcome.error, "worker:1 (no-such-host.invalid:"), text(outcome.error));
        QVERIFY2(contains(outcome.error, "name no-such-host.invalid"), text(outcome.error));
        QVERIFY(outcome.seconds < 4.0); // whatever the resolver does
    }

    void joinsOverNamesAndIPv6_data() {
        QTest::addColumn<QByteArray>("host");
        QTest::addRow("a name") << QByteArray("localhost");
        QTest::addRow("IPv6") << QByteArray("::1");
    }

    void joinsOverNamesAndIPv6() {
        QFETCH(const QByteArray, host);
        auto members = loopbackMembers(3);
        for (Member& member : members)
            member.host = host.toStdString();
        const auto outcomes =
            runRanks({optionsFor(0, members), optionsFor(1, members), optionsFor(2, members)},
                     [](Group& group) { group.barrier(); });
        QCOMPARE(firstError(outcomes), std::string());
    }

    void refusesWrongOptions_data() {
        QTest::addColumn<int>("rank");
        QTest::addColumn<int>("heartbeatMs");
        QTest::addColumn<int>("port");
        QTest::addRow("rank too large") << 2 << 5000 << 2222;
        QTest::addRow("negative rank") << -1 << 5000 << 2222;
        QTest::addRow("no heartbeat timeout") << 0 << 0 << 2222;
        QTest::addRow("no port") << 0 << 5000 << 0;
    }

    void refusesWrongOptions() {
        QFETCH(const int, rank);
        QFETCH(const int, heartbeatMs);
        QFETCH(const int, port);
        auto members = loopbackMembers(2);
        members[1].port = static_cast<std::uint16_t>(port);
        JoinOptions options = optionsFor(rank, members);
        options.heartbeatTimeout = Ms(heartbeatMs);
        const Outcome outcome = joinOnly(options);
        QVERIFY(outcome.error);
        QCOMPARE(outcome.error->code, Code::InvalidArgument);
    }

    void derivesTheSameSecretFromTheSameRun() {
        QVERIFY(deriveSecret("a", "bc") == deriveSecret("a", "bc"));
        QVERIFY(deriveSecret("a", "bc") != deriveSecret("ab", "c"));
    }
};

QTEST_APPLESS_MAIN(TestJoin)
#include "tst_join.moc"
