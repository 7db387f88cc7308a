// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/controller_session.h"

#include <utility>

namespace lockstep::ui {

ControllerSession::ControllerSession(const run::ControllerOptions& options, QObject* parent)
    : RunSession(parent)
    , m_controller(options) {
    connect(&m_controller, &run::RunController::stateChanged, this, &RunSession::stateChanged);
    connect(&m_controller, &run::RunController::placed, this, &RunSession::stateChanged);
    connect(&m_controller, &run::RunController::caughtUp, this, &RunSession::stateChanged);
    connect(&m_controller, &run::RunController::confirmationWanted, this,
            &RunSession::confirmationWanted);
    connect(&m_controller, &run::RunController::done, this, &RunSession::done);
}

void ControllerSession::launch(run::LaunchRequest request) {
    m_controller.launch(std::move(request));
}
void ControllerSession::attach(const QString& runId) {
    m_controller.attach(runId.toStdString());
}
void ControllerSession::confirm(bool proceeds) {
    m_controller.confirm(proceeds);
}
void ControllerSession::stop() {
    m_controller.stop();
}
void ControllerSession::detach() {
    m_controller.detach();
}
run::State ControllerSession::state() const {
    return m_controller.state();
}
const Problems& ControllerSession::problems() const {
    return m_controller.problems();
}
const run::RunRecord& ControllerSession::record() const {
    return m_controller.record();
}
const metrics::Store& ControllerSession::store() const {
    return m_controller.store();
}
std::vector<run::HostProgress> ControllerSession::hostProgress() const {
    return m_controller.hostProgress();
}

bool ControllerSession::isReadOnly() const {
    return m_controller.isReadOnly();
}
bool ControllerSession::isCaughtUp() const {
    return m_controller.isCaughtUp();
}

} // namespace lockstep::ui
