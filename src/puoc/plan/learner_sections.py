"""Reader of the sections encoders, priors and methods of params.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from puoc.datasets import DATASETS
from puoc.methods.encoders import ENCODERS, PLAIN
from puoc.methods.priors import PRIORS
from puoc.plan.schema import EncoderSpec, MethodSpec, PriorSpec
from puoc.plan.section_reader import Sections
from puoc.records import Params
from puoc.registry import METHODS
from puoc.store.messages import listed, nearest
from puoc.store.yaml_file import KeyPath, YamlFile

if TYPE_CHECKING:
    from puoc.methods.training.estimator import Estimator


class Entries(Sections):
    """Reads and checks entries. ``encoders`` and ``priors`` must be read before ``methods``."""

    def __init__(self, file: YamlFile):
        super().__init__(file)
        self.encoders: dict[str, EncoderSpec] = {}
        self.priors: dict[str, PriorSpec] = {}

    def _encoders(self, raw: Mapping[str, object]) -> dict[str, EncoderSpec]:
        from puoc.methods.encoders import normalise

        specs = {}
        for name, value in raw.items():
            key: KeyPath = ("encoders", name)
            if name in PLAIN:
                self._fault(key, f"{name} is the name of an encoder without hyperparameters; expected another name")
            spec = self._section(value, EncoderSpec, key)
            named = spec and self._named(key, "encoder", spec.encoder or name, ENCODERS)
            if spec and named and "ae_data" in spec.model_fields_set and hasattr(ENCODERS[named], "learns_from"):
                expected = "no such key: it is fitted to P and U"
                self._fault((*key, "ae_data"), f"got {spec.ae_data} for {named}; expected {expected}")
                spec = spec.model_copy(update={"ae_data": EncoderSpec.model_fields["ae_data"].default})  # reported once
            if spec and named and (params := self._normal(key, normalise, named, spec.params)) is not None:
                specs[name] = spec.model_copy(update={"encoder": named, "params": params})
        return specs

    def _priors(self, raw: Mapping[str, object]) -> dict[str, PriorSpec]:
        from puoc import methods
        from puoc.methods import priors

        estimators = PRIORS | {name: cls for name, cls in METHODS.items() if _estimates_alpha(cls)}
        specs = {}
        for name, value in raw.items():
            key: KeyPath = ("priors", name)
            spec = self._section(value, PriorSpec, key)
            named = spec and self._named(key, "prior", spec.prior or name, estimators)
            if not spec or not named:
                continue
            self._check_encoder(key, spec.encoder)
            normalise = priors.normalise if named in PRIORS else methods.normalise
            if (params := self._normal(key, normalise, named, spec.params)) is not None:
                specs[name] = spec.model_copy(update={"prior": named, "params": params})
        return specs

    def _methods(self, raw: Mapping[str, object]) -> dict[str, MethodSpec]:
        from puoc.methods import normalise

        specs = {}
        for name, value in raw.items():
            key: KeyPath = ("methods", name)
            spec = self._section(value, MethodSpec, key)
            named = spec and self._named(key, "method", spec.method or name, METHODS)
            if not spec or not named:
                continue
            self._check_settings(key, spec, METHODS[named])
            if (params := self._normal(key, normalise, named, spec.params)) is not None:
                by_pos = self._by_pos((*key, "by_pos"), spec, named, params)
                specs[name] = spec.model_copy(update={"method": named, "params": params, "by_pos": by_pos})
        return specs

    def _by_pos(self, key: KeyPath, spec: MethodSpec, method: str, params: Params) -> dict[str, dict[int, Params]]:
        """Return all hyperparameters for the classes with different ones, by dataset and class."""
        from puoc.methods import normalise

        params_by_class: dict[str, dict[int, Params]] = {}
        for dataset, by_class in spec.by_pos.items():
            if not self._named((*key, dataset), "dataset", dataset, DATASETS):
                continue
            n_classes = len(DATASETS[dataset].classes)
            for number, values in by_class.items():
                where = (*key, dataset, str(number))
                if number >= n_classes:
                    self._fault(where, f"{dataset} has no class {number}; expected 0 to {n_classes - 1}")
                elif (merged := self._normal(where, normalise, method, params | values, part=None)) is not None:
                    params_by_class.setdefault(dataset, {})[number] = merged
        return params_by_class

    def _check_settings(self, key: KeyPath, spec: MethodSpec, cls: type[Estimator]) -> None:
        """Check the keys of an entry beside the hyperparameters. A key that the method would not use is a fault."""
        needs_prior = cls.kind != "oc" and getattr(cls, "needs_alpha", True)
        if spec.prior is not None and not needs_prior:
            verb = "is a one-class method and takes" if cls.kind == "oc" else "takes"
            self._fault((*key, "prior"), f"{cls.name} {verb} no prior; expected no such key")
        if spec.prior is None and needs_prior:
            expected = "true, {fixed: NUMBER} or a key of the section priors"
            self._fault((*key, "prior"), f"{cls.name} needs a class prior; expected {expected}")
        if isinstance(spec.prior, str) and spec.prior not in self.priors:
            known = f"a key of priors: {listed(self.priors) or 'there is none'}"
            self._fault(
                (*key, "prior"),
                f"got {spec.prior!r}{nearest(spec.prior, self.priors)}; expected true, {{fixed: NUMBER}} or {known}",
            )
        if spec.labels == "oracle" and (cls.kind == "oc" or needs_prior):
            self._fault((*key, "labels"), f"got oracle for {cls.name}; expected a PU method that takes no prior")
        if spec.numerics not in cls.precisions:
            self._fault((*key, "numerics"), f"got {spec.numerics} for {cls.name}; expected {listed(cls.precisions)}")
        self._check_encoder(key, spec.encoder)

    def _check_encoder(self, key: KeyPath, encoder: str | None) -> None:
        known = [*PLAIN, *self.encoders]
        if encoder is not None and encoder not in known:
            expected = f"{nearest(encoder, known)}; expected {listed(PLAIN)}, a key of the section encoders"
            self._fault(
                (*key, "encoder"),
                f"got {encoder!r}{expected} ({listed(self.encoders) or 'there is none'}), or no such key",
            )


def _estimates_alpha(cls: type[Estimator]) -> bool:
    """Check whether a method estimates the class prior, so that other methods can use its estimate."""
    from puoc.methods.training.deep import Deep

    hook = getattr(cls, "estimate_prior", Deep.estimate_prior)
    return bool(cls.estimates_alpha or hook is not Deep.estimate_prior)
