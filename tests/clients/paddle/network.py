# SPDX-License-Identifier: MIT
"""A small network that is trained on a place: what goes in is the same wherever that is."""

import numpy as np
import paddle


class Training:
    """A perceptron with one hidden layer that learns the sum of its inputs."""

    def __init__(self, device, shape=(8, 16), batch=64, rate=0.05):
        paddle.set_device(device)
        self.rng = np.random.default_rng(5)
        inputs, hidden = shape
        self.size = (batch, inputs)
        self.net = paddle.nn.Sequential(paddle.nn.Linear(inputs, hidden), paddle.nn.Tanh(),
                                        paddle.nn.Linear(hidden, 1))
        for parameter in self.net.parameters():
            value = self.rng.uniform(-0.5, 0.5, parameter.shape).astype("float32")
            parameter.set_value(paddle.to_tensor(value))
        self.optimizer = paddle.optimizer.Momentum(rate, 0.9, parameters=self.net.parameters())
        self.tensors = []

    def step(self):
        """The loss. What took part is kept until the next step."""
        inputs = paddle.to_tensor(self.rng.random(self.size).astype("float32"))
        hidden = self.net[1](self.net[0](inputs))
        output = self.net[2](hidden)
        loss = ((output - inputs.sum(axis=1, keepdim=True)) ** 2).mean()
        loss.backward()
        self.tensors = [inputs, hidden, output, loss]
        for parameter in self.net.parameters():
            self.tensors += [parameter, parameter.grad]
        self.optimizer.step()
        self.optimizer.clear_grad()
        return float(loss)

    def bytes_of_parameters(self):
        return sum(4 * int(np.prod(parameter.shape)) for parameter in self.net.parameters())

    def bytes_of_inputs(self):
        return 4 * int(np.prod(self.size))


def losses(device, steps, **more):
    training = Training(device, **more)
    return [training.step() for _ in range(steps)]
