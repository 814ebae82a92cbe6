"""What an output depends on, found by trying: does it see the future, does padding move it?

For any function from token ids to logits; for an encoder-decoder ``lambda target: model(source.expand(len(target), -1),
target)``.

N batch · T length of the ids · V vocabulary
"""

from collections.abc import Callable

import torch
from torch import Tensor

Logits = Callable[[Tensor], Tensor]  # (N, T) ids -> (N, T, V)
LONGEST = 256  # tokens: a leak test is a batch of as many texts


@torch.no_grad()
def leaks(model: Logits, ids: Tensor, others: Tensor) -> Tensor:
    """How much each output changes when one input token is another one.

    Args:
        model: in eval mode.
        ids: (T,)
        others: (T,) what each token is replaced by, one at a time.

    Returns:
        (T, T): row i, column j is the largest change of a logit at place i when token j is replaced. Where the model
        is causal, all above the diagonal is 0, up to rounding.

    Raises:
        ValueError: a length above LONGEST; as many others as ids, each another token, are wanted.

    Example:
        >>> running_sum = lambda ids: ids.cumsum(dim=1)[..., None].float()
        >>> leaks(running_sum, torch.tensor([1, 2, 3]), torch.tensor([2, 4, 3 + 4]))
        tensor([[1., 0., 0.],
                [1., 2., 0.],
                [1., 2., 4.]])
    """
    _check(ids)
    if others.shape != ids.shape or bool((others == ids).any()):
        raise ValueError("Each token needs another one that it is replaced by.")
    changed = ids.repeat(len(ids), 1)
    changed.fill_diagonal_(0)
    changed += torch.diag(others)
    # In one batch, so that rounding is the same on both sides.
    logits = model(torch.cat([ids[None], changed]))  # (1 + T, T, V)
    return (logits[1:] - logits[:1]).abs().amax(dim=-1).T  # (T, T)


@torch.no_grad()
def padding_moves(model: Logits, ids: Tensor, pad_id: int, most: int = 8) -> Tensor:
    """How much each output changes when padding is added behind the ids.

    Args:
        model: in eval mode.
        ids: (T,), none of them padding.
        most: how many pads are tried, one more each time.

    Returns:
        (most, outputs): row n is the largest change of a logit with n + 1 pads. Outputs of padding are left out.

    Raises:
        ValueError: a length above LONGEST, or fewer than one pad.
    """
    _check(ids)
    if most < 1:
        raise ValueError(f"At least one pad must be added, not {most}.")
    alone = model(ids[None])[0]  # (outputs, V)
    moved = []
    for pads in range(1, most + 1):
        logits = model(torch.cat([ids, ids.new_full((pads,), pad_id)])[None])[0]
        moved.append((logits[: len(alone)] - alone).abs().amax(dim=-1))
    return torch.stack(moved)


def assert_causal(model: Logits, ids: Tensor, others: Tensor | None = None, tolerance: float = 1e-4) -> None:
    """Fail if an output depends on a token after it.

    Args:
        others: as in :func:`leaks`; the next id of each, or the one before, unless given.
        tolerance: of a logit.

    Raises:
        AssertionError: says which output sees which token.

    Example:
        >>> assert_causal(lambda ids: ids.flip(1)[..., None].float(), torch.tensor([1, 2, 3]))
        Traceback (most recent call last):
        AssertionError: Output 0 depends on token 2, which comes after it: its logits change by up to 1.
    """
    replaced = torch.where(ids > 0, ids - 1, ids + 1) if others is None else others
    future = leaks(model, ids, replaced).triu(diagonal=1)
    if future.numel() and not float(future.max()) <= tolerance:  # not-a-number fails too
        output, token = divmod(int(future.argmax()), len(ids))
        raise AssertionError(
            f"Output {output} depends on token {token}, which comes after it: "
            f"its logits change by up to {float(future.max()):.3g}."
        )


def assert_padding_invariant(model: Logits, ids: Tensor, pad_id: int, most: int = 8, tolerance: float = 1e-4) -> None:
    """Fail if padding behind the ids moves an output.

    Raises:
        AssertionError: says which output, and with how many pads.

    Example:
        >>> assert_padding_invariant(lambda ids: ids.float().mean(1)[:, None, None], torch.tensor([4, 4]), pad_id=0)
        Traceback (most recent call last):
        AssertionError: Output 0 moves when 8 pads are added: its logits change by up to 3.2.
    """
    moved = padding_moves(model, ids, pad_id, most)
    if moved.numel() and not float(moved.max()) <= tolerance:  # not-a-number fails too
        pads, output = divmod(int(moved.argmax()), moved.size(1))
        raise AssertionError(
            f"Output {output} moves when {pads + 1} pads are added: "
            f"its logits change by up to {float(moved.max()):.3g}."
        )


def _check(ids: Tensor) -> None:
    if ids.dim() != 1 or len(ids) > LONGEST:
        raise ValueError(f"ids have shape {tuple(ids.shape)}; wanted (T,), and at most {LONGEST} tokens.")
