"""Arrays as bytes for the database: a timeline as float16, a histogram and raw samples as float32; NaN is a gap.

float16 keeps a busy percent within 0.04 points and 64 GB within 0.02 GB, at a tenth of the size of JSON.
"""

import math
import struct
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wire.payloads import HISTOGRAM_BINS

Packed = bytes | memoryview
"""A column as it is read: SQLite gives bytes, psycopg a view of them."""

GAP = np.full(1, np.nan, dtype="<f2").tobytes()
NO_HISTOGRAM = np.full(HISTOGRAM_BINS, np.nan, dtype="<f4").tobytes()


def pack_timeline(values: Sequence[float | None]) -> bytes:
    """Little-endian float16, two bytes a point. `struct` takes a third of numpy's time for a few numbers."""
    return struct.pack(f"<{len(values)}e", *_with_gaps(values))


def pack_histogram(seconds: Mapping[int, float] | None) -> bytes:
    """Little-endian float32, one for each whole percent; empty when there is no histogram."""
    if not seconds:
        return b""
    bins = [0.0] * HISTOGRAM_BINS
    for percent, at_percent_s in seconds.items():
        bins[percent] = at_percent_s
    return struct.pack(f"<{HISTOGRAM_BINS}f", *bins)


def pack_numbers(values: Sequence[float | None]) -> bytes:
    """Little-endian float64, eight bytes a number."""
    return struct.pack(f"<{len(values)}d", *_with_gaps(values))


def _with_gaps(values: Sequence[float | None]) -> Sequence[float | None]:
    return [math.nan if value is None else value for value in values] if None in values else values


def points_of(packed: Sequence[bytes]) -> NDArray[np.int64]:
    """How many points each of several timelines has, `(g,)`."""
    return np.fromiter(map(len, packed), np.int64, len(packed)) // len(GAP)


def unpack_timelines(packed: Sequence[bytes]) -> NDArray[np.float16]:
    """Several timelines as columns `(P, g)`, the shorter ones filled up with gaps; a view, to be copied only once.

    >>> unpack_timelines([pack_timeline([1.0, 2.0]), pack_timeline([3.0])]).tolist()
    [[1.0, 3.0], [2.0, nan]]
    """
    lengths = set(map(len, packed))
    longest = max(lengths, default=0)
    if len(lengths) > 1:
        packed = [bytes(column) + GAP * ((longest - len(column)) // len(GAP)) for column in packed]
    return np.frombuffer(b"".join(packed), dtype="<f2").reshape(len(packed), longest // len(GAP)).T


def unpack_histograms(packed: Sequence[bytes]) -> NDArray[np.float64]:
    """Histograms as rows `(G, 101)`; NaN throughout where there was none."""
    filled = b"".join([row or NO_HISTOGRAM for row in packed])
    return np.frombuffer(filled, dtype="<f4").reshape(len(packed), HISTOGRAM_BINS).astype(np.float64)


def pack_samples(columns: Sequence[Sequence[float | None]]) -> bytes:
    """Raw samples, one column a GPU: little-endian float32, one GPU after another, four bytes a sample."""
    return np.asarray(columns, dtype=np.float64).astype("<f4").tobytes()


def unpack_samples(packed: Packed, gpus: int) -> NDArray[np.float32]:
    """Raw samples as columns `(T, G)`.

    >>> unpack_samples(pack_samples([[93.0, None], [9.81, 9.5]]), 2).tolist()[0]
    [93.0, 9.8100004196167]
    """
    return np.frombuffer(packed, dtype="<f4").reshape(gpus, -1).T


def pack_ticks(at_s: Sequence[float]) -> bytes:
    """Little-endian float64: an hour to the nanosecond."""
    return np.asarray(at_s, dtype="<f8").tobytes()


def unpack_ticks(packed: Packed) -> NDArray[np.float64]:
    """The ticks `(T,)` in seconds."""
    return np.frombuffer(packed, dtype="<f8")
