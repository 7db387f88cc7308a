// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "ui/widgets/code_view.h"

#include "ui/widgets/theme.h"

#include <QEvent>
#include <QScrollBar>
#include <QSet>
#include <QSyntaxHighlighter>
#include <QTextBlock>
#include <QTimer>

namespace lockstep::ui {
namespace {

constexpr int kTintMilliseconds = 2500;

/// Keys, texts, and the rest, told apart by a scan of one line; JSON has no text over lines.
class JsonColors final : public QSyntaxHighlighter {
public:
    using QSyntaxHighlighter::QSyntaxHighlighter;

protected:
    void highlightBlock(const QString& text) override {
        const Tokens& t = currentTokens();
        if (text.size() > 20000)
            return;
        for (qsizetype i = 0; i < text.size(); ++i) {
            if (text[i] == QLatin1Char('"')) {
                qsizetype end = i + 1;
                while (end < text.size() && text[end] != QLatin1Char('"'))
                    end += text[end] == QLatin1Char('\\') ? 2 : 1;
                qsizetype next = end + 1;
                while (next < text.size() && text[next].isSpace())
                    ++next;
                const bool key = next < text.size() && text[next] == QLatin1Char(':');
                paint(i, std::min(end + 1, text.size()) - i, key ? t.compute : t.update);
                i = end;
            } else if (text[i].isDigit() || text[i] == QLatin1Char('-')) {
                qsizetype end = i + 1;
                while (end < text.size() &&
                       (text[end].isLetterOrNumber() || text[end] == QLatin1Char('.')))
                    ++end;
                paint(i, end - i, t.allReduce);
                i = end - 1;
            } else if (QStringLiteral("{}[],:").contains(text[i])) {
                paint(i, 1, t.muted);
            }
        }
    }

private:
    void paint(qsizetype from, qsizetype count, const QColor& color) {
        setFormat(static_cast<int>(from), static_cast<int>(count), color);
    }
};

} // namespace

CodeView::CodeView(const QString& name, QWidget* parent)
    : QPlainTextEdit(parent)
    , m_fade(new QTimer(this)) {
    setReadOnly(true);
    setAccessibleName(name);
    setProperty("kind", QStringLiteral("code"));
    setLineWrapMode(QPlainTextEdit::NoWrap);
    setTabChangesFocus(true);
    setFont(monospace(font()));
    setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    new JsonColors(document());
    m_fade->setSingleShot(true);
    m_fade->setInterval(kTintMilliseconds);
    connect(m_fade, &QTimer::timeout, this, [this] {
        m_changed.clear();
        tint();
    });
}

void CodeView::showText(const QString& text) {
    const QString before = toPlainText();
    if (before == text)
        return;
    const int scroll = verticalScrollBar()->value();
    setPlainText(text);
    verticalScrollBar()->setValue(scroll);
    m_changed.clear();
    if (!before.isEmpty() && !text.isEmpty()) {
        const auto old = before.split(QLatin1Char('\n'));
        const QSet<QString> known(old.begin(), old.end());
        const auto lines = text.split(QLatin1Char('\n'));
        for (int i = 0; i < lines.size(); ++i)
            if (!known.contains(lines[i]))
                m_changed.append(i);
        if (2 * m_changed.size() > lines.size())
            m_changed.clear(); // another text, not a changed one
        m_fade->start();
    }
    tint();
}

void CodeView::markLine(int line) {
    if (m_marked == line)
        return;
    m_marked = line;
    tint();
}

void CodeView::tint() {
    const Tokens& t = currentTokens();
    QList<QTextEdit::ExtraSelection> selections;
    const auto add = [&](int line, const QColor& color) {
        const QTextBlock block = document()->findBlockByNumber(line);
        if (!block.isValid())
            return;
        QTextEdit::ExtraSelection selection;
        selection.cursor = QTextCursor(block);
        selection.format.setBackground(color);
        selection.format.setProperty(QTextFormat::FullWidthSelection, true);
        selections.append(selection);
    };
    for (const int line : m_changed)
        add(line, t.accentTint);
    if (m_marked > 0)
        add(m_marked - 1, t.errorTint);
    setExtraSelections(selections);
}

void CodeView::changeEvent(QEvent* event) {
    QPlainTextEdit::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) {
        for (auto* colors : document()->findChildren<QSyntaxHighlighter*>())
            colors->rehighlight();
        tint();
    }
}

} // namespace lockstep::ui
