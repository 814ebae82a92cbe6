"""All heads of a kind as small pictures: numbers for the grid's tiles.

H heads · L query length · S key length
"""

import numpy as np

from transformer.pooling import bin_edges

BLOCKED = 255  # the byte that no weight has
MOST_CELLS = 96  # along each side of a tile


def tiles(weights: np.ndarray, blocked: np.ndarray, full: float) -> np.ndarray:
    """Weights as bytes, at most 96 a side.

    Args:
        weights: (H, L, S), 0 to 1
        blocked: (H, L, S) bool
        full: the weight from which on a cell has the full colour

    Returns:
        (H, at most 96, at most 96) uint8: 0 to 254 for weights 0 to ``full``, 255 for blocked. Where several
        cells fall into one, the largest shows, so that a lone spike stays visible.
    """
    cells = np.where(blocked, -1.0, weights).astype(np.float32)  # -1 is below every weight
    for axis in (-2, -1):
        if cells.shape[axis] > MOST_CELLS:
            cells = np.maximum.reduceat(cells, bin_edges(cells.shape[axis], MOST_CELLS)[:-1], axis=axis)
    weighed = np.round(np.clip(cells / full, 0, 1) * (BLOCKED - 1))
    return np.where(cells < 0, BLOCKED, weighed).astype(np.uint8)
