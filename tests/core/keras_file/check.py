# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
"""Opens an exported model with Keras: check.py FILE WEIGHTS DATA.csv.gz [--legacy]

WEIGHTS may be "-"; --legacy takes tf_keras. Prints one line of JSON: what evaluate() says on all of
the data, the optimizer's state, and the loss of one more epoch. Imports nothing of ours.
"""

import json
import sys

import numpy as np

path, weights, data = sys.argv[1:4]
if "--legacy" in sys.argv:
    import tf_keras as keras
else:
    import keras

rows = np.loadtxt(data, delimiter=",", dtype=np.float32)
x, y = rows[:, :-1] * np.float32(0.0625), rows[:, -1]
model = keras.models.load_model(path)
loss, accuracy = model.evaluate(x, y, batch_size=256, verbose=0)
before = model.predict(x, verbose=0)
state = model.optimizer.variables
state = state() if callable(state) else state
iterations = int(model.optimizer.iterations.numpy())
slots = float(sum(np.abs(np.asarray(v, np.float64)).sum() for v in state[2:]))
if weights != "-":
    for variable in model.weights:
        variable.assign(np.zeros(variable.shape, np.float32))
    model.load_weights(weights)
    assert np.array_equal(before, model.predict(x, verbose=0)), "the weights file differs"
history = model.fit(x, y, epochs=1, batch_size=32, verbose=0)
print(json.dumps({"loss": float(loss), "accuracy": float(accuracy),
                  "iterations": iterations, "slots": slots,
                  "after": float(history.history["loss"][0]), "sum": float(before[:100].sum()),
                  "version": keras.__version__, "names": [l.name for l in model.layers]}))
