# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
"""Trains a small Keras model on all workers of TF_CONFIG with MultiWorkerMirroredStrategy."""
import os

# model.fit() of Keras 3 does not work under this strategy; tf_keras (Keras 2) does.
os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

ROWS = 2048
BATCH_PER_WORKER = 64
EPOCHS = int(os.environ.get("EPOCHS", "5"))


def spirals():
    """Points of three spirals that turn around each other, and which one each belongs to."""
    random = np.random.default_rng(1)
    label = np.arange(ROWS) % 3
    radius = random.random(ROWS)
    angle = 4 * radius + label * 2 * np.pi / 3 + 0.1 * random.standard_normal(ROWS)
    points = np.stack([radius * np.sin(angle), radius * np.cos(angle)], axis=1)
    return points.astype(np.float32), label.astype(np.int32)


# Waits until every worker of TF_CONFIG is there.
strategy = tf.distribute.MultiWorkerMirroredStrategy()
task = strategy.cluster_resolver.task_type, strategy.cluster_resolver.task_id
print(f"I am {task[0]}:{task[1]} of {strategy.num_replicas_in_sync}", flush=True)

# fit() splits each global batch among the workers; all of them must have the same number of steps.
batch = BATCH_PER_WORKER * strategy.num_replicas_in_sync
data = tf.data.Dataset.from_tensor_slices(spirals()).shuffle(ROWS, seed=1).repeat().batch(batch)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
data = data.with_options(options)

with strategy.scope():
    model = tf.keras.Sequential([
        tf.keras.layers.Input((2,)),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(3, activation="softmax"),
    ])
    model.compile(tf.keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy",
                  metrics=["accuracy"])

model.fit(data, epochs=EPOCHS, steps_per_epoch=ROWS // batch)
