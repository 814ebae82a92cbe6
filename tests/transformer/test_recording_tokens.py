"""The names of a recording's rows and columns come from the ids that ran, never from anywhere else."""

from collections.abc import Sequence

import torch
from small_models import ODD_TEXTS, made_up_pairs, padded_batch, small_model, untrained_checkpoint
from torch import nn

from transformer import MultiheadAttention, Transformer, TransformerDecoder, TransformerDecoderLayer, record
from transformer.decoding import decode, pad


class Numbered:
    """A vocabulary that calls token 7 ``s7`` or ``t7``."""

    def __init__(self, letter: str) -> None:
        self.letter = letter

    def labels(self, ids: Sequence[int], /) -> list[str]:
        return [f"{self.letter}{i}" for i in ids]


VOCABULARIES = {"source": Numbered("s"), "target": Numbered("t")}


@torch.no_grad()
def test_each_kind_of_attention_is_named_by_the_streams_it_reads():
    model = small_model()
    with record(model, VOCABULARIES) as recording:
        model(*padded_batch())
    source, target = ["s21", "s22", "s23", "s3", "s0", "s0"], ["t2", "t51", "t52", "t53", "t54"]
    wanted = {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}
    for site in recording.sites:
        assert (recording.query_tokens(site, 1), recording.key_tokens(site, 1)) == wanted[site.kind]
    assert recording.tokens["source"][1] == source
    assert recording.tokens["target"][1] == target
    assert [len(recording.tokens[stream]) for stream in ("source", "target")] == [3, 3]


@torch.no_grad()
def test_without_a_vocabulary_ids_are_named_by_their_numbers():
    model = small_model()
    with record(model) as recording:
        model(*padded_batch())
    assert recording.tokens["source"][2] == ["31", "3", "0", "0", "0", "0"]
    assert recording.key_tokens(recording.site("cross", 0), 2) == ["31", "3", "0", "0", "0", "0"]


@torch.no_grad()
def test_labels_are_what_the_tokenizer_calls_the_ids_that_ran():
    checkpoint = untrained_checkpoint()
    texts = [text for text in ODD_TEXTS if text.strip()] + [made_up_pairs()[5][0]]
    for text in texts:
        ids = checkpoint.source_ids(text)
        with record(checkpoint.model, {"source": checkpoint.source_tokenizer}) as recording:
            checkpoint.model(torch.tensor([ids]), torch.tensor([[2]]))
        labels = recording.query_tokens(recording.site("encoder", 0))
        assert labels == checkpoint.source_tokenizer.labels(ids)
        assert (len(labels), labels[-1]) == (len(ids), "</s>")


@torch.no_grad()
def test_ids_are_kept_as_they_ran_when_the_caller_changes_them_in_place():
    model = small_model()
    source, target = padded_batch()
    with record(model) as recording:
        model(source, target)
        source[0, 0], target[0, 1] = 99, 88
        model(source, target)
    site = recording.site("cross", 0)
    assert [recording.key_tokens(site, run=i)[0] for i in (0, 1)] == ["11", "99"]
    assert [recording.query_tokens(site, run=i)[1] for i in (0, 1)] == ["41", "88"]
    assert recording.tokens["source"][0][0] == "99"  # the last that ran


@torch.no_grad()
def test_masks_are_kept_as_they_were_given_when_the_caller_changes_them_in_place():
    attention, x = MultiheadAttention(4, num_heads=1, batch_first=True).eval(), torch.randn(1, 3, 4)
    mask, padding = torch.zeros(3, 3), torch.tensor([[False, False, True]])
    with record(attention) as recording:
        attention(x, x, x, padding, attn_mask=mask)
        mask[0, 0], padding[0, 2] = -torch.inf, False
        attention(x, x, x, padding, attn_mask=mask)
    assert recording.mask("", 0, run=0)[0].tolist() == [0, 0, -torch.inf]
    assert recording.mask("", 0, run=1)[0].tolist() == [-torch.inf, 0, 0]


@torch.no_grad()
def test_a_decoder_or_encoder_alone_is_named_by_the_source():
    for architecture in ("encoder", "decoder"):
        model = small_model(architecture=architecture, target_vocabulary=290)
        with record(model, VOCABULARIES) as recording:
            model(torch.tensor([[5, 6, 7]]))
        assert {site.kind for site in recording.sites} == {architecture}
        assert recording.query_tokens(recording.sites[0]) == recording.key_tokens(recording.sites[0])
        assert recording.query_tokens(recording.sites[0]) == ["s5", "s6", "s7"]


@torch.no_grad()
def test_modules_fed_with_embeddings_are_named_by_the_caller_or_by_position():
    model = Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
    with record(model) as recording:
        model(torch.randn(2, 3, 8), torch.randn(2, 3, 8))
    cross, decoder = recording.site("cross", 0), recording.site("decoder", 0)
    assert recording.tokens == {}
    assert recording.query_tokens(cross) == recording.key_tokens(cross) == ["0", "1", "2"]

    recording.tokens = {"source": [["a", "b", "c"], ["d", "e", "f"]]}
    assert recording.key_tokens(cross, sentence=1) == ["d", "e", "f"]
    # Of the target nothing was said: it must not borrow the source's names, even when it is as long.
    assert recording.query_tokens(cross) == recording.query_tokens(decoder) == ["0", "1", "2"]

    recording.tokens = {"source": [["a", "b", "c"]], "target": [["x", "y", "z"], ["u", "v"]]}
    assert recording.query_tokens(cross) == ["x", "y", "z"]
    assert recording.query_tokens(cross, sentence=1) == ["0", "1", "2"]  # two names for three rows would be wrong
    assert recording.key_tokens(cross, sentence=1) == ["0", "1", "2"]  # a sentence that nobody named


@torch.no_grad()
def test_what_the_caller_assigns_comes_before_the_ids():
    model = small_model()
    with record(model, VOCABULARIES) as recording:
        model(torch.tensor([[5, 6]]), torch.tensor([[2]]))
    recording.tokens = {"source": [["five", "six"]]}
    assert recording.tokens == {"source": [["five", "six"]], "target": [["t2"]]}
    assert recording.key_tokens(recording.site("cross", 0)) == ["five", "six"]


def test_attention_that_stands_nowhere_we_know_is_other():
    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.look = MultiheadAttention(4, num_heads=1, batch_first=True)

        def forward(self, x):
            return self.look(x, x, x)[0]

    model = Reader()
    with record(model) as recording:
        model(torch.randn(1, 2, 4))
    assert [(site, site.kind, site.layer) for site in recording.sites] == [("look", "other", 0)]
    recording.tokens = {"source": [["a", "b"]]}
    assert recording.query_tokens("look") == ["a", "b"]


def test_decoding_steps_are_runs_and_each_knows_its_tokens():
    model = small_model()
    with record(model, VOCABULARIES) as recording:
        ((decoded,),) = decode(model, torch.tensor([[11, 12, 3]]), 5)
    cross, own = recording.site("cross", 0), recording.site("decoder", 0)
    fed = ["t2", *VOCABULARIES["target"].labels(decoded.ids)]
    assert len(recording.runs) == len(decoded.ids) == 5
    for step in range(5):
        assert recording.query_tokens(cross, run=step) == [fed[step]]
        assert recording.query_tokens(own, run=step) == [fed[step]]
        assert recording.key_tokens(own, run=step) == fed[: step + 1]
        assert recording.key_tokens(cross, run=step) == ["s11", "s12", "s3"]  # read once, looked at in every step
        assert recording.pattern(cross, run=step).shape == (3, 1, 3)
        assert recording.pattern(own, run=step).shape == (3, 1, step + 1)
    assert recording.query_tokens(cross) == fed[4:5]
    assert recording.tokens["target"] == [fed[:5]]
    assert recording.query_tokens(recording.site("encoder", 0)) == ["s11", "s12", "s3"]


@torch.no_grad()
def test_a_second_source_names_the_steps_that_follow_it():
    model = small_model()
    with record(model, VOCABULARIES) as recording:
        for first in (11, 21):
            decode(model, pad([[first, 3]], 0), 2)
    cross = recording.site("cross", 0)
    assert [recording.key_tokens(cross, run=i)[0] for i in range(4)] == ["s11", "s11", "s21", "s21"]


@torch.no_grad()
def test_a_decoder_stack_fed_with_embeddings_after_ids_borrows_no_names_for_its_rows():
    model = small_model()
    source, target = padded_batch()
    with record(model, VOCABULARIES) as recording:
        model(source, target)
        model.transformer.decoder(torch.randn(3, 5, 24), torch.randn(3, 6, 24))
    assert recording.query_tokens(recording.site("decoder", 0), 1) == ["0", "1", "2", "3", "4"]
    assert recording.query_tokens(recording.site("decoder", 0), 1, run=0) == ["t2", "t51", "t52", "t53", "t54"]


def test_a_decoder_layer_by_itself_is_known_by_its_two_attentions():
    decoder = TransformerDecoder(TransformerDecoderLayer(8, 2, 16, batch_first=True), num_layers=2).eval()
    with record(decoder) as recording:
        decoder(torch.randn(1, 2, 8), torch.randn(1, 3, 8))
    assert [(site.kind, site.layer) for site in recording.sites] == [
        ("decoder", 0), ("cross", 0), ("decoder", 1), ("cross", 1)
    ]  # fmt: skip
