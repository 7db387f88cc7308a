#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
"""Writes one model as Keras 3 and as Keras 2 (tf_keras) serialize it, each beside this script."""
import pathlib

import keras
import tf_keras

HERE = pathlib.Path(__file__).parent


def layers(k, first):
    dense = k.layers.Dense(16, activation="relu", kernel_initializer="he_normal", **first)
    return [dense, k.layers.Dropout(0.5), k.layers.Dense(12, use_bias=False, name="middle"),
            k.layers.Activation("tanh"), k.layers.ReLU(max_value=6, negative_slope=0.25),
            k.layers.LeakyReLU(0.1), k.layers.ELU(0.5), k.layers.Reshape((3, -1)),
            k.layers.Dense(2, trainable=False), k.layers.Flatten(),
            k.layers.Dense(4, kernel_initializer=k.initializers.VarianceScaling(
                2.0, mode="fan_out", distribution="uniform"),
                bias_initializer=k.initializers.Constant(0.25)),
            k.layers.Softmax()]


three = keras.Sequential([keras.Input((10,)), *layers(keras, {})])
three.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
(HERE / "keras3.json").write_text(three.to_json(indent=1))
two = tf_keras.Sequential(layers(tf_keras, {"input_shape": (10,)}))
(HERE / "keras2.json").write_text(two.to_json(indent=1))
