"use strict";
(function () {
  // the runs of a number in the MLflow UI that "puoc ui" serves; the tracking writes the ids of the experiments
  const ids = window.PUOC_MLFLOW || {};
  for (const code of document.querySelectorAll("code.mlflow")) {
    const id = ids[code.dataset.experiment];
    if (!id) continue;
    const link = document.createElement("a");
    link.href = "http://127.0.0.1:5000/#/experiments/" + id + "/runs?searchFilter=" + encodeURIComponent(code.textContent);
    link.textContent = "MLflow runs (while puoc ui runs)";
    code.after(link);
  }
})();
