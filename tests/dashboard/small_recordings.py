"""Recordings as somebody's own script saves them, of models made on the spot."""

import torch
from small_models import untrained_checkpoint
from torch import Tensor, nn

from transformer import MultiheadAttention, record
from transformer.checkpoint import Checkpoint
from transformer.decoding import decode, pad
from transformer.recording import Recording
from transformer.tokens import Tokenizer

NOTE = "loss stalls here <b>at step</b> *1200*"
SOURCES = ["the cat sees the sea", "bread", "a dog likes the small boat"]
TARGETS = ["neko umi", "inu", "fune ko miru"]


def batch() -> Recording:
    """Two forwards of an encoder-decoder on padded batches of three sentences."""
    asked = untrained_checkpoint()
    source = pad([asked.source_ids(text) for text in SOURCES], asked.config.pad_id)
    target = pad([[asked.config.bos_id, *asked.target_ids(text)] for text in TARGETS], asked.config.pad_id)
    with torch.no_grad(), record(asked.model, _vocabularies(asked)) as recording:
        asked.model(source, target)
        asked.model(source.roll(1, dims=0), target.roll(1, dims=0))
    recording.note = NOTE
    return recording


def stock() -> Recording:
    """A torch.nn.Transformer, whose second sentence is padded."""
    torch.manual_seed(6)
    model = nn.Transformer(12, 3, 2, 1, 16, batch_first=True).eval()
    padded = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
    with torch.no_grad(), record(model) as recording:
        model(torch.randn(2, 6, 12), torch.randn(2, 5, 12), src_key_padding_mask=padded, memory_key_padding_mask=padded)
    return recording


def steps() -> Recording:
    """Decoding, a token a run, on what was encoded in the first."""
    asked = untrained_checkpoint()
    with record(asked.model, _vocabularies(asked)) as recording:
        decode(asked.model, pad([asked.source_ids(text) for text in SOURCES], asked.config.pad_id), 3)
    return recording


def _vocabularies(asked: Checkpoint) -> dict[str, Tokenizer]:
    return {"source": asked.source_tokenizer, "target": asked.target_tokenizer}


class HomeMade(nn.Module):
    """Attentions of 2, 1 and 4 heads that are no layers, the first called twice, over texts of two lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.look = MultiheadAttention(8, 2, batch_first=True)
        self.glance = MultiheadAttention(8, 1, batch_first=True)
        self.stare = MultiheadAttention(8, 4, batch_first=True)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x = self.look(x, x, x)[0]
        y = self.glance(y, x, x)[0]
        y = self.stare(y, y, y)[0]
        return self.look(y, y, y)[0]


def home_made(lengths: tuple[int, int] = (5, 3)) -> Recording:
    torch.manual_seed(3)
    model = HomeMade().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter)
    with torch.no_grad(), record(model) as recording:
        model(*(torch.randn(2, length, 8) for length in lengths))
    recording.tokens = {"source": [["<b>", "x*y*", "</script>", "d", "e"], list("fghij")]}
    return recording


def of_one_attention(*shape: int) -> Recording:
    """An attention over nothing, where one of (N, L, S) is 0."""
    batch, length, keys = shape
    attention = MultiheadAttention(4, 2, batch_first=True).eval()
    with torch.no_grad(), record(attention) as recording:
        attention(torch.ones(batch, length, 4), *[torch.ones(batch, keys, 4)] * 2)
    return recording
