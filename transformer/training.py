"""Training a model on a task, with a run that can be stopped and resumed at any moment."""

import copy
import csv
import io
import json
import math
import random
import time
import zlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor, nn
from tqdm import tqdm

from transformer.averaging import Average, LastAverage, MovingAverage
from transformer.batches import Batch, Example, bucketed, drop_words, make_batch
from transformer.checkpoint import (
    TASK,
    WEIGHTS,
    describe_checkpoint,
    save_weights,
    snapshot_file,
    write_whole,
)
from transformer.loss import loss_and_accuracy
from transformer.run_state import Progress, Row, load_state, save_state
from transformer.schedules import SCHEDULES
from transformer.tasks import Task
from transformer.text_model import TextTransformer
from transformer.training_options import TrainingOptions, check_device

STATE, LOG, TIMING, CHECKPOINT = "state.safetensors", "log.csv", "timing.csv", "checkpoint"

BAR_SECONDS = 1.0  # between drawings of the progress bar


class Training:
    """A run in a folder: its state, its logs and the best checkpoint so far.

    Every random choice is a function of the seed and of where the run stands, so a resumed run does what an
    uninterrupted one would have done, and its log.csv is the same to the byte. The clock is kept apart, in timing.csv.

    Args:
        folder: gets state.safetensors, log.csv and timing.csv, and in checkpoint/ the weights with the lowest dev
            loss and the snapshots.
        resume: go on from the folder's state, if it has one.

    Raises:
        ValueError: a run in the folder, but no ``resume``; ``resume`` with a task, options or a model other than those
            the run began with, or from a damaged state; a dev set that is too long for the model; no such device.
    """

    def __init__(
        self, folder: Path, model: TextTransformer, task: Task, options: TrainingOptions, resume: bool = False
    ) -> None:
        check_device(options.device)
        self.folder, self.task, self.options, self.config = folder, task, options, model.config
        self.dev = self._that_fit(task.dev())
        if not self.dev:
            raise ValueError(f"No dev example fits into the {model.config.max_length} tokens that the model reads.")
        self.model = model.to(options.device)
        self.averaged = copy.deepcopy(self.model)  # the model that is judged and kept
        self.optimizer = torch.optim.AdamW(
            model.parameters(), betas=(0.9, 0.98), weight_decay=options.weight_decay, fused=True
        )
        self.average: Average = (
            LastAverage(options.average_last) if options.average_last else MovingAverage(options.averaging)
        )
        self.progress = Progress()
        folder.mkdir(parents=True, exist_ok=True)
        if not resume and (folder / STATE).is_file():
            raise ValueError(f"{folder} holds a run: go on with it (--resume), or choose another folder.")
        if resume and (folder / STATE).is_file():
            self.progress = load_state(
                folder / STATE, self._settings(), self.model, self.optimizer, self.average, options.device
            )
        describe_checkpoint(folder / CHECKPOINT, model.config, *task.tokenizers)
        learned = json.dumps(dict(task.settings), indent=2, ensure_ascii=False) + "\n"
        write_whole(folder / CHECKPOINT / TASK, learned.encode("utf-8"))

    def run(self) -> None:
        """Train to the last step, saving by time and after each evaluation."""
        progress, options = self.progress, self.options
        clock = saved = time.monotonic()
        self._save_state()  # so that what is killed before its first save is a run too
        self._save_snapshot()
        with tqdm(initial=progress.step, unit="step", mininterval=BAR_SECONDS) as bar:
            while not self.finished:
                batches = self._epoch_batches(progress.epoch)
                bar.total = steps = self._total_steps(len(batches))
                bar.set_description(f"epoch {progress.epoch + 1}", refresh=False)
                for batch in batches[progress.batch :]:
                    self._step(batch, len(batches), steps)
                    progress.seconds += time.monotonic() - clock
                    clock = time.monotonic()
                    shown = {"loss": f"{progress.loss_sum / progress.labels:.3f}", "tokens/s": f"{self._speed():,.0f}"}
                    bar.set_postfix(shown, refresh=False)
                    bar.update()
                    self._save_snapshot()
                    if due := self._is_due():
                        self._evaluate()
                    if due or time.monotonic() - saved > options.save_seconds:
                        self._save_state()
                        saved = time.monotonic()
                    if self.finished:
                        break

    @property
    def finished(self) -> bool:
        """Whether the last step is done, or the dev loss has not fallen for too long."""
        patience = self.options.patience
        return self._at_end() or (patience is not None and self.progress.without_better >= patience)

    def learning_rate(self, steps: int) -> float:
        """For the next step of a run of so many."""
        options = self.options
        schedule = SCHEDULES[options.schedule]
        return options.learning_rate * schedule(self.progress.step, options.warmup_steps, steps)

    def _at_end(self) -> bool:
        if self.options.steps is None:
            return self.progress.epoch >= self.options.epochs
        return self.progress.step >= self.options.steps

    def _is_due(self) -> bool:
        every, progress = self.options.evaluate_every, self.progress
        return self._at_end() or (progress.batch == 0 if every is None else progress.step % every == 0)

    def _total_steps(self, batches: int) -> int:
        """Of the whole run, if the epochs to come have as many batches as this one: drawn segmentations vary them."""
        progress, options = self.progress, self.options
        return options.steps or progress.step - progress.batch + batches * (options.epochs - progress.epoch)

    def _speed(self) -> float:
        """Tokens a second since the last evaluation."""
        progress = self.progress
        began = progress.timing[-1]["seconds"] if progress.timing else 0.0
        return progress.tokens / max(progress.seconds - began, 1e-3)

    def _step(self, batch: Batch, batches: int, steps: int) -> None:
        options, progress, config = self.options, self.progress, self.config
        torch.manual_seed(options.seed * 1_000_003 + progress.step)
        if options.word_dropout:
            batch = drop_words(batch, options.word_dropout, config.unk_id, kept=(config.pad_id, config.bos_id))
        self.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate(steps)
        loss = self._loss(self._logits(self.model, batch), batch, options.label_smoothing)
        if not math.isfinite(value := loss.item()):
            raise ValueError(f"The loss of step {progress.step + 1} is {value}: learn more slowly, or warm up longer.")
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), options.clip_norm)
        self.optimizer.step()
        labels = int((batch.labels != config.pad_id).sum())
        progress.loss_sum += value * labels
        progress.labels += labels
        progress.tokens += sum(int((side != config.pad_id).sum()) for side in batch.inputs)
        progress.step += 1
        progress.batch += 1
        if progress.batch == batches:
            progress.epoch, progress.batch = progress.epoch + 1, 0
        if progress.step >= options.warmup_steps:
            self.average.after_step(self._weights(), progress.step - max(options.warmup_steps, 1))

    def _weights(self) -> dict[str, Tensor]:
        return dict(self.model.named_parameters())

    def _logits(self, model: TextTransformer, batch: Batch) -> Tensor:
        """(N, T, V) in float32."""
        device, bf16 = self.options.device, self.options.precision == "bf16"
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=bf16):
            logits = model(*(side.to(device) for side in batch.inputs))
        return logits.float()

    def _loss(self, logits: Tensor, batch: Batch, label_smoothing: float) -> Tensor:
        """Mean cross-entropy of a batch's labels, in nats."""
        labels = batch.labels.to(logits.device).flatten()
        return nn.functional.cross_entropy(
            logits.flatten(0, 1), labels, ignore_index=self.config.pad_id, label_smoothing=label_smoothing
        )

    def _evaluate(self) -> None:
        progress = self.progress
        self.average.at_evaluation(self._weights())
        self.averaged.load_state_dict(self.model.state_dict())
        self.averaged.load_state_dict(self.average.mean() or {}, strict=False)
        dev_loss, dev_accuracy = self.judge(self.averaged)
        row = {
            "epoch": progress.epoch + (progress.batch > 0),
            "step": progress.step,
            "learning_rate": float(f"{self.optimizer.param_groups[0]['lr']:.4g}"),
            "train_loss": round(progress.loss_sum / progress.labels, 4),
            "dev_loss": round(dev_loss, 4),
            "dev_accuracy": round(dev_accuracy, 4),
            "labels": progress.labels,
        }
        progress.log.append(row)
        progress.timing.append(
            {"step": progress.step, "seconds": round(progress.seconds, 1), "tokens_per_second": round(self._speed())}
        )
        write_log(self.folder / LOG, progress.log)
        write_log(self.folder / TIMING, progress.timing)
        tqdm.write("  ".join(f"{name} {value}" for name, value in row.items()))
        progress.without_better += 1
        if dev_loss < progress.best_loss:
            progress.best_loss, progress.without_better = dev_loss, 0
            save_weights(self.folder / CHECKPOINT / WEIGHTS, self.averaged)
        progress.loss_sum, progress.labels, progress.tokens = 0.0, 0, 0

    @torch.inference_mode()
    def judge(self, model: TextTransformer) -> tuple[float, float]:
        """Nats a label on the dev set, and the share of labels that were likeliest; no smoothing, no dropout."""
        model.eval()
        return loss_and_accuracy(
            lambda batch: self._logits(model, batch), self.dev, self.config, self.options.tokens_per_batch
        )

    def _epoch_batches(self, epoch: int) -> list[Batch]:
        drawn = self.task.train(epoch)
        examples = self._that_fit(drawn)
        longest = self.config.max_length
        if not examples:
            raise ValueError(f"No training example fits into the {longest} tokens that the model reads.")
        if epoch == 0 and len(examples) < len(drawn):
            tqdm.write(f"{len(drawn) - len(examples):,} of {len(drawn):,} examples have more than {longest} tokens.")
        shuffle = random.Random(f"{self.options.seed} {epoch}")
        return [self._batch(batch) for batch in bucketed(examples, self.options.tokens_per_batch, shuffle)]

    def _batch(self, examples: Sequence[Example]) -> Batch:
        return make_batch(examples, self.config.pad_id, self.config.bos_id)

    def _that_fit(self, examples: Sequence[Example]) -> list[Example]:
        ended = [tuple([*side, self.config.eos_id] for side in example) for example in examples]
        return [example for example in ended if max(map(len, example)) <= self.config.max_length]

    def _save_snapshot(self) -> None:
        if self.progress.step in self.options.snapshots:
            path = self.folder / CHECKPOINT / snapshot_file(self.progress.step)
            path.parent.mkdir(exist_ok=True)
            save_weights(path, self.model)

    def _settings(self) -> dict[str, object]:
        """All that the run depends on, as it comes back from JSON."""
        vocabularies = [zlib.crc32(tokenizer.model) for tokenizer in self.task.tokenizers]
        own = {"vocabularies": vocabularies, "subword_sampling": self.task.subword_sampling}
        return json.loads(json.dumps(asdict(self.config) | asdict(self.options) | dict(self.task.settings) | own))

    def _save_state(self) -> None:
        save_state(self.folder / STATE, self._settings(), self.progress, self.model, self.optimizer, self.average)


def write_log(path: Path, rows: Sequence[Row]) -> None:
    """Write a table of numbers as CSV, its columns those of the first row."""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue().encode("utf-8"))
