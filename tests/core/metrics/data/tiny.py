# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
"""Trains a tiny model with Keras 2 or 3 and prints its progress: tiny.py KERAS VERBOSE [EPOCHS]."""
import os
import sys

os.environ["TF_USE_LEGACY_KERAS"] = "1" if sys.argv[1] == "2" else "0"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf

if sys.argv[1] == "2":
    import tf_keras as keras
else:
    import keras

strategy = (tf.distribute.MultiWorkerMirroredStrategy() if "TF_CONFIG" in os.environ
            else tf.distribute.get_strategy())
random = np.random.default_rng(1)
x = random.random((400, 4), dtype=np.float32)
y = x.sum(axis=1, keepdims=True) + 0.01 * random.random((400, 1), dtype=np.float32)
with strategy.scope():
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, activation="relu"),
                              keras.layers.Dense(1)])
    model.compile("adam", "mse", metrics=["mae"])
data = tf.data.Dataset.from_tensor_slices((x[:320], y[:320])).repeat().batch(32)
check = tf.data.Dataset.from_tensor_slices((x[320:], y[320:])).repeat().batch(32)
epochs = int(sys.argv[3]) if len(sys.argv) > 3 else 3
model.fit(data, epochs=epochs, steps_per_epoch=10, validation_data=check, validation_steps=2,
          verbose=int(sys.argv[2]))
if "TF_CONFIG" not in os.environ:
    model.evaluate(check, steps=2, verbose=int(sys.argv[2]))
