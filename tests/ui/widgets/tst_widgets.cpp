// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/widgets/form.h"
#include "ui/widgets/icons.h"
#include "ui/widgets/state_dot.h"

#include <QApplication>
#include <QDir>
#include <QPainter>
#include <QSignalSpy>
#include <QTest>

#include <set>

using namespace lockstep;
using namespace lockstep::ui;

class WidgetsTest : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void keepsTextReadableInBothThemes() {
        for (const Tokens* t : {&lightTokens(), &darkTokens()}) {
            for (const QColor& ground : {t->window, t->surface})
                for (const QColor& ink :
                     {t->text, t->muted, t->accent, t->good, t->error, t->warning})
                    QVERIFY2(contrast(ink, ground) >= 4.5,
                             qPrintable(ink.name() + QStringLiteral(" on ") + ground.name()));
            QVERIFY(contrast(t->onAccent, t->accent) >= 4.5);
            QVERIFY(contrast(t->error, t->errorTint) >= 4.5);
            QVERIFY(contrast(t->warning, t->warningTint) >= 4.5);
            QVERIFY(contrast(t->accent, t->accentTint) >= 4.5);
            for (int i = 0; i < 8; ++i)
                QVERIFY(contrast(t->seriesColor(i), t->surface) >= 4.5);
        }
    }

    void drawsEveryIconInItsColour() {
        applyTheme(*qApp, ThemeChoice::Light);
        const auto names = QDir(QStringLiteral(":/icons")).entryList({QStringLiteral("*.svg")});
        QVERIFY(names.size() > 30);
        for (const QString& file : names) {
            const QByteArray name = file.chopped(4).toLatin1();
            const QImage image = icon(name.constData()).pixmap(QSize(20, 20)).toImage();
            bool drawn = false;
            for (int y = 0; y < image.height(); ++y)
                for (int x = 0; x < image.width(); ++x)
                    drawn = drawn || qAlpha(image.pixel(x, y)) > 100;
            QVERIFY2(drawn, name.constData());
        }
    }

    void tellsStatesByShapeWithoutColour() {
        std::set<QByteArray> pictures;
        for (const auto shape : {DotShape::Full, DotShape::Half, DotShape::Ring, DotShape::Cross}) {
            QImage image(16, 16, QImage::Format_RGB32);
            image.fill(Qt::white);
            QPainter painter(&image);
            paintDot(painter, image.rect(), shape, Qt::black);
            painter.end();
            pictures.insert(
                QByteArray(reinterpret_cast<const char*>(image.constBits()), image.sizeInBytes()));
        }
        QCOMPARE(pictures.size(), std::size_t{4});
    }

    void acceptsOnlyNumbersInsideTheBounds() {
        NumberField field(NumberField::Kind::Whole);
        field.setBounds(1, 100);
        field.setValue(10);
        QSignalSpy edited(&field, &NumberField::edited);
        const auto type = [&](const char* text) {
            field.selectAll();
            QTest::keyClicks(&field, QLatin1String(text));
            QTest::keyClick(&field, Qt::Key_Return);
        };
        type("64");
        QCOMPARE(edited.size(), 1);
        type("1.5");
        QCOMPARE(field.text(), QStringLiteral("64"));
        type("1000");
        QCOMPARE(field.text(), QStringLiteral("64"));
        type("abc");
        QCOMPARE(field.text(), QStringLiteral("64"));
        QCOMPARE(edited.size(), 1);
        QTest::keyClick(&field, Qt::Key_Up);
        QCOMPARE(field.value(), std::optional<double>(65));
        QTest::keyClick(&field, Qt::Key_PageUp);
        QCOMPARE(field.value(), std::optional<double>(75));
    }

    void showsAProblemAtItsField() {
        auto* edit = new QLineEdit;
        Field field(QStringLiteral("Address"), edit);
        field.show();
        QCOMPARE(edit->accessibleName(), QStringLiteral("Address"));
        Problem problem;
        problem.message = "Port 0 cannot be dialled.";
        problem.hint = "Choose one from 1024 on.";
        field.setProblem(&problem);
        QCOMPARE(edit->property("problem").toString(), QStringLiteral("error"));
        QVERIFY(edit->accessibleDescription().contains(QStringLiteral("Port 0")));
        field.setProblem(nullptr);
        QVERIFY(edit->property("problem").toString().isEmpty());
        QVERIFY(edit->accessibleDescription().isEmpty());
    }

    void endsLongTextWithAnEllipsisAndKeepsItInTheTooltip() {
        ElidedLabel label(QString(200, QLatin1Char('m')));
        label.resize(100, 20);
        label.show();
        QTRY_VERIFY(label.text().endsWith(QChar(0x2026)));
        QCOMPARE(label.toolTip().size(), 200);
        QVERIFY(label.minimumSizeHint().width() < 100);
    }
};

QTEST_MAIN(WidgetsTest)
#include "tst_widgets.moc"
