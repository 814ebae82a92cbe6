"""All heads of a kind as small pictures: numbers for the grid's tiles.

H heads · L query length · S key length
"""

import numpy as np
import torch
from torch.nn import functional as F

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
    cells = torch.from_numpy(np.where(blocked, -1.0, weights).astype(np.float32))  # -1 is below every weight
    size = (min(cells.size(-2), MOST_CELLS), min(cells.size(-1), MOST_CELLS))
    if cells.shape[-2:] != size:
        cells = F.adaptive_max_pool2d(cells, size)
    weighed = ((cells / full).clamp(0, 1) * (BLOCKED - 1)).round()
    return torch.where(cells < 0, BLOCKED, weighed).to(torch.uint8).numpy()
