"""The names of measures: which module has the record, what else it is called, which sets go by one name."""

from __future__ import annotations

__all__ = ["ALIASES", "NICKNAMES", "TABLE", "TREC_NAMES"]

TABLE: dict[str, str] = {
    **dict.fromkeys(("num_q", "num_missing", "num_undefined", "num_failed", "NumQ"), "counts"),
    **dict.fromkeys(("NumRet", "NumRel", "NumRelRet"), "adhoc"),
    **dict.fromkeys(("AP", "Rprec", "RR", "P", "R", "Success", "Judged", "nDCG"), "adhoc"),
    **dict.fromkeys(("alpha_nDCG", "alpha_DCG", "Cov", "StRecall", "Density"), "novelty"),
    **dict.fromkeys(("nERR_IA", "ERR_IA", "nNRBP", "NRBP", "AP_IA", "P_IA"), "novelty"),
    **dict.fromkeys(("Recall_NtN", "Precision_NtN", "F1_NtN", "Recall_NtR", "Precision_NtR"), "nuggets"),
    **dict.fromkeys(("nugget_coverage", "avg_grade", "avg_score", "max_grade", "covered_count"), "nuggets"),
    **dict.fromkeys(("A", "A_strict", "V", "V_strict", "W", "W_strict"), "nuggets"),
    **dict.fromkeys(("LLMEval", "groundedness"), "nuggets"),
    **dict.fromkeys(("ROUGE_1", "ROUGE_2", "ROUGE_L"), "rouge"),
    **dict.fromkeys(("BERTScore_P", "BERTScore_R", "BERTScore_F1", "BEM"), "similarity"),
    **dict.fromkeys(("P_cited", "R_cited"), "citations"),
    **dict.fromkeys(("citation_recall", "citation_precision", "citation_jaccard"), "citations"),
    **dict.fromkeys(("unsupported_citations", "reference_match", "provenance"), "citations"),
    **dict.fromkeys(("support_precision", "support_recall"), "citations"),
    "TFC1": "axioms",
}
"""Measure -> module of this rack whose ``RECORDS`` hold it."""

ALIASES: dict[str, str] = {
    "MAP": "AP",
    "MRR": "RR",
    "RPrec": "Rprec",
    "Precision": "P",
    "Recall": "R",
    "NDCG": "nDCG",
    "α_nDCG": "alpha_nDCG",
    "α_DCG": "alpha_DCG",
    "alpha-nDCG": "alpha_nDCG",
    "alpha-DCG": "alpha_DCG",
    "coverage": "Cov",
    "Coverage": "Cov",
    "MAP_IA": "AP_IA",
    "MAP-IA": "AP_IA",
    "P-IA": "P_IA",
    "ERR-IA": "ERR_IA",
    "nERR-IA": "nERR_IA",
    "strec": "StRecall",
}

NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": ("num_q", "AP", "P@10", "nDCG@5", "alpha_nDCG@10", "Cov@10", "StRecall@10"),
    "novelty": (
        "alpha_nDCG@20",
        "Cov@20",
        "StRecall@20",
        "nERR_IA@20",
        "ERR_IA@20",
        "nNRBP",
        "NRBP",
        "AP_IA",
        "P_IA@20",
    ),
    "lancer": ("P@10", "nDCG@10", "alpha_nDCG@10", "Cov@10"),
    "ikat": ("nDCG@5", "P@20", "R@20", "R@1000", "AP"),
    "cone": ("Precision_NtN", "Recall_NtN", "Recall_NtR"),
    "longeval": (
        *("ROUGE_1", "ROUGE_2", "ROUGE_L", "P_cited"),
        *("citation_recall", "citation_precision", "citation_jaccard", "TFC1"),
        *("nugget_coverage", "avg_grade", "max_grade", "covered_count"),
    ),
    "autonuggetizer": ("V_strict", "V", "W_strict", "W", "A_strict", "A"),
    "all_trec": (
        *("num_q", "num_ret", "num_rel", "num_rel_ret", "map", "Rprec", "bpref", "recip_rank", "infAP"),
        *("iprec_at_recall", "P", "recall", "ndcg", "ndcg_cut", "map_cut", "success", "set_P", "set_recall", "set_F"),
    ),
}
"""Sets of measures that go by one name; those whose inputs are not given are left out."""

_TREC_CUTOFFS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
TREC_NAMES: dict[str, tuple[str, tuple[str, ...]]] = {
    "num_ret": ("NumRet", ()),
    "num_rel": ("NumRel", ()),
    "num_rel_ret": ("NumRelRet", ()),
    "map": ("AP", ()),
    "Rprec": ("Rprec", ()),
    "bpref": ("Bpref", ()),
    "recip_rank": ("RR", ()),
    "infAP": ("infAP", ()),
    "ndcg": ("nDCG", ()),
    "set_P": ("SetP", ()),
    "set_recall": ("SetR", ()),
    "set_F": ("SetF", ()),
    "set_map": ("SetAP", ()),
    "P": ("P", _TREC_CUTOFFS),
    "recall": ("R", _TREC_CUTOFFS),
    "ndcg_cut": ("nDCG", _TREC_CUTOFFS),
    "map_cut": ("AP", _TREC_CUTOFFS),
    "success": ("Success", ("1", "5", "10")),
    "iprec_at_recall": (
        "IPrec",
        ("0.00", "0.10", "0.20", "0.30", "0.40", "0.50", "0.60", "0.70", "0.80", "0.90", "1.00"),
    ),
}
"""trec_eval's measure -> (ours, the cutoffs that it has where none are given)."""
