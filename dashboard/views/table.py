"""The strongest pairs as a table: to sort, to search, to take away."""

import numpy as np
import pandas as pd
import streamlit as st

from dashboard.numbers import Cells, Quantity, Tokens, cells_of
from dashboard.runs import Answer
from dashboard.selection import Selection, naming, site_at
from dashboard.words import Words

MOST_ROWS = 2_000


def table(words: Words, answer: Answer, selection: Selection) -> None:
    """Show the pairs of the selected head, the strongest first."""
    across = st.container(horizontal=True, vertical_alignment="bottom")
    query = across.text_input(words["table.query"], key="table_query", bind="query-params") or ""
    key = across.text_input(words["table.key"], key="table_key", bind="query-params") or ""
    quantity: Quantity = "score" if selection.scale == "score" else selection.measure
    at_least = words("table.least", quantity=words[f"hover.{quantity}"])
    least = across.number_input(at_least, value=None, step=0.01, key="table_least", bind="query-params")
    site = site_at(answer.recording, selection.kind, selection.layer)
    tokens = Tokens(selection.unit, selection.over, selection.special == "hidden")
    seen = cells_of(answer, site, selection.head, quantity, naming(selection), tokens)
    frame = pairs(seen, quantity)
    frame = frame if least is None else frame[frame[quantity] >= least]
    for column, wanted in (("query", query), ("key", key)):
        frame = frame[frame[column].str.contains(wanted, regex=False, case=False)] if wanted else frame
    names = {"query": words["hover.query"], "key": words["hover.key"], quantity: words[f"hover.{quantity}"]}
    names |= {"row": words["table.row"], "column": words["table.column"]}
    across.download_button(
        words["table.save"], frame.to_csv(index=False).encode("utf-8"), "headlight.csv", "text/csv", on_click="ignore"
    )
    st.container(key="pairs").dataframe(
        frame.head(MOST_ROWS).rename(columns=names),
        hide_index=True,
        height="stretch",
        column_config={names[quantity]: st.column_config.NumberColumn(format="%.4f")},
    )
    shown = min(len(frame), MOST_ROWS)
    st.caption(words("table.shown", shown=shown, all=int(np.isfinite(seen.cells).sum())))


def pairs(seen: Cells, quantity: str) -> pd.DataFrame:
    """Every allowed pair of a pattern (L, S): query, key, the quantity, and where it stands, counted from 1; the
    strongest first."""
    rows, columns = np.nonzero(np.isfinite(seen.cells))
    frame = pd.DataFrame(
        {
            "query": [seen.queries.labels[row] for row in rows],
            "key": [seen.keys.labels[column] for column in columns],
            quantity: seen.cells[rows, columns],
            "row": rows + 1,
            "column": columns + 1,
        }
    )
    return frame.sort_values(quantity, ascending=False, kind="stable", ignore_index=True)
