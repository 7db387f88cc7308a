// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/pages/page.h"

#include <QVBoxLayout>

namespace lockstep::ui {

QBoxLayout* Page::makeColumn() {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 16, 24, 16);
    column->setSpacing(16);
    return column;
}

} // namespace lockstep::ui
