"""Decoding against transformers' Marian: the same random weights of opus-mt shape, interleaved, tokens a second.

Marian differs from torch.nn.Transformer in details (halves-style sinusoids, no last norm, swish). Weights are drawn
for ours and copied into theirs, with ours' sinusoids, without the last norms and with relu on both sides, so that
both are one function and decode the same tokens; that is asserted before anything is timed.
"""

import statistics
import time
from collections.abc import Callable

import torch
from torch import nn
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from transformer import TextTransformer, TransformerConfig
from transformer.decoding import Decoding, decode

VOCABULARY, LIMIT, ROUNDS = 58_101, 24, 9  # the pieces of opus-mt-en-de


def main() -> None:
    torch.manual_seed(0)
    ours = TextTransformer(
        TransformerConfig(
            VOCABULARY, VOCABULARY, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6,
            dim_feedforward=2048, norm_first=False, share_embeddings=True, max_length=512,
        )
    ).eval()  # fmt: skip
    ours.transformer.encoder.norm = ours.transformer.decoder.norm = None
    theirs = _marian(ours)
    print(
        f"opus-mt shape, {sum(p.numel() for p in ours.parameters()) / 1e6:.0f} M random parameters, float32, ", end=""
    )
    print(f"{torch.get_num_threads()} threads, {LIMIT} tokens a sentence, medians of {ROUNDS}, interleaved")
    for sentences in (1, 8):
        source = torch.randint(4, VOCABULARY, (sentences, 20))
        for beams in (1, 4):
            _compare(ours, theirs, source, beams)


def _compare(ours: TextTransformer, theirs: MarianMTModel, source: torch.Tensor, beams: int) -> None:
    how = Decoding("greedy") if beams == 1 else Decoding("beam", beams=beams)
    options = GenerationConfig(
        num_beams=beams, max_new_tokens=LIMIT, min_new_tokens=LIMIT, do_sample=False, pad_token_id=0, eos_token_id=3,
        decoder_start_token_id=2, bad_words_ids=[[0], [3]],
    )  # fmt: skip

    def run_ours() -> list[list[int]]:
        return [list(found[0].ids) for found in decode(ours, source, LIMIT, how)]

    @torch.inference_mode()
    def run_theirs() -> list[list[int]]:
        return theirs.generate(source, attention_mask=torch.ones_like(source), generation_config=options)[
            :, 1:
        ].tolist()

    assert run_ours() == run_theirs(), "the two did not decode the same tokens"
    times = {"ours": [0.0] * ROUNDS, "transformers": [0.0] * ROUNDS}
    runs: dict[str, Callable[[], object]] = {"ours": run_ours, "transformers": run_theirs}
    for i in range(ROUNDS):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            times[name][i] = time.perf_counter() - began
    speed = {name: LIMIT * source.size(0) / statistics.median(one) for name, one in times.items()}
    what = "greedy" if beams == 1 else f"beam {beams}"
    print(f"  {source.size(0):3} sentences, {what}: ours {speed['ours']:7.1f} tokens/s, ", end="")
    print(f"transformers {speed['transformers']:7.1f}, {speed['ours'] / speed['transformers']:5.2f}x", flush=True)


@torch.no_grad()
def _marian(ours: TextTransformer) -> MarianMTModel:
    """transformers' Marian with the weights of ours."""
    config = ours.config
    theirs = MarianMTModel(
        MarianConfig(
            vocab_size=VOCABULARY, d_model=config.d_model, encoder_layers=6, decoder_layers=6,
            encoder_attention_heads=config.nhead, decoder_attention_heads=config.nhead,
            encoder_ffn_dim=config.dim_feedforward, decoder_ffn_dim=config.dim_feedforward,
            activation_function="relu", scale_embedding=True, pad_token_id=0, eos_token_id=3, decoder_start_token_id=2,
            forced_eos_token_id=None, max_position_embeddings=config.max_length,
        )
    ).eval()  # fmt: skip
    theirs.model.shared.weight.copy_(ours.source_embedding.weight)
    for stack, positions in (
        (theirs.model.encoder, ours.source_positions),
        (theirs.model.decoder, ours.target_positions),
    ):
        stack.embed_positions.weight.copy_(positions.table[: config.max_length])
    for own, other in zip(ours.transformer.encoder.layers, theirs.model.encoder.layers, strict=True):
        _attention(own.self_attn, other.self_attn)
        _copy([(own.norm1, other.self_attn_layer_norm), (own.linear1, other.fc1), (own.linear2, other.fc2)])
        _copy([(own.norm2, other.final_layer_norm)])
    for own, other in zip(ours.transformer.decoder.layers, theirs.model.decoder.layers, strict=True):
        _attention(own.self_attn, other.self_attn)
        _attention(own.multihead_attn, other.encoder_attn)
        _copy([(own.norm1, other.self_attn_layer_norm), (own.norm2, other.encoder_attn_layer_norm)])
        _copy([(own.linear1, other.fc1), (own.linear2, other.fc2), (own.norm3, other.final_layer_norm)])
    return theirs


def _attention(own: nn.Module, other: nn.Module) -> None:
    for part, projection in enumerate((other.q_proj, other.k_proj, other.v_proj)):
        projection.weight.copy_(own.in_proj_weight.chunk(3)[part])
        projection.bias.copy_(own.in_proj_bias.chunk(3)[part])
    _copy([(own.out_proj, other.out_proj)])


def _copy(pairs: list[tuple[nn.Module, nn.Module]]) -> None:
    for own, other in pairs:
        other.load_state_dict(own.state_dict())


if __name__ == "__main__":
    main()
