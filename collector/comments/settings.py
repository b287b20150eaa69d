"""The settings of `kaiku-collector comments`: a file of its own, so that the nodes' token is never this one."""

from __future__ import annotations

from collector.comments.texts import CLUSTER
from collector.config import Config, ConfigError, load

DEFAULT_FILE = "/etc/kaiku/comments.conf"


class Settings(Config):
    """`portal_url`, `ca_file`, `proxy` and `request_max_s` as for a node; `cluster` must be given."""

    token_file = "/etc/kaiku/comments-token"  # noqa: S105  where it lies, not what it is
    state_dir = "/var/lib/kaiku-comments"
    sacct = "sacct"
    sacctmgr = "sacctmgr"
    command_max_s = 60.0  # for one sacct or sacctmgr, which take 0.3 to 0.5 s for 500 jobs
    run_max_s = 900.0  # no new page is begun after it
    page = 500.0  # comments in one call, at most 1,000


def load_settings(path: str, node: str) -> Settings:
    """The settings in a file, the defaults if it does not exist. Raises ConfigError."""
    settings = Settings()
    load(path, node, settings)
    if not CLUSTER.fullmatch(settings.cluster):
        raise ConfigError(f"{path}: cluster must be Slurm's ClusterName: small letters, digits, '-', '_' and '.'")
    if not 1 <= settings.page <= 1000:
        raise ConfigError(f"{path}: page must be from 1 to 1000")
    return settings
