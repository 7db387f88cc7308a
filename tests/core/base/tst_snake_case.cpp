// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
#include "core/base/snake_case.h"

#include <QTest>

class TestSnakeCase : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // As keras.src.utils.naming.to_snake_case gives them.
    void namesClassesAsKerasDoes() {
        for (const auto& [name, expected] :
             {std::pair("Dense", "dense"), std::pair("InputLayer", "input_layer"),
              std::pair("MaxPooling2D", "max_pooling2d"), std::pair("ReLU", "re_lu"),
              std::pair("PReLU", "p_re_lu"), std::pair("LSTM", "lstm"),
              std::pair("GlobalAveragePooling2D", "global_average_pooling2d"),
              std::pair("sparse_categorical_crossentropy", "sparse_categorical_crossentropy")})
            QCOMPARE(lockstep::snakeCase(name), std::string(expected));
    }
};

QTEST_APPLESS_MAIN(TestSnakeCase)
#include "tst_snake_case.moc"
