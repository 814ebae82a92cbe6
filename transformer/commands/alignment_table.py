"""An alignment report as a table to read."""

from transformer.head_alignment import AlignmentReport, HeadAlignment, Heads

_LINE = "{:>5}  {:>4}  {:>5}  {:>11}  {:>7}"


def alignment_table(report: AlignmentReport) -> str:
    """One line for each head, each layer's mean and the mean of all; layers and heads are counted from 1."""
    other = "reads" if report.rows == "predicts" else "predicts"
    half = report.sentences // 2
    lines = [
        f"Alignment error rate on {report.sentences} sentences, from the row that {report.rows} a piece",
        _LINE.format("layer", "head", "AER", "95 %", "" if report.loss is None else "cost").rstrip(),
        *(_line(one) for one in report.heads),
        f"Chosen on the first {half} sentences, measured on the other {report.sentences - half}:",
        f"  of all:    {_sentence(report.chosen)}",
        f"  of heads:  {_sentence(report.chosen_head)}",
        f"  of all, from the row that {other} a piece:  {_sentence(report.other_rows)}",
    ]
    if report.loss is not None:
        lines.append(f"The cost of switching them off: how far the loss rises, from {report.loss:.4f} nats a label")
    return "\n".join(lines)


def _line(one: HeadAlignment) -> str:
    interval = f"{one.error.low:.3f}-{one.error.high:.3f}"
    return _LINE.format(*_names(one.heads), f"{one.error.aer:.3f}", interval, _cost(one)).rstrip()


def _sentence(one: HeadAlignment) -> str:
    layer, head = _names(one.heads)
    rate = f"layer {layer}, head {head}: {one.error.aer:.3f} ({one.error.low:.3f}-{one.error.high:.3f})"
    return rate if one.loss_cost is None else f"{rate}, cost {_cost(one)}"


def _names(heads: Heads) -> tuple[str, str]:
    layer = "all" if heads.site is None else str(heads.site.layer + 1)
    return layer, "mean" if heads.head == "mean" else str(heads.head + 1)


def _cost(one: HeadAlignment) -> str:
    return "" if one.loss_cost is None else f"{one.loss_cost:+.4f}"
