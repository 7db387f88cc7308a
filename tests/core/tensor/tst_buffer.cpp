// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/failure.h"
#include "core/tensor/buffer.h"
#include "core/tensor/shape.h"

#include <QtTest>

#include <algorithm>
#include <cstdint>
#include <limits>

using namespace lockstep;
using namespace lockstep::tensor;

class TestBuffer : public QObject {
    Q_OBJECT
private slots:
    void isAlignedAndZeroed() {
        for (const std::size_t n : {1u, 7u, 16u, 1000u}) {
            Buffer buffer(n);
            QCOMPARE(buffer.size(), n);
            QCOMPARE(reinterpret_cast<std::uintptr_t>(buffer.span().data()) % 64, 0u);
            QVERIFY(std::all_of(buffer.span().begin(), buffer.span().end(),
                                [](float v) { return v == 0.0f; }));
        }
    }

    void keepsItsAddressOverAMove() {
        Buffer first(8);
        const float* const address = first.span().data();
        const Buffer second = std::move(first);
        QCOMPARE(second.span().data(), address);
    }

    void allowsNothing() { QVERIFY(Buffer(0).span().empty()); }

    void reportsMemoryThatIsNotThere() {
        for (const std::size_t n : {std::numeric_limits<std::size_t>::max() / 16,
                                    std::numeric_limits<std::size_t>::max()}) {
            try {
                Buffer buffer(n);
                QFAIL("got it");
            } catch (const Failure& failure) {
                QCOMPARE(failure.error().code, Code::OutOfMemory);
            }
        }
    }

    void printsShapesAsKerasDoes() {
        QCOMPARE(Shape({3}).text(), std::string("(3,)"));
        QCOMPARE(Shape({2, 8}).text(), std::string("(2, 8)"));
        QCOMPARE(Shape({}).text(), std::string("()"));
        QCOMPARE(Shape({2, 8}).batchText(), std::string("(None, 2, 8)"));
        QCOMPARE(Shape({2, 8}).elements(), 16);
        QCOMPARE(Shape({}).elements(), 1);
    }
};

QTEST_APPLESS_MAIN(TestBuffer)
#include "tst_buffer.moc"
