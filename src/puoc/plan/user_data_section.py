"""Reader of the section datasets of params.yaml, which declares user data, and checks of tables that use them."""

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

#: Names of folders that puoc uses in work/ and work/prepared; a dataset with such a name would collide with them.
_FOLDERS = ("tables", "tune", "features", "checkpoints")
_OTHER_KEYS = ("kind", "prepared_from", "allow_overlap")  # keys that are neither paths nor options for reading


class UserDataSection(Sections):
    """Reads user data before other sections use them, and rejects entries that need the classes of unlabelled rows."""

    def _datasets(self, raw: Mapping[str, object], root: Path) -> None:
        """Register the entries as datasets of this process; ``unread`` has the names of entries with a fault."""
        register((), root)
        datasets = [data for name, value in raw.items() if (data := self._dataset(name, value, root))]
        register(datasets, root)
        self.unread = set(raw) - {data.name for data in datasets}

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
        options = spec.model_dump(mode="json", exclude_defaults=True, exclude={*ROLES, *_OTHER_KEYS}) | {
            "kind": spec.kind
        }
        paths = {role: path for role in ROLES if (path := getattr(spec, role)) is not None}
        if set(paths) - {"test"} not in ({"positives", "unlabelled"}, {"data"}):
            got = ", ".join(paths) or "no path"
            self._fault(key, f"got {got}; expected positives and unlabelled, or data with a label; test is optional")
            return None
        try:
            return declare(
                name,
                paths,
                options,
                from_positives=spec.prepared_from == "positives",
                allow_overlap=spec.allow_overlap,
                root=root,
            )
        except (ValueError, OSError) as error:
            self._fault(key, str(error))
            return None

    def _check_user_data(
        self,
        key: KeyPath,
        dataset: str,
        entries: Mapping[KeyPath, str],
        methods: Mapping[str, MethodSpec],
        encoders: Mapping[str, EncoderSpec],
        priors: Mapping[str, PriorSpec],
    ) -> None:
        """Report entries that need the classes of U, which are unknown in user data.

        Parameters
        ----------
        entries : names of entries of methods, by the keys below ``key`` that contain them.
        """
        if own_data(dataset) is None:
            return
        for place, name in entries.items():
            for got, expected, where in _uses_of_classes(name, methods.get(name), encoders, priors):
                reason = f"nobody knows the classes of the unlabelled rows of {dataset}"
                self._fault((*key, *place), f"got {name}, which has {got}; expected {expected} ({where}): {reason}")

    def _check_user_data_table(self, key: KeyPath, dataset: str, cells: Iterable[Cell], published: str | None) -> None:
        """Check that a table of user data has test rows or a holdout, and no numbers of the paper."""
        user_data = own_data(dataset)
        if user_data is None:
            return
        if published is not None:
            expected = "expected no such key: the paper has no table of user data"
            self._fault((*key, "published"), f"got {published}; {expected}")
        if not user_data.tested() and any(cell.holdout is None for cell in cells):
            self._fault(
                (*key, "holdout"),
                f"{dataset} has no labelled test rows, so there is no AUC; expected a share to withhold for the "
                f"label-free criterion, such as holdout: 0.2, or test rows with labels (datasets.{dataset}.test)",
            )


def _uses_of_classes(
    name: str, spec: MethodSpec | None, encoders: Mapping[str, EncoderSpec], priors: Mapping[str, PriorSpec]
) -> Iterable[tuple[str, str, str]]:
    """Yield each setting of an entry that needs the classes of U, the expected setting, and its key."""
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
