"""A layer reckoned out with plain torch from a state dict, step by step, to compare with what the browser shows."""

import math
import warnings

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transformer.checkpoint import Checkpoint


class PlainLayer:
    """The steps of one layer of an encoder-decoder, for one sentence.

    Attributes:
        steps: by name; q, k and v under ``projection q`` and ``heads q`` and so on.
    """

    def __init__(self, asked: Checkpoint, source: list[int], read: list[int], kind: str, layer: int, head: int) -> None:
        self.config, self.weights = asked.config, asked.model.state_dict()
        config = asked.config
        sizes = (config.num_encoder_layers, config.num_decoder_layers, config.dim_feedforward)
        with warnings.catch_warnings(action="ignore"):  # of nested tensors, which are not used
            whole = nn.Transformer(config.d_model, config.nhead, *sizes, norm_first=config.norm_first, batch_first=True)
        whole.eval()
        prefix = "transformer."
        own = {name.removeprefix(prefix): one for name, one in self.weights.items() if name.startswith(prefix)}
        whole.load_state_dict(own)
        self.head, self.steps = head, {}
        with torch.no_grad():
            memory = whole.encoder(self.embedded("source", source)[None])
            causal = nn.Transformer.generate_square_subsequent_mask(len(read))
            if kind == "encoder":
                x = self.begin("source", source, whole.encoder.layers[:layer], lambda block, x: block(x))
                x = self.attention("encoder", layer, "self_attn", 1, x, None, None, named=True)
                self.feedforward("encoder", layer, 2, x)
                last, norm = whole.encoder.num_layers, whole.encoder.norm
            else:
                x = self.begin(
                    "target", read, whole.decoder.layers[:layer], lambda block, x: block(x, memory, tgt_mask=causal)
                )
                x = self.attention("decoder", layer, "self_attn", 1, x, None, causal, named=kind == "decoder")
                x = self.attention("decoder", layer, "multihead_attn", 2, x, memory[0], None, named=kind == "cross")
                self.feedforward("decoder", layer, 3, x)
                last, norm = whole.decoder.num_layers, whole.decoder.norm
            if layer == last - 1:
                self.steps["final_norm"] = norm(self.steps["ff_add" if config.norm_first else "ff_norm"])
                if kind != "encoder":
                    head_of = {name: self.weights[f"output.{name}"] for name in ("weight", "bias")}
                    self.steps["logits"] = F.linear(self.steps["final_norm"], **head_of)

    def embedded(self, stream: str, ids: list[int]) -> Tensor:
        vectors = F.embedding(torch.tensor(ids), self.weights[f"{stream}_embedding.weight"])
        scaled = vectors * math.sqrt(self.config.d_model)
        position = torch.arange(len(ids)).double()[:, None]
        angle = position / 10000 ** (torch.arange(0, self.config.d_model, 2).double() / self.config.d_model)
        waves = torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()
        self.before = {"embedding": vectors, "scaled": scaled, "positions": scaled + waves}
        return scaled + waves

    def begin(self, stream, ids, blocks, through) -> Tensor:
        x = self.embedded(stream, ids)
        if not len(blocks):
            self.steps |= {"ids": torch.tensor(ids)[:, None].float(), **self.before}
            return x
        x = x[None]
        for block in blocks:
            x = through(block, x)
        self.steps["input"] = x[0]
        return x[0]

    def of(self, stack: str, layer: int, name: str) -> Tensor:
        return self.weights[f"transformer.{stack}.layers.{layer}.{name}"]

    def norm(self, stack: str, layer: int, number: int, x: Tensor) -> Tensor:
        weight, bias = (self.of(stack, layer, f"norm{number}.{name}") for name in ("weight", "bias"))
        return F.layer_norm(x, x.shape[-1:], weight, bias)

    def attention(self, stack, layer, name, number, x, memory, mask, named) -> Tensor:
        """Through one attention; its steps are kept where it is ``named``, else only what comes of it."""
        steps, heads, first = {}, self.config.nhead, self.config.norm_first
        read = self.norm(stack, layer, number, x) if first else x
        if first:
            steps["norm"] = read
        if memory is not None:
            steps["memory"] = memory
        keys = read if memory is None else memory
        weights, biases = (self.of(stack, layer, f"{name}.in_proj_{part}").chunk(3) for part in ("weight", "bias"))
        split = []
        for letter, source, weight, bias in zip("qkv", (read, keys, keys), weights, biases, strict=True):
            steps[f"projection {letter}"] = F.linear(source, weight, bias)
            split.append(torch.stack(steps[f"projection {letter}"].chunk(heads, dim=-1)))  # (H, L, D)
            steps[f"heads {letter}"] = split[-1][self.head]
        q, k, v = split
        scores = torch.bmm(q, k.mT) / math.sqrt(q.size(-1))
        masked = scores if mask is None else scores + mask
        weights = torch.softmax(masked, dim=-1)
        z = torch.bmm(weights, v)
        chosen = {"scores": scores, "mask": masked, "softmax": weights, "values": z}
        steps |= {step: tensor[self.head] for step, tensor in chosen.items()}
        steps["joined"] = torch.cat(list(z), dim=-1)
        out = [self.of(stack, layer, f"{name}.out_proj.{part}") for part in ("weight", "bias")]
        steps["out"] = F.linear(steps["joined"], *out)
        steps["add"] = x + steps["out"]
        made = steps["add"]
        if not first:
            made = steps["norm"] = self.norm(stack, layer, number, made)
        self.steps |= steps if named else {"self_attention" if memory is None else "cross_attention": made}
        return made

    def feedforward(self, stack, layer, number, x) -> None:
        first = self.config.norm_first
        read = self.norm(stack, layer, number, x) if first else x
        if first:
            self.steps["ff_norm"] = read
        linear = [[self.of(stack, layer, f"linear{at}.{part}") for part in ("weight", "bias")] for at in (1, 2)]
        self.steps["linear1"] = F.linear(read, *linear[0])
        self.steps["activation"] = self.steps["linear1"].clamp(min=0)
        self.steps["linear2"] = F.linear(self.steps["activation"], *linear[1])
        self.steps["ff_add"] = x + self.steps["linear2"]
        if not first:
            self.steps["ff_norm"] = self.norm(stack, layer, number, self.steps["ff_add"])
