"""Patterns as people read them, the bytes of a character as one: computed here, with none of the dashboard's code."""

import re
from itertools import groupby

import numpy as np
from computed import Computed

from dashboard.figures.colours import full_colour
from transformer.units import units_of

LARGEST_TILE = 96  # cells a side of a small picture of a head


class Merged:
    """What a run is right to show: pieces merged to characters, and every head's weights."""

    def __init__(self, computed: Computed) -> None:
        self.computed = computed
        source, target, read = (joined(tokens) for tokens in (computed.source, computed.target, computed.read))
        self.queries = {"encoder": source, "decoder": read, "cross": target}
        self.keys = {"encoder": source, "decoder": read, "cross": source}
        config = computed.asked.config
        self.layers = {"encoder": config.num_encoder_layers, "decoder": config.num_decoder_layers}
        self.layers["cross"] = self.layers["decoder"]

    def heads(self, kind: str, layer: int) -> np.ndarray:
        """(H, queries, keys): summed over a character's keys, the mean over its queries; not-a-number where blocked."""
        weights = self.computed.weights(kind, layer, None)
        blocked, open_weights = np.isnan(weights), np.nan_to_num(weights)

        def merged(cells, join_keys, join_queries):
            columns = np.stack([join_keys(cells[:, :, places], axis=2) for places in self.keys[kind]], axis=2)
            return np.stack([join_queries(columns[:, places], axis=1) for places in self.queries[kind]], axis=1)

        return np.where(merged(blocked, np.all, np.all), np.nan, merged(open_weights, np.sum, np.mean))

    def shares(self, kind: str, layer: int) -> np.ndarray:
        """The same as shares of full colour, at most 1."""
        return np.minimum(1, self.heads(kind, layer) / full_colour(self.computed.weights(kind, layer, 0).shape[1]))

    def names(self, side: str, kind: str) -> tuple[str, ...]:
        """What queries or keys are called."""
        computed = self.computed
        queries = {"encoder": computed.source, "decoder": computed.read, "cross": computed.target}
        keys = {"encoder": computed.source, "decoder": computed.read, "cross": computed.source}
        return units_of({"queries": queries, "keys": keys}[side][kind], "piece").labels

    def inside_a_character(self) -> int:
        """A step whose label is not the first byte of its character."""
        return next(group[1] for group in self.queries["cross"] if len(group) > 1)


def joined(tokens: list[str]) -> list[list[int]]:
    """Places of tokens: the bytes of one character together, every other token alone."""
    groups: list[list[int]] = []
    for is_byte, run in groupby(range(len(tokens)), lambda place: bool(re.fullmatch("<0x..>", tokens[place]))):
        places = list(run)
        while is_byte and places:
            first = int(tokens[places[0]][3:5], 16)
            width = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
            groups.append(places[:width])
            places = places[width:]
        groups += [[place] for place in places]
    return groups


def pooled(shares: np.ndarray) -> np.ndarray:
    """At most so many cells a side, the largest of each."""

    def down(cells: np.ndarray) -> np.ndarray:
        length, size = len(cells), min(len(cells), LARGEST_TILE)
        spans = [(place * length // size, (place + 1) * length // size) for place in range(size)]
        return np.stack([np.fmax.reduce(cells[begin:end]) for begin, end in spans])

    return down(down(shares).T).T
