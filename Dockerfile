# puoc with everything it needs, installed by the step that README.md names. The project's folder is mounted to /project:
#   docker build -t puoc .                           for CPUs
#   docker build -t puoc --build-arg DEVICE=cuda .   for NVIDIA GPUs; the host brings the driver
#   docker run --rm -v "$PWD:/project" puoc plan --check
FROM python:3.11.11-slim-bookworm

# cpu: torch without the CUDA libraries, several GB less; cuda: torch as it comes
ARG DEVICE=cpu

SHELL ["/bin/bash", "-o", "pipefail", "-c"]

# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends git make g++ wget \
 && rm -rf /var/lib/apt/lists/*

ENV DO_NOT_TRACK=true \
    DVC_NO_ANALYTICS=1 \
    MLFLOW_DISABLE_TELEMETRY=true \
    OMP_NUM_THREADS=1 \
    PATH=/opt/puoc/.venv/bin:$PATH \
    PIP_NO_CACHE_DIR=1 \
    RAY_AUTH_MODE=token \
    RAY_USAGE_STATS_ENABLED=0 \
    RAY_USAGE_STATS_REPORT_URL=http://127.0.0.1:9

RUN useradd --create-home --uid 1000 puoc \
 && mkdir -p /opt/puoc /project \
 && chown puoc:puoc /opt/puoc /project
USER 1000

WORKDIR /opt/puoc
COPY --chown=puoc:puoc .dvc/config .dvc/config
COPY --chown=puoc:puoc Makefile pyproject.toml constraints.txt README.md LICENSE ./
COPY --chown=puoc:puoc src src
RUN case "$DEVICE" in \
      cpu) export PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu ;; \
      cuda) ;; \
      *) echo "DEVICE: got $DEVICE; expected cpu or cuda" >&2; exit 2 ;; \
    esac \
 && make install EXTRAS=dev,cluster

WORKDIR /project
ENTRYPOINT ["puoc"]
CMD ["--help"]
