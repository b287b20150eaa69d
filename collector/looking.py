"""For people: one sample of this node, or the payload that a trace would give."""

from __future__ import annotations

import json
import sys
import time

from collector.calibration import Calibration
from collector.config import Config
from collector.loop import Sampler
from collector.sources.base import Source, SourceError
from collector.sources.choose import source
from collector.sources.replay import Replay
from collector.summary import node_summary


def once(config: Config) -> int:
    """One interval of every GPU of the node, in the form of the payload; 1 if no source works."""
    try:
        found = source(config, None, Calibration())
    except SourceError as error:
        print(error, file=sys.stderr)
        return 1
    sampler = _sampler(config, found)
    sampler.slow_tick(0.0)
    time.sleep(sampler.interval_s)
    sampler.tick(sampler.interval_s)
    sampler.finish(sampler.interval_s)
    return _print(sampler)


def replay(config: Config, trace: str) -> int:
    """A complete trace through the same loop, without waiting; 1 if it cannot be read."""
    try:
        found = Replay(trace)
    except SourceError as error:
        print(error, file=sys.stderr)
        return 1
    config.interval_s = found.interval_s
    sampler = _sampler(config, found)
    ticks = 0
    while found.has_more:
        ticks += 1
        sampler.tick(ticks * found.interval_s)
    sampler.finish(found.interval_s)
    return _print(sampler)


def _sampler(config: Config, found: Source) -> Sampler:
    job = {"job_id": 1, "sluid": "", "uid": -1}
    return Sampler(config, job, found, Calibration())


def _print(sampler: Sampler) -> int:
    job = {
        "cluster": sampler.config.cluster or "local",
        "job_id": 1,
        "attempt": 0,
        "node": "localhost",
        "started_at": time.time() - sampler.elapsed_s,
        "cpu_threads": None,
        "threads_per_core": 1,
        "gpus": [gpu.index for gpu in sampler.source.gpus],
    }
    json.dump(node_summary(job, sampler.state(), time.time(), []), sys.stdout, indent=1)
    print()
    return 0
