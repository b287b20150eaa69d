"""Tables of judgements: efficiency, findings, recommendations."""

from typing import Any

from django.db import models
from django.db.models import Case, F, Value, When

from analysis.cases.models import CaseEvent as CaseEvent
from analysis.cases.models import ShareRequest as ShareRequest
from analysis.cases.models import SupportCase as SupportCase
from analysis.comments.models import SlurmComment as SlurmComment
from analysis.early.models import EarlyWord as EarlyWord
from analysis.early.models import RunningRun as RunningRun
from analysis.efficiency import EfficiencyClass
from analysis.elsewhere.models import ElsewhereMonth as ElsewhereMonth
from analysis.escalation.models import Flag as Flag
from analysis.exports.models import ExportBatch as ExportBatch
from analysis.exports.models import ExportDue as ExportDue
from analysis.marks.models import SweepMark as SweepMark
from analysis.months.models import ClosedMonth as ClosedMonth
from analysis.outcomes.models import AdviceDay as AdviceDay
from analysis.outcomes.models import AdviceDue as AdviceDue
from analysis.outcomes.models import AdviceOutcome as AdviceOutcome
from analysis.policy.models import PolicyRow as PolicyRow
from analysis.predictions.models import MethodRecord as MethodRecord
from analysis.predictions.models import Prediction as Prediction
from analysis.queue_waits.models import WaitRange as WaitRange
from analysis.rollups.models import PersonDay as PersonDay
from analysis.rollups.models import ProjectDay as ProjectDay
from analysis.rollups.models import RollUpDue as RollUpDue
from analysis.rollups.models import WorkDay as WorkDay
from analysis.waiting.models import IdleHold as IdleHold
from analysis.works.models import WorkPipeline as WorkPipeline
from jobs.models import Job, Project, ShownText, User

SUMMED = (
    *("efficiency_class", "uncounted_reason", "avg_gpu_util", "gpu_hours", "wasted_gpu_hours", "saved_gpu_hours"),
    *("started_at", "finding_codes", "is_told_by_owner", "work_key", "ended_early"),
)
"""The columns that sums over many runs read, beside their owners and end times."""


class FirstCode(models.Func):
    """The first of the codes in a column like `finding_codes`, empty where there is none.

    Indexes hold it: lists are sorted by what a report names first.
    """

    output_field = models.CharField()
    template = "split_part(%(expressions)s, ' ', 2)"

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, Any]:
        first = "substr(%(expressions)s, 2, instr(substr(%(expressions)s, 2), ' ') - 1)"
        return self.as_sql(compiler, connection, template=first, **more)


COUNTED_CLASS = Case(
    When(ended_early=True, then=Value(EfficiencyClass.UNKNOWN.value)),
    default=F("efficiency_class"),
    output_field=models.CharField(),
)
"""The class under which sums count a judgement: none is known of a run that ended too early for one."""


class JobEfficiency(models.Model):
    """The verdict on one run; columns as in `analysis.efficiency.Efficiency` and `analysis.savings.Savings`.

    `job_revision` and `metrics_revision` identify the data it was judged on, `revision` counts the judgements. `user`,
    `project`, the two times, `is_told_by_owner` and `work_key` are the job's, `ended_early` is that of
    `analysis.facts.JobFacts`, `saved_gpu_hours` and `finding_codes` (" idle_gpus timeout ") are copies from `savings`
    and the findings: lists and sums of very many runs read them here from one index, without a join. `missing_nodes`
    had sent no summary; null where it was judged before that was stored. `use_course` is `analysis.use_course`, null as
    well. `busy_cores` and `host_peak_gb` are over all nodes, `io_wait_fraction` is the larger of I/O wait and I/O
    pressure as the mean of the nodes; null where not measured, and where judged before they were stored.
    `throughput_per_s` is of what a script logged, in `throughput_unit` (`analysis.progress`); null where not known.
    """

    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="efficiency")
    efficiency_class = models.CharField(
        max_length=16, choices=[(name.value, name.value.title()) for name in EfficiencyClass]
    )
    avg_gpu_util = models.FloatField(null=True)
    coverage_fraction = models.FloatField()
    is_partial = models.BooleanField()
    allocated_gpus = models.PositiveIntegerField()
    measured_gpus = models.PositiveIntegerField()
    effective_gpus = models.PositiveIntegerField(null=True)
    effective_gpus_fraction = models.FloatField(null=True)
    peak_gpu_mem_gb = models.FloatField(null=True)
    peak_gpu_mem_fraction = models.FloatField(null=True)
    gpu_hours = models.FloatField(null=True)
    wasted_gpu_hours = models.FloatField(null=True)
    idle_gpu_hours = models.FloatField(null=True)
    energy_j = models.FloatField(null=True)
    uncounted_reason = models.CharField(max_length=32, blank=True)
    savings = models.JSONField(null=True)
    not_measured = models.JSONField(default=list)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False)
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    saved_gpu_hours = models.FloatField(null=True)
    finding_codes = models.CharField(max_length=1024, blank=True, default="")
    is_told_by_owner = models.BooleanField(default=False, db_default=False)
    work_key = models.CharField(max_length=32, blank=True, default="", db_default="")
    ended_early = models.BooleanField(default=False, db_default=False)
    missing_nodes = models.IntegerField(null=True)
    use_course = models.BinaryField(null=True)
    busy_cores = models.FloatField(null=True)
    host_peak_gb = models.FloatField(null=True)
    io_wait_fraction = models.FloatField(null=True)
    throughput_unit = models.CharField(max_length=16, blank=True, default="", db_default="")
    throughput_per_s = models.FloatField(null=True)
    rules_version = models.CharField(max_length=32)
    revision = models.PositiveIntegerField()
    job_revision = models.PositiveIntegerField()
    metrics_revision = models.BigIntegerField()
    analysed_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["analysed_at"], name="efficiency_by_time"),
            models.Index(fields=["user", "ended_at", "job", "project", *SUMMED], name="judged_sums_by_user"),
            models.Index(fields=["project", "ended_at", "job", "user", *SUMMED], name="judged_sums_by_project"),
            models.Index(
                fields=["project", "ended_at"], name="told_by_project", condition=models.Q(is_told_by_owner=True)
            ),
            models.Index(
                fields=["ended_at", "metrics_revision", "is_told_by_owner"],
                name="efficiency_by_missing_nodes",
                condition=models.Q(missing_nodes__gt=0),
            ),
            *(
                models.Index(fields=[whose, column, "job"], name=f"{whose}_by_{name}")
                for whose in ("user", "project")
                for column, name in (("avg_gpu_util", "use"), ("wasted_gpu_hours", "waste"), ("gpu_hours", "hours"))
            ),
            *(
                models.Index(
                    fields=[whose, "efficiency_class", "job", "uncounted_reason", "ended_early"],
                    name=f"{whose}_by_judged_class",
                )
                for whose in ("user", "project")
            ),
            *(
                models.Index(whose, FirstCode("finding_codes"), "job", name=f"{whose}_by_finding")
                for whose in ("user", "project")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job}: {self.efficiency_class}"


class FindingRow(models.Model):
    """One root cause of a run, in order of confidence."""

    efficiency = models.ForeignKey(JobEfficiency, on_delete=models.CASCADE, related_name="findings")
    position = models.PositiveSmallIntegerField()
    code = models.CharField(max_length=64)
    confidence = models.FloatField()
    evidence = models.JSONField()

    class Meta:
        ordering = ["position"]

    def __str__(self) -> str:
        return f"{self.code} ({self.confidence:.2f})"


class RecommendationRow(models.Model):
    """One piece of advice; `wanted` and `changes` are the shape and the option changes of `jobs.sbatch`.

    `request` is the whole block to write, as sbatch options, where the user's own are not known; else empty.
    """

    efficiency = models.ForeignKey(JobEfficiency, on_delete=models.CASCADE, related_name="recommendations")
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=32)
    basis = models.CharField(max_length=32)
    recommended_gpus = models.PositiveIntegerField(null=True)
    evidence = models.JSONField()
    wanted = models.JSONField()
    changes = models.JSONField()
    request = models.JSONField(default=list)

    class Meta:
        ordering = ["position"]

    def __str__(self) -> str:
        return f"{self.kind}: {self.basis}"


class Feedback(models.Model):
    """Whether one person finds a finding of a run right, or with code `verdict` its class.

    It belongs to the run and not to a `FindingRow`, so it is kept after a new judgement; `rules_version` is that of the
    judgement it was given on.
    """

    VERDICT = "verdict"

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="feedback")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    code = models.CharField(max_length=64)
    is_right = models.BooleanField()
    comment = ShownText(max_length=1000, blank=True)
    rules_version = models.CharField(max_length=32)
    given_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "user", "code"], name="feedback_once")]
        indexes = [models.Index(fields=["code", "rules_version"], name="feedback_by_code")]

    def __str__(self) -> str:
        return f"{self.code} of {self.job}: {'right' if self.is_right else 'wrong'}"


class SilentNode(models.Model):
    """A node that sent no summary of its last runs, one or more.

    `since` is the end of the first of them, `last_at` of the latest, `runs` how many they are.
    """

    cluster = models.CharField(max_length=64)
    node = models.CharField(max_length=64)
    since = models.DateTimeField()
    last_at = models.DateTimeField()
    runs = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "node"], name="silent_node_once")]

    def __str__(self) -> str:
        return f"{self.node} of {self.cluster} since {self.since:%Y-%m-%d %H:%M}"
