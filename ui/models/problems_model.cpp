// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/models/problems_model.h"

#include "ui/models/problem_text.h"

namespace lockstep::ui {

ProblemsModel::ProblemsModel(Workspace* workspace, QObject* parent)
    : QAbstractListModel(parent)
    , m_workspace(workspace)
    , m_problems(workspace->problems()) {
    connect(workspace, &Workspace::problemsChanged, this, &ProblemsModel::sync);
}

int ProblemsModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_problems.size());
}

void ProblemsModel::sync() {
    const auto& fresh = m_workspace->problems();
    const int had = rowCount();
    const int has = static_cast<int>(fresh.size());
    // Rows are what they say, so it is enough to have the right number of them and refresh all.
    if (has > had) {
        beginInsertRows({}, had, has - 1);
        m_problems = fresh;
        endInsertRows();
    } else if (has < had) {
        beginRemoveRows({}, has, had - 1);
        m_problems = fresh;
        endRemoveRows();
    }
    m_problems = fresh;
    if (has > 0)
        Q_EMIT dataChanged(index(0), index(has - 1));
}

QVariant ProblemsModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const PlacedProblem& placed = m_problems[index.row()];
    switch (role) {
    case TextRole:
    case Qt::ToolTipRole:
    case Qt::AccessibleTextRole:
        return sentenceOf(placed.problem);
    case DocumentRole:
        return static_cast<int>(placed.document);
    case PathRole:
        return QString::fromStdString(placed.problem.path);
    case LineRole:
        return placed.problem.line;
    case IsErrorRole:
        return placed.problem.severity == Severity::Error;
    default:
        return {};
    }
}

} // namespace lockstep::ui
