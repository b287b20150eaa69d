"""A training script that logs in every way: run with the Python of a client's environment, not by pytest.

It prints what it found, one JSON object at the end.
"""

import json
import math
import os
import tempfile
import time
from pathlib import Path

import mlflow
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException

client, found = MlflowClient(), {}
folder = Path(tempfile.mkdtemp())


def refused(call) -> str:
    """The code of the error that a call raises."""
    try:
        call()
    except MlflowException as error:
        return error.error_code
    return "accepted"


mlflow.autolog()
mlflow.set_experiment("vit")
mlflow.set_experiment_tag("purpose", "test")
with mlflow.start_run(run_name="outer", tags={"stage": "one"}, log_system_metrics=True) as outer:
    run_id = outer.info.run_id
    for _ in range(2):
        mlflow.log_param("lr", 0.1)
    mlflow.log_params({f"p{place}": place for place in range(150)})
    found["changed"] = refused(lambda: mlflow.log_param("lr", 0.2))
    mlflow.log_param("long", "x" * 7000)
    for step in range(10):
        mlflow.log_metric("loss", 1 / (1 + step), step=step)
    mlflow.log_metrics({"acc": 0.5, "nan": math.nan, "up": math.inf, "down": -math.inf}, step=3)
    mlflow.log_metric("seconds", 1.0, timestamp=int(time.time()))
    client.log_batch(
        run_id, metrics=[mlflow.entities.Metric("batch", n, int(time.time() * 1000), n) for n in range(1000)]
    )
    for step in range(50):
        mlflow.log_metric("later", step, step=step, synchronous=False)
    mlflow.flush_async_logging()
    mlflow.set_tags({"a": "1", "b": "2"})
    mlflow.delete_tag("a")
    mlflow.log_text("some text", "notes/note.txt")
    mlflow.log_text("", "empty.txt")
    mlflow.log_dict({"depth": 12}, "config.json")
    (folder / "sub").mkdir()
    (folder / "weights.bin").write_bytes(os.urandom(300_000))
    (folder / "sub" / "ä b.txt").write_text("text")
    mlflow.log_artifact(str(folder / "weights.bin"))
    mlflow.log_artifacts(str(folder), "all")
    with mlflow.start_run(nested=True, run_name="inner") as inner:
        mlflow.log_metric("loss", 0.25)
    deadline = time.monotonic() + 600
    while not any(name.startswith("system/") for name in client.get_run(run_id).data.metrics):
        assert time.monotonic() < deadline, "no system metrics"
        time.sleep(0.2)
    found["active"] = client.get_run(run_id).info.status

run = client.get_run(run_id)
found["status"], found["name"] = run.info.status, run.info.run_name
found["metrics"] = {name: str(value) for name, value in run.data.metrics.items() if not name.startswith("system/")}
found["params"], found["tags"] = run.data.params, run.data.tags
found["history"] = [(each.step, each.value) for each in client.get_metric_history(run_id, "loss")]
found["later"] = len(client.get_metric_history(run_id, "later"))
found["batch"] = len(client.get_metric_history(run_id, "batch"))
found["nan"] = [str(each.value) for each in client.get_metric_history(run_id, "nan")]
names = {"filter_string": "metrics.loss < 0.3 AND tags.mlflow.runName LIKE '%er'", "output_format": "list"}
searched = mlflow.search_runs(search_all_experiments=True, order_by=["metrics.loss DESC"], **names)
found["searched"] = [each.info.run_name for each in searched]
found["experiments"] = [each.name for each in mlflow.search_experiments(filter_string="tags.purpose = 'test'")]
found["parent"] = client.get_run(inner.info.run_id).data.tags["mlflow.parentRunId"] == run_id
found["files"] = sorted(each.path for each in client.list_artifacts(run_id))
found["text"] = mlflow.artifacts.load_text(f"{run.info.artifact_uri}/notes/note.txt")
found["dict"] = mlflow.artifacts.load_dict(f"{run.info.artifact_uri}/config.json")
kept = Path(client.download_artifacts(run_id, "", str(folder)))
found["downloaded"] = sorted(str(path.relative_to(kept)) for path in kept.glob("all/**/*.txt"))
found["unkept"] = refused(lambda: client.download_artifacts(run_id, "weights.bin"))
found["registry"] = refused(lambda: client.create_registered_model("model"))
found["default"] = client.create_run("0").info.status
deleted = client.create_run(run.info.experiment_id).info.run_id
client.delete_run(deleted)
found["deleted"] = refused(lambda: client.get_run(deleted))
found["restored"] = refused(lambda: client.restore_run(deleted))
client.rename_experiment(run.info.experiment_id, "vit 2")
found["renamed"] = client.get_experiment_by_name("vit 2").experiment_id == run.info.experiment_id
(folder / "netrc").write_text("machine 127.0.0.1 login alice password secret\nmachine localhost login a password b\n")
os.environ["NETRC"] = str(folder / "netrc")
found["netrc"] = refused(lambda: client.get_run(run_id))
print(json.dumps(found))
