"""``puoc new-method``: the file of a new method, with what is left to write, and its entry of params.yaml."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from puoc.cli.console import exit_on_invalid_input, exit_on_storage_error, say
from puoc.cli.output import result

_FILE = '''"""{title}: say here in one sentence what is learned, and cite the source."""

from __future__ import annotations

from torch import Tensor, nn

from puoc.methods.training.deep import Deep, Noise
from puoc.methods.training.estimator import typed
from puoc.methods.training.lanes import Lane
from puoc.methods.training.nets import net_for
from puoc.registry import method

{setting}
@method("{name}")
@typed
class {title}(Deep):
    """Perceptron on vectors, small convolutional network on images; the score is a logit."""

    kind = "{kind}"
{twin}    inputs = frozenset({{"image", "vector"}})
{alpha}
    # Hyperparameters are typed fields without defaults, for example `margin: float`. Deep defines lr, lr_decay, epochs,
    # batch_size and batching.

    def build(self, shape: tuple[int, ...]) -> nn.Module:
        """Return a fresh network for rows of this shape, which gives raw logits (b,)."""
        return net_for(shape)

    def loss(self, net: Lane, x_p: Tensor, x_u: Tensor, alpha: Tensor, noise: Noise, epoch: int) -> Tensor:
        """Return the loss of a batch, a scalar: of x_p (b_p, *shape), x_u (b_u, *shape) and the class prior alpha.

        A higher logit must mean that a row is more likely positive. An OC method must not look at x_u.
        """
        raise NotImplementedError(
            "{name}.loss: got no loss yet; expected a scalar that is small where net gives high logits to positive "
            "rows and low ones to negative rows; write it in {path}"
        )
'''

_SETTING = """\
SETTING = "case_control"  # that the risk assumes; or "single_training_set" (docs/labelling.md)

"""

_ENTRY = """methods:
  {name}:
    encoder: flatten    # or a key of encoders; leave out to give it images
{prior}    source: ours
    params: {{lr: 1.0e-3, lr_decay: 0.99, epochs: 50, batch_size: 64, batching: union}}
"""

Name = Annotated[str, typer.Argument(help="Name for params.yaml: lower-case letters, digits and _.", metavar="NAME")]
Kind = Annotated[
    Literal["oc", "pu", "pu_oc"], typer.Option(help="oc: never sees U; pu: uses U; pu_oc: extends an OC method.")
]
Twin = Annotated[str | None, typer.Option(help="For --kind pu_oc: the OC method that it extends.")]


def new_method(name: Name, kind: Kind = "pu", twin: Twin = None) -> None:
    """Write the file of a new method, and print its entry of params.yaml. Only the loss is left to write.

    Run it in the folder of the repository. The file is src/puoc/methods/NAME.py; docs/adding-a-method.md has the whole
    contract. params.yaml is not changed.
    """
    with exit_on_invalid_input(), exit_on_storage_error("no file was written"):
        path = Path("src/puoc/methods") / f"{name}.py"
        _check(name, kind, twin, path)
        text = _FILE.format(
            title="".join(map(str.capitalize, name.split("_"))),
            name=name,
            kind=kind,
            twin=f'    twin = "{twin}"\n' if twin else "",
            alpha="" if kind == "oc" else "    needs_alpha = True  # False if the loss does not read alpha\n",
            setting="" if kind == "oc" else _SETTING,
            path=path,
        )
        with path.open("x") as file:
            file.write(text)
    result(path=path)
    say(f"{path} written; write its loss")
    say("add this entry to params.yaml, and the name to the methods of a table:")
    say("")
    say(_ENTRY.format(name=name, prior="" if kind == "oc" else "    prior: true         # or a key of priors\n"))
    say(f"then test it: python -m pytest -m '' tests/contracts -k {name}")
    say("docs/adding-a-method.md: the contract, and the places that name a method")


def _check(name: str, kind: str, twin: str | None, path: Path) -> None:
    """Raise ValueError for a name that cannot be a new method's, or a folder that is not the repository."""
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise ValueError(f"NAME: got {name!r}, a keyword of Python; expected another name, for example my_{name}")
    if re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) is None:
        raise ValueError(f"NAME: got {name!r}; expected lower-case letters, digits and single _, for example my_upu")
    if not path.parent.is_dir():
        raise ValueError(f"got no folder {path.parent} in {Path.cwd()}; expected the folder of the repository")
    from puoc.registry import ENCODERS, METHODS, PRIORS

    if any(name in known for known in (METHODS, ENCODERS, PRIORS)):
        raise ValueError(f"NAME: got {name!r}, which exists; expected a new name (puoc methods lists the known ones)")
    taken = path.with_suffix("") if path.with_suffix("").is_dir() else path
    if taken.exists():
        hidden = "a package, which would hide the new file" if taken.is_dir() else "a file of puoc already"
        raise ValueError(f"NAME: got {name!r}, and {taken} is {hidden}; expected another name, for example my_{name}")
    ones = sorted(key for key, cls in METHODS.items() if cls.kind == "oc")
    if kind == "pu_oc" and twin not in ones:
        raise ValueError(f"--twin: got {twin!r}; expected an OC method: {', '.join(ones)}")
    if kind != "pu_oc" and twin is not None:
        raise ValueError(f"--twin: got {twin!r} with --kind {kind}; only a method of kind pu_oc has a twin")
