// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// The inside of RunController, shared by its three sources: states and end (run_controller.cpp),
// launching (run_launch.cpp), watching (run_watch.cpp).

#include "core/metrics/keras_lines.h"
#include "core/run/background.h"
#include "core/run/cluster_check.h"
#include "core/run/fleet.h"
#include "core/run/preflight.h"
#include "core/run/run_controller.h"
#include "core/run/run_folder.h"
#include "core/run/task_follower.h"
#include "core/run/verdict.h"

#include <QTimer>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace lockstep::run {

class RunController::Private {
public:
    Private(RunController* controller, ControllerOptions given);

    /// How the local copies are used.
    enum class Watch {
        Write, ///< we follow the hosts and append
        Read,  ///< another program appends
        Load,  ///< nobody appends any more
    };

    // run_controller.cpp
    void setState(State next);
    void advance();
    void save();
    void refuse(Problem problem);
    void finish(State end);
    void end(State state);
    void applyStop();
    void beginStop();
    void stopped(std::optional<Cause> failure);
    void maybeConclude();
    void conclude();
    void fetchModel();
    void checkModel(const std::string& wanted, std::int64_t bytes);
    std::optional<Cause> cause() const;
    Cause causeOf(const Evidence& evidence) const;

    // run_launch.cpp
    void launch(LaunchRequest given);
    void validated(PreflightResult result);
    void checkHosts();
    void checked();
    void confirmed(bool proceeds);
    void deploy();
    void sayWhatGoesAlong();
    void sayWhatStarts(const std::vector<TaskStart>& tasks);
    void pushFolder();
    void pushed(std::optional<Cause> failure);
    void startWorkers();
    void started(std::optional<Cause> failure);
    Result<std::vector<TaskStart>> taskStarts() const;
    void abandonFolder();

    // run_watch.cpp
    void attach(const std::string& runId);
    void takeOver();
    void attachPrepared(std::optional<Cause> failure);
    void attachAgain(const Cause& failure);
    void pollRecord();
    void load();
    TaskFollower& followerFor(const std::string& task);
    void watch(const std::string& task);
    void replayed(TaskFollower& follower);
    void received(TaskFollower& follower, const wire::Event& event);
    void beginTask(const TaskPlace& place, int attempt);
    void printed(TaskFollower& follower, const OutputLine& line);
    void readProgress(TaskFollower& follower, const std::string& bytes);
    void clockSeen(const std::string& task, double hostTime);
    double hostNow(const std::string& task) const;
    void changed(const agent::ProcessState& state);
    void checkEnd(const std::string& task);
    void checkDigests();
    void addEvidence(Evidence evidence);
    void noteCaughtUp();
    void say(wire::Level level, const std::string& text);
    void updateLater();

    bool isModelJob() const { return job.kind == job::JobKind::Model; }
    cluster::Use use() const {
        return isModelJob() ? cluster::Use::ModelJob : cluster::Use::Command;
    }
    bool allFinished() const;

    RunController* q;
    ControllerOptions options;
    State state = State::Idle;
    Problems problems;
    RunRecord record;
    metrics::Store store;

    LaunchRequest request;
    job::JobSpec job;
    std::vector<PushedFile> files;
    std::optional<PushManifest> push;
    job::Variables passed; ///< from our environment to a command
    std::optional<RunFolder> folder;
    std::optional<WriterLock> lock;
    std::unique_ptr<Preflight> preflight;
    std::unique_ptr<Fleet> fleet;
    std::unique_ptr<ClusterCheck> check;
    bool isAsking = false; ///< whether to launch in spite of the check's warnings
    std::vector<std::unique_ptr<TaskFollower>> followers;
    std::set<std::string> caughtUpTasks;
    std::set<std::string> overTasks; ///< ended, or lost from sight
    Watch mode = Watch::Write;
    State resumeFrom = State::Idle; ///< of the record, while attaching

    std::vector<Evidence> evidence;
    std::map<std::string, agent::ProcessState> processes;
    std::map<std::string, metrics::KerasReader> printedProgress; ///< of a command's tasks
    std::map<std::string, ClockWatch> clocks;
    bool seenTraining = false;
    bool seenFinishing = false;
    bool isStarting = false;    ///< supervise requests are under way
    bool stopRequested = false; ///< by a person
    bool stopSent = false;
    bool stopAnswered = false;
    bool isFetching = false;
    bool isUpdatePending = false;
    bool saidCaughtUp = false;
    std::size_t loadsLeft = 0;

    QTimer settle;       ///< after the first evidence
    QTimer stopDeadline; ///< for the followers to end after a stop
    QTimer recordPoll;   ///< while another program writes
    QTimer attachRetry;  ///< while a host is out of reach
    std::chrono::milliseconds attachPause{};
    Background background;
};

} // namespace lockstep::run
