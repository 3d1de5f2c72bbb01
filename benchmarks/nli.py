"""CPU time of entailment in batches of like lengths beside one pair at a time: only the ratio means anything.

    python benchmarks/nli.py [BANK ANSWERS] [--rounds 3] [--pairs 400] [--hidden 128] [--layers 4] [--threads 1]

A model of the make of DeBERTa-v3 with random weights, and pairs of an extracted nugget and a gold nugget: of the first
run of ANSWERS, evenly chosen, or else of random words; both from a seed. Nothing is downloaded. Process CPU time, the
least of several interleaved rounds. Needs the extra nli.
"""

from __future__ import annotations

import argparse
import platform
import random
import time
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.models.pairs import NliModel
from nuggeteval.units import units_of

WORDS = [f"w{index}" for index in range(5000)]
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]


def make_model(hidden: int, layers: int) -> NliModel:
    """A model with weights from a seed, and a tokenizer that knows the words."""
    import tokenizers
    import torch
    import transformers

    vocabulary = {word: index for index, word in enumerate([*SPECIAL, *WORDS])}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="[PAD]")
    labels = ["entailment", "neutral", "contradiction"]
    config: Any = transformers.DebertaV2Config(
        vocab_size=len(vocabulary), hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=hidden // 32,
        intermediate_size=4 * hidden, max_position_embeddings=512, type_vocab_size=0, relative_attention=True,
        position_buckets=256, pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm", share_att_key=True,
        position_biased_input=False, initializer_range=0.1,
        id2label=dict(enumerate(labels)), label2id={x: i for i, x in enumerate(labels)},
    )  # fmt: skip
    torch.manual_seed(42)
    return NliModel(tokenizer, transformers.DebertaV2ForSequenceClassification(config), "random")


def make_pairs(number: int) -> list[tuple[str, str]]:
    """Sentences of answers beside nuggets: 5 to 60 words, and 5 to 25."""
    rng = random.Random(42)

    def text(most: int) -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(5, most)))

    return [(text(60), text(25)) for _ in range(number)]


def read_pairs(bank: str, answers: str, number: int) -> list[tuple[str, str]]:
    """Pairs of one run, evenly chosen among all; every word is a number of the vocabulary, so that lengths are real."""
    gold, runs = read_bank(bank).without_blank(), read_answers(answers)
    units = units_of((answer for answer in runs if answer.run == runs[0].run), "nuggets")
    pairs = [(unit.text, nugget.text) for unit in units for nugget in gold.nuggets.get(unit.topic, ())]
    print(f"{len(pairs)} pairs of {runs[0].run}, of which {min(number, len(pairs))}")
    chosen = pairs[:: max(1, len(pairs) // number)][:number]
    return [(_known(premise), _known(hypothesis)) for premise, hypothesis in chosen]


def _known(text: str) -> str:
    return " ".join(WORDS[zlib.crc32(word.encode()) % len(WORDS)] for word in text.split())


def in_batches(model: NliModel, pairs: list[tuple[str, str]], tokens: int) -> dict[int, float]:
    """All at once."""
    return dict(model.entailment(pairs, tokens))


def one_by_one(model: NliModel, pairs: list[tuple[str, str]]) -> dict[int, float]:
    """A call for each pair."""
    return {index: next(iter(model.entailment([pair])))[1] for index, pair in enumerate(pairs)}


def compare(title: str, ways: dict[str, Callable[[], dict[int, float]]], rounds: int) -> None:
    """Print the least CPU time of every way, and its ratio to the first; all must say the same."""
    best = dict.fromkeys(ways, float("inf"))
    results = {}
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.process_time()
            results[name] = way()
            best[name] = min(best[name], time.process_time() - begin)
    first = next(iter(ways))
    print(f"\n{title}")
    for name, seconds in best.items():
        apart = max(abs(results[name][index] - value) for index, value in results[first].items())
        print(f"  {name:<24} {seconds:8.3f} s   {seconds / best[first]:6.2f} x   at most {apart:.0e} apart")


def main() -> None:
    """Make the model and the pairs, time everything."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="BANK ANSWERS")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = make_model(options.hidden, options.layers)
    pairs = read_pairs(*options.files, options.pairs) if options.files else make_pairs(options.pairs)
    shape = f"{len(pairs)} pairs, {options.layers} layers of {options.hidden}, {options.threads} threads"
    print(f"Python {platform.python_version()}, torch {torch.__version__}, CPU seconds, least of {options.rounds}")
    compare(
        f"entailment: {shape}",
        {
            "batches of 1024 tokens": partial(in_batches, model, pairs, 1024),
            "batches of 512 tokens": partial(in_batches, model, pairs, 512),
            "batches of 2048 tokens": partial(in_batches, model, pairs, 2048),
            "batches of 8192 tokens": partial(in_batches, model, pairs, 8192),
            "one by one": partial(one_by_one, model, pairs),
        },
        options.rounds,
    )


if __name__ == "__main__":
    main()
