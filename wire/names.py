"""Names that Slurm gives or takes: their forms as patterns without their ends, and what it writes for none."""

from __future__ import annotations

SLUG = r"[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63}"
"""A cluster, an account or a project."""

NODE = r"[A-Za-z0-9][A-Za-z0-9.-]{0,63}"
WORD = r"[A-Za-z0-9_:+.,-]{0,64}"
"""A state, a partition, a quality of service, an exit code; it may be empty."""

NOTHING = frozenset({"", "N/A", "(null)", "None", "Unknown"})
"""What scontrol and squeue write where there is no value."""
