"""Prints what a real MLflow, or a real TensorBoard, has of a run, as JSON."""
import json
import math
import sys


def from_mlflow(uri, experiment):
    from mlflow.tracking import MlflowClient

    client = MlflowClient(uri)
    found = client.search_runs([client.get_experiment_by_name(experiment).experiment_id])
    runs = []
    for run in found:
        history = {
            name: [[point.step, number(point.value)] for point in client.get_metric_history(run.info.run_id, name)]
            for name in run.data.metrics
        }
        files = {}
        waiting = [""]
        while waiting:
            for entry in client.list_artifacts(run.info.run_id, waiting.pop() or None):
                if entry.is_dir:
                    waiting.append(entry.path)
                else:
                    with open(client.download_artifacts(run.info.run_id, entry.path)) as file:
                        files[entry.path] = file.read()
        runs.append(
            {
                "id": run.info.run_id,
                "name": run.info.run_name,
                "status": run.info.status,
                "params": run.data.params,
                "tags": run.data.tags,
                "metrics": history,
                "files": files,
            }
        )
    return runs


def from_tensorboard(directory):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    log = EventAccumulator(directory, size_guidance={"scalars": 0, "tensors": 0})
    log.Reload()
    return {
        "scalars": {name: [[point.step, number(point.value)] for point in log.Scalars(name)] for name in log.Tags()["scalars"]},
        "texts": {
            name: [[point.step, point.tensor_proto.string_val[0].decode()] for point in log.Tensors(name)]
            for name in log.Tags()["tensors"]
            if log.SummaryMetadata(name).plugin_data.plugin_name == "text"
        },
    }


def number(value):
    return value if math.isfinite(value) else str(value)


kind, *arguments = sys.argv[1:]
print(json.dumps({"mlflow": from_mlflow, "tensorboard": from_tensorboard}[kind](*arguments)))
