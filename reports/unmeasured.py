"""What could not be measured, in words; the collectors report it as `name: reason`."""

from collections.abc import Mapping

# The names that collectors use for what they could not measure: `collector.summary` and the payload's own fields.
QUANTITIES: Mapping[str, str] = {
    "avg_util": "GPU use",
    "clocks": "GPU clocks",
    "cpu": "CPU use",
    "energy": "GPU energy",
    "invalid": "GPU use",
    "iowait_fraction": "Waiting for files",
    "pcie_bandwidth": "PCIe bandwidth",
    "peak_mem_gb": "GPU memory",
    "power": "GPU power",
    "stale": "GPU use",
    "temperature": "GPU temperature",
    "unreadable": "GPU use",
}
REASONS: Mapping[str, str] = {"unsupported": "the hardware or its driver does not report it"}


def in_words(said: str) -> str:
    """One line of what was not measured; an unknown name or reason stays as it was sent.

    >>> in_words("pcie_bandwidth: unsupported"), in_words("power: not reported for this GPU")
    ('PCIe bandwidth: the hardware or its driver does not report it', 'GPU power: not reported for this GPU')
    >>> in_words("nid005001 sent nothing")
    'nid005001 sent nothing'
    """
    name, separator, reason = said.partition(": ")
    return QUANTITIES.get(name, name) + separator + REASONS.get(reason, reason)
