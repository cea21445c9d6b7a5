#!/usr/bin/env python3
"""Trains a small classifier of handwritten digits with numpy on the CPU.

A plain training script: it imports nothing of Orbit. What it shares with it are conventions that any program can keep:

  artifacts    written below $ORBIT_ARTIFACTS (without it: beside --output)
  metrics      metrics.jsonl, one JSON object a line: {"step": 3, "loss": 0.31, "accuracy": 0.95}
  checkpoints  checkpoints/step-000010/, whole once the file COMPLETE is in it
  the end      SIGTERM: finish the epoch, write a checkpoint, exit with 143
"""

import argparse
import gzip
import hashlib
import json
import math
import os
import shutil
import signal
import sys
import time
from pathlib import Path

# One thread: the network is small, and sums are added in one order, so that the same seed gives the same bits.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402

PIXELS = 64
CLASSES = 10
TEST_SHARE = 0.2
SPLIT_SEED = 20_240_101  # not --seed: runs that are compared are tested on the same images
COMPLETE = "COMPLETE"


class BadInput(Exception):
    """Something the caller can correct; becomes one line on stderr and exit code 2."""


def positive(kind):
    def parse(text):
        value = kind(text)
        if not value > 0 or value == math.inf:
            raise ValueError(text)
        return value

    parse.__name__ = f"positive {kind.__name__}"
    return parse


def parse_arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", required=True, type=Path, help="CSV, optionally gzipped: 64 pixels of 0..16 and the digit")
    parser.add_argument("--output", required=True, type=Path, help="where the model is written (.npz)")
    parser.add_argument("--epochs", type=positive(int), default=30)
    parser.add_argument("--lr", type=positive(float), default=0.003, help="learning rate of Adam")
    parser.add_argument("--hidden", type=positive(int), default=64, help="units of the hidden layer")
    parser.add_argument("--batch-size", type=positive(int), default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint-every", type=positive(int), default=5, metavar="EPOCHS")
    parser.add_argument("--epoch-sleep", type=float, default=0.0, metavar="SECONDS", help="wait after each epoch, to make a demonstration last")
    parser.add_argument("--resume", type=Path, metavar="CHECKPOINT", help="directory of a checkpoint to go on from")
    arguments = parser.parse_args(argv)
    if not 0 <= arguments.epoch_sleep <= 3600:
        parser.error("--epoch-sleep must be from 0 to 3600")
    if arguments.seed < 0:
        parser.error("--seed must not be negative")
    return arguments


# --- data -------------------------------------------------------------------------------------------------------------


def load_dataset(path):
    """Images as float32 in 0..1, labels, and the SHA-256 of the file."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read the dataset: {error}") from error
    try:
        text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        if not text.strip():
            raise ValueError("it is empty")
        table = np.loadtxt(text.decode("ascii").splitlines(), delimiter=",", dtype=np.float32, ndmin=2)
    except (OSError, EOFError, ValueError) as error:
        raise BadInput(f"{path} is not a CSV of numbers: {error}") from error
    if table.shape[1:] != (PIXELS + 1,) or table.shape[0] < 100:
        raise BadInput(f"{path}: expected at least 100 rows of {PIXELS + 1} columns, got {table.shape[0]} of {table.shape[1]}")
    images, labels = table[:, :PIXELS] / 16.0, table[:, PIXELS].astype(np.int64)
    if not (np.all((images >= 0) & (images <= 1)) and np.all((labels >= 0) & (labels < CLASSES))):
        raise BadInput(f"{path}: pixels must be 0..16 and labels 0..9")
    return images, labels, hashlib.sha256(raw).hexdigest()


def split(images, labels):
    order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    test = int(len(labels) * TEST_SHARE)
    return (images[order[test:]], labels[order[test:]]), (images[order[:test]], labels[order[:test]])


# --- model ------------------------------------------------------------------------------------------------------------


def new_weights(hidden, rng):
    def layer(inputs, outputs):
        return rng.normal(0.0, math.sqrt(2.0 / inputs), (inputs, outputs)).astype(np.float32)

    return {
        "w1": layer(PIXELS, hidden),
        "b1": np.zeros(hidden, np.float32),
        "w2": layer(hidden, CLASSES),
        "b2": np.zeros(CLASSES, np.float32),
    }


def forward(weights, images):
    hidden = np.maximum(images @ weights["w1"] + weights["b1"], 0)
    logits = hidden @ weights["w2"] + weights["b2"]
    logits -= logits.max(axis=1, keepdims=True)
    odds = np.exp(logits)
    return hidden, odds / odds.sum(axis=1, keepdims=True)


def loss_of(probabilities, labels):
    return float(-np.log(probabilities[np.arange(len(labels)), labels] + 1e-12).mean())


def gradients(weights, images, labels):
    hidden, probabilities = forward(weights, images)
    loss = loss_of(probabilities, labels)
    error = probabilities
    error[np.arange(len(labels)), labels] -= 1
    error /= len(labels)
    below = (error @ weights["w2"].T) * (hidden > 0)
    return loss, {
        "w1": images.T @ below,
        "b1": below.sum(axis=0),
        "w2": hidden.T @ error,
        "b2": error.sum(axis=0),
    }


class Adam:
    def __init__(self, weights):
        self.steps = 0
        self.mean = {name: np.zeros_like(value) for name, value in weights.items()}
        self.square = {name: np.zeros_like(value) for name, value in weights.items()}

    def update(self, weights, grads, lr):
        self.steps += 1
        scale = lr * math.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        for name, grad in grads.items():
            self.mean[name] = np.float32(0.9) * self.mean[name] + np.float32(0.1) * grad
            self.square[name] = np.float32(0.999) * self.square[name] + np.float32(0.001) * grad * grad
            weights[name] -= np.float32(scale) * self.mean[name] / (np.sqrt(self.square[name]) + np.float32(1e-8))


def train_epoch(weights, optimiser, images, labels, arguments, rng):
    order = rng.permutation(len(labels))
    losses = []
    for begin in range(0, len(order), arguments.batch_size):
        batch = order[begin : begin + arguments.batch_size]
        loss, grads = gradients(weights, images[batch], labels[batch])
        optimiser.update(weights, grads, arguments.lr)
        losses.append(loss)
    return sum(losses) / len(losses)


def evaluate(weights, images, labels):
    _, probabilities = forward(weights, images)
    return loss_of(probabilities, labels), float((probabilities.argmax(axis=1) == labels).mean())


# --- files ------------------------------------------------------------------------------------------------------------


def sync_directory(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_synced(path, write):
    with open(path, "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())


def write_whole(path, write):
    """The file is there with all its content, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".partial")
    write_synced(temporary, write)
    os.replace(temporary, path)
    sync_directory(path.parent)


def json_bytes(value):
    return (json.dumps(value, indent=2, sort_keys=True) + "\n").encode()


def save_checkpoint(folder, step, weights, optimiser, rng, identity):
    """Everything is on disk before COMPLETE is written: a checkpoint that has it can be trusted."""
    target = folder / f"step-{step:06d}"
    partial = folder / f".step-{step:06d}.partial"
    (target / COMPLETE).unlink(missing_ok=True)  # of an earlier run into the same folder
    for leftover in (target, partial):
        if leftover.exists():
            shutil.rmtree(leftover)
    partial.mkdir(parents=True)
    arrays = {f"weight_{name}": value for name, value in weights.items()}
    arrays.update({f"mean_{name}": value for name, value in optimiser.mean.items()})
    arrays.update({f"square_{name}": value for name, value in optimiser.square.items()})
    write_synced(partial / "state.npz", lambda file: np.savez(file, **arrays))
    state = {"step": step, "optimiser_steps": optimiser.steps, "rng": rng.bit_generator.state, **identity}
    write_synced(partial / "state.json", lambda file: file.write(json_bytes(state)))
    sync_directory(partial)
    os.rename(partial, target)
    sync_directory(folder)
    write_synced(target / COMPLETE, lambda file: None)
    sync_directory(target)


def load_checkpoint(path, identity):
    if not (path / COMPLETE).exists():
        raise BadInput(f"{path} is not a whole checkpoint: there is no {COMPLETE} in it")
    try:
        state = json.loads((path / "state.json").read_text())
        with np.load(path / "state.npz", allow_pickle=False) as arrays:
            arrays = dict(arrays)
        for key, wanted in identity.items():
            if state[key] != wanted:
                raise BadInput(f"{path} was made with {key} {state[key]}, not {wanted}")
        weights = {name[len("weight_") :]: value for name, value in arrays.items() if name.startswith("weight_")}
        optimiser = Adam(weights)
        optimiser.steps = state["optimiser_steps"]
        optimiser.mean = {name: arrays[f"mean_{name}"] for name in weights}
        optimiser.square = {name: arrays[f"square_{name}"] for name in weights}
        rng = np.random.default_rng()
        rng.bit_generator.state = state["rng"]
        return state["step"], weights, optimiser, rng
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is not a checkpoint of this program: {error!r}") from error


# --- the run ----------------------------------------------------------------------------------------------------------


class StopRequest:
    """SIGTERM asks for the end; it is answered between two epochs, where the state is whole."""

    def __init__(self):
        self.asked = False
        signal.signal(signal.SIGTERM, self._ask)

    def _ask(self, _signal, _frame):
        self.asked = True

    def wait(self, seconds):
        end = time.monotonic() + seconds
        while not self.asked and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.05))


def say(text):
    print(text, flush=True)


def run(arguments):
    stop = StopRequest()
    images, labels, dataset_sha256 = load_dataset(arguments.dataset)
    (train_images, train_labels), (test_images, test_labels) = split(images, labels)
    say(f"{len(train_labels)} images to train on, {len(test_labels)} to test with")

    artifacts = Path(os.environ.get("ORBIT_ARTIFACTS") or arguments.output.parent)
    artifacts.mkdir(parents=True, exist_ok=True)
    identity = {"hidden": arguments.hidden, "dataset_sha256": dataset_sha256}
    if arguments.resume:
        step, weights, optimiser, rng = load_checkpoint(arguments.resume, identity)
        say(f"going on from step {step} ({arguments.resume})")
    else:
        rng = np.random.default_rng(arguments.seed)
        step, weights = 0, new_weights(arguments.hidden, rng)
        optimiser = Adam(weights)

    saved_step = None

    def save():
        nonlocal saved_step
        if saved_step != step:
            save_checkpoint(artifacts / "checkpoints", step, weights, optimiser, rng, identity)
            saved_step = step
            say(f"checkpoint step-{step:06d}")

    with open(artifacts / "metrics.jsonl", "a", encoding="utf-8") as metrics:
        while step < arguments.epochs:
            train_loss = train_epoch(weights, optimiser, train_images, train_labels, arguments, rng)
            step += 1
            loss, accuracy = evaluate(weights, test_images, test_labels)
            if not (math.isfinite(train_loss) and math.isfinite(loss)):
                print(f"the loss is not a number after epoch {step}: try a smaller --lr", file=sys.stderr)
                return 1
            metrics.write(json.dumps({"step": step, "train_loss": train_loss, "loss": loss, "accuracy": accuracy}) + "\n")
            metrics.flush()
            say(f"epoch {step}/{arguments.epochs}  train loss {train_loss:.4f}  loss {loss:.4f}  accuracy {accuracy:.4f}")
            if step % arguments.checkpoint_every == 0:
                save()
            if step < arguments.epochs:
                stop.wait(arguments.epoch_sleep)
                if stop.asked:
                    save()
                    say(f"stopped after epoch {step}")
                    return 128 + signal.SIGTERM

    loss, accuracy = evaluate(weights, test_images, test_labels)
    report = {
        "accuracy": accuracy,
        "loss": loss,
        "epochs": step,
        "lr": arguments.lr,
        "hidden": arguments.hidden,
        "batch_size": arguments.batch_size,
        "seed": arguments.seed,
        "dataset_sha256": dataset_sha256,
        "train_images": len(train_labels),
        "test_images": len(test_labels),
    }
    write_whole(arguments.output, lambda file: np.savez(file, **weights))
    write_whole(arguments.output.parent / "report.json", lambda file: file.write(json_bytes(report)))
    say(f"accuracy {accuracy:.4f}; the model is in {arguments.output.name}")
    return 0


def main():
    try:
        return run(parse_arguments(sys.argv[1:]))
    except BadInput as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
