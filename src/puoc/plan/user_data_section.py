"""The section datasets of params.yaml: a user's own data, and what cannot be asked of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from puoc.datasets.user.dataset import Declared, own_data, register
from puoc.datasets.user.declare import ROLES, declare
from puoc.plan.schema import DatasetSpec, EncoderSpec, MethodSpec, PriorSpec
from puoc.plan.section_reader import Sections
from puoc.registry import DATASETS
from puoc.store.cells import Cell
from puoc.store.yaml_file import KeyPath

#: Folders of work/ and work/prepared that are no dataset's: what puoc writes or takes away there would meet the arrays.
_FOLDERS = ("tables", "tune", "features", "checkpoints")
_OTHERS = ("kind", "prepared_from", "allow_overlap")  # keys of an entry that say neither where rows are nor how to read


class OwnSection(Sections):
    """Reads own data before anything names them, and refuses what needs the classes of their unlabelled rows."""

    def _datasets(self, raw: Mapping[str, object], root: Path) -> None:
        """Make the entries the own datasets of this process; ``unread`` are those with a fault."""
        register((), root)
        found = [one for name, value in raw.items() if (one := self._dataset(name, value, root))]
        register(found, root)
        self.unread = set(raw) - {one.name for one in found}

    def _dataset(self, name: str, raw: object, root: Path) -> Declared | None:
        key: KeyPath = ("datasets", name)
        if name in DATASETS:
            self._fault(key, f"{name} is the name of a dataset that puoc has; expected another name")
            return None
        if name in _FOLDERS:
            self._fault(key, f"got {name}, the name of a folder that puoc keeps in work/; expected another name")
            return None
        spec = self._section(raw, DatasetSpec, key)
        if spec is None:
            return None
        how = spec.model_dump(mode="json", exclude_defaults=True, exclude={*ROLES, *_OTHERS}) | {"kind": spec.kind}
        paths = {role: path for role in ROLES if (path := getattr(spec, role)) is not None}
        if set(paths) - {"test"} not in ({"positives", "unlabelled"}, {"data"}):
            got = ", ".join(paths) or "no path"
            self._fault(key, f"got {got}; expected positives and unlabelled, or data with a label; and test or not")
            return None
        try:
            return declare(
                name,
                paths,
                how,
                from_positives=spec.prepared_from == "positives",
                allow_overlap=spec.allow_overlap,
                root=root,
            )
        except (ValueError, OSError) as error:
            self._fault(key, str(error))
            return None

    def _check_own(
        self,
        key: KeyPath,
        dataset: str,
        entries: Mapping[KeyPath, str],
        methods: Mapping[str, MethodSpec],
        encoders: Mapping[str, EncoderSpec],
        priors: Mapping[str, PriorSpec],
    ) -> None:
        """Refuse entries that would be told what nobody knows of own data.

        Parameters
        ----------
        entries : names of methods by the place that names each.
        """
        if own_data(dataset) is None:
            return
        for place, name in entries.items():
            for got, expected, where in _told(name, methods.get(name), encoders, priors):
                why = f"nobody knows the classes of the unlabelled rows of {dataset}"
                self._fault((*key, *place), f"got {name}, which has {got}; expected {expected} ({where}): {why}")

    def _check_own_table(self, key: KeyPath, dataset: str, cells: Iterable[Cell], published: str | None) -> None:
        """A table of own data needs something to show, and stands beside nothing of the paper's."""
        own = own_data(dataset)
        if own is None:
            return
        if published is not None:
            expected = "expected no such key: the paper has no table of own data"
            self._fault((*key, "published"), f"got {published}; {expected}")
        if not own.tested() and any(cell.holdout is None for cell in cells):
            self._fault(
                (*key, "holdout"),
                f"{dataset} has no labelled test rows, so there is no AUC; expected a share to withhold for the "
                f"label-free criterion, such as holdout: 0.2, or test rows with labels (datasets.{dataset}.test)",
            )


def _told(
    name: str, spec: MethodSpec | None, encoders: Mapping[str, EncoderSpec], priors: Mapping[str, PriorSpec]
) -> Iterable[tuple[str, str, str]]:
    """What an entry would be told of the classes of U: in words, what is expected instead, and where it stands."""
    if spec is None:
        return
    if getattr(spec.prior, "kind", None) == "true":
        yield "prior: true", "{fixed: NUMBER} or a key of the section priors", f"methods.{name}.prior"
    if spec.labels == "oracle":
        yield "labels: oracle", "labels: pu", f"methods.{name}.labels"
    prior = priors.get(spec.prior) if isinstance(spec.prior, str) else None
    for encoder in dict.fromkeys((spec.encoder, prior.encoder if prior else None)):
        if encoder is not None and encoder in encoders and encoders[encoder].ae_data == "all_positives":
            expected = "ae_data: labelled_positives"
            yield "an encoder with ae_data: all_positives", expected, f"encoders.{encoder}.ae_data"
