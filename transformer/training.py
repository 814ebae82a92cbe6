"""Training a translation model, with a run that can be stopped and resumed at any moment."""

import csv
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import safetensors
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from tqdm import tqdm

from transformer.batches import Batch, Pair, PairIds, bucketed, make_batch
from transformer.checkpoint import save_checkpoint, write_safetensors
from transformer.text_model import TextTransformer
from transformer.tokens import Tokenizer, seed_sampling

STATE = "state.safetensors"
LOG = "log.csv"


@dataclass(frozen=True)
class TrainingOptions:
    """How to train; every number is part of the run and comes back on resume."""

    epochs: int = 30
    tokens_per_batch: int = 3000
    learning_rate: float = 1.2e-3  # at the top of the schedule
    warmup_steps: int = 400
    weight_decay: float = 0.01
    label_smoothing: float = 0.1
    clip_norm: float = 1.0
    averaging: float = 0.998  # of an exponential moving average over weights
    subword_sampling: float | None = None
    precision: str = "float32"  # or bf16: autocast
    device: str = "cpu"
    seed: int = 1
    save_seconds: float = 60.0


@dataclass
class Progress:
    """Where a run stands. ``batch`` batches of ``epoch`` are done."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    best_loss: float = math.inf
    seconds: float = 0.0
    loss_sum: float = 0.0  # of this epoch's labels, in nats
    labels: int = 0


class Training:
    """A run in a folder: its state, its log and the best checkpoint so far.

    Every random choice is a function of the seed and of where the run stands, so a resumed run does what an
    uninterrupted one would have done.

    Args:
        folder: gets state.safetensors and log.csv, and in checkpoint/ the weights with the lowest dev loss.
        resume: go on from the folder's state, if it has one.

    Raises:
        ValueError: a run in the folder, but no ``resume``; ``resume`` with options or a model other than those the run
            began with, or from a damaged state; dev pairs that are all too long for the model.
    """

    def __init__(
        self,
        folder: Path,
        model: TextTransformer,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        train: Sequence[Pair],
        dev: Sequence[Pair],
        options: TrainingOptions,
        resume: bool = False,
    ) -> None:
        self.folder, self.options = folder, options
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer
        self.train_pairs, self.dev_pairs = train, self._encode(dev, sampling=None, model=model)
        if not self.dev_pairs:
            raise ValueError(f"No dev pair fits into the {model.config.max_length} tokens that the model reads.")
        self.model = model.to(options.device)
        self.optimizer = torch.optim.AdamW(
            model.parameters(), betas=(0.9, 0.98), weight_decay=options.weight_decay, fused=True
        )
        self.average = AveragedModel(self.model, multi_avg_fn=get_ema_multi_avg_fn(options.averaging))
        self.progress = Progress()
        self.log: list[dict[str, float]] = []
        folder.mkdir(parents=True, exist_ok=True)
        if not resume and (folder / STATE).is_file():
            raise ValueError(f"{folder} holds a run: go on with it (--resume), or choose another folder.")
        if resume and (folder / STATE).is_file():
            try:
                self._load_state()
            except (safetensors.SafetensorError, RuntimeError, KeyError, TypeError) as error:
                raise ValueError(f"{folder / STATE} is damaged, or is the state of another model.") from error

    def run(self) -> None:
        """Train to the last epoch, saving by time and after each epoch."""
        began = time.monotonic() - self.progress.seconds
        saved = time.monotonic()
        while self.progress.epoch < self.options.epochs:
            batches = list(self._epoch_batches(self.progress.epoch))
            bar = tqdm(
                batches[self.progress.batch :],
                desc=f"epoch {self.progress.epoch + 1}/{self.options.epochs}",
                initial=self.progress.batch,
                total=len(batches),
                unit="batch",
                mininterval=1.0,
            )
            for batch in bar:
                self._step(batch, len(batches))
                bar.set_postfix(loss=f"{self.progress.loss_sum / self.progress.labels:.3f}", refresh=False)
                self.progress.seconds = time.monotonic() - began
                if time.monotonic() - saved > self.options.save_seconds:
                    self._save_state()
                    saved = time.monotonic()
            self._end_epoch(began)
            self._save_state()

    def learning_rate(self, batches: int) -> float:
        """Up over the warm-up steps, then down in a straight line to 0 at the end of the last epoch."""
        position, options = self.progress, self.options
        done = (position.epoch + position.batch / batches) / options.epochs
        return options.learning_rate * min((position.step + 1) / max(options.warmup_steps, 1), 1 - done)

    def _step(self, batch: Batch, batches: int) -> None:
        options, progress = self.options, self.progress
        torch.manual_seed(options.seed * 1_000_003 + progress.step)
        self.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate(batches)
        loss, count = self._loss(self.model, batch, options.label_smoothing)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), options.clip_norm)
        self.optimizer.step()
        progress.step += 1
        progress.batch += 1
        progress.loss_sum += loss.item() * count
        progress.labels += count
        if progress.step >= options.warmup_steps:
            self.average.update_parameters(self.model)

    def _loss(self, model: nn.Module, batch: Batch, label_smoothing: float) -> tuple[Tensor, int]:
        """Mean cross-entropy of the labels, in nats, and how many labels there are."""
        device = self.options.device
        labels = batch.labels.to(device)
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=self.options.precision == "bf16"):
            logits = model(batch.source.to(device), batch.target.to(device))  # (N, T, V)
        loss = nn.functional.cross_entropy(
            logits.float().flatten(0, 1),
            labels.flatten(),
            ignore_index=self.model.config.pad_id,
            label_smoothing=label_smoothing,
        )
        return loss, int((labels != self.model.config.pad_id).sum())

    def _end_epoch(self, began: float) -> None:
        progress = self.progress
        averaged = progress.step >= self.options.warmup_steps
        judged: TextTransformer = self.average.module if averaged else self.model  # type: ignore[assignment]
        dev_loss = self.dev_loss(judged)
        progress.seconds = time.monotonic() - began
        row = {
            "epoch": progress.epoch + 1,
            "step": progress.step,
            "train_loss": round(progress.loss_sum / progress.labels, 4),
            "dev_loss": round(dev_loss, 4),
            "labels": progress.labels,
            "seconds": round(progress.seconds, 1),
        }
        self.log.append(row)
        write_log(self.folder / LOG, self.log)
        tqdm.write("  ".join(f"{name} {value}" for name, value in row.items()))
        if dev_loss < progress.best_loss:
            progress.best_loss = dev_loss
            save_checkpoint(self.folder / "checkpoint", judged, self.source_tokenizer, self.target_tokenizer)
        progress.epoch, progress.batch, progress.loss_sum, progress.labels = progress.epoch + 1, 0, 0.0, 0

    @torch.inference_mode()
    def dev_loss(self, model: TextTransformer) -> float:
        """Nats a label on the dev pairs, without smoothing or dropout."""
        model.eval()
        total = labels = 0.0
        for pairs in bucketed(self.dev_pairs, self.options.tokens_per_batch):
            loss, count = self._loss(model, self._batch(pairs), label_smoothing=0.0)
            total += loss.item() * count
            labels += count
        return total / labels

    def _epoch_batches(self, epoch: int) -> Iterator[Batch]:
        seed_sampling(self.options.seed * 1_000_003 + epoch)
        pairs = self._encode(self.train_pairs, self.options.subword_sampling, self.model)
        shuffle = random.Random(f"{self.options.seed} {epoch}")
        for batch in bucketed(pairs, self.options.tokens_per_batch, shuffle):
            yield self._batch(batch)

    def _batch(self, pairs: Sequence[PairIds]) -> Batch:
        return make_batch(pairs, self.model.config.pad_id, self.model.config.bos_id)

    def _encode(self, pairs: Sequence[Pair], sampling: float | None, model: TextTransformer) -> list[PairIds]:
        end, limit = model.config.eos_id, model.config.max_length
        encoded = [
            ([*self.source_tokenizer.ids(source, sampling), end], [*self.target_tokenizer.ids(target, sampling), end])
            for source, target in pairs
        ]
        return [pair for pair in encoded if max(map(len, pair)) <= limit]

    def _save_state(self) -> None:
        tensors = {}
        for name, parameter in self.model.named_parameters():
            tensors[f"model.{name}"] = parameter.detach()
            for key, value in self.optimizer.state[parameter].items():
                tensors[f"optimizer.{key}.{name}"] = value
        for name, parameter in self.average.module.named_parameters():
            tensors[f"average.{name}"] = parameter.detach()
        tensors["averaged_steps"] = self.average.n_averaged
        metadata = {"options": asdict(self.options), "progress": asdict(self.progress), "log": self.log}
        write_safetensors(self.folder / STATE, tensors, {key: json.dumps(value) for key, value in metadata.items()})

    def _load_state(self) -> None:
        with safetensors.safe_open(self.folder / STATE, "pt", device=self.options.device) as file:
            metadata = file.metadata()
            began_with = TrainingOptions(**json.loads(metadata["options"]))
            if began_with != self.options:
                odd = [k for k, v in asdict(began_with).items() if v != getattr(self.options, k)]
                raise ValueError(f"The run in {self.folder} began with other options: {', '.join(odd)}.")
            self.progress = Progress(**json.loads(metadata["progress"]))
            self.log = json.loads(metadata["log"])
            with torch.no_grad():
                for name, parameter in self.model.named_parameters():
                    parameter.copy_(file.get_tensor(f"model.{name}"))
                    self.optimizer.state[parameter] = {
                        key: file.get_tensor(f"optimizer.{key}.{name}") for key in ("step", "exp_avg", "exp_avg_sq")
                    }
                for name, parameter in self.average.module.named_parameters():
                    parameter.copy_(file.get_tensor(f"average.{name}"))
                self.average.n_averaged.copy_(file.get_tensor("averaged_steps"))


def write_log(path: Path, rows: Sequence[dict[str, float]]) -> None:
    """Write a table of numbers as CSV, its columns those of the first row."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
