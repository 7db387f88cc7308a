// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#pragma once
// Lays widgets out in rows that break like words. GUI thread.

#include <QLayout>

namespace lockstep::ui {

class FlowLayout final : public QLayout {
    Q_OBJECT
public:
    explicit FlowLayout(QWidget* parent, int horizontalGap = 8, int verticalGap = 8);
    ~FlowLayout() override;
    void addItem(QLayoutItem* item) override { m_items.append(item); }
    int count() const override { return static_cast<int>(m_items.size()); }
    QLayoutItem* itemAt(int index) const override { return m_items.value(index); }
    QLayoutItem* takeAt(int index) override;
    Qt::Orientations expandingDirections() const override { return {}; }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override {
        return place(QRect(0, 0, width, 0), Pass::Measure);
    }
    void setGeometry(const QRect& rect) override;
    QSize sizeHint() const override;
    QSize minimumSize() const override;

private:
    enum class Pass { Measure, Move };
    int place(const QRect& rect, Pass pass) const;
    QList<QLayoutItem*> m_items;
    int m_horizontalGap;
    int m_verticalGap;
};

} // namespace lockstep::ui
