"""Letter reports as tables to read; layers and heads are counted from 1."""

from collections.abc import Mapping

from transformer.letter_report import LetterReport


def letter_table(report: LetterReport) -> str:
    """One set of weights: one line for each head, one column for each measure."""
    scores = {(one.site, one.head, one.measure): one.score for one in report.heads}
    rows = [["layer", "head", *report.measures]]
    for site, head in dict.fromkeys((one.site, one.head) for one in report.heads):
        cells = (f"{scores[site, head, measure]:.3f}" for measure in report.measures)
        rows.append([str(site.layer + 1), str(head + 1), *cells])
    return "\n".join(
        [
            f"{report.right:.2%} right, of {report.strings} strings drawn anew",
            f"dev set: {report.dev_loss:.4f} nats a label, {report.dev_accuracy:.2%} of the labels likeliest",
            *_columns(rows),
        ]
    )


def snapshot_table(reports: Mapping[int, LetterReport]) -> str:
    """One line for each step of training, with the head (layer.head) that scores highest in each measure."""
    measures = next(iter(reports.values())).measures
    rows = [["step", "dev loss", "accuracy", "right", *measures]]
    for step, report in reports.items():
        best = [report.best(measure) for measure in measures]
        cells = (f"{one.score:.3f} ({one.site.layer + 1}.{one.head + 1})" for one in best)
        rows.append([str(step), f"{report.dev_loss:.4f}", f"{report.dev_accuracy:.3f}", f"{report.right:.3f}", *cells])
    return "\n".join(_columns(rows))


def _columns(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
