# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
"""A training loop of one's own on all workers of TF_CONFIG; Keras' Progbar prints its progress."""
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

EPOCHS, STEPS, BATCH = 3, 10, 32

strategy = tf.distribute.MultiWorkerMirroredStrategy()
random = np.random.default_rng(1)
x = random.random((400, 4), dtype=np.float32)
y = x.sum(axis=1, keepdims=True)
data = iter(strategy.experimental_distribute_dataset(
    tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(BATCH)))
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Input((4,)),
                                 tf.keras.layers.Dense(8, activation="relu"),
                                 tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam(0.01)


@tf.function
def train_step(batch):
    def on_replica(inputs):
        features, labels = inputs
        with tf.GradientTape() as tape:
            squares = tf.square(model(features, training=True) - labels)
            loss = tf.nn.compute_average_loss(tf.squeeze(squares, 1), global_batch_size=BATCH)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(on_replica, (batch,)), None)


for epoch in range(EPOCHS):
    print(f"Epoch {epoch + 1}/{EPOCHS}", flush=True)
    progress = tf.keras.utils.Progbar(STEPS, interval=0)
    for step in range(STEPS):
        progress.update(step + 1, [("loss", float(train_step(next(data))))])
