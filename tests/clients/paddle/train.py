#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a small network on the device and then on the CPU. Run by tests/clients/paddle/guest.

train.py [STEPS]    prints a JSON object for each step: place, step, loss
"""

import json
import subprocess
import sys

import network

STEPS = 100


def train(place, steps):
    training = network.Training(place)
    for step in range(1, steps + 1):
        print(json.dumps({"place": place, "step": step, "steps": steps, "loss": training.step()}),
              flush=True)


def show_statistics(when):
    print(f"The device, {when}:", flush=True)
    subprocess.run(["accelctl", "stats"], check=True)


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    show_statistics("before")
    train("accel:0", steps)
    show_statistics("after, with Paddle's memory still in use")
    train("cpu", steps)


if __name__ == "__main__":
    main()
