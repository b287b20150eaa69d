"""What names of metrics and parameters mean: which counts steps, samples or tokens, which is logged by a timer; pure.

Names are written by people, so this reads words and no more: whatever is not clear counts as not known.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

WORD = re.compile(r"[a-z]+|\d+")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
NAME_READ_MAX = 250


class Unit(StrEnum):
    """What progress is counted in."""

    STEPS = "steps"
    EPOCHS = "epochs"
    SAMPLES = "samples"
    TOKENS = "tokens"
    IMAGES = "images"
    SEQUENCES = "sequences"
    FRAMES = "frames"


UNIT_OF = {
    **dict.fromkeys(("sample", "samples", "example", "examples", "smp", "records", "rows"), Unit.SAMPLES),
    **dict.fromkeys(("token", "tokens", "tok", "toks"), Unit.TOKENS),
    **dict.fromkeys(("image", "images", "img", "imgs"), Unit.IMAGES),
    **dict.fromkeys(("sequence", "sequences", "seq", "seqs"), Unit.SEQUENCES),
    **dict.fromkeys(("frame", "frames"), Unit.FRAMES),
}
SECOND = frozenset({"s", "sec", "secs", "second", "seconds"})
SEEN = frozenset({"seen", "processed", "consumed", "trained", "total", "num", "n", "cumulative"})
STEP_NAMES = frozenset({"step", "steps", "iteration", "iterations", "iter", "iters", "update", "updates"})
EPOCH_NAMES = frozenset({"epoch", "epochs"})
BEFORE_STEP = frozenset({"global", "train", "training", "trainer", "optimizer", "current", "total", "num", "n"})

BY_TIMER = frozenset(
    {
        *("system", "gpu", "gpus", "cpu", "cpus", "memory", "mem", "vram", "ram", "power", "energy", "temperature"),
        *("temp", "disk", "network", "host", "hardware", "utilization", "utilisation", "util", "heartbeat", "uptime"),
        *("elapsed", "runtime", "walltime", "timestamp", "clock", "rss"),
    }
)
"""Words of metrics that threads log by the clock, however training goes on (MLflow's own are `system/…`)."""

EVALUATION = frozenset({"val", "valid", "validation", "eval", "evaluation", "test", "dev", "holdout"})
TRAINING = frozenset({"train", "training", "loss", "lr", "grad", "gradient", "learning"})


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in lower case.

    >>> words_of("train/globalStep"), words_of("tokens_per_sec")
    (('train', 'global', 'step'), ('tokens', 'per', 'sec'))
    """
    return tuple(WORD.findall(CAMEL.sub("_", name[:NAME_READ_MAX]).lower()))


def is_by_timer(name: str) -> bool:
    """Whether a metric is about the machine or the clock: its points show no progress.

    >>> is_by_timer("system/gpu_0_utilization_percentage"), is_by_timer("tokens_per_sec_per_gpu"), is_by_timer("loss")
    (True, False, False)
    """
    return not BY_TIMER.isdisjoint(words_of(name)) and rate_unit(name) is None


def is_of_evaluation(name: str) -> bool:
    """Whether a metric is of an evaluation, which happens between steps or at the end."""
    return not EVALUATION.isdisjoint(words_of(name))


def is_of_training(name: str) -> bool:
    """Whether a metric is one that training logs as it goes."""
    return not TRAINING.isdisjoint(words_of(name)) and not is_of_evaluation(name)


def counted_unit(name: str) -> Unit | None:
    """What the values of a metric count, steps or epochs; None for any other metric.

    >>> counted_unit("trainer/global_step").value, counted_unit("step_time"), counted_unit("seconds_per_step")
    ('steps', None, None)
    """
    words = words_of(name)
    if not words or not set(words[:-1]) <= BEFORE_STEP:
        return None
    return Unit.STEPS if words[-1] in STEP_NAMES else Unit.EPOCHS if words[-1] in EPOCH_NAMES else None


def rate_unit(name: str) -> Unit | None:
    """What a metric states per second, of a whole run or of one GPU (`is_per_gpu`); None for any other metric.

    >>> rate_unit("train_samples_per_second").value, rate_unit("img/s").value, rate_unit("tokens_seen")
    ('samples', 'images', None)
    """
    words = words_of(name)
    for unit, *rest in zip(words, words[1:], (*words[2:], ""), strict=False):
        if unit in UNIT_OF and (rest[0] in SECOND or (rest[0] in ("per", "p") and rest[1] in SECOND)):
            return UNIT_OF[unit]
    return None


def is_per_gpu(name: str) -> bool:
    """Whether a rate is that of one GPU.

    >>> is_per_gpu("tokens_per_sec_per_gpu"), is_per_gpu("tokens_per_sec")
    (True, False)
    """
    words = words_of(name)
    return any(first == "per" and then in {"gpu", "device", "rank", "gcd"} for first, then in pairwise(words))


def seen_unit(name: str) -> Unit | None:
    """What the values of a metric count up, as tokens or samples seen so far; None for any other metric.

    >>> seen_unit("consumed_samples").value, seen_unit("num_input_tokens_seen").value, seen_unit("tokens_per_batch")
    ('samples', 'tokens', None)
    """
    words = words_of(name)
    if "per" in words or SEEN.isdisjoint(words) or is_of_evaluation(name):
        return None
    return next((UNIT_OF[word] for word in words if word in UNIT_OF), None)


@dataclass(frozen=True)
class Batch:
    """The batch size that a run states: samples a step, and whether that is known to be of all its GPUs."""

    size: int
    is_global: bool


GLOBAL_WORDS = frozenset({"global", "total", "effective"})
PER_DEVICE_WORDS = frozenset({"micro", "per"})
BATCH_WORDS = (("batch", "size"), ("batchsize",), ("bs",), ("bsz",))
ACCUMULATION = frozenset({"accumulation", "accumulate", "accum"})
BATCH_MAX = 10**9


def batch_of(params: Mapping[str, str], gpus: int | None) -> Batch | None:
    """The batch of a step, by the parameters: a global one as stated, one of each device times GPUs and accumulation.

    A plain `batch_size` is that of one process as often as that of all: it is known to be global on one GPU alone.

    >>> batch_of({"per_device_train_batch_size": "4", "gradient_accumulation_steps": "2"}, 8)
    Batch(size=64, is_global=True)
    >>> batch_of({"batch_size": "32"}, 8), batch_of({"lr": "0.1"}, 8)
    (Batch(size=32, is_global=False), None)
    """
    stated: dict[str, int] = {}
    accumulation = 1
    for name, text in sorted(params.items()):
        words, number = words_of(name), _whole(text)
        if number is None or is_of_evaluation(name):
            continue
        if not ACCUMULATION.isdisjoint(words):
            accumulation = number
        elif any(_has(words, batch) for batch in BATCH_WORDS):
            stated.setdefault(_kind(words), number)
    if "global" in stated:
        return Batch(stated["global"], is_global=True)
    if "device" in stated:
        whole = stated["device"] * accumulation
        return Batch(whole * gpus, is_global=True) if gpus else Batch(whole, is_global=False)
    if "plain" in stated:
        return Batch(stated["plain"] * accumulation, is_global=gpus == 1)
    return None


def _kind(words: tuple[str, ...]) -> str:
    if not GLOBAL_WORDS.isdisjoint(words):
        return "global"
    return "device" if not PER_DEVICE_WORDS.isdisjoint(words) else "plain"


def _has(words: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words)))


def _whole(text: str) -> int | None:
    """The positive whole number that a parameter states; None for anything else."""
    cleaned = text.strip()
    if not cleaned.isascii() or not cleaned.isdigit() or len(cleaned) > len(str(BATCH_MAX)):
        return None
    return int(cleaned) or None
