"""Mask rules as lines of Python, to be taken along."""

from collections.abc import Sequence

from transformer.mask_rules import BLOCKED, PRESETS, Chosen, MaskRule


def mask_code(rule: MaskRule, heads: int, queries: int, keys: int) -> str:
    """Lines that make the mask (H, L, S) of a rule; ``given`` is the one that the attention had, (H, L, S).

    Example:
        >>> print(mask_code(MaskRule(own=False, presets=(Chosen("causal"),), cells=((0, 2, 0.0),)), 1, 2, 3))
        import torch
        i, j = torch.arange(2)[:, None], torch.arange(3)
        mask = torch.zeros(1, 2, 3)
        mask[:, j > i] = -torch.inf
        mask[:, 0, 2] = 0.0
    """
    adding = [chosen for chosen in rule.presets if PRESETS[chosen.name].adds]
    blocking = [chosen for chosen in rule.presets if not PRESETS[chosen.name].adds]
    lines = ["import torch"]
    if any("alibi" in PRESETS[chosen.name].code for chosen in adding):
        lines.append("from transformer.position_schemes import alibi_slopes")
    if rule.presets:
        lines.append(f"i, j = torch.arange({queries})[:, None], torch.arange({keys})")
    lines.append("mask = given.clone()" if rule.own else f"mask = torch.zeros({heads}, {queries}, {keys})")
    lines += [f"mask = mask + ({_expression(chosen, heads)})" for chosen in adding]
    if blocking:
        joined = (" | " if rule.combined == "all" else " & ").join(
            _expression(chosen, heads) if len(blocking) == 1 else f"({_expression(chosen, heads)})"
            for chosen in blocking
        )
        lines.append(f"mask[:, {joined}] = -torch.inf")
    for query, key, value in rule.cells:
        if query < queries and key < keys:
            lines.append(f"mask[:, {query}, {key}] = {'-torch.inf' if value == BLOCKED else value}")
    return "\n".join(lines)


def code_of_edits(edits: Sequence[tuple[MaskRule, bool]], head: int, heads: int, queries: int, keys: int) -> str:
    """The same for one head (L, S) and the rules that concern it, one after the other.

    Args:
        edits: rules, each with whether its blocked weights are shared among the rest. What is not shared stands in
            ``zeroed`` (L, S): weights that become 0 after the softmax.

    Example:
        >>> print(code_of_edits([(MaskRule(cells=((0, 1, BLOCKED),)), False)], 0, 1, 2, 3))
        import torch
        mask = given.clone()
        mask[:, 0, 1] = -torch.inf
        taken = (mask == -torch.inf) & (given != -torch.inf)
        mask = torch.where(taken, given, mask)
        zeroed = taken
        mask = mask[0]  # of head 1
        zeroed = zeroed[0]  # after the softmax: pattern = pattern.masked_fill(zeroed, 0.0)
    """
    lines: list[str] = []
    zeroed = "taken"
    for rule, renormalise in edits or [(MaskRule(), True)]:
        lines += ["given = mask"] if lines else []
        lines.append(mask_code(rule, heads, queries, keys))
        if not renormalise:
            lines.append("taken = (mask == -torch.inf) & (given != -torch.inf)")
            lines.append("mask = torch.where(taken, given, mask)")
            lines.append(f"zeroed = {zeroed}")
            zeroed = "zeroed | taken"
    lines.append(f"mask = mask[{head}]  # of head {head + 1}")
    if zeroed != "taken":
        lines.append(f"zeroed = zeroed[{head}]  # after the softmax: pattern = pattern.masked_fill(zeroed, 0.0)")
    return "\n".join(lines)


def _expression(chosen: Chosen, heads: int) -> str:
    preset = PRESETS[chosen.name]
    numbers = dict(zip((number.name for number in preset.numbers), chosen.numbers, strict=True))
    return preset.code.format(heads=heads, **numbers)
