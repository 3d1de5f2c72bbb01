"""The one door to transformers and onnxruntime: models of texts, each in a module of its own.

All are optional, and imported when a model is loaded. A model may be a folder or the name of one on the Hugging Face
hub; the encoders come with packages of their own and need no network, and one of them no torch.
"""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nuggeteval.errors import MissingDependencyError, ParameterError, listed, shorten

__all__ = [
    "batches_by_length",
    "check_folder",
    "first_line",
    "imported",
    "max_tokens",
    "name_of",
    "on_device",
    "pretrained",
    "pretrained_whole",
    "sha256",
    "tokens_of_batch",
]

# A processor has a cache to stay in: by benchmarks/nli.py 8192 tokens a batch take twice the time of 1024. A
# graphics card has not, but was not measured.
_TOKENS = {"cpu": 1024}
_TOKENS_ELSEWHERE = 8192
_WEIGHTS = {".safetensors", ".bin", ".pt", ".msgpack", ".h5", ".gguf"}
_PATH_LIKE = re.compile(r"^[./~\\]|^[A-Za-z]:[\\/]|/.*/|\\")
_POSITIONS_AFTER_PADDING = {"roberta", "xlm-roberta", "xlm-roberta-xl", "camembert", "longformer", "mpnet"}


def batches_by_length(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Indices in batches of like lengths, longest first, so that little of a batch is padding.

    Args:
        lengths: tokens of each sequence.
        tokens: most tokens of a batch, padding included; a longer sequence is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    begin = 0
    while begin < len(order):
        size = max(1, tokens // max(1, lengths[order[begin]]))
        yield order[begin : begin + size]
        begin += size


def imported(package: str, extra: str) -> Any:
    """An optional package.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingDependencyError(f"{package} is needed here: pip install 'nuggeteval[{extra}]'") from error


def tokens_of_batch(device: str) -> int:
    """Most tokens of a batch, padding included, that suit a kind of device."""
    return _TOKENS.get(device, _TOKENS_ELSEWHERE)


def check_folder(name: str) -> None:
    """Say what is wrong with a path before transformers takes it for a name on the hub."""
    path = Path(name)
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ParameterError(f"{name} is no model: it has no config.json")
    elif path.exists():
        raise ParameterError(f"{name} is no model: expected a folder, or a name on the Hugging Face hub")
    elif _PATH_LIKE.search(name):
        raise ParameterError(f"{name}: there is no such folder")


def pretrained(kind: Any, name: str, **options: Any) -> Any:
    """What transformers makes of a folder or a name; its many kinds of errors as one."""
    # Its bars would be in the way of ours, also where nobody wants any.
    imported("transformers", "nli").utils.logging.disable_progress_bar()
    try:
        return kind.from_pretrained(name, **options)
    except Exception as error:
        where = "" if Path(name).is_dir() else ", which is no folder here either"
        raise ParameterError(f"cannot load the model {name}{where}: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """What an error says, in a line."""
    lines = str(error).strip().splitlines()
    return shorten(lines[0], 300) if lines else type(error).__name__


def pretrained_whole(kind: Any, name: str) -> Any:
    """A model whose checkpoint has all weights; transformers would make others up, and only log it.

    Raises:
        ParameterError: it has not, or cannot be loaded.
    """
    model, info = pretrained(kind, name, output_loading_info=True)
    if info["missing_keys"]:
        raise ParameterError(f"{name}: weights are missing: {listed(sorted(info['missing_keys']))}")
    return model


def on_device(model: Any, torch: Any, device: str | None) -> Any:
    """A model in single precision on a device: half precision depends on how a batch is padded.

    Args:
        model: of transformers.
        torch: the package.
        device: as torch names it; None for a GPU of CUDA where there is one, else the CPU.

    Raises:
        ParameterError: the device cannot be used.
    """
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return model.float().to(device).eval()
    except (RuntimeError, AssertionError) as error:
        raise ParameterError(f"device {device!r} cannot be used: {first_line(error)}") from error


def max_tokens(tokenizer: Any, config: Any) -> int:
    """Longest sequence: the lesser of the tokenizer's limit (absurdly large where it has none) and the positions."""
    limit = int(tokenizer.model_max_length)
    positions = getattr(config, "max_position_embeddings", None) or 0
    if config.model_type in _POSITIONS_AFTER_PADDING:
        positions -= config.pad_token_id + 1
    return min(limit, positions) if positions > 0 else limit


def name_of(name_or_path: str) -> str:
    """A name on the hub as it is; of a folder its last part and what tells it from another of that name."""
    path = Path(name_or_path)
    if not path.is_dir():
        return name_or_path
    digest = hashlib.sha256((path / "config.json").read_bytes())
    for file in sorted(path.iterdir()):
        if file.suffix in _WEIGHTS:
            digest.update(f"\n{file.name} {file.stat().st_size}".encode())
    return f"{path.resolve().name}@{digest.hexdigest()[:12]}"


def sha256(path: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
