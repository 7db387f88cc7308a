#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
"""Trains small Dense models in Keras and writes every step's loss, metrics and the last weights.

Run with Keras 3 on TensorFlow's CPU:  python make_golden.py > keras_steps.json
The C++ test replays the same steps from the same weights and rows.
"""
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np

STEPS = 20
FEATURES = 6
BATCHES = (12, 7)  # rows of the batches, in turn


def numbers(array):
    """float32 with the digits that give the same float32 back."""
    return [float(f"{value:.9g}") for value in np.asarray(array, "float32").ravel()]


def dense_model(outputs, last, hidden="relu", after=()):
    return keras.Sequential(
        [keras.Input((FEATURES,)), keras.layers.Dense(8, activation=hidden),
         keras.layers.Dense(outputs, activation=last), *after])


def labels(kind, rows, rng):
    classes = rng.integers(0, 3, rows)
    if kind == "regression":
        return rng.normal(size=(rows, 2)).astype("float32")
    if kind == "one":
        return rng.normal(size=(rows, 1)).astype("float32")
    if kind == "binary":
        return rng.integers(0, 2, (rows, 1)).astype("float32")
    if kind == "binaries":
        return rng.integers(0, 2, (rows, 3)).astype("float32")
    if kind == "one_hot":
        return np.eye(3, dtype="float32")[classes]
    return classes.astype("float32").reshape(rows, 1)


CROSS = keras.losses.CategoricalCrossentropy
SPARSE = keras.losses.SparseCategoricalCrossentropy
BINARY = keras.losses.BinaryCrossentropy
FLAT = (keras.layers.Flatten(),)  # hides the softmax or sigmoid from Keras, so that it uses p
LOSSES = {
    "mse": ("mse", "regression", dense_model(2, None), ["mae", "accuracy"]),
    "mse, one output, tanh": ("mse", "one", dense_model(1, None, "tanh"), ["mae", "MSE"]),
    "mse, sum": (keras.losses.MeanSquaredError(reduction="sum"), "regression",
                 dense_model(2, None, "elu"), []),
    "mae": ("mae", "regression", dense_model(2, None), ["mse"]),
    "binary": ("binary_crossentropy", "binary", dense_model(1, "sigmoid"),
               ["accuracy", "binary_accuracy"]),
    "binary, three outputs": ("bce", "binaries", dense_model(3, "sigmoid", "softplus"),
                              ["binary_accuracy"]),
    "binary, logits": (BINARY(from_logits=True), "binary", dense_model(1, None), ["acc"]),
    "binary, probabilities": ("binary_crossentropy", "binary", dense_model(1, "sigmoid", after=FLAT),
                              ["accuracy"]),
    "binary, smoothed": (BINARY(label_smoothing=0.2), "binary", dense_model(1, "sigmoid"), []),
    "categorical": ("categorical_crossentropy", "one_hot", dense_model(3, "softmax"),
                    ["accuracy", "mae"]),
    "categorical, logits": (CROSS(from_logits=True), "one_hot", dense_model(3, None, "selu"),
                            ["categorical_accuracy"]),
    "categorical, probabilities": ("categorical_crossentropy", "one_hot",
                                   dense_model(3, "softmax", after=FLAT), ["accuracy"]),
    "categorical after sigmoid": ("categorical_crossentropy", "one_hot", dense_model(3, "sigmoid"),
                                  []),
    "categorical, smoothed": (CROSS(label_smoothing=0.1), "one_hot", dense_model(3, "softmax"), []),
    "sparse": ("sparse_categorical_crossentropy", "classes", dense_model(3, "softmax"),
               ["accuracy", "sparse_categorical_accuracy"]),
    "sparse, logits": (SPARSE(from_logits=True), "classes", dense_model(3, None, "silu"), ["acc"]),
    "sparse, probabilities": ("sparse_categorical_crossentropy", "classes",
                              dense_model(3, "softmax", after=FLAT), ["accuracy"]),
}
OPTIMIZERS = {
    "sgd": lambda scale: keras.optimizers.SGD(0.05 * scale),
    "momentum": lambda scale: keras.optimizers.SGD(0.05 * scale, momentum=0.9),
    "nesterov": lambda scale: keras.optimizers.SGD(0.05 * scale, momentum=0.9, nesterov=True),
    "adam": lambda scale: keras.optimizers.Adam(0.01 * scale),
}
EXTRA_OPTIMIZERS = {  # with mse alone
    "weight decay": lambda scale: keras.optimizers.SGD(0.05 * scale, weight_decay=0.01),
    "clipvalue": lambda scale: keras.optimizers.SGD(0.05 * scale, clipvalue=0.1),
    "amsgrad": lambda scale: keras.optimizers.Adam(0.01 * scale, amsgrad=True),
    "adamw": lambda scale: keras.optimizers.AdamW(0.01 * scale),
}


def serialized(thing):
    return thing if isinstance(thing, str) else keras.saving.serialize_keras_object(thing)


def train(name, loss, kind, source, metrics, make_optimizer):
    rng = np.random.default_rng(len(name))
    model = keras.models.model_from_json(source.to_json())
    model.set_weights([rng.normal(scale=0.5, size=w.shape).astype("float32")
                       for w in model.get_weights()])
    scale = 0.02 if name.startswith("mse, sum") else 1  # a sum has larger gradients
    model.compile(make_optimizer(scale), loss, metrics=list(metrics), jit_compile=False)
    case = {
        "name": name,
        "model": json.loads(source.to_json()),
        "compile": {"optimizer": serialized(make_optimizer(scale)), "loss": serialized(loss),
                    "metrics": metrics},
        "weights": {f"{v.path.split('/')[-2]}/{v.name}": numbers(v.numpy()) for v in model.weights},
        "batches": [], "steps": [],
    }
    batches = []
    for rows in BATCHES:
        batch = (rng.normal(size=(rows, FEATURES)).astype("float32"), labels(kind, rows, rng))
        batches.append(batch)
        case["batches"].append({"x": numbers(batch[0]), "y": numbers(batch[1])})
    for step in range(STEPS):
        model.reset_metrics()
        logs = model.train_on_batch(*batches[step % len(batches)], return_dict=True)
        case["steps"].append({key: float(value) for key, value in logs.items()})
    case["last"] = {f"{v.path.split('/')[-2]}/{v.name}": numbers(v.numpy()) for v in model.weights}
    return case


def main():
    cases = []
    for name, (loss, kind, source, metrics) in LOSSES.items():
        for optimizer, make in OPTIMIZERS.items():
            cases.append(train(f"{name}; {optimizer}", loss, kind, source, metrics, make))
    loss, kind, source, metrics = LOSSES["mse"]
    for optimizer, make in EXTRA_OPTIMIZERS.items():
        cases.append(train(f"mse; {optimizer}", loss, kind, source, metrics, make))
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    assert "Infinity" not in lines and "NaN" not in lines
    sys.stdout.write(f'{{"keras":"{keras.__version__}","cases":[\n{lines}\n]}}\n')


main()
