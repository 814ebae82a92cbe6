"""The numbers of a run, as the explorer's JavaScript asks for them over HTTP."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from dashboard.bug_served import ANSWERS as OF_BUGS
from dashboard.components import packed
from dashboard.inside_served import ANSWERS as OF_INSIDE
from dashboard.long_numbers import tile_numbers, window_numbers
from dashboard.mask_runs import Batch
from dashboard.mask_served import ANSWERS as OF_MASKS
from dashboard.numbers import Quantity, Tokens, head_numbers
from dashboard.offered import Run, offered
from dashboard.overview_numbers import overview_numbers
from dashboard.pair_numbers import pair_numbers
from dashboard.positions_served import ANSWERS as OF_POSITIONS
from dashboard.runs import Answer
from dashboard.scenes import Scene
from dashboard.selection import Pool, Rows
from dashboard.step_numbers import step_numbers
from dashboard.words import LANGUAGES, Words, words_of
from transformer.merging import OverQueries
from transformer.pooling import Proceed, Stopped, Window
from transformer.recording import Kind
from transformer.units import Unit

PATH = "explorer"
MOST_BYTES = 4_000_000  # of a question
NOBODY = "Nobody waits for it."
LOOK_AROUND = 0.2  # seconds between two looks whether the browser still waits

Asked = Mapping[str, str]


def _head(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return head_numbers(
        answer,
        *_place(asked),
        _one_of(Quantity, asked, "quantity"),
        _one_of(Rows, asked, "rows"),
        _tokens(asked),
        _words(asked),
    )


def _overview(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    rows: dict[Kind, Rows] = {"cross": _one_of(Rows, asked, "cross"), "decoder": _one_of(Rows, asked, "decoder")}
    return overview_numbers(answer, _one_of(Quantity, asked, "quantity"), rows, _tokens(asked))


def _pair(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    row, _, column = asked["pair"].partition(",")
    return pair_numbers(
        answer,
        *_place(asked),
        (int(row), int(column)),
        _one_of(Rows, asked, "rows"),
        _tokens(asked),
    )


def _steps(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return step_numbers(answer)


def _window(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    return window_numbers(
        answer,
        *_place(asked),
        _one_of(Quantity, asked, "quantity"),
        _one_of(Rows, asked, "rows"),
        (_span(asked["rows_in_view"]), _span(asked["columns_in_view"])),
        (int(asked["side"]), int(asked["side"])),
        _one_of(Pool, asked, "pool"),
        _words(asked),
        proceed,
    )


def _tile(answer: Answer, asked: Asked, proceed: Proceed) -> dict[str, Any]:
    kind, quantity = _one_of(Kind, asked, "kind"), _one_of(Quantity, asked, "quantity")
    return tile_numbers(answer, kind, int(asked["layer"]), int(asked["head"]), quantity, proceed)


ANSWERS: dict[str, Callable[[Answer, Asked, Proceed], dict[str, Any]]] = {
    "head": _head,
    "heads": _overview,
    "pair": _pair,
    "steps": _steps,
    "window": _window,
    "tile": _tile,
    **OF_INSIDE,
    **OF_POSITIONS,
}
OF_RUNS: dict[type, Mapping[str, Callable[..., dict[str, Any]]]] = {Answer: ANSWERS, Batch: OF_MASKS, Scene: OF_BUGS}


async def numbers(request: Request) -> Response:
    """410 where the run is gone, 404 where it has no such part, 400 for a question that makes no sense.

    Long work ends when the browser that wanted it has gone.
    """
    run = offered(request.path_params["key"])
    if run is None:
        return PlainTextResponse("This run is no longer kept; reload the page.", status_code=410)
    what = OF_RUNS[type(run)].get(request.path_params["what"])
    if what is None:
        return PlainTextResponse(f"A run has no {request.path_params['what']}.", status_code=404)
    try:
        asked = await _asked(request)
    except ClientDisconnect:
        return PlainTextResponse(NOBODY, status_code=499)
    if asked is None:
        return PlainTextResponse(f"A question may have {MOST_BYTES:,} bytes.", status_code=413)
    gone = threading.Event()
    work = asyncio.ensure_future(run_in_threadpool(_response, what, run, asked, lambda done: not gone.is_set()))
    while not (await asyncio.wait({work}, timeout=LOOK_AROUND))[0]:
        if await request.is_disconnected():
            gone.set()
    return work.result()


async def _asked(request: Request) -> Asked | None:
    """What is asked: in the address, or, where that would be too long, in the body; None where that is too long too."""
    if request.method == "GET":
        return request.query_params
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return None
    return dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))


def _response(what: Callable[..., dict[str, Any]], run: Run, asked: Asked, proceed: Proceed) -> Response:
    try:
        content = packed(what(run, asked, proceed))
    except Stopped:
        return PlainTextResponse(NOBODY, status_code=499)
    except (KeyError, IndexError) as error:
        return PlainTextResponse(f"This run has no {error}.", status_code=404)
    except ValueError as error:
        return PlainTextResponse(str(error), status_code=400)
    return Response(content, media_type="application/octet-stream", headers={"Cache-Control": "no-store"})


ROUTE = Route(f"/{PATH}/{{key}}/{{what}}", numbers, methods=["GET", "POST"])


def _place(asked: Asked) -> tuple[Kind, int, int | Literal["mean"]]:
    """Kind, layer and head."""
    head = asked["head"]
    return _one_of(Kind, asked, "kind"), int(asked["layer"]), "mean" if head == "mean" else int(head)


def _span(text: str) -> Window:
    """``12-40``; nothing for all."""
    if not text:
        return None
    begin, _, end = text.partition("-")
    return int(begin), int(end)


def _words(asked: Asked) -> Words:
    return words_of(_one_of(LANGUAGES, asked, "language"))


def _tokens(asked: Asked) -> Tokens:
    return Tokens(_one_of(Unit, asked, "unit"), _one_of(OverQueries, asked, "over"), asked["hidden"] == "true")


def _one_of(names: Any, asked: Asked, name: str) -> Any:
    allowed = get_args(names) or tuple(names)
    if asked[name] not in allowed:
        raise ValueError(f"{name} is {asked[name]!r}; wanted {', '.join(allowed)}.")
    return asked[name]
