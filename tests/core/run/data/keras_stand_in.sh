#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# SPDX-FileCopyrightText: Lockstep contributors
# Stands in for a TensorFlow program: prints three epochs as one of two workers of Keras 2 does with
# verbose 1.
echo "config $TF_CONFIG"
echo "to stderr" >&2
for epoch in 1 2 3; do
    echo "Epoch $epoch/3"
    printf '\r1/4 [=>..] - ETA: 1s - loss: 1.%s000 - mae: 0.5000' $((6 - 2 * epoch))
    sleep 0.15
    printf '\b\b\b\b\r2/4 [==>.] - ETA: 0s - loss: 1.%s000 - mae: 0.5000' $((6 - 2 * epoch))
    sleep 0.15
    printf '\b\b\b\b\r4/4 [====] - 0s 12ms/step - loss: 0.%s000 - mae: 0.2500 - val_loss: 0.5000\n' $((8 - epoch))
done
