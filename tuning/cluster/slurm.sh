#!/usr/bin/env bash
# One sweep on a Slurm allocation, whose nodes share the project's folder:
#   sbatch --gpus-per-node=4 tuning/cluster/slurm.sh --method nnpu --scenario one_vs_all --search tpe --budget 11h --gpus 8
# Words behind the script are those of puoc sweep. When the time is up, submit it again: it goes on from there.
#SBATCH --job-name=puoc-sweep
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=12:00:00
#SBATCH --signal=B:TERM@60
#SBATCH --requeue
#SBATCH --output=puoc-sweep-%j.log
set -euo pipefail

cd "${SLURM_SUBMIT_DIR:?not in a Slurm job}"
# shellcheck source=/dev/null
. .venv/bin/activate

export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK" # since Slurm 22.05 srun does not take it from the job
export OMP_NUM_THREADS=1 RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0 RAY_USAGE_STATS_REPORT_URL=http://127.0.0.1:9
RAY_AUTH_TOKEN=$(python -c 'import secrets; print(secrets.token_hex(32))')
export RAY_AUTH_TOKEN

head=$(hostname)
address="$head:$((20000 + SLURM_JOB_ID % 20000))"
cpus=$((SLURM_CPUS_PER_TASK * SLURM_NNODES))

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
  ray start --head --port="${address##*:}" --num-cpus="$SLURM_CPUS_PER_TASK" --block &
for _ in {1..60}; do # until the head answers
  if (: <"/dev/tcp/$head/${address##*:}") 2>/dev/null; then
    break
  fi
  sleep 1
done
if ((SLURM_NNODES > 1)); then
  srun --nodes=$((SLURM_NNODES - 1)) --ntasks=$((SLURM_NNODES - 1)) --exclude="$head" --overlap \
    ray start --address="$address" --num-cpus="$SLURM_CPUS_PER_TASK" --block &
fi
for _ in {1..24}; do # until all nodes are there and share ledger and versions
  if said=$(puoc doctor --address "$address" --workers "$cpus"); then
    break
  fi
  sleep 5
done
echo "$said"

# in the background: bash waits for a child and still hears Slurm's signal, which it hands on
puoc sweep "$@" --address "$address" &
sweep=$!
trap 'kill -TERM "$sweep"' TERM INT
code=0
wait "$sweep" || code=$?
if kill -0 "$sweep" 2>/dev/null; then # the signal ended the wait, not the sweep
  code=0
  wait "$sweep" || code=$?
fi
exit "$code"
