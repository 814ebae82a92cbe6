"""Tasks give examples to learn from, the same ones whenever asked, and hold some out."""

import json
import string

import pytest
from small_models import made_up_pairs

from transformer.tasks import LETTER_TASKS, LetterTask, language_model, translate
from transformer.tokens import Tokenizer

FEW = {"examples": 300, "dev_examples": 60}


def few(kind: str, **changes: object) -> LetterTask:
    return LetterTask(kind, **(FEW | changes))  # type: ignore[arg-type]


def inputs(texts) -> set[str]:
    return {sides[0] for sides in texts}


def test_pairs_become_ids_of_either_vocabulary(tokenizers):
    pairs = made_up_pairs()
    task = translate(tokenizers, pairs[:5], pairs[5:7])
    assert task.architecture == "encoder-decoder"
    assert task.train(0) == task.train(1) == [(tokenizers[0].ids(s), tokenizers[1].ids(t)) for s, t in pairs[:5]]
    assert task.dev() == [(tokenizers[0].ids(s), tokenizers[1].ids(t)) for s, t in pairs[5:7]]


def test_sentences_become_ids_of_the_one_vocabulary(tokenizers):
    task = language_model(tokenizers[0], ["the cat", "a dog"], ["bread"])
    assert task.architecture == "decoder"
    assert task.train(0) == [(tokenizers[0].ids("the cat"),), (tokenizers[0].ids("a dog"),)]
    assert task.dev() == [(tokenizers[0].ids("bread"),)]


def test_segmentations_are_drawn_by_epoch_and_seed_for_training_only(tokenizers):
    pairs = made_up_pairs()
    task, other = (translate(tokenizers, pairs, pairs, subword_sampling=0.1, seed=seed) for seed in (1, 2))
    first = task.train(0)
    assert task.train(1) != first
    assert other.train(0) != first
    assert task.train(0) == first
    assert [
        tuple(tokenizer.text(ids) for tokenizer, ids in zip(tokenizers, one, strict=True)) for one in first
    ] == pairs
    assert task.dev() == translate(tokenizers, pairs, pairs).dev()


def test_other_texts_are_other_settings(tokenizers):
    pairs = made_up_pairs()
    tasks = [translate(tokenizers, pairs[:n], pairs[:m]) for n, m in ((5, 5), (5, 6), (6, 5))]
    assert len({str(task.settings) for task in tasks}) == 3
    assert translate(tokenizers, pairs[:5], pairs[:5]).settings == tasks[0].settings
    lines = [language_model(tokenizers[0], [text], ["x"]).settings for text in ("a", "b")]
    assert lines[0] != lines[1]


@pytest.mark.parametrize("kind", LETTER_TASKS)
def test_what_is_judged_by_is_never_trained_on(kind):
    letters = few(kind, letters="abcde", shortest=5, longest=7)
    dev = inputs(letters.task().dev_texts)
    assert len(dev) == len(letters.task().dev_texts) == 60
    trained: set[str] = set()
    for seed in (1, 2):
        task = letters.task(seed)
        assert inputs(task.dev_texts) == dev  # runs of different seeds are judged alike
        trained |= inputs(task.texts(0)) | inputs(task.texts(1))
    assert len(trained) > 300
    assert not trained & dev


@pytest.mark.parametrize("kind", LETTER_TASKS)
def test_strings_are_drawn_by_seed_and_epoch_and_come_again(kind):
    letters = few(kind, shortest=4, longest=9)
    first = letters.task(1).texts(0)
    assert len(first) == 300
    assert letters.task(1).texts(0) == first
    assert letters.task(1).texts(1) != first
    assert letters.task(2).texts(0) != first
    assert {len(sides[0]) for sides in first} == set(range(4, 10))
    assert set("".join(inputs(first))) == set(string.ascii_lowercase)


@pytest.mark.parametrize(("kind", "answer"), [("reverse", lambda text: text[::-1]), ("copy", lambda text: text)])
def test_letters_are_turned_around_or_copied(kind, answer):
    task = few(kind).task()
    assert task.architecture == "encoder-decoder"
    assert all(target == answer(source) for source, target in [*task.texts(0), *task.dev_texts])
    assert [len(tokenizer) for tokenizer in task.tokenizers] == [30, 30]
    source, target = task.train(0)[0]
    assert (task.tokenizers[0].text(source), task.tokenizers[1].text(target)) == tuple(task.texts(0)[0])


def test_a_segment_comes_again_to_the_end_at_periods_that_vary():
    task = few("induction", shortest=8, longest=24).task()
    assert task.architecture == "decoder"
    periods = set()
    for (text,) in [*task.texts(0), *task.dev_texts]:
        found = [p for p in range(max(2, len(text) // 8), len(text) // 2 + 1) if text[-p:] == text[-2 * p : -p]]
        assert found
        periods.add(found[0])
    assert set(range(2, 12)) <= periods <= set(range(2, 13))


@pytest.mark.parametrize(
    ("letters", "shortest", "longest", "strings"), [("ab", 1, 1, 2), ("ab", 1, 2, 6), ("a", 1, 4, 4), ("abc", 2, 2, 9)]
)
def test_of_few_strings_some_are_held_out_all_the_same(letters, shortest, longest, strings):
    task = few("reverse", letters=letters, shortest=shortest, longest=longest).task()
    dev, trained = inputs(task.dev_texts), inputs(task.texts(0))
    assert dev
    assert trained
    assert not dev & trained
    assert len(dev | trained) == strings


def test_one_string_alone_cannot_be_held_out():
    with pytest.raises(ValueError, match="too few strings"):
        few("copy", letters="a", shortest=2, longest=2).task()


@pytest.mark.parametrize("kind", LETTER_TASKS)
def test_each_setting_of_a_letter_task_is_part_of_the_run(kind):
    usual = few(kind, shortest=5).task().settings
    changes = {"letters": "abc", "shortest": 6, "longest": 17, "examples": 301, "dev_examples": 61}
    for name, value in changes.items():
        other = few(kind, **({"shortest": 5} | {name: value})).task().settings
        assert {key for key in usual if usual[key] != other[key]} == {name}


@pytest.mark.parametrize(
    ("kind", "changes", "said"),
    [
        ("reverse", {"shortest": 0}, "at least 1 for reverse, not from 0 to 16"),
        ("induction", {"shortest": 3}, "at least 4 for induction, not from 3 to 16"),
        ("copy", {"shortest": 9, "longest": 8}, "not from 9 to 8"),
        ("copy", {"examples": 0}, "at least one example"),
        ("copy", {"dev_examples": 0}, "at least one example"),
    ],
)
def test_what_no_strings_can_be_drawn_by_is_refused(kind, changes, said):
    with pytest.raises(ValueError, match=said):
        few(kind, **changes)


def test_letters_that_are_none_are_refused():
    with pytest.raises(ValueError, match="printable"):
        few("copy", letters="a b").task()


def test_a_letter_vocabulary_holds_nothing_but_letters():
    (tokenizer,) = few("induction", letters="xyz", shortest=4).task().tokenizers
    assert isinstance(tokenizer, Tokenizer)
    assert tokenizer.labels(range(len(tokenizer))) == ["<pad>", "<unk>", "<s>", "</s>", "x", "y", "z"]


@pytest.mark.parametrize("kind", LETTER_TASKS)
def test_unseen_strings_are_neither_trained_on_nor_judged_by(kind):
    letters = few(kind, letters="abcdef", shortest=5, longest=9)
    unseen = inputs(letters.unseen(200))
    assert len(unseen) == len(letters.unseen(200)) == 200
    assert unseen == inputs(letters.unseen(200))
    assert unseen != inputs(letters.unseen(200, seed=2))
    task = letters.task(3)
    assert not unseen & (inputs(task.dev_texts) | inputs(task.texts(0)) | inputs(task.texts(1)))


def test_unseen_strings_that_do_not_exist_are_not_made_up():
    letters = few("reverse", letters="abc", shortest=1, longest=4)  # 120 strings, of which a twentieth is held out
    with pytest.raises(ValueError, match="The dev set holds all strings"):
        letters.unseen(5)
    assert 0 < len(few("reverse", letters="abc", shortest=1, longest=4, dev_examples=1).unseen(100)) < 30


def test_an_example_is_what_the_task_makes_of_a_string():
    assert few("reverse").sides("abc") == ("abc", "cba")
    assert few("copy").sides("abc") == ("abc", "abc")
    assert few("induction", shortest=4).sides("abcab") == ("abcab",)


@pytest.mark.parametrize("kind", LETTER_TASKS)
def test_a_task_is_read_back_from_its_settings(kind, tmp_path):
    letters = few(kind, letters="äxyz", shortest=4, longest=9)
    path = tmp_path / "task.json"
    path.write_text(json.dumps(dict(letters.task().settings)), encoding="utf-8")
    assert LetterTask.load(path) == letters


def test_what_was_learned_from_texts_is_no_letter_task(tokenizers, tmp_path):
    assert LetterTask.load(tmp_path / "task.json") is None
    pairs = made_up_pairs()
    (tmp_path / "task.json").write_text(json.dumps(dict(translate(tokenizers, pairs, pairs).settings)))
    assert LetterTask.load(tmp_path / "task.json") is None


@pytest.mark.parametrize(
    "content", ["", "[1]", "{}", '{"task": "copy", "colour": 1}', '{"task": "copy", "longest": 1}']
)
def test_a_task_that_makes_no_sense_is_one_sentence(content, tmp_path):
    (tmp_path / "task.json").write_text(content)
    with pytest.raises(ValueError, match=r"task\.json cannot be used") as caught:
        LetterTask.load(tmp_path / "task.json")
    assert "\n" not in str(caught.value)
