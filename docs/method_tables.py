"""Tables about single methods, of docs/reproduction.md and docs/adding-a-method.md, for generate.py.

A table is a list of lines of cells, the head first.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pandas as pd
from told_alpha import TOLD, entry_name, told_alpha

from puoc.methods import METHODS
from puoc.store.yaml_file import YamlFile

DOCS = Path(__file__).parent
EVIDENCE = DOCS / "evidence"
OVA = DOCS.parent / "src" / "puoc" / "analysis" / "paper" / "published" / "ova.csv"

#: What can be derived for a hybrid if U has no negatives; "tested" is tests/methods/test_collapse.py.
ALGEBRA = {
    "pu_svm": "if U has the rows of P, the minimum is a constant, at w = 0, for every alpha and lam; the solution of "
    "`oc_svm` is not constant (exact, tested)",
    "pu_cnn": "if U has the rows of P, no function has a lower risk than the constant log(alpha / (1 - alpha)), where "
    "the gradient is 0; the gradient of `oc_cnn` is not 0 there (exact, tested)",
    "pu_lstm": "if U has the rows of P and with `joint`, the minimum is a constant, at w = 0 (exact, tested)",
    "pu_drocc": "if U has the rows of P, the loss equals that of `drocc` to the last digit (tested); for another U, "
    "the equality holds only in distribution",
    "pu_csi": "the loss is that of `csi` plus lam times the mean of log(1 + w S_U / S_P), where S_U and S_P are the "
    "similarities of each copy to U and to P; this term is about constant if U is like P (exact, tested)",
}


def method_files() -> list[list[str]]:
    """Return the file, kind and twin of every method, and whether ``puoc fit`` has default hyperparameters for it."""
    root = DOCS.parent
    defaults = YamlFile(root / "src" / "puoc" / "userdata" / "defaults.yaml").data["methods"]
    lines = [["method", "kind", "twin", "file", "search space", "defaults of `puoc fit`"]]
    for name, method in sorted(METHODS.items()):
        file = Path(inspect.getfile(method)).name
        space = f"tuning/spaces/{name}.yaml"
        cells = [f"`{name}`", {"oc": "OC", "pu": "PU", "pu_oc": "PU-OC"}[method.kind]]
        cells += [f"`{method.twin}`" if getattr(method, "twin", None) else "", f"`src/puoc/methods/{file}`"]
        cells += [f"`{space}`" if (root / space).exists() else "none", "yes" if name in defaults else "none"]
        lines.append(cells)
    return lines


def collapse() -> list[list[str]]:
    """A hybrid beside its parent where U has no negatives; AUCs averaged over the classes of a seed."""
    rows = pd.read_parquet(EVIDENCE / "collapse.parquet")
    rows["alpha_given"] = rows["alpha_given"].map(lambda value: "" if pd.isna(value) else f"{value:g}")
    head = ["hybrid", "alpha given", "seeds", "AUC of its parent", "its AUC", "difference"]
    lines = [[*head, "its objective at the parent's solution", "at its own", "what can be derived"]]
    for (method, alpha), part in rows.groupby(["method", "alpha_given"], sort=False):
        by_seed = part.groupby("seed")[["auc_oc", "auc_pu"]].mean()
        aucs = [_spread(by_seed["auc_oc"]), _spread(by_seed["auc_pu"]), _spread(by_seed["auc_pu"] - by_seed["auc_oc"])]
        objectives = [f"{part[column].mean():.3g}" for column in ("objective_at_oc", "objective_pu")]
        said = "as above" if lines[-1][0] == f"`{method}`" else ALGEBRA[str(method)]
        lines.append([f"`{method}`", str(alpha), str(len(by_seed)), *aucs, *objectives, said])
    return lines


def cifar10_methods() -> list[list[str]]:
    """Every image method that was run at the published sizes, of two classes, beside the paper's number."""
    cpu, gpu = (pd.read_parquet(EVIDENCE / f"{name}.parquet") for name in ("cifar10_methods", "cifar10"))
    rows = pd.concat([cpu, gpu[gpu["entry"].isin(_OF_GPU)]], ignore_index=True)
    told = told_alpha("cifar10_methods") | {_OF_GPU.get(entry, entry) for entry in told_alpha("cifar10")}
    rows["entry"] = rows["entry"].replace(_OF_GPU)
    printed = pd.read_csv(OVA, dtype=str).set_index(["method", "column"])["printed"]
    lines = [["positive class", "method", "seeds", "held-out AUC", "training-pool AUC", "paper", "computed on"]]
    for pos, of_class in rows.groupby("pos", sort=True):
        label = str(pos).strip("[]")
        for entry, part in sorted(of_class.groupby("entry"), key=lambda one: _place(str(one[0]))):
            paper = printed.get((entry, f"pos={label}"), "") if entry == part["method"].iloc[0] else ""
            aucs = [_spread(part[column]) for column in ("auc", "auc_train_pool")]
            paper += " (other extractor)" if paper and str(entry).endswith("_cnn") else ""
            device = "CPU" if part["device"].iloc[0] == "cpu" else "GPU"
            lines.append([label, entry_name(str(entry), told), str(len(part)), *aucs, paper, device])
    return lines


#: Entries of the evidence of a GPU that stand in the table of all methods, and the names they have there.
_OF_GPU = {"drocc": "drocc", "pu_drocc": "pu_drocc", "drpu_softplus": "drpu", "nnpu": "nnpu_sigmoid", "upu": "upu"}
_OF_GPU |= {"nnpu_log": "nnpu_true_alpha", "naive": "naive", "pn_oracle": "pn_oracle"}
_ORDER = ("oc_svm", "pu_svm", "pu_svm_true_alpha", "oc_svm_imagenet", "pu_svm_imagenet", "csi", "pu_csi")
_ORDER += ("drocc", "pu_drocc", "oc_cnn", "pu_cnn", "pu_cnn_true_alpha", "hrn", "drpu", "pan", "pan_c", "vpu", "en")
_ORDER += ("dedpul", "nnpu_dedpul", "nnpu_true_alpha", "nnpu_sigmoid", "upu", "naive", "pn_oracle")


def _place(entry: str) -> int:
    return _ORDER.index(entry)


def enlarged() -> list[list[str]]:
    """What stands on frozen features, by the size of the images that the extractor sees."""
    rows = pd.read_parquet(EVIDENCE / "enlarged.parquet")
    rows["pos"] = rows["pos"].map(lambda classes: str(classes).strip("[]"))
    lines = [["positive class", "method", "images", "sigma", "epochs", "seeds", "held-out AUC", "training-pool AUC"]]
    for (pos, method, entry), part in rows.sort_values("pos", kind="stable").groupby(
        ["pos", "method", "entry"], sort=False
    ):
        side = (part["encoder"].iloc[0].split()[3:] or ["32"])[0]  # behind name, network and weights
        name = f"`{method}`" + (f" ({TOLD})" if entry in told_alpha("enlarged") else "")
        params = json.loads(part["params"].iloc[0])
        given = [f"{params[key]:g}" if key in params else "" for key in ("sigma", "epochs")]
        aucs = [_spread(part[column]) for column in ("auc", "auc_train_pool")]
        lines.append([str(pos), name, f"{side} x {side}", *given, str(len(part)), *aucs])
    return lines


def last_epoch() -> list[list[str]]:
    """The last epoch beside the one that a choice by test rows would print."""
    lines = [["positive class", "method", "seeds", "last epoch", "best test epoch (leaks)", "it is number", "paper"]]
    path = EVIDENCE / "last_epoch.parquet"
    if not path.exists():
        return [*lines, ["*not run*", *[""] * 6]]
    rows, printed = pd.read_parquet(path), pd.read_csv(OVA, dtype=str).set_index(["method", "column"])["printed"]
    for (pos, method), part in rows.groupby(["pos", "method"], sort=False):
        last = part.loc[part.groupby("seed")["epoch"].idxmax()].set_index("seed")["auc"]
        best = part.loc[part.groupby("seed")["auc"].idxmax()].set_index("seed")
        numbers = ", ".join(f"{epoch}" for epoch in best["epoch"])
        paper = printed.get((method, f"pos={pos}"), "")
        lines.append([str(pos), f"`{method}`", str(len(last)), _spread(last), _spread(best["auc"]), numbers, paper])
    return lines


def _spread(values: pd.Series) -> str:
    return f"{values.mean():.3f} ± {values.std():.3f}" if len(values) > 1 else f"{values.mean():.3f}"


def lstm_pendigits() -> list[list[str]]:
    """Both LSTMs on PenDigits by what was changed of the published setting, seed by seed."""
    rows = pd.read_parquet(EVIDENCE / "lstm_pendigits.parquet")
    keys = ["method", "values", "pooling", "training", "hidden", "lr", "weight", "prior"]
    rows["weight"] = rows["nu"].fillna(rows["lam"])
    rows["prior"] = rows["prior"].fillna("").replace("true", TOLD)
    lines = [["method", "numbers a step", "pooling", "training", "hidden", "lr", "nu or lam", "alpha", "AUC by seed"]]
    for key, part in rows.groupby(keys, sort=False):
        aucs = ", ".join(f"{auc:.3f}" for auc in part.sort_values("seed")["auc"])
        method, *others = (f"{value:g}" if isinstance(value, float) else str(value) for value in key)
        lines.append([f"`{method}`", *others, aucs])
    return lines
