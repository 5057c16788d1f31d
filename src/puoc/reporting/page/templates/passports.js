"use strict";
(function () {
  // the runs of a number in the MLflow UI that "puoc ui" serves; the tracking writes the ids of the experiments
  const id = (window.PUOC_MLFLOW || {})[document.currentScript.dataset.experiment];
  if (!id) return;
  window.PUOC_READY.then(function () {
    for (const code of document.querySelectorAll("code.mlflow")) {
      const link = document.createElement("a");
      link.href = "http://127.0.0.1:5000/#/experiments/" + id + "/runs?searchFilter=" + encodeURIComponent(code.textContent);
      link.textContent = "MLflow runs (while puoc ui runs)";
      code.after(" ", link);
    }
  });
})();
