"""What all tests share: the command line in process, and the reference material beside the checkout."""

import os
from collections import namedtuple
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from nuggeteval.cli import main

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

settings.register_profile("house", deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
settings.load_profile("house")

Result = namedtuple("Result", "code out err")


@pytest.fixture
def cli(capsys):
    """Run the command line in process; (exit code, stdout, stderr)."""

    def run(*arguments):
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Result(code, out, err)

    return run


@pytest.fixture
def shared():
    """The folder of reference material: absent is a reason to skip, but a failure in CI."""
    if not (SHARED / "data").is_dir():
        if os.environ.get("CI"):
            pytest.fail("CI is set and ../shared is missing")
        pytest.skip("the reference material (../shared) is not here")
    return SHARED


@pytest.fixture
def write(tmp_path):
    """Write a small file and return its path as text."""

    def write_file(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
        return str(path)

    return write_file


WORDS = [f"w{i}" for i in range(500)]
LABELS = ["entailment", "neutral", "contradiction"]


@pytest.fixture(scope="session")
def save_model(tmp_path_factory):
    """Write a tiny model of the make of DeBERTa-v3, with weights from a seed, and its tokenizer."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")

    def save(name, labels=LABELS, most=512, model_max_length=None):
        folder = tmp_path_factory.mktemp("models") / name
        special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
        vocabulary = {word: i for i, word in enumerate([*special, *WORDS])}
        words = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
        words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        words.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
        )
        limit = {} if model_max_length is None else {"model_max_length": model_max_length}
        tokenizer = transformers.PreTrainedTokenizerFast(
            tokenizer_object=words, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]", **limit
        )
        config = transformers.DebertaV2Config(
            vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
            max_position_embeddings=most, type_vocab_size=0, relative_attention=True, position_buckets=16,
            pos_att_type=["p2c", "c2p"], norm_rel_ebd="layer_norm", share_att_key=True, position_biased_input=False,
            initializer_range=0.3, id2label=dict(enumerate(labels)), label2id={x: i for i, x in enumerate(labels)},
        )  # fmt: skip
        torch.manual_seed(3)
        transformers.DebertaV2ForSequenceClassification(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return save
