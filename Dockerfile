# puoc with everything it needs, on a CPU. The project's folder is mounted or copied to /project:
#   docker build -t puoc . && docker run --rm -v "$PWD:/project" plan --check
FROM python:3.11-slim

RUN apt-get update \
 && apt-get install -y --no-install-recommends git make g++ \
 && rm -rf /var/lib/apt/lists/*

ENV MLFLOW_DISABLE_TELEMETRY=true DO_NOT_TRACK=true DVC_NO_ANALYTICS=1 RAY_USAGE_STATS_ENABLED=0 OMP_NUM_THREADS=1

RUN useradd --create-home puoc
WORKDIR /opt/puoc
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir -c constraints.txt .

USER puoc
WORKDIR /project
ENTRYPOINT ["puoc"]
CMD ["--help"]
