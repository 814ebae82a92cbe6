"""The positions lab's page, without a browser."""

import json
from dataclasses import asdict, fields, replace

import pytest
from opened_page import control, explorer, look, opened

from dashboard.linked import state_of
from dashboard.positions import LINK, Positions
from dashboard.selection import LINK as OF_ATTENTION
from dashboard.words import words_of

pytestmark = pytest.mark.usefixtures("kinds_of_positions")


def lab(**url: str):
    return opened(page="positions", **{"checkpoint": "sinusoidal"} | url)


CHOSEN = Positions(
    view="rotation", values="free", width=128, length=200, base=500, layout="halves", dimensions=(0, 5, 127), curve=1,
    measure="cosine", pair=7, position=11, offset=-4, heads=3, past=True,
    kind="encoder", layer=0, head="mean", way="scale", amount=7,
)  # fmt: skip


def test_a_link_restores_all_that_can_be_chosen():
    assert all(getattr(CHOSEN, field.name) != field.default for field in fields(CHOSEN))
    link = LINK.to_address(CHOSEN)
    page = lab(**link)
    assert look(page) == json.loads(json.dumps(asdict(CHOSEN)))
    assert {name: page.query_params[name] for name in link} == link


def test_an_address_says_the_numbers_of_the_screen():
    link = LINK.to_address(CHOSEN)
    assert (link["positions_dimensions"], link["positions_pair"], link["positions_position"]) == ("0,5,127", "7", "11")
    assert LINK.to_address(Positions()) == {}


def test_the_address_shares_a_head_with_the_attention_page_and_no_other_name():
    assert set(LINK.names) & set(OF_ATTENTION.names) == {"kind", "layer", "head"}


def test_nonsense_in_a_link_is_passed_over():
    nonsense = dict.fromkeys(LINK.names, "x")
    assert look(lab(**nonsense)) == json.loads(json.dumps(asdict(Positions())))
    beyond = {"positions_width": "1025", "positions_length": "0", "positions_base": "1", "positions_heads": "33"}
    assert look(lab(**beyond)) == json.loads(json.dumps(asdict(Positions())))


def test_what_the_browser_moved_goes_into_the_link_and_stays_on_other_pages():
    page = lab(positions_view="table")
    revision = explorer(page)["revision"]
    at = state_of("positions")
    page.session_state[at] = replace(page.session_state[at], width=96, offset=-7)
    page.run()
    assert not page.exception
    assert (page.query_params["positions_width"], page.query_params["positions_offset"]) == ("96", "-7")
    assert explorer(page)["revision"] == revision
    for name in ("attention", "positions"):
        control(page, "page").set_value(name)
        page.run()
        assert not page.exception
        assert page.query_params["positions_width"] == "96"
    assert look(page)["offset"] == -7


def test_the_page_is_told_the_models_own_numbers():
    own = explorer(lab())["run"]["own"]
    assert list(own) == ["source", "target"]
    for facts in own.values():
        assert [facts[name] for name in ("kind", "width", "base", "layout", "heads")] == [
            "sinusoidal", 24, 10_000, "interleaved", 3,
        ]  # fmt: skip
        assert facts["length"] == facts["whole"] == len(facts["tokens"])
    assert own["target"]["tokens"][0] == "<s>"
    learned = explorer(lab(checkpoint="learned"))["run"]["own"]["source"]
    assert [learned[name] for name in ("kind", "width", "length", "base", "layout")] == ["learned", 24, 64, None, None]
    assert explorer(lab(checkpoint="none"))["run"]["own"] == {"source": None, "target": None}


def test_a_decoder_alone_has_one_text():
    run = explorer(lab(checkpoint="alone"))["run"]
    assert (list(run["own"]), run["alone"]) == (["source"], True)
    assert run["own"]["source"]["tokens"] == ["<s>", *"abcXabcX"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_speaks_the_viewers_language(language):
    page = lab(language=language)
    assert explorer(page)["words"] == words_of(language).all()
    assert words_of(language)["page.positions"] in control(page, "page").options


def test_an_empty_text_is_answered_kindly():
    page = lab(source=" ")
    assert [one.value for one in page.info] == [words_of("en")["empty.source"]]
