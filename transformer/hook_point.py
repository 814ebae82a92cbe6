"""A named place in a model where a forward hook can look."""

from torch import Tensor, nn


class HookPoint(nn.Module):
    """The identity. It has no parameters, so it leaves a state dict as it was.

    What passes through is what stands on the residual stream there (or, for integer tensors, the token ids
    that ran); its module path is its name. The idea of hook points comes from TransformerLens.

    Example:
        >>> import torch
        >>> HookPoint()(torch.tensor([1, 2]))
        tensor([1, 2])
    """

    def forward(self, x: Tensor) -> Tensor:
        return x
