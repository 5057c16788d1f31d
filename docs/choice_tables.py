"""Tables of docs/howto/choosing-a-method.md, from the rows committed in docs/evidence, and of docs/citing.md."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from ruamel.yaml import YAML
from told_alpha import entry_name, told_alpha

EVIDENCE = Path(__file__).parent / "evidence"
FAMILIES = ["OC", "PU-OC", "PU"]
_KINDS = {"oc": "OC", "pu": "PU", "pu_oc": "PU-OC"}
_NEGATIVES = {"none": "as in U", "new": "new"}
Lines = list[list[str]]


def choice_of_family() -> Lines:
    """Mean AUC of each family by alpha and kind of negatives, with how often each family is the best one."""
    rows = pd.read_parquet(EVIDENCE / "robustness_map.parquet")
    rows = rows[(rows["n_u"] >= 500) & rows["shift"].isin(list(_NEGATIVES))]
    rows = rows.assign(best=rows[FAMILIES].idxmax(axis=1))
    lines = [["negatives to be scored", "alpha", "situations", *FAMILIES, *(f"{one} best" for one in FAMILIES)]]
    for shift, words in _NEGATIVES.items():
        for alpha, part in rows[rows["shift"] == shift].groupby("alpha"):
            aucs = part[FAMILIES].mean()
            shown = [f"**{auc:.2f}**" if auc == aucs.max() else f"{auc:.2f}" for auc in aucs]
            often = [f"{(part['best'] == family).mean():.0%}" for family in FAMILIES]
            lines.append([words, f"{alpha:g}", str(len(part)), *shown, *often])
    return lines


def choice_on_tables() -> Lines:
    """Mean AUC of each method on tables: labels at random, biased labels, and a fifth of negatives in P."""
    rows = pd.read_parquet(EVIDENCE / "labelling.parquet")
    rows = rows[(rows["labels"] == "pu") & (rows["status"] == "ok")]
    noise = rows["table"].str.endswith("_noise")
    parts = {
        "at random": rows[~noise & (rows["cell"] == "scar")],
        "biased": rows[~noise & (rows["cell"] != "scar")],
        "20 % negatives in P": rows[noise & (rows["cell"] == "p_noise=0.2")],
    }
    by_table = parts["at random"].groupby(["entry", "table"])["auc"].mean()
    means = pd.DataFrame({name: part.groupby("entry")["auc"].mean() for name, part in parts.items()})
    means["kind"] = rows.groupby("entry")["kind"].first().map(_KINDS)
    means["worst"] = by_table.groupby("entry").min()
    lines = [["family", "method", *parts, "worst table, at random"]]
    for family in FAMILIES:
        for entry, row in means[means["kind"] == family].sort_values("at random", ascending=False).iterrows():
            aucs = [f"{row[name]:.2f}" for name in (*parts, "worst")]
            lines.append([family, entry_name(str(entry), told_alpha("labelling")), *aucs])
    return lines


def citation() -> Lines:
    """What to cite, from CITATION.cff."""
    text = (Path(__file__).parents[1] / "CITATION.cff").read_text()
    cited = YAML(typ="safe").load(text)
    paper = cited["references"][0]
    authors = ", ".join(f"{one['given-names'][0]}. {one['family-names']}" for one in paper["authors"])
    software = (
        f"{cited['authors'][0]['name']}, *{cited['title']}*, version {cited['version']}, {cited['license']} licence"
    )
    return [["what", "how"], ["the software", software], ["the paper", f"{authors}, *{paper['title']}*"]]
