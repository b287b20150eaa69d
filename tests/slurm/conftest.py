"""What of this folder is no test."""

from __future__ import annotations

collect_ignore = ["training"]
"""Scripts of a person, run by the Python of MLflow's client."""
