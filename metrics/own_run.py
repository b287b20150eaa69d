"""What the owner of a run reports about it in a `node-summary/1`, where the site's job record may never arrive.

The words are Slurm's, as `jobs` stores them; this package reads them and passes them on.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from wire.names import NODE, SLUG, WORD

Slug = Annotated[str, Meta(pattern=rf"\A{SLUG}\Z")]
NodeName = Annotated[str, Meta(pattern=rf"\A{NODE}\Z")]
Word = Annotated[str, Meta(pattern=rf"\A{WORD}\Z")]
JobId = Annotated[int, Meta(ge=1, le=2**53)]
Count = Annotated[int, Meta(ge=0, le=10**7)]
Seconds = Annotated[float, Meta(ge=0, le=10**9)]


class OwnRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run as its owner knows it, each member null or absent where unknown; `nodes` are all nodes of the run.

    Read only with a personal token that sends own runs. A run without a project is stored in the sender's personal
    project.
    """

    user_id: Slug | None = None
    project_id: Slug | None = None
    job_name: str | None = None
    partition: Word | None = None
    state: Word | None = None
    exit_code: Word | None = None
    node_count: Count | None = None
    nodes: Annotated[tuple[NodeName, ...], Meta(max_length=20_000)] | None = None
    gpus_allocated: Count | None = None
    ntasks: Count | None = None
    cpus_allocated: Count | None = None
    walltime_requested_s: Seconds | None = None
    array_job_id: JobId | None = None
    array_task_id: Count | None = None
