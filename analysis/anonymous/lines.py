"""The lines of a file with anonymised rows, `kaiku-institutional/1`: what is written, and what is taken from others.

The first line describes the file, each other one is a row. Words that another site may have for its programs, science
fields and GPUs are free within limits; everything else is one of the values that are documented.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from analysis.anonymous.bands import COLUMNS, Values
from analysis.anonymous.month import WithheldPeople
from wire.classes import in_words

SCHEMA: Final = "kaiku-institutional/1"
"""Columns may be added to this version; any other change gets a new number."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"

END = r"(?![\s\S])"
"""The end of a text in patterns; `$` would let a line break follow."""

Month = Annotated[str, Meta(pattern=rf"^20[0-9]{{2}}-(0[1-9]|1[0-2]){END}", description="a calendar month of the site")]
Label = Annotated[str, Meta(min_length=1, max_length=64, pattern=rf"^[^\x00-\x1f\x7f-\x9f]+{END}")]
Code = Annotated[str, Meta(pattern=rf"^[a-z0-9_]{{1,40}}{END}")]
Count = Annotated[int, Meta(ge=0, le=10**9)]


class Head(msgspec.Struct, kw_only=True):
    """The first line: whose rows of which month they are, what is guaranteed of them, and who is in none.

    Each combination of values is shared by at least `people_min` people of `projects_min` projects.
    """

    schema: Literal["kaiku-institutional/1"]
    site: Label
    month: Month
    rows: Count
    people_min: Count
    projects_min: Count
    withheld: list[WithheldPeople]


class Line(msgspec.Struct, kw_only=True):
    """One person had runs like this in the month. `any` is not stated, `unknown` not known or not measured.

    `other` are rare values, merged. Bands include their lower end and exclude the upper one, but for numbers of GPUs.
    """

    key: Annotated[str, Meta(pattern=rf"^[0-9a-f]{{16}}{END}", description="of this row alone; it links nothing")]
    program: Annotated[Code, Meta(description="family of the program, by the name of the job")]
    science_field: Annotated[Label, Meta(description="of the project")]
    gpu: Annotated[Label, Meta(description="what one GPU is")]
    partition_type: Annotated[
        Literal["whole_nodes", "shared", "other", "unknown", "any"], Meta(description="whether whole nodes are billed")
    ]
    gpus: Annotated[
        Literal["1", "2", "3-4", "5-8", "9-16", "17-64", "65-256", "257+", "2-8", "9-64", "65+", "unknown", "any"],
        Meta(description="allocated GPUs"),
    ]
    run_time_h: Annotated[
        Literal["0-1", "1-4", "4-12", "12-24", "24-48", "48+", "0-4", "4-24", "24+", "unknown", "any"],
        Meta(description="hours"),
    ]
    ending: Literal["completed", "not_completed", "failed", "timeout", "out_of_memory", "cancelled", "other", "any"]
    efficiency_class: Annotated[
        Literal["EFFICIENT", "ACCEPTABLE", "INEFFICIENT", "WASTED", "UNKNOWN", "any"],
        Meta(description=f"by mean GPU use: {in_words()}; UNKNOWN where it is not judged"),
    ]
    gpu_use_percent: Annotated[
        Literal["0-5", "5-15", "15-25", "25-40", "40-55", "55-70", "70-85", "85-100", "unknown", "any"],
        Meta(description="mean use of the GPUs"),
    ]
    gpu_memory_percent: Annotated[
        Literal["0-25", "25-50", "50-75", "75-100", "unknown", "any"],
        Meta(description="peak memory of the fullest GPU, of its capacity"),
    ]
    finding: Annotated[Code, Meta(description="the surest finding; none where there is none")]

    @property
    def values(self) -> Values:
        """The values in the order of the columns."""
        return tuple(getattr(self, column) for column in COLUMNS)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of each line of a file."""
    (head, line), parts = msgspec.json.schema_components((Head, Line), ref_template="#/$defs/{name}")
    return {"$schema": DIALECT, "$id": f"urn:kaiku:{SCHEMA.replace('/', ':')}", "oneOf": [head, line], "$defs": parts}
