"""How much of experiments and runs is kept: bounds of names, texts and points."""

KEY_LENGTH_MAX = 250
"""Of the name of a metric, parameter or tag, as MLflow's reference server has it (docs, `mlflow/store/entities`)."""

PARAM_LENGTH_MAX, TAG_LENGTH_MAX = 6000, 8000
"""Characters of a value, as there."""

NAME_LENGTH_MAX = 256
PARAMS_MAX, TAGS_MAX = 1000, 500
TEXTS_LENGTH_MAX = 500_000
"""Characters of all parameters, or of all tags, of one run."""

METRICS_MAX = 1000
"""Names of metrics of one run; points of further names are counted and not kept."""

POINTS_KEPT_MAX = 1000
"""Points of one metric: more than any chart can show, and 24 kB."""

EXPERIMENTS_MAX, RUNS_MAX = 1000, 50_000
"""Of one person."""

ARTIFACTS_MAX, ARTIFACT_PATH_LENGTH_MAX = 200, 1000
TEXT_BYTES_MAX, TEXTS_BYTES_MAX = 100 * 2**10, 2**20
"""Of one kept text file, and of all those of one run."""
