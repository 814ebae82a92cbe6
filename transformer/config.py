"""The description of one model, as a frozen dataclass that travels as JSON."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

Architecture = Literal["encoder-decoder", "encoder", "decoder"]
Positions = Literal["sinusoidal", "learned", "none"]
Activation = Literal["relu", "gelu"]


@dataclass(frozen=True)
class TransformerConfig:
    """What a :class:`~transformer.TextTransformer` is made of.

    The names are those of :class:`torch.nn.Transformer` wherever it has one. An ``encoder`` or a ``decoder``
    (one stack, the decoder's with a causal mask) reads the source side's vocabulary, positions and
    ``num_encoder_layers`` or ``num_decoder_layers``.

    Raises:
        ValueError: a value that no model can be built from, named in the message.

    Example:
        >>> config = TransformerConfig(source_vocabulary=100, target_vocabulary=90, d_model=32, nhead=4)
        >>> TransformerConfig.from_json(config.to_json()) == config
        True
        >>> TransformerConfig(source_vocabulary=100, target_vocabulary=90, d_model=30, nhead=4)
        Traceback (most recent call last):
        ValueError: d_model must be divisible by nhead, but 30 is not divisible by 4.
    """

    source_vocabulary: int
    target_vocabulary: int
    architecture: Architecture = "encoder-decoder"
    d_model: int = 256
    nhead: int = 4
    num_encoder_layers: int = 3
    num_decoder_layers: int = 3
    dim_feedforward: int = 1024
    dropout: float = 0.1
    activation: Activation = "relu"
    layer_norm_eps: float = 1e-5
    norm_first: bool = True
    bias: bool = True
    positions: Positions = "sinusoidal"
    max_length: int = 256  # tokens a text may have; a learned table has this many rows
    scale_embedding: bool = True  # times sqrt(E)
    share_embeddings: bool = False  # one table for source and target
    tie_output: bool = True  # the output head uses the target embedding's table
    pad_id: int = 0
    unk_id: int = 1
    bos_id: int = 2
    eos_id: int = 3

    def __post_init__(self) -> None:
        for name, allowed in (
            ("architecture", get_args(Architecture)),
            ("positions", get_args(Positions)),
            ("activation", get_args(Activation)),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}.")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is int and (not isinstance(value, int) or isinstance(value, bool)):
                raise ValueError(f"{field.name} must be a whole number, not {value!r}.")
            if field.type is bool and not isinstance(value, bool):
                raise ValueError(f"{field.name} must be true or false, not {value!r}.")
            if field.type is float and (not isinstance(value, (int, float)) or isinstance(value, bool)):
                raise ValueError(f"{field.name} must be a number, not {value!r}.")
        for name in ("source_vocabulary", "target_vocabulary", "d_model", "nhead", "dim_feedforward", "max_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}.")
        for name in ("num_encoder_layers", "num_decoder_layers", "pad_id", "unk_id", "bos_id", "eos_id"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, but is {getattr(self, name)}.")
        if self.d_model % self.nhead:
            raise ValueError(
                f"d_model must be divisible by nhead, but {self.d_model} is not divisible by {self.nhead}."
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, not {self.dropout}.")
        if not 0 <= self.layer_norm_eps < 1:
            raise ValueError(f"layer_norm_eps must be at least 0 and below 1, not {self.layer_norm_eps}.")
        if self.share_embeddings and self.source_vocabulary != self.target_vocabulary:
            raise ValueError(
                "share_embeddings needs vocabularies of one size, "
                f"not {self.source_vocabulary} and {self.target_vocabulary}."
            )

    def to_json(self) -> str:
        """The configuration as a JSON object, one field a line."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "TransformerConfig":
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: not a JSON object, a name this version does not know, or a value out of range.
        """
        values: Any = json.loads(text)
        if not isinstance(values, dict):
            raise ValueError("A model's configuration must be a JSON object.")
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"The configuration holds names that this version does not know: {', '.join(unknown)}.")
        missing = sorted({"source_vocabulary", "target_vocabulary"} - set(values))
        if missing:
            raise ValueError(f"The configuration lacks {', '.join(missing)}.")
        return cls(**values)

    @classmethod
    def load(cls, path: str | Path) -> "TransformerConfig":
        """Read a configuration from a JSON file."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))
