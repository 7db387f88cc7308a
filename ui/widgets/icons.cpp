// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/widgets/icons.h"

#include <QAbstractButton>
#include <QFile>
#include <QIconEngine>
#include <QPainter>
#include <QPixmapCache>
#include <QSvgRenderer>

#include <algorithm>

namespace lockstep::ui {
namespace {

QByteArray source(const QString& name) {
    QFile file(QStringLiteral(":/icons/%1.svg").arg(name));
    const bool there = file.open(QIODevice::ReadOnly);
    Q_ASSERT_X(there, "icon", qPrintable(name));
    return there ? file.readAll() : QByteArray();
}

QPixmap render(const QString& name, const QSize& pixels, const QColor& color) {
    const QString key = QStringLiteral("lockstep/%1/%2x%3/%4")
                            .arg(name)
                            .arg(pixels.width())
                            .arg(pixels.height())
                            .arg(color.rgba());
    QPixmap pixmap;
    if (QPixmapCache::find(key, &pixmap))
        return pixmap;
    QByteArray svg = source(name);
    svg.replace("#000000", color.name().toLatin1());
    QSvgRenderer renderer(svg);
    pixmap = QPixmap(pixels);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    // Square, at the left of a wider place.
    const qreal side = std::min(pixels.width(), pixels.height());
    renderer.render(&painter, QRectF(0, (pixels.height() - side) / 2, side, side));
    painter.end();
    QPixmapCache::insert(key, pixmap);
    return pixmap;
}

class ThemedIcon final : public QIconEngine {
public:
    ThemedIcon(QString name, Ink ink)
        : m_name(std::move(name))
        , m_ink(ink) {}

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode,
               QIcon::State state) override {
        const qreal ratio = painter->device()->devicePixelRatioF();
        painter->drawPixmap(rect, scaledPixmap(rect.size() * ratio, mode, state, ratio));
    }
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        return scaledPixmap(size, mode, state, 1.0);
    }
    QPixmap scaledPixmap(const QSize& size, QIcon::Mode mode, QIcon::State, qreal scale) override {
        QPixmap result = render(m_name, size, color(mode));
        result.setDevicePixelRatio(scale);
        return result;
    }
    QIconEngine* clone() const override { return new ThemedIcon(m_name, m_ink); }

private:
    QColor color(QIcon::Mode mode) const {
        return mode == QIcon::Disabled ? currentTokens().muted : colorOf(m_ink);
    }

    QString m_name;
    Ink m_ink;
};

} // namespace

QColor colorOf(Ink ink) {
    const Tokens& t = currentTokens();
    switch (ink) {
    case Ink::Text:
        return t.text;
    case Ink::Muted:
        return t.muted;
    case Ink::Accent:
        return t.accent;
    case Ink::OnAccent:
        return t.onAccent;
    case Ink::Good:
        return t.good;
    case Ink::Warning:
        return t.warning;
    case Ink::Error:
        return t.error;
    }
    return t.text;
}

IconView::IconView(const char* name, Ink ink, int side, QWidget* parent)
    : QWidget(parent)
    , m_name(name)
    , m_ink(ink) {
    setFixedSize(side, side);
}

void IconView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    drawIcon(painter, rect(), m_name, colorOf(m_ink));
}

QIcon icon(const char* name, Ink ink) {
    return QIcon(new ThemedIcon(QLatin1String(name), ink));
}

void setIconBeside(QAbstractButton* button, const char* name, Ink ink) {
    button->setIcon(icon(name, ink));
    button->setIconSize(QSize(21, 16));
}

void drawIcon(QPainter& painter, const QRectF& box, const char* name, const QColor& color) {
    const qreal ratio = painter.device()->devicePixelRatioF();
    QPixmap pixmap = render(QLatin1String(name), (box.size() * ratio).toSize(), color);
    pixmap.setDevicePixelRatio(ratio);
    painter.drawPixmap(box.topLeft(), pixmap);
}

} // namespace lockstep::ui
