"""What starts sweeps elsewhere: every file parses, and each runs a command that puoc takes."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import ray
import typer
from planned import plan
from project import REPOSITORY, Project
from ruamel.yaml import YAML
from typer.testing import CliRunner

from puoc.cli.app import app

CLUSTER, SCHEDULE = REPOSITORY / "tuning" / "cluster", REPOSITORY / "tuning" / "schedule"
FILES = [*sorted(CLUSTER.iterdir()), *sorted(SCHEDULE.iterdir())]
SWEEPING = [path for path in FILES if path.name != "cronjob.yaml"]  # it creates what rayjob.yaml says
LINTERS = Path(sys.executable).parent

_POD = {
    "type": "object",
    "required": ["containers", "securityContext", "volumes"],
    "properties": {
        "containers": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["name", "image", "resources", "volumeMounts"],
                "properties": {
                    "image": {"type": "string", "pattern": r":[^:]+$", "not": {"pattern": ":latest$"}},
                    "resources": {"type": "object", "required": ["limits"]},
                },
            },
        },
        "securityContext": {"type": "object", "required": ["runAsNonRoot", "runAsUser"]},
    },
}
_TEMPLATE = {"type": "object", "required": ["spec"], "properties": {"spec": _POD}}
_GROUP = {
    "type": "object",
    "required": ["rayStartParams", "template"],
    "additionalProperties": False,
    "properties": {
        "groupName": {"type": "string"},
        "replicas": {"type": "integer"},
        "minReplicas": {"type": "integer"},
        "maxReplicas": {"type": "integer"},
        "rayStartParams": {"type": "object", "additionalProperties": {"type": "string"}},
        "template": _TEMPLATE,
    },
}
#: The part of KubeRay's reference for ray.io/v1 that is used here; what it does not know is refused.
RAY_JOB = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "additionalProperties": False,
    "properties": {
        "apiVersion": {"const": "ray.io/v1"},
        "kind": {"const": "RayJob"},
        "metadata": {"type": "object", "required": ["generateName"]},
        "spec": {
            "type": "object",
            "required": ["entrypoint", "rayClusterSpec"],
            "additionalProperties": False,
            "properties": {
                "entrypoint": {"type": "string"},
                "backoffLimit": {"type": "integer"},
                "shutdownAfterJobFinishes": {"const": True},
                "ttlSecondsAfterFinished": {"type": "integer"},
                "rayClusterSpec": {
                    "type": "object",
                    "required": ["rayVersion", "headGroupSpec", "authOptions"],
                    "additionalProperties": False,
                    "properties": {
                        "rayVersion": {"const": ray.__version__},
                        "authOptions": {"const": {"mode": "token"}},
                        "headGroupSpec": _GROUP,
                        "workerGroupSpecs": {"type": "array", "items": _GROUP},
                    },
                },
            },
        },
    },
}
CRON_JOB = {
    "type": "object",
    "required": ["schedule", "concurrencyPolicy", "jobTemplate"],
    "properties": {
        "schedule": {"type": "string", "pattern": r"^(\S+ ){4}\S+$"},
        "concurrencyPolicy": {"const": "Forbid"},
        "jobTemplate": {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {"template": _TEMPLATE}}},
        },
    },
}


def documents(path: Path) -> list[Any]:
    return list(YAML(typ="safe", pure=True).load_all(path.read_text()))


def lint(*words: str | Path) -> None:
    done = subprocess.run([LINTERS / words[0], *words[1:]], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_ray_job_has_the_fields_of_its_kind() -> None:
    (job,) = documents(CLUSTER / "rayjob.yaml")
    jsonschema.validate(job, RAY_JOB)


def test_the_launchers_file_has_the_schema_that_ray_ships() -> None:
    (cluster,) = documents(CLUSTER / "ray-cluster.yaml")
    schema = json.loads((Path(ray.__file__).parent / "autoscaler" / "ray-schema.json").read_text())
    jsonschema.validate(cluster, schema)


def test_the_cron_job_creates_the_ray_job_and_may_do_nothing_else() -> None:
    account, role, binding, cron = documents(SCHEDULE / "cronjob.yaml")
    assert [one["kind"] for one in (account, role, binding, cron)] == [
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "CronJob",
    ]
    assert role["rules"] == [{"apiGroups": ["ray.io"], "resources": ["rayjobs"], "verbs": ["create"]}]
    assert binding["subjects"][0]["name"] == account["metadata"]["name"]
    jsonschema.validate(cron["spec"], CRON_JOB)
    pod = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    mounted = pod["containers"][0]["volumeMounts"][0]["mountPath"]
    assert pod["containers"][0]["command"] == ["kubectl", "create", "-f", f"{mounted}/rayjob.yaml"]
    assert pod["serviceAccountName"] == account["metadata"]["name"]


def test_the_crontab_has_five_fields_and_a_command_a_line() -> None:
    lines = [line for line in (SCHEDULE / "crontab").read_text().splitlines() if line and not line.startswith("#")]
    jobs = [line for line in lines if not re.fullmatch(r"[A-Z]+=\S+", line)]
    assert len(jobs) == 2
    for job in jobs:
        *fields, command = job.split(maxsplit=5)
        assert all(re.fullmatch(r"[\d*,/-]+", field) for field in fields)
        assert command.startswith('cd "$PROJECT" && ')
        assert "%" not in command, "cron reads it as the end of the line"


def test_the_slurm_script_is_sound() -> None:
    lint("shellcheck", CLUSTER / "slurm.sh")


#: Stands where Slurm's own would: takes the options of a step away and does the step here.
SRUN = """#!/usr/bin/env bash
echo "${SRUN_CPUS_PER_TASK-none} $*" >>"$SLURM_SUBMIT_DIR/steps"
while [[ $1 == --* ]]; do shift; done
exec "$@"
"""


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_job_of_one_node_sweeps_on_the_cpus_that_slurm_gave_it(new_prepared: Callable[..., Project]) -> None:
    project = new_prepared()
    srun = project.root / "slurm" / "srun"
    srun.parent.mkdir()
    srun.write_text(SRUN)
    srun.chmod(0o755)
    job = {"SLURM_SUBMIT_DIR": str(project.root), "SLURM_JOB_ID": str(os.getpid()), "SLURM_NNODES": "1"}
    job |= {"SLURM_CPUS_PER_TASK": "2", "PATH": f"{srun.parent}:{os.environ['PATH']}"}
    said = project.root / "said"
    with said.open("w") as output:  # no pipe, which Ray's processes would keep open: it is Slurm that ends them
        done = subprocess.run(
            ["bash", CLUSTER / "slurm.sh", "--method", "pu_svm"],
            cwd=project.root,
            env=project.env | job,
            stdout=output,
            stderr=output,
            check=False,
            timeout=1000,
        )
    assert done.returncode == 0, said.read_text()
    assert "pu_svm: 3 configurations computed, 0 failed" in said.read_text()
    (step,) = (project.root / "steps").read_text().splitlines()
    assert step.startswith("2 --nodes=1 --ntasks=1 "), step
    assert "--num-cpus=2 --block" in step


def test_the_image_is_sound_and_installs_as_the_readme_says() -> None:
    lint("hadolint", REPOSITORY / "Dockerfile")
    text = (REPOSITORY / "Dockerfile").read_text()
    assert "&& make install" in text
    assert re.search(r"^make install\b", (REPOSITORY / "README.md").read_text(), re.MULTILINE)
    copied = re.findall(r"^COPY (?:--\S+ )?(.*) \S+$", text, re.MULTILINE)
    assert all((REPOSITORY / name).exists() for names in copied for name in names.split())
    users = re.findall(r"^USER (\S+)$", text, re.MULTILINE)
    assert users
    assert users[-1] not in ("0", "root")


def commands(path: Path) -> list[list[str]]:
    """Words after ``puoc sweep`` of every line that is one, those of comments among them."""
    text = path.read_text()
    found = re.findall(r"puoc sweep ([^|>&'`#\n]*)", text)
    found += [f"{words} --address auto" for words in re.findall(r"slurm\.sh (--[^`\n]*)", text)]
    given = [shlex.split(words.replace('"$@"', "--method nnpu").replace("$address", "auto")) for words in found]
    return [words for words in given if words[0].startswith("--")]


@pytest.mark.parametrize("path", SWEEPING, ids=lambda path: path.name)
def test_each_runs_a_sweep_that_puoc_takes(path: Path) -> None:
    found = commands(path)
    assert found
    command: Any = typer.main.get_command(app).commands["sweep"]  # type: ignore[attr-defined]
    for words in found:
        assert command.make_context("sweep", list(words)).params["method"] == "nnpu"


@pytest.fixture(scope="module")
def default(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plan of the default params.yaml. To be read, not changed."""
    root = tmp_path_factory.mktemp("default")
    shutil.copytree(REPOSITORY / "tuning" / "spaces", root / "tuning" / "spaces")
    plan((REPOSITORY / "params.yaml").read_text(), root)
    return root


@pytest.mark.slow
@pytest.mark.parametrize("path", [*SWEEPING, REPOSITORY / "docs" / "cluster.md"], ids=lambda path: path.name)
def test_each_sweep_is_one_of_the_default_params(path: Path, default: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(default)
    found = commands(path)
    assert found
    for words in found:
        elsewhere = [] if "--address" in words else ["--address", "auto"]  # else GPUs are asked of this machine
        done = CliRunner().invoke(app, ["sweep", *words, *elsewhere, "--dry-run"])
        assert done.exit_code == 0, done.output
        assert " missing" in done.output
