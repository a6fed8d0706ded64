#!/usr/bin/env python3
"""The mlp workload in PyTorch from the raw files that step_bench wrote: equal weights, equal batches, the loss of each step.

usage: torch_check.py FOLDER    (reads weights and batches, prints one JSON line with the losses)
"""
import json, sys
import torch
import torch.nn as nn
import torch.nn.functional as F


def main(folder):
    spec = json.load(open(f"{folder}/spec.json"))

    def read(name, dtype, shape):
        return torch.frombuffer(bytearray(open(f"{folder}/{name}", "rb").read()), dtype=dtype).reshape(shape)

    layers = []
    for i, (rows, columns) in enumerate(spec["layers"]):
        linear = nn.Linear(rows, columns)
        with torch.no_grad():
            # dslc keeps kernels as [in, out], PyTorch as [out, in].
            linear.weight.copy_(read(f"kernel.{i}", torch.float32, (rows, columns)).t())
            linear.bias.copy_(read(f"bias.{i}", torch.float32, (columns,)))
        layers += [linear, nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    optimizer = torch.optim.Adam(model.parameters(), lr=spec["learning_rate"], eps=spec["epsilon"])
    losses = []
    for step in range(spec["steps"]):
        x = read(f"x.{step}", torch.float32, (spec["batch"], -1))
        y = read(f"label.{step}", torch.int64, (spec["batch"],))
        loss = F.cross_entropy(model(x), y)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(json.dumps({"system": "torch-" + torch.__version__, "losses": losses}))


if __name__ == "__main__":
    main(sys.argv[1])
