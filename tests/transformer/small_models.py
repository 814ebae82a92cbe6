"""The small texts, vocabularies and models that these tests share; all are made on the spot from a few words."""

import itertools

import torch

from transformer import TextTransformer, TransformerConfig
from transformer.batches import Pair
from transformer.checkpoint import Checkpoint
from transformer.tokens import Tokenizer

# A made-up language, word for word, so that a tiny model learns it in seconds.
WHO = {"the cat": "neko", "a dog": "inu", "my friend": "tomo", "the old bird": "tori furu"}
DOES = {"sees": "miru", "likes": "suki", "follows": "ou"}
WHAT = {"the sea": "umi", "a house": "ie", "bread": "pan", "the small boat": "fune ko"}

SOURCE_VOCABULARY, TARGET_VOCABULARY = 290, 281  # 256 bytes, 4 special tokens, and what so little text can fill

# Characters that the small vocabularies lack, and text that has to survive all the same.
ODD_TEXTS = [
    "",
    " ",
    "😀😁",
    "cat😀dog",
    "مرحبا بالعالم",
    "naïve café",
    "a\x07b",
    "tab\there",
    "两只猫",
    "e\u0301",
    "\u200b",
]


def made_up_pairs() -> list[Pair]:
    """All 48 sentences of the made-up language, each with its translation."""
    return [
        (f"{who} {does} {what}", f"{WHO[who]} {WHAT[what]} {DOES[does]}")
        for who, does, what in itertools.product(WHO, DOES, WHAT)
    ]


def small_tokenizers() -> tuple[Tokenizer, Tokenizer]:
    """A vocabulary for each side of the made-up pairs."""
    sources, targets = zip(*made_up_pairs(), strict=True)
    return Tokenizer.train(sources, SOURCE_VOCABULARY), Tokenizer.train(targets, TARGET_VOCABULARY)


def small_config(**changes: object) -> TransformerConfig:
    """An encoder-decoder with layers, heads and widths that all differ, so that no two can be mistaken."""
    sizes: dict[str, object] = {
        "source_vocabulary": SOURCE_VOCABULARY,
        "target_vocabulary": TARGET_VOCABULARY,
        "d_model": 24,
        "nhead": 3,
        "num_encoder_layers": 2,
        "num_decoder_layers": 1,
        "dim_feedforward": 40,
        "max_length": 64,
    }
    return TransformerConfig(**(sizes | changes))  # type: ignore[arg-type]


def small_model(seed: int = 0, **changes: object) -> TextTransformer:
    """An untrained model in eval mode; one seed, one model."""
    torch.manual_seed(seed)
    return TextTransformer(small_config(**changes)).eval()


def untrained_checkpoint(seed: int = 0, **changes: object) -> Checkpoint:
    """A small model that has learned nothing, with its vocabularies: it never ends a sentence on purpose."""
    source, target = small_tokenizers()
    return Checkpoint("untrained", small_model(seed, **changes).requires_grad_(False), source, target)


def padded_batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Ids of three sources of 6, 4 and 2 tokens and three targets of 4, 5 and 1, padded with 0."""
    source = torch.tensor([[11, 12, 13, 14, 15, 3], [21, 22, 23, 3, 0, 0], [31, 3, 0, 0, 0, 0]])
    target = torch.tensor([[2, 41, 42, 43, 0], [2, 51, 52, 53, 54], [2, 0, 0, 0, 0]])
    return source, target
