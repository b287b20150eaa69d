"""Tables of what Slurm recorded and who may see it."""

from collections.abc import Iterator

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Coalesce, Concat

# Found by Django only from here.
from jobs.audit.models import AuditEntry as AuditEntry
from jobs.device_sign_in.models import DeviceSignIn as DeviceSignIn
from jobs.experiments.models import Artifact as Artifact
from jobs.experiments.models import Experiment as Experiment
from jobs.experiments.models import ExperimentRun as ExperimentRun
from jobs.experiments.models import MetricSeries as MetricSeries
from jobs.experiments.models import PointBatch as PointBatch
from jobs.experiments.models import RunJob as RunJob
from jobs.notes.models import JobNote as JobNote
from jobs.notes.models import NoteTag as NoteTag
from jobs.queue.models import QueuedJob as QueuedJob
from jobs.queue.models import QueueReading as QueueReading
from jobs.running.models import Process as Process
from jobs.running.models import Tally as Tally
from jobs.running.models import WorkFailure as WorkFailure
from jobs.saved_filters.models import SavedFilter as SavedFilter
from jobs.shown_text.models import ShownText as ShownText
from jobs.sign_in.models import AttemptCount as AttemptCount
from jobs.sign_in.models import ProviderSession as ProviderSession
from jobs.sign_in.models import SpentLogoutToken as SpentLogoutToken
from jobs.sign_in.models import UnknownIdentity as UnknownIdentity
from jobs.tokens.models import Token as Token

QUEUE = Concat("cluster", models.Value("/"), "partition")
"""Where a job waited. One value: with an index of the columns, lists narrowed to a partition read all of its jobs."""

WAIT_END = Coalesce("started_at", "ended_at")
"""When a job stopped waiting: it started, or was cancelled before."""


class User(AbstractUser):
    """A person; `username` is the LUMI account name, the `user_id` of a job record.

    `oidc_subject` is the identity that may sign in as this account, compared unchanged (in lower case where
    OIDC_SUBJECT_CASE is `lower`), and `linked_by` the source that linked it. A session is valid while `session_epoch`
    stays the same: raising it signs this person out everywhere. `theme` and `time_zone` are empty while each device
    uses its own. `shows_hints`: lines about own works may be shown when a job is submitted. Runs that end from
    `slurm_comments_since` on get a comment in Slurm, none while it is null.
    """

    class Theme(models.TextChoices):
        LIGHT = "light", "Light"
        DARK = "dark", "Dark"

    oidc_subject = models.CharField(max_length=255, unique=True, null=True, blank=True)
    linked_by = models.CharField(max_length=16, blank=True)
    session_epoch = models.PositiveIntegerField(default=0)
    theme = models.CharField(max_length=8, choices=Theme.choices, blank=True)
    time_zone = models.CharField(max_length=64, blank=True)
    shows_hints = models.BooleanField(default=True, db_default=True)
    slurm_comments_since = models.DateTimeField(null=True)

    def get_session_auth_hash(self) -> str:
        return f"{super().get_session_auth_hash()}.{self.session_epoch}"

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        for older in super().get_session_auth_fallback_hash():
            yield f"{older}.{self.session_epoch}"


class Project(models.Model):
    """A LUMI project; `name` is Slurm's account, for example `project_465000001`.

    Once a directory has listed a project, only directories define its members, no longer its jobs. `science_field` is
    as the directory that was imported last states it, empty where none does.
    """

    name = models.CharField(max_length=64, unique=True)
    is_listed = models.BooleanField(default=False)
    science_field = ShownText(max_length=64, blank=True, default="", db_default="")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """Who belongs to a project, and as what; only the PI sees other people's jobs."""

    class Role(models.TextChoices):
        PI = "pi", "PI"
        MANAGER = "manager", "Manager"
        MEMBER = "member", "Member"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.MEMBER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "project"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.user} in {self.project} ({self.role})"


class ListedMembership(models.Model):
    """One membership as one directory lists it; the highest role of all directories is the `Membership`."""

    source = models.CharField(max_length=16)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    role = models.CharField(max_length=16, choices=Membership.Role.choices)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "user", "project"], name="listed_membership_once")]

    def __str__(self) -> str:
        return f"{self.user} in {self.project} ({self.role}, source: {self.source})"


class Grant(models.Model):
    """A role in the portal itself, and its source: a directory, or the groups of the last sign-in."""

    class Role(models.TextChoices):
        SUPPORT = "support", "Support staff"
        POLICY = "policy", "Policy reader"
        ADMINISTRATOR = "administrator", "Administrator"

    source = models.CharField(max_length=16)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="grants")
    role = models.CharField(max_length=16, choices=Role.choices)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "user", "role"], name="grant_once")]

    def __str__(self) -> str:
        return f"{self.user} is {self.get_role_display()} (source: {self.source})"


class ProjectAllocation(models.Model):
    """GPU-hours of a project as one directory states them; `used_gpu_hours` null where it does not count the use.

    LUMI shows these figures to every member of the project, and so does the portal.
    """

    source = models.CharField(max_length=16)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="allocations")
    gpu_hours = models.FloatField()
    used_gpu_hours = models.FloatField(null=True)
    begins_on = models.DateField(null=True)
    ends_on = models.DateField(null=True)
    read_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "project"], name="allocation_once")]

    def __str__(self) -> str:
        return f"{self.gpu_hours:g} GPU-hours for {self.project} (source: {self.source})"


class Job(models.Model):
    """One attempt of one Slurm job; columns as in `jobs.records.JobRecord`, null where Slurm did not report it.

    `revision` grows with every change, so that a reader knows whether it has seen the newest; also with a change of an
    earlier run of the same work that this run is compared with. `work_key` names the work that the run belongs to
    (`jobs.work_key`), empty where there is none. `is_told_by_owner` is true until Slurm's record arrives: until then
    only the owner has reported the run and its allocation, so it counts only for them.
    """

    cluster = models.CharField(max_length=64)
    job_id = models.BigIntegerField()
    attempt = models.PositiveIntegerField(default=0)
    array_job_id = models.BigIntegerField(null=True)
    array_task_id = models.BigIntegerField(null=True)
    # Each has an index below that begins with it.
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="jobs")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="jobs")
    job_name = ShownText(max_length=256, blank=True)
    partition = models.CharField(max_length=64, blank=True)
    qos = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=64)
    exit_code = models.CharField(max_length=64, blank=True)
    nodes = models.JSONField(default=list)
    node_count = models.PositiveIntegerField(null=True)
    nodes_requested = models.PositiveIntegerField(null=True)
    is_exclusive = models.BooleanField(null=True)
    gpus_requested = models.PositiveIntegerField(null=True)
    gpus_per_node = models.PositiveIntegerField(null=True)
    gpus_allocated = models.PositiveIntegerField(null=True)
    ntasks = models.PositiveIntegerField(null=True)
    ntasks_per_node = models.PositiveIntegerField(null=True)
    cpus_allocated = models.PositiveIntegerField(null=True)
    cpus_per_task = models.PositiveIntegerField(null=True)
    memory_requested_gb = models.FloatField(null=True)
    walltime_requested_s = models.FloatField(null=True)
    walltime_used_s = models.FloatField(null=True)
    submitted_at = models.DateTimeField(null=True)
    eligible_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    request = models.JSONField(default=dict)
    script_key = models.CharField(max_length=128, blank=True)
    work_key = models.CharField(max_length=32, blank=True, default="", db_default="")
    is_told_by_owner = models.BooleanField(default=False, db_default=False)
    revision = models.PositiveIntegerField(default=1)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "job_id", "attempt"], name="job_run_once")]
        indexes = [
            # With what lists are narrowed to, so that counting reads no rows.
            *(
                models.Index(
                    fields=[whose, "ended_at", "id"],
                    include=["partition", "state", "job_name"],
                    name=f"job_of_{whose}",
                )
                for whose in ("user", "project")
            ),
            models.Index(fields=["changed_at"], name="job_by_change"),
            models.Index(fields=["job_id"], name="job_by_number"),
            models.Index(fields=["user", "project"], name="job_by_user_and_project"),
            # Who waited in a partition at some time.
            models.Index(QUEUE, WAIT_END, "eligible_at", name="waits_by_queue"),
            # A key is of one cluster, user and project already.
            models.Index(fields=["work_key", "ended_at", "id"], name="job_by_work"),
            models.Index(fields=["user", "walltime_used_s", "id"], name="user_by_run_time"),
            models.Index(fields=["project", "walltime_used_s", "id"], name="project_by_run_time"),
            models.Index(fields=["user", "gpus_allocated", "id"], name="user_by_gpus"),
            models.Index(fields=["project", "gpus_allocated", "id"], name="project_by_gpus"),
            # Sums by work read these alone: one owner's outside of the projects they lead, and a whole project's.
            *(
                models.Index(
                    fields=[whose, "work_key"],
                    include=[other, "ended_at", "id"],
                    name=f"works_of_{whose}",
                )
                for whose, other in (("user", "project"), ("project", "user"))
            ),
            models.Index(
                fields=["array_job_id", "cluster", "user", "project", "ended_at", "id"],
                name="job_by_array",
                condition=models.Q(array_job_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.job_id}" + (f" attempt {self.attempt}" if self.attempt else "")


class JobShare(models.Model):
    """An owner's permission for support staff to view one run; the rows are the log of it and stay when it ends."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="shares")
    note = ShownText(max_length=500, blank=True)
    shared_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["expires_at"], name="share_by_end")]

    def __str__(self) -> str:
        return f"{self.job} until {self.expires_at:%Y-%m-%d}"


class JobOpening(models.Model):
    """A view of a run by somebody other than its owner, shown to the owner."""

    class Role(models.TextChoices):
        PI = "pi", "PI of the project"
        SUPPORT = "support", "Support staff"

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="openings")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    role = models.CharField(max_length=16, choices=Role.choices)
    times = models.PositiveIntegerField(default=1)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "user", "role"], name="opening_once")]

    def __str__(self) -> str:
        return f"{self.user} opened {self.job}"


class DirectoryImport(models.Model):
    """The result of one import from a directory; the counts are null where nothing was stored, `error` states why."""

    asked = models.CharField(max_length=255)
    source = models.CharField(max_length=16, blank=True)
    began_at = models.DateTimeField()
    error = models.CharField(max_length=500, blank=True)
    projects = models.PositiveIntegerField(null=True)
    memberships = models.PositiveIntegerField(null=True)
    began = models.PositiveIntegerField(null=True)
    ended = models.PositiveIntegerField(null=True)
    relinked = models.PositiveIntegerField(null=True)
    roles_began = models.PositiveIntegerField(null=True)
    roles_ended = models.PositiveIntegerField(null=True)
    skipped = models.PositiveIntegerField(null=True)
    ended_names = models.JSONField(default=list)
    skipped_rows = models.JSONField(default=list)

    class Meta:
        indexes = [models.Index(fields=["-began_at"], name="import_by_time")]

    def __str__(self) -> str:
        return f"{self.asked} at {self.began_at:%Y-%m-%d %H:%M}"
