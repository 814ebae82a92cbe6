"""Training steps of our model and of the same one built of torch.nn.Transformer: tokens a second, interleaved.

Around the stacks (embeddings, positions, output head, loss, optimizer) everything is the same, and so are the weights
they begin with, the batches and the dropout.
"""

import argparse
import copy
import statistics
import time
import warnings

import torch
from torch import Tensor, nn

from transformer import TextTransformer, TransformerConfig
from transformer.batches import Batch, make_batch
from transformer.masks import padding_mask

TOKENS = 2000  # of the source and as many of the target, a batch


class TorchTwin(nn.Module):
    """A TextTransformer whose stacks are torch's."""

    def __init__(self, ours: TextTransformer) -> None:
        super().__init__()
        self.outside = copy.deepcopy(ours)
        config = ours.config
        self.stacks = nn.Transformer(
            config.d_model,
            config.nhead,
            config.num_encoder_layers,
            config.num_decoder_layers,
            config.dim_feedforward,
            config.dropout,
            config.activation,
            batch_first=True,
            norm_first=config.norm_first,
        )
        self.stacks.load_state_dict(ours.transformer.state_dict())
        del self.outside.transformer

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        outside, length = self.outside, target.size(1)
        source_padding, target_padding = (padding_mask(ids, outside.config.pad_id) for ids in (source, target))
        read = self.stacks(
            outside.source_positions(outside.source_embedding(source)),
            outside.target_positions(outside.target_embedding(target)),
            tgt_mask=torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1),
            tgt_is_causal=True,
            src_key_padding_mask=source_padding,
            tgt_key_padding_mask=target_padding,
            memory_key_padding_mask=source_padding,
        )
        return outside.output(read)


def made_up_batches(vocabulary: int) -> list[Batch]:
    """Short, middling and long sentences, each batch of lengths that differ by a token or two."""

    def ids(length: int) -> list[int]:
        return [*torch.randint(4, vocabulary, (length,)).tolist(), 3]

    made = []
    for longest in (10, 20, 40):
        lengths = [longest - 1 - i % 3 for i in range(TOKENS // longest)]
        made.append(make_batch([(ids(length), ids(length)) for length in lengths], pad_id=0, bos_id=2))
    return made


def step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch, bf16: bool) -> float:
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        logits = model(*batch.inputs)
    loss = nn.functional.cross_entropy(
        logits.float().flatten(0, 1), batch.labels.flatten(), ignore_index=0, label_smoothing=0.1
    )
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def compare(rounds: int, dropout: float, bf16: bool) -> None:
    torch.manual_seed(0)
    config = TransformerConfig(4000, 4000, dropout=dropout)
    ours = TextTransformer(config).train()
    models: dict[str, nn.Module] = {"ours": ours, "torch.nn.Transformer": TorchTwin(ours).train()}
    optimizers = {name: torch.optim.AdamW(model.parameters(), fused=True) for name, model in models.items()}
    batches = made_up_batches(config.source_vocabulary)
    tokens = sum(int((side != 0).sum()) for batch in batches for side in batch.inputs)
    times: dict[str, list[float]] = {name: [] for name in models}
    for warm in (True, *[False] * rounds):
        for name, model in models.items():
            began = time.perf_counter()
            for batch in batches:
                step(model, optimizers[name], batch, bf16)
            if not warm:
                times[name].append(time.perf_counter() - began)
    medians = {name: statistics.median(one) for name, one in times.items()}
    print(f"{'bf16' if bf16 else 'float32'}, dropout {dropout}: {len(batches)} steps of {tokens:,} tokens in all")
    for name, one in medians.items():
        print(f"  {name:22} {tokens / one:8,.0f} tokens/s")
    # Round by round: what else the machine does, it does to both.
    ratios = sorted(theirs / ours for ours, theirs in zip(*times.values(), strict=True))
    print(f"  ours is {statistics.median(ratios):.2f}x as fast (rounds: {ratios[0]:.2f} to {ratios[-1]:.2f})")


def main() -> None:
    warnings.filterwarnings("ignore", message="enable_nested_tensor is True")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="of which the median is taken")
    parser.add_argument("--dropout", type=float, default=0.1, help="0 takes the masks' drawing out of the comparison")
    chosen = parser.parse_args()
    parameters = sum(parameter.numel() for parameter in TextTransformer(TransformerConfig(4000, 4000)).parameters())
    print(f"Training, {parameters:,} parameters, {torch.get_num_threads()} threads; medians of {chosen.rounds} rounds")
    compare(chosen.rounds, chosen.dropout, bf16=False)
    if torch.cpu.get_capabilities().get("avx512_bf16"):
        compare(chosen.rounds, chosen.dropout, bf16=True)
    else:
        print("bf16: left out, this CPU computes it in software")


if __name__ == "__main__":
    main()
