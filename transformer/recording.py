"""What happened in a forward: queries, keys, values, masks, outputs, hidden states, token ids.

Patterns are not stored. They are computed from query and key when somebody looks, so memory grows with the length
of a text and not with its square.

N batch · H heads · L query length · S key length · D head width · E model width
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

import torch
from torch import Tensor

from transformer.masks import AttentionMasks
from transformer.picking import Head, Indices, Picked, of_heads, picked, picked_heads, places

Kind = Literal["encoder", "decoder", "cross", "other"]
Stream = Literal["source", "target"]

READS: dict[str, tuple[Stream, Stream]] = {  # kind -> the streams of its queries and of its keys
    "encoder": ("source", "source"),
    "decoder": ("target", "target"),
    "cross": ("target", "source"),
}


class Site(str):
    """The module path of an attention, with what stands there."""

    kind: Kind
    layer: int
    heads: int

    def __new__(cls, path: str, kind: Kind, layer: int, heads: int) -> "Site":
        site = super().__new__(cls, path)
        site.kind, site.layer, site.heads = kind, layer, heads
        return site

    def __getnewargs__(self) -> tuple[str, Kind, int, int]:  # type: ignore[override]  # what copy and pickle hand on
        return str(self), self.kind, self.layer, self.heads


class Vocabulary(Protocol):
    """Anything that names token ids, as :class:`~transformer.tokens.Tokenizer` does."""

    def labels(self, ids: Sequence[int], /) -> list[str]: ...


@dataclass(frozen=True)
class Attention:
    """One call of one attention.

    Shapes: query (N, H, L, D), key (N, H, S, D), value (N, H, S, D); the masks as they were given; out_proj_weight
    (E, E) as it was then, None in files that were saved before it was recorded.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    masks: AttentionMasks
    out_proj_weight: Tensor | None = None

    def of_sentence(self, sentence: int) -> "Attention":
        """The same for one sentence, as a batch of one."""
        query, key, value = (whole[sentence : sentence + 1] for whole in (self.query, self.key, self.value))
        masks = self.masks.of_sentence(sentence, self.query.size(1))
        return replace(self, query=query, key=key, value=value, masks=masks)


@dataclass
class Run:
    """One forward: what each attention saw, by site, and what stood at each hook point, by module path."""

    attentions: dict[Site, Attention] = field(default_factory=dict)
    outputs: dict[str, Tensor] = field(default_factory=dict)  # by site, after the out-projection
    hidden: dict[str, Tensor] = field(default_factory=dict)  # by hook point: after each sublayer and so each layer
    ids: dict[str, Tensor] = field(default_factory=dict)  # by stream, (N, S); of a step on a cache, all it knows

    @property
    def sentences(self) -> int:
        """How many the batch has, for the attention with the most."""
        return max((attention.query.size(0) for attention in self.attentions.values()), default=0)


class Recording:
    """What one or several forwards did; made by :func:`~transformer.record` or :func:`~transformer.open_recording`.

    Methods read the last run in which the site occurs, or ``run=i``. Everything comes back on the CPU.

    Attributes:
        runs: one a forward. A model driven piece by piece (as in decoding) begins one where a site comes again.
        note: free text, kept by :meth:`save`.
        assigned_tokens: what the caller assigned to :attr:`tokens`.
    """

    def __init__(self, vocabularies: Mapping[str, Vocabulary] | None = None) -> None:
        self.runs: list[Run] = []
        self.note = ""
        self._vocabularies = dict(vocabularies or {})
        self.assigned_tokens: dict[str, list[list[str]]] = {}

    @property
    def sites(self) -> tuple[Site, ...]:
        """Every attention that ran, in order of execution; ``.kind``, ``.layer`` and ``.heads`` say what it is."""
        return tuple(dict.fromkeys(site for run in self.runs for site in run.attentions))

    def site(self, kind: Kind, layer: int) -> Site:
        """The site of that kind in that layer.

        Raises:
            KeyError: there is none.
        """
        for site in self.sites:
            if (site.kind, site.layer) == (kind, layer):
                return site
        raise KeyError(f"No {kind} attention in layer {layer} was recorded.")

    def pattern(
        self,
        site: str,
        head: Head = None,
        sentence: int = 0,
        rows: Indices = None,
        columns: Indices = None,
        run: int | None = None,
    ) -> Tensor:
        """Where queries look: softmax over keys, before dropout.

        Args:
            head: one head, ``"mean"`` for the mean of them, None for each.
            sentence: of the batch.
            rows, columns: some queries, some keys; the softmax is over all keys in any case.

        Returns:
            (L, S), or (H, L, S) for each head; float32. A fully masked row is zeros.

        Raises:
            KeyError: no such site.
            IndexError: no such head, sentence, row, column or run.
        """
        down_the_columns = self._attention(site, run).masks.over_queries  # then each row is computed from all
        seen = self._picked(site, head, sentence, None if down_the_columns else rows, run)
        pattern = seen.pattern()
        if down_the_columns:
            pattern = pattern[:, places(rows, pattern.size(1))]
        return of_heads(pattern[..., places(columns, pattern.size(-1))], head)

    def scores(
        self,
        site: str,
        head: Head = None,
        sentence: int = 0,
        rows: Indices = None,
        columns: Indices = None,
        run: int | None = None,
    ) -> Tensor:
        """How well each key fits each query, before any mask: query · keyᵀ / sqrt(D).

        Arguments, shape and errors as :meth:`pattern`.
        """
        seen = self._picked(site, head, sentence, rows, run)
        key = seen.key[:, places(columns, seen.key.size(1))]
        return of_heads(seen.query @ key.transpose(-2, -1) / math.sqrt(key.size(-1)), head)

    def mask(
        self,
        site: str,
        head: Head = None,
        sentence: int = 0,
        rows: Indices = None,
        columns: Indices = None,
        run: int | None = None,
    ) -> Tensor:
        """What was added to the scores: ``-inf`` = blocked, 0 where nothing was said.

        Arguments, shape and errors as :meth:`pattern`; for ``"mean"`` a cell is blocked when every head blocks it.
        """
        seen = self._picked(site, head, sentence, rows, run)
        size = (*seen.query.shape[:2], seen.key.size(1))
        mask = seen.query.new_zeros(size) if seen.mask is None else seen.mask.expand(size)
        mask = mask[..., places(columns, size[-1])]
        return of_heads(mask.amax(dim=0, keepdim=True) if head == "mean" else mask, head)

    def fully_masked(self, site: str, sentence: int = 0, head: int | None = None, run: int | None = None) -> Tensor:
        """Which queries may look at nothing: (L,) bool, in that head or (None) in every head."""
        length = self._attention(site, run).query.size(2)
        chosen: Head = "mean" if head is None else head
        parts = [
            self.mask(site, chosen, sentence, rows=slice(start, start + 512), run=run).eq(-torch.inf).all(dim=-1)
            for start in range(0, length, 512)
        ]
        return torch.cat(parts) if parts else torch.zeros(0, dtype=torch.bool)

    def value_norms(self, site: str, head: Head = None, sentence: int = 0, run: int | None = None) -> Tensor:
        """How much a key has to say: the length of its value as the head writes it into the residual stream, of
        (x W_V + b_V) W_O with the head's part of W_O. The out-projection's bias belongs to no key and is left out.

        Args:
            head: one head, ``"mean"`` for the mean of the heads' lengths, None for each.

        Returns:
            (S,), or (H, S) for each head; float32.

        Raises:
            KeyError: no such site, or no out-projection: in old files, and in modules neither ours nor torch's.
            IndexError: no such head, sentence or run.

        Source: Kobayashi et al. 2020, "Attention is not only a weight".

        Example:
            >>> from transformer import MultiheadAttention, record
            >>> attention, x = MultiheadAttention(8, num_heads=2, batch_first=True), torch.randn(1, 3, 8)
            >>> with record(attention) as recording:
            ...     output, _ = attention(x, x, x)
            >>> recording.value_norms(recording.sites[0]).shape
            torch.Size([2, 3])
        """
        attention = self._attention(site, run)
        heads = picked_heads(attention.query, site, head, sentence)
        if attention.out_proj_weight is None:
            raise KeyError(
                f"The recording lacks the out-projection of {site}: it is old, or {site} keeps none of its own."
            )
        value = attention.value[sentence, heads].cpu().double()  # (H, S, D)
        write = attention.out_proj_weight.cpu().double().unflatten(1, (-1, value.size(-1)))[:, heads]  # (E, H, D)
        # ‖W v‖² = v · (WᵀW) v: a vector of width E for each key is never made.
        gram = torch.einsum("ehc,ehd->hcd", write, write)
        return of_heads(((value @ gram) * value).sum(dim=-1).clamp(min=0).sqrt(), head)

    def weighted_norms(
        self,
        site: str,
        head: Head = None,
        sentence: int = 0,
        rows: Indices = None,
        columns: Indices = None,
        run: int | None = None,
    ) -> Tensor:
        """How much each query takes from each key: the weight times the length of the key's value as it is written.

        Arguments and shape as :meth:`pattern`, errors as :meth:`value_norms`; ``"mean"`` is the mean of the heads'
        products.

        Source: Kobayashi et al. 2020, "Attention is not only a weight".
        """
        heads = None if head == "mean" else head
        norms = self.value_norms(site, heads, sentence, run)
        pattern = self.pattern(site, heads, sentence, rows, columns, run)
        weighted = pattern * norms[..., None, places(columns, norms.size(-1))]
        return weighted.mean(dim=0) if head == "mean" else weighted

    def query(self, site: str, run: int | None = None) -> Tensor:
        """(N, H, L, D), after the in-projection."""
        return self._attention(site, run).query.cpu()

    def key(self, site: str, run: int | None = None) -> Tensor:
        """(N, H, S, D), after the in-projection."""
        return self._attention(site, run).key.cpu()

    def value(self, site: str, run: int | None = None) -> Tensor:
        """(N, H, S, D), after the in-projection."""
        return self._attention(site, run).value.cpu()

    def output(self, site: str, run: int | None = None) -> Tensor:
        """What the attention gave after its out-projection: (N, L, E) or (L, N, E), as the module lays it out."""
        return self.run_with(site, run).outputs[site].cpu()

    def hidden(self, path: str, run: int | None = None) -> Tensor:
        """The residual stream at a hook point: (N, L, E) or (L, N, E), as the module lays it out.

        Before the layers: ``after_source_embedding``, ``after_source_positions``. After a sublayer:
        ``…layers.0.after_self_attn``; after a layer: ``…layers.0.after_feedforward``.
        The paths are the keys of ``runs[i].hidden``.
        """
        for candidate in self._newest_first(run):
            if path in candidate.hidden:
                return candidate.hidden[path].cpu()
        raise KeyError(f"No hidden state was recorded at {path}.")

    @property
    def tokens(self) -> dict[str, list[list[str]]]:
        """Labels of the ids that ran last, a list a sentence, by stream (``source``, ``target``).

        They come from the ids themselves: their names in the vocabulary, or the numbers where none is known. What
        the caller assigns here comes first: modules fed with embeddings have no ids.
        """
        ids = {stream: tensor for run in self.runs for stream, tensor in run.ids.items()}
        return {stream: self._labels(stream, tensor) for stream, tensor in ids.items()} | self.assigned_tokens

    @tokens.setter
    def tokens(self, tokens: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self.assigned_tokens = {stream: [list(labels) for labels in sentences] for stream, sentences in tokens.items()}

    def query_tokens(self, site: str, sentence: int = 0, run: int | None = None) -> list[str]:
        """A label for each query of the site: L of them; positions 0, 1, 2 where tokens are not known."""
        return self._tokens_of(site, 0, self._attention(site, run).query.size(2), sentence, run)

    def key_tokens(self, site: str, sentence: int = 0, run: int | None = None) -> list[str]:
        """A label for each key of the site: S of them; ``(added)`` for keys that stand for no token."""
        attention = self._attention(site, run)
        appended = attention.masks.appended
        labels = self._tokens_of(site, 1, attention.key.size(2) - appended, sentence, run)
        return labels + ["(added)"] * appended

    def only(self, run: int, sentence: int) -> "Recording":
        """One sentence of one run as a recording by itself: a batch of one, read without ``sentence`` and ``run``.

        Attentions whose batch has no such sentence are left out. Outputs and hidden states stay those of the whole
        batch: only their module knows on which side of them it stands. Where keys were encoded in an earlier run, a
        run before holds the ids of that.

        Raises:
            IndexError: no such run, or no such sentence in it.

        Example:
            >>> from transformer import MultiheadAttention, record
            >>> attention, x = MultiheadAttention(8, num_heads=2, batch_first=True), torch.randn(5, 3, 8)
            >>> with record(attention) as recording:
            ...     output, _ = attention(x, x, x)
            >>> recording.only(run=0, sentence=4).query(recording.sites[0]).shape
            torch.Size([1, 2, 3, 4])
        """
        (whole,) = self._newest_first(run)
        if not 0 <= sentence < whole.sentences:
            raise IndexError(f"sentence is {sentence}, but the batch has {whole.sentences}.")
        one = slice(sentence, sentence + 1)
        attentions = {s: a.of_sentence(sentence) for s, a in whole.attentions.items() if sentence < a.query.size(0)}
        outputs = {site: output for site, output in whole.outputs.items() if site in attentions}
        ids = {stream: ids[one] for stream, ids in whole.ids.items()}
        excerpt = Recording(self._vocabularies)
        excerpt.note = self.note
        excerpt.assigned_tokens = {stream: sentences[one] for stream, sentences in self.assigned_tokens.items()}
        earlier = None if "source" in ids else self._ids_before(whole, "source")
        excerpt.runs = [] if earlier is None else [Run(ids={"source": earlier[one]})]
        excerpt.runs.append(Run(attentions, outputs, dict(whole.hidden), ids))
        return excerpt

    def save(
        self, path: str | Path, tokens: Mapping[str, Sequence[Sequence[str]]] | None = None, note: str | None = None
    ) -> None:
        """Write a file that :func:`~transformer.open_recording` reads back bit for bit.

        Args:
            tokens: labels by stream, as :attr:`tokens`.
            note: free text that stays with the recording.
        """
        from transformer.recording_file import write

        self.tokens = self.assigned_tokens if tokens is None else tokens
        self.note = self.note if note is None else note
        write(self, path)

    def run_with(self, site: str, run: int | None = None) -> Run:
        """The run that the methods read for a site: the last in which it occurs, or that one.

        Raises:
            KeyError: no such site.
            IndexError: no such run.
        """
        for candidate in self._newest_first(run):
            if site in candidate.attentions:
                return candidate
        raise KeyError(f"No attention was recorded at {site}.")

    def labels(self, stream: str, ids: Sequence[int]) -> list[str]:
        """The names of ids in the stream's vocabulary, or the numbers where none is known."""
        vocabulary = self._vocabularies.get(stream)
        return [str(i) for i in ids] if vocabulary is None else vocabulary.labels(ids)

    def _labels(self, stream: str, ids: Tensor) -> list[list[str]]:
        return [self.labels(stream, row) for row in ids.tolist()]

    def _tokens_of(self, site: str, side: int, length: int, sentence: int, run: int | None) -> list[str]:
        found = self.run_with(site, run)
        kind = next(known.kind for known in found.attentions if known == site)
        streams: tuple[Stream, ...] = (READS[kind][side],) if kind in READS else ("source",)
        if kind == "decoder" and not any(known.kind == "cross" for known in found.attentions):
            streams = ("target", "source")  # a decoder by itself reads the source
        for stream in streams:
            ids = found.ids.get(stream)
            if ids is None and kind == "cross" and side == 1:
                ids = self._ids_before(found, stream)
            if stream in self.assigned_tokens:
                sentences = self.assigned_tokens[stream]
            elif ids is not None:
                sentences = self._labels(stream, ids)
            else:
                continue
            if sentence < len(sentences):
                labels = sentences[sentence]
                if side == 0 and ids is not None and stream not in self.assigned_tokens:
                    labels = labels[-length:]  # of what a cache knows, a decoding step reads the last
                if len(labels) == length:
                    return labels
        return [str(position) for position in range(length)]

    def _ids_before(self, run: Run, stream: str) -> Tensor | None:
        """What was read last before a run: a decoding step attends to a source that was encoded once, earlier."""
        before = self.runs[: next(i for i, known in enumerate(self.runs) if known is run)]
        return next((earlier.ids[stream] for earlier in reversed(before) if stream in earlier.ids), None)

    def _newest_first(self, run: int | None) -> Sequence[Run]:
        if run is None:
            return self.runs[::-1]
        if not -len(self.runs) <= run < len(self.runs):
            raise IndexError(f"run is {run}, but {len(self.runs)} were recorded.")
        return [self.runs[run]]

    def _attention(self, site: str, run: int | None) -> Attention:
        return self.run_with(site, run).attentions[site]  # type: ignore[index]

    def _picked(self, site: str, head: Head, sentence: int, rows: Indices, run: int | None) -> Picked:
        seen = self._attention(site, run)
        heads = picked_heads(seen.query, site, head, sentence)
        return picked(seen.query, seen.key, seen.masks, heads, sentence, rows)
