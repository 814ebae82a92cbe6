"""``python -m transformer``: what is right comes out on standard output, what is wrong is one sentence on the other."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from small_models import made_up_pairs

from transformer import load_checkpoint
from transformer.__main__ import main
from transformer.batches import Pair
from transformer.training_options import TrainingOptions

PAIRS = made_up_pairs()


def write_pairs(path: Path, pairs: list[Pair]) -> str:
    path.write_text("\n".join(["source\ttarget", *("\t".join(pair) for pair in pairs)]) + "\n", encoding="utf-8")
    return str(path)


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one sentence on standard error."""
    capsys.readouterr()
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def test_a_text_is_translated(trained_run, capsys):
    assert main(["translate", "--checkpoint", str(trained_run / "checkpoint"), PAIRS[7][0]]) == 0
    assert capsys.readouterr() == (PAIRS[7][1] + "\n", "")


@pytest.mark.parametrize("batch_size", ["1", "64"])
def test_lines_are_translated_in_their_order_and_blank_lines_stay_blank(batch_size, trained_run, capsys, monkeypatch):
    chosen = [PAIRS[i] for i in (47, 3, 12, 30, 3)]
    lines = [source for source, _ in chosen]
    lines[2:2], expected = ["", "  "], [target for _, target in chosen]
    expected[2:2] = ["", ""]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
    arguments = ["translate", "--checkpoint", str(trained_run / "checkpoint"), "--batch-size", batch_size]
    assert main(arguments) == 0
    assert capsys.readouterr().out.split("\n") == [*expected, ""]


def test_every_beam_is_printed_with_its_score_and_the_best_is_the_translation(trained_run, capsys):
    arguments = ["translate", "--checkpoint", str(trained_run / "checkpoint"), "--method", "beam", "--beams", "3"]
    source, target = PAIRS[7]
    assert main([*arguments, source]) == 0
    assert capsys.readouterr().out == target + "\n"
    assert main([*arguments, "--all-beams", source]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    scores = [float(score) for score, _ in rows]
    assert (len(rows), rows[0][1]) == (3, target)
    assert scores == sorted(scores, reverse=True)


def test_sampling_follows_its_options(trained_run, capsys):
    arguments = ["translate", "--checkpoint", str(trained_run / "checkpoint"), PAIRS[7][0], "--method", "sample"]
    out = {}
    for name, more in {
        "hot": ["9"],
        "again": ["9"],
        "other": ["9", "--seed", "2"],
        "one": ["9", "--top-k", "1"],
    }.items():
        assert main([*arguments, "--temperature", *more]) == 0
        out[name] = capsys.readouterr().out
    assert out["hot"] == out["again"] != out["other"]
    assert out["one"] == PAIRS[7][1] + "\n"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--all-beams"], "--all-beams wants --method beam."),
        (["--method", "beam", "--beams", "0"], "beams must be at least 1, not 0."),
        (["--method", "sample", "--temperature", "0"], "temperature must be above 0, not 0.0"),
    ],
)
def test_decoding_options_that_make_no_sense_are_refused(options, sentence, trained_run, capsys):
    assert main(["translate", "--checkpoint", str(trained_run / "checkpoint"), "a dog", *options]) == 2
    assert capsys.readouterr().err.startswith(sentence)


def test_nothing_on_standard_input_is_nothing_on_standard_output(trained_run, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert main(["translate", "--checkpoint", str(trained_run / "checkpoint")]) == 0
    assert capsys.readouterr() == ("", "")


def test_what_stops_at_the_limit_says_so_aside(trained_run, capsys, monkeypatch):
    monkeypatch.setattr("transformer.decoding.length_limit", lambda source, longest: 2)
    assert main(["translate", "--checkpoint", str(trained_run / "checkpoint"), PAIRS[7][0]]) == 0
    out, err = capsys.readouterr()
    assert out.count("\n") == 1
    assert err == "(stopped at the limit of 2 tokens)\n"


def test_an_unknown_checkpoint_is_one_sentence(capsys):
    assert refused(["translate", "--checkpoint", "no-such-model", "x"], capsys) == (
        "There is no checkpoint folder no-such-model.\n"
    )


def test_a_text_that_is_too_long_is_one_sentence(trained_run, capsys):
    message = refused(["translate", "--checkpoint", str(trained_run / "checkpoint"), "😀" * 100], capsys)
    assert "402 tokens, but the model reads 64" in message


def test_bytes_that_are_no_text_are_translated_as_well_as_they_can_be(trained_run, capsys):
    undecodable = b"bread \xff".decode("utf-8", errors="surrogateescape")  # as Python reads it from the command line
    assert main(["translate", "--checkpoint", str(trained_run / "checkpoint"), undecodable]) == 0


def test_figures_come_as_json(trained_run, tmp_path, capsys):
    test, train = write_pairs(tmp_path / "test.tsv", PAIRS[:9]), write_pairs(tmp_path / "train.tsv", PAIRS[:3])
    arguments = ["evaluate", "--checkpoint", str(trained_run / "checkpoint"), "--test", test, "--train", train]
    assert main([*arguments, "--output", str(tmp_path / "metrics.json")]) == 0
    out, err = capsys.readouterr()
    figures = json.loads(out)
    assert set(figures) == {"test", "unseen", "decoding"}
    assert set(figures["test"]) == {"bleu", "chrf", "sentences", "bleu_signature", "chrf_signature"}
    assert (figures["test"]["bleu"], figures["test"]["sentences"], figures["unseen"]["sentences"]) == (100.0, 9, 6)
    assert (tmp_path / "metrics.json").read_text(encoding="utf-8") == out
    assert err == ""


def write_alignments(path: Path, pairs: list[Pair]) -> str:
    lines = [
        {"source": source, "target": target, "source_tokens": source.split(), "target_tokens": target.split()}
        | {"sure": [[1, 0]], "possible": []}
        for source, target in pairs
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def test_alignments_are_a_table_and_their_figures_stand_in_the_file(trained_run, tmp_path, capsys):
    path, output = write_alignments(tmp_path / "a.jsonl", PAIRS[:6]), tmp_path / "metrics.json"
    arguments = ["evaluate", "--checkpoint", str(trained_run / "checkpoint"), "--alignment", path]
    assert main([*arguments, "--output", str(output)]) == 0
    out, err = capsys.readouterr()
    figures = json.loads(output.read_text(encoding="utf-8"))
    assert set(figures) == {"alignment"}
    first = figures["alignment"]["heads"][0]
    assert first["heads"] == {"site": "transformer.decoder.layers.0.multihead_attn", "head": 0}
    assert (first["loss_cost"], figures["alignment"]["rows"]) == (None, "predicts")
    assert f"{first['error']['aer']:.3f}  {first['error']['low']:.3f}-{first['error']['high']:.3f}" in out
    assert err == ""
    assert main([*arguments, "--alignment-rows", "reads"]) == 0
    assert "from the row that reads a piece\n" in capsys.readouterr().out


def test_with_test_pairs_alignments_come_beside_the_scores_and_with_costs(trained_run, tmp_path, capsys):
    path, output = write_alignments(tmp_path / "a.jsonl", PAIRS[:6]), tmp_path / "metrics.json"
    test = write_pairs(tmp_path / "test.tsv", PAIRS[:9])
    arguments = ["evaluate", "--checkpoint", str(trained_run / "checkpoint"), "--test", test, "--alignment", path]
    assert main([*arguments, "--output", str(output)]) == 0
    figures = json.loads(output.read_text(encoding="utf-8"))
    assert set(figures) == {"test", "decoding", "alignment"}
    assert all(one["loss_cost"] is not None for one in figures["alignment"]["heads"])
    assert "cost" in capsys.readouterr().out


def test_alignments_of_the_other_direction_are_turned_round(trained_run, tmp_path, capsys):
    path = write_alignments(tmp_path / "a.jsonl", [(target, source) for source, target in PAIRS[:6]])
    arguments = ["evaluate", "--checkpoint", str(trained_run / "checkpoint"), "--alignment", path]
    assert main([*arguments, "--alignment-reversed"]) == 0
    turned = capsys.readouterr().out
    assert main(arguments) == 0  # as a translation into the source's language, which it is not
    assert turned != capsys.readouterr().out


def test_what_to_measure_on_must_be_given(tmp_path, capsys):
    assert "give --test, --alignment or both" in refused(["evaluate"], capsys)
    path = write_alignments(tmp_path / "a.jsonl", PAIRS[:6])
    assert "--test, which is missing" in refused(["evaluate", "--alignment", path, "--train", "x.tsv"], capsys)
    assert "There is no file x.jsonl" in refused(["evaluate", "--alignment", "x.jsonl"], capsys)


def test_files_that_are_missing_or_odd_are_one_sentence(trained_run, tmp_path, capsys):
    evaluate = ["evaluate", "--checkpoint", str(trained_run / "checkpoint"), "--test"]
    assert "There is no file" in refused([*evaluate, str(tmp_path / "missing.tsv")], capsys)
    assert "holds no pairs" in refused([*evaluate, write_pairs(tmp_path / "empty.tsv", [])], capsys)
    test = write_pairs(tmp_path / "test.tsv", PAIRS[:2])
    assert main([*evaluate, test, "--output", str(tmp_path / "no/such/folder.json")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def train_arguments(tmp_path: Path, **changes: object) -> list[str]:
    pairs = write_pairs(tmp_path / "pairs.tsv", PAIRS)
    options: dict[str, object] = {"train": pairs, "dev": pairs, "output": tmp_path / "run", "epochs": 1}
    options |= {"d-model": 12, "nhead": 3, "num-encoder-layers": 1, "num-decoder-layers": 1, "dim-feedforward": 8}
    options |= {"source-vocabulary": 290, "target-vocabulary": 281, **changes}
    return ["train", *(str(word) for name, value in options.items() for word in (f"--{name}", value))]


def test_training_leaves_a_checkpoint_that_translates(tmp_path, capsys):
    assert main(train_arguments(tmp_path)) == 0
    assert "48 examples an epoch, 48 for dev" in capsys.readouterr().out
    written = {path.name for path in (tmp_path / "run").iterdir()}
    assert written == {"checkpoint", "log.csv", "timing.csv", "state.safetensors"}
    assert main(["translate", "--checkpoint", str(tmp_path / "run/checkpoint"), "bread"]) == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"train": "missing.tsv"}, "There is no file missing.tsv"),
        ({"nhead": 5}, "d_model must be divisible by nhead"),
        ({"dropout": 1}, "dropout must be"),
        ({"source-vocabulary": 4000}, "No vocabulary of 4000 pieces"),
        ({"source-vocabulary": 10}, "No vocabulary of 10 pieces"),
    ],
)
def test_training_that_cannot_begin_is_one_sentence(changes, said, tmp_path, capsys):
    assert said in refused(train_arguments(tmp_path, **changes), capsys)


def test_a_run_is_not_resumed_with_other_options(tmp_path, capsys):
    assert main(train_arguments(tmp_path)) == 0
    assert main([*train_arguments(tmp_path, epochs=2), "--resume"]) == 2
    assert "began with other options: epochs" in capsys.readouterr().err


def test_a_side_without_spaces_keeps_its_punctuation(tmp_path, capsys):
    pairs = [(source, target.replace(" ", "") + "。") for source, target in PAIRS]
    path = write_pairs(tmp_path / "dense.tsv", pairs)
    arguments = train_arguments(tmp_path, train=path, dev=path, **{"target-vocabulary": 278})
    assert main([*arguments, "--target-without-spaces"]) == 0
    target = load_checkpoint(tmp_path / "run/checkpoint").target_tokenizer
    assert target.text(target.ids("nekoumi。，")) == "nekoumi。，"
    assert not target.labels(target.ids("nekoumi"))[0].startswith("▁")


@pytest.mark.parametrize("command", [[], ["train"], ["evaluate"], ["translate"]])
def test_help_names_every_option_with_its_default(command, capsys):
    with pytest.raises(SystemExit) as left:
        main([*command, "--help"])
    assert left.value.code == 0
    text = " ".join(capsys.readouterr().out.split())  # lines are broken anywhere
    if command == ["train"]:
        for name, default in vars(TrainingOptions()).items():
            assert f"--{name.replace('_', '-')}" in text
            assert default in (None, ()) or f"default: {default}" in text
        assert "None" not in text
    elif not command:
        for name in ("train", "evaluate", "translate"):
            assert name in text


def test_unknown_commands_and_options_are_refused(capsys):
    for arguments in ([], ["fly"], ["train"], ["translate", "--no-such-option"]):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 2
        assert "usage: python -m transformer" in capsys.readouterr().err


def test_it_runs_as_a_module(trained_run):
    done = subprocess.run(
        [sys.executable, "-m", "transformer", "translate", "--checkpoint", str(trained_run / "checkpoint")],
        input=f"{PAIRS[0][0]}\n\n{PAIRS[9][0]}\n".encode(),
        capture_output=True,
        cwd=Path(__file__).parents[2],
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == f"{PAIRS[0][1]}\n\n{PAIRS[9][1]}\n"
