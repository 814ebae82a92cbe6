"""The statistical aligner eflomal on the sentences that people aligned: what the heads' error rates stand beside.

Development only. eflomal is compiled while it is installed (gcc), into an environment of its own or this one. It is
not seeded: figures differ from run to run by about 0.01.

    pip install eflomal
    PYTHONPATH=. .venv/bin/python tests/bench/eflomal_yardstick.py --train en-fr.train.tsv.gz \\
        --alignment en-fr.test.align.jsonl

Source: Östling and Tiedemann 2016, "Efficient word alignment with Markov chain Monte Carlo".
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from transformer.alignment import AlignedPair, Link, error_rate, read_alignments
from transformer.batches import read_pairs

CHINESE = re.compile(r"[\u3400-\u9fff]")
# Words of the hand-made alignments: I'm, as-tu and 1,000 are one, J'ai two (J' and ai), and punctuation stands alone.
ELISION = r"\b(?:[cdjlmnst]|qu|lorsqu|puisqu|jusqu|quoiqu)['’](?=\w)"
WORD = r"\w+(?:[-'’.,]\w+)*"
CUTS = {
    "words": re.compile(rf"{WORD}|[^\w\s]"),
    "french": re.compile(rf"{ELISION}|{WORD}|[^\w\s]", re.IGNORECASE),
    "characters": re.compile(r"[^\W\u3400-\u9fff]+|\S"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", required=True, metavar="TSV", help="pairs to learn from")
    parser.add_argument("--alignment", required=True, metavar="JSONL", help="hand-made alignments")
    parser.add_argument("--reversed", action="store_true", help="align the other direction")
    parser.add_argument("--eflomal", default="eflomal-align", help="the command")
    chosen = parser.parse_args()
    if not shutil.which(chosen.eflomal):
        parser.error(f"There is no command {chosen.eflomal}: pip install eflomal, or name it with --eflomal.")

    aligned = read_alignments(chosen.alignment)
    train = read_pairs(chosen.train)
    cuts = cut_of(aligned, "source"), cut_of(aligned, "target")
    report_cuts(aligned, cuts)
    texts = [(tokens(source, cuts[0]), tokens(target, cuts[1])) for source, target in train]
    texts += [(lowered(pair.source_tokens), lowered(pair.target_tokens)) for pair in aligned]
    if chosen.reversed:
        aligned, texts = [pair.reversed() for pair in aligned], [(target, source) for source, target in texts]

    forward, backward = (links[-len(aligned) :] for links in align(texts, chosen.eflomal))
    half = len(aligned) // 2
    print(f"eflomal, model 3, {len(train)} pairs and the {len(aligned)} sentences; AER with its 95 % interval")
    print(f"  {'':20} {'all':18}  last {len(aligned) - half}")
    for name, found in {
        "source to target": forward,
        "target to source": backward,
        "intersection": [a & b for a, b in zip(forward, backward, strict=True)],
        "grow-diag-final-and": [grow_diag_final_and(a, b) for a, b in zip(forward, backward, strict=True)],
        "union": [a | b for a, b in zip(forward, backward, strict=True)],
        "(the diagonal)": [diagonal(pair) for pair in aligned],
    }.items():
        rates = error_rate(found, aligned), error_rate(found[half:], aligned[half:])
        print(f"  {name:20}", *(f"{rate.aer:.3f} {rate.low:.3f}-{rate.high:.3f} " for rate in rates))


def cut_of(aligned: list[AlignedPair], side: str) -> str:
    """How a side of the hand-made alignments is cut."""
    words = [token for pair in aligned for token in getattr(pair, f"{side}_tokens")]
    if any(map(CHINESE.search, words)):
        return "characters"
    return "french" if any(word.lower() in ("l'", "d'", "j'") for word in words) else "words"


def tokens(text: str, cut: str) -> list[str]:
    return lowered(CUTS[cut].findall(text))


def lowered(words: list[str] | tuple[str, ...]) -> list[str]:
    return [word.lower().replace("’", "'") for word in words]


def report_cuts(aligned: list[AlignedPair], cuts: tuple[str, str]) -> None:
    """Say how often our cut of a text is that of the people who aligned it: the vocabulary learnt must be theirs."""
    for side, cut in zip(("source", "target"), cuts, strict=True):
        same = sum(tokens(getattr(p, side), cut) == lowered(getattr(p, f"{side}_tokens")) for p in aligned)
        print(f"{side}: cut as {cut}, {same} of {len(aligned)} texts as in the file")


def align(texts: list[tuple[list[str], list[str]]], command: str) -> list[list[frozenset[Link]]]:
    """The links of every pair, by the model of each direction; all as (source, target)."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / name for name in ("source", "target", "forward", "backward")}
        for name, side in zip(("source", "target"), zip(*texts, strict=True), strict=True):
            paths[name].write_text("".join(" ".join(words) + "\n" for words in side), encoding="utf-8")
        options = ["-s", paths["source"], "-t", paths["target"], "-f", paths["forward"], "-r", paths["backward"]]
        subprocess.run([command, *map(str, options), "--model", "3", "--overwrite"], check=True, stdout=sys.stderr)
        return [read_links(paths[name]) for name in ("forward", "backward")]


def read_links(path: Path) -> list[frozenset[Link]]:
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [frozenset((int(i), int(j)) for i, j in (link.split("-") for link in line.split())) for line in lines]


def grow_diag_final_and(forward: frozenset[Link], backward: frozenset[Link]) -> frozenset[Link]:
    """The links of both directions, grown by neighbours of one, and by those between two words that have none.

    Source: Koehn, Och and Marcu 2003; Koehn et al. 2005.
    """
    links, union = set(forward & backward), forward | backward
    steps = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]

    def free(link: Link) -> tuple[bool, bool]:
        return all(i != link[0] for i, _ in links), all(j != link[1] for _, j in links)

    before = -1
    while before < len(links):
        before = len(links)
        for i, j in sorted(links):
            for down, right in steps:
                link = (i + down, j + right)
                if link in union and any(free(link)):
                    links.add(link)
    for direction in (forward, backward):
        for link in sorted(direction):
            if all(free(link)):
                links.add(link)
    return frozenset(links)


def diagonal(pair: AlignedPair) -> frozenset[Link]:
    """Each target token with the source token at the same share of the way: a guess that knows no word."""
    scale = (len(pair.source_tokens) - 1) / max(len(pair.target_tokens) - 1, 1)
    return frozenset((round(j * scale), j) for j in range(len(pair.target_tokens)))


if __name__ == "__main__":
    main()
