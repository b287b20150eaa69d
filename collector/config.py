"""The collector's settings: `name = value` lines, every one with a default that fits a LUMI-G node."""

from __future__ import annotations

DEFAULT_FILE = "/etc/kaiku/collector.conf"


class ConfigError(Exception):
    """A settings file with an invalid line; the message names file, line and reason."""


class Config:
    """The settings. `{node}` in a value stands for the node's name."""

    portal_url = ""
    token_file = "/etc/kaiku/token"  # noqa: S105  where it lies, not what it is
    ca_file = ""
    proxy = ""  # http://host:port of a proxy that passes TLS through; empty: none
    state_dir = "/var/lib/kaiku"
    failures_file = "/run/kaiku/failures"  # in memory: a full or read-only disk does not affect it
    user = "kaiku"  # user of the sampling process, otherwise nobody; root: no change
    spool_max_mb = 64.0
    cluster = ""  # empty: as Slurm names it
    source = "auto"  # or one of collector.sources.choose.NAMES
    interval_s = 1.0
    slow_interval_s = 10.0
    checkpoint_s = 30.0
    raw_s = 0.0  # seconds at the end of every job that are sent sample by sample; zero: none
    raw_asked_s = 600.0  # the same for a job that was submitted with `--comment=kaiku:raw`; zero: none
    job_max_s = 270000.0  # 75 h: LUMI-G's longest walltime is 72 h (LUMI user guide, "Slurm partitions")
    hook_max_s = 4.0
    ship_max_s = 240.0
    request_max_s = 20.0
    nodes_per_s = 50.0  # rate at which the nodes of one job send their first payload
    spread_max_s = 60.0  # and the longest wait; zero: at once
    interim_first_s = 600.0  # how long a job runs before its first interim summary; zero: none at all
    interim_every_s = 3600.0  # and between further ones; zero: no further one
    scontrol = "scontrol"  # if this or squeue is empty, job records come from accounting only
    squeue = "squeue"
    sysfs_root = "/sys"
    proc_root = "/proc"
    cgroup_root = "/sys/fs/cgroup"
    pm_counters_root = "/sys/cray/pm_counters"

    @property
    def jobs_dir(self) -> str:
        return f"{self.state_dir}/jobs"

    @property
    def spool_dir(self) -> str:
        return f"{self.state_dir}/spool"

    @property
    def closed_dir(self) -> str:
        return f"{self.state_dir}/closed"

    @property
    def records_dir(self) -> str:
        return f"{self.state_dir}/records"

    @property
    def calibration_file(self) -> str:
        return f"{self.state_dir}/calibration"


def load(path: str, node: str, config: Config | None = None) -> Config:
    """The settings in a file, the defaults if it does not exist; raises ConfigError.

    `config` holds the defaults and is filled in; those of a node if it is not given.
    """
    config = Config() if config is None else config
    try:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                _take(config, line.partition("#")[0].strip(), f"{path}, line {number}", node)
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    for name in ("state_dir", "failures_file"):
        if not getattr(config, name).startswith("/"):
            raise ConfigError(f"{path}: {name} must be an absolute path")
    if not 0.05 <= config.interval_s <= 60:
        raise ConfigError(f"{path}: interval_s must be between 0.05 and 60")
    return config


def _take(config: Config, line: str, where: str, node: str) -> None:
    if not line:
        return
    name, separator, value = (part.strip() for part in line.partition("="))
    default = getattr(type(config), name, None) if name.isidentifier() and not name.startswith("_") else None
    if not separator or not isinstance(default, (str, float)):
        raise ConfigError(f"{where}: unknown setting {name[:40]!r}")
    if isinstance(default, float):
        setattr(config, name, _number(value, f"{where}: {name}"))
    elif value.isprintable():
        setattr(config, name, value.replace("{node}", node))
    else:
        raise ConfigError(f"{where}: {name} contains a control character")


def _number(value: str, where: str) -> float:
    try:
        number = float(value)
    except ValueError as error:
        raise ConfigError(f"{where} must be a number") from error
    if not 0 <= number < float("inf"):
        raise ConfigError(f"{where} must be a finite number, zero or more")
    return number
