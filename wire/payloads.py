"""The payload contract between a compute node and the portal: schema names and fixed limits.

Standard library only, and no import at all, so that it costs a sampling process on a node nothing. The definitions of
the fields are `metrics.payloads`, `metrics.raw_samples` and `jobs.records`, which decode what arrives.
"""

VERSION = "1.0.0"

NODE_SUMMARY = "node-summary/1"
JOB_RECORD = "job-record/1"
RAW_SAMPLES = "raw-samples/1"

HISTOGRAM_BINS = 101
"""One bin of seconds for each whole busy percent, 0 to 100."""

TIMELINE_POINTS_MAX = 240
"""A timeline never grows longer than this; its bucket width doubles instead."""

RAW_POINTS_MAX, RAW_GPUS_MAX = 3600, 64
"""Ticks and GPUs of one raw window: an hour of seconds."""

IDLE_UTIL_PERCENT_MAX = 1.0
"""A GPU counts as idle while its busy percent is at or below this."""
