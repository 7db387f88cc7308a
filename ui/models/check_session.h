// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// A check of the cluster before a launch, as the window sees it: hosts with their facts, pairs in
// both directions, findings. An interface, so that the page can be shown with made-up clusters. All
// text in it is made safe to show by the models. GUI thread; nothing here blocks.

#include "core/cluster/cluster_spec.h"
#include "ui/models/connection_test.h"

#include <QList>
#include <QObject>
#include <QString>

namespace lockstep::ui {

enum class FindingKind { Error, Warning, Fact };

struct CheckFinding {
    FindingKind kind = FindingKind::Fact;
    QString subject; ///< "worker:1", "worker:0 → worker:1"; empty: the cluster
    QString what;    ///< a full sentence
    QString todo;    ///< what to do; may be empty
    bool operator==(const CheckFinding&) const = default;
};

struct CheckHost {
    enum class State { Waiting, Working, Done, Failed };
    QString task; ///< "worker:0"
    QString name; ///< of the host, for people
    State state = State::Waiting;
    QString words;         ///< what is being done, or why it failed
    QList<HostFact> facts; ///< few, short, the same names on all hosts
    bool operator==(const CheckHost&) const = default;
};

struct CheckPair {
    enum class State {
        Waiting,     ///< not tried yet
        Working,     ///< being tried
        Good,        ///< reached, all sizes came back
        Warning,     ///< reached, with something to know
        Refused,     ///< answered that nothing listens or may pass
        Dropped,     ///< silence
        WrongAnswer, ///< another program answered
        NameUnknown, ///< the name means nothing there
        Skipped,     ///< one of the two could not be reached at all
        Self,
    };
    State state = State::Waiting;
    QString words;               ///< a full sentence that names both
    double roundTripSeconds = 0; ///< 0: not measured
    double bytesPerSecond = 0;   ///< 0: not measured
    bool operator==(const CheckPair&) const = default;
};

struct CheckView {
    QList<CheckHost> hosts;       ///< in rank order
    QList<CheckPair> pairs;       ///< hosts² of them: row dials column
    QList<CheckFinding> findings; ///< errors first
    bool isRunning = false;
    QString words;       ///< "Pairs, round 2 of 3", "Done in 4.2 s"
    double progress = 0; ///< 0 to 1

    int count(FindingKind kind) const;
    const CheckPair& pair(int from, int to) const { return pairs.at(from * hosts.size() + to); }
};

class CheckSession : public QObject {
    Q_OBJECT
public:
    enum class Bandwidth { Leave, Measure };
    using QObject::QObject;

    virtual void start(const cluster::ClusterSpec& spec, Bandwidth bandwidth) = 0;
    virtual void cancel() = 0;
    virtual bool canPush() const { return true; }
    /// Gives every host its TF_CONFIG and files to source; `done` later, once.
    virtual void push(const cluster::ClusterSpec& spec, std::function<void(Status)> done) = 0;
    virtual const CheckView& view() const = 0;

Q_SIGNALS:
    void changed();
};

} // namespace lockstep::ui
