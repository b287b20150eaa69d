"""Every step of background work, in the order in which workers run them. A new step is one entry here.

Celery (`portal/tasks.py`), the local worker, the System page, `/metrics`, the commands and docs/operations.md read it.
"""

from datetime import datetime
from functools import partial

from django.conf import settings

from analysis.early.services import watch_running
from analysis.escalation.services import escalate
from analysis.months.services import close_months
from analysis.outcomes.services import settle_due
from analysis.predictions.services import keep_records
from analysis.queue_waits.services import keep_ranges
from analysis.rollups.services import roll_up_due
from analysis.waiting.services import check_waits
from education.services.links import check_asked_links
from jobs.experiments.services.following import follow_runs
from jobs.experiments.services.left_jobs import record_left_jobs
from jobs.experiments.services.points import sort_points
from jobs.imports.services import import_directory
from jobs.queue.services import read_queues
from portal.expiry import expire_for
from portal.months import MONTHS
from portal.steps.step import NIGHTLY, OFTEN, SECONDS, Step, all_due
from reports.early.services.mailing import plan_early_mail
from reports.mail.services.sending import deliver_due
from reports.performance.targets.services.sweep import export_due
from reports.services.publishing import follow_up
from reports.webhooks.services.planning import plan_posts
from reports.webhooks.services.sending import send_posts


def _read_queues(now: datetime) -> int:
    return read_queues(settings.QUEUE_CLUSTERS, now)


def _post(seconds: int, now: datetime) -> int:
    return send_posts(now, seconds)


STEPS = (
    Step("sort_points", "Points of logged runs", sort_points, OFTEN, 200, "runs"),
    Step("follow_runs", "Status of logged runs", follow_runs, OFTEN, 200, "runs"),
    Step("judge", "Analysis and reports", follow_up, OFTEN, 200, "jobs", much=20),
    Step("roll_up", "Daily sums", roll_up_due, OFTEN, 50, "projects"),
    Step("settle_advice", "Outcomes of advice", settle_due, OFTEN, 50, "people"),
    Step("check_waits", "Idle GPUs that others waited for", check_waits, OFTEN, 200, "jobs"),
    *(Step(f"close_{kind.code}", kind.figures_title, all_due(partial(close_months, kind)), OFTEN) for kind in MONTHS),
    Step("deliver", "Mail", deliver_due, "DELIVER_SECONDS", 20, "messages", much=20, limit_s=600),
    Step("check_links", "Links of lessons", all_due(check_asked_links), "DELIVER_SECONDS", limit_s=900),
    Step("watch", "Running jobs", watch_running, "WATCH_SECONDS", 2000, "jobs"),
    Step("mail_early_words", "Mail about running jobs", plan_early_mail, "WATCH_SECONDS", 500, "people"),
    Step("plan_posts", "Words for webhooks", plan_posts, "WATCH_SECONDS", 500, "webhooks", needs=("WEBHOOKS",)),
    Step("send_posts", "Posts to webhooks", _post, "WATCH_SECONDS", 60, SECONDS, needs=("WEBHOOKS",)),
    Step("escalate", "Flags", all_due(escalate), "FLAG_SECONDS"),
    Step(
        *("read_queue", "Reading of the queue", all_due(_read_queues), "QUEUE_SECONDS"),
        needs=("QUEUE_CLUSTERS", "QUEUE_SECONDS"),
        limit_s=1800,
    ),
    Step(
        *("find_left_jobs", "Jobs of logged runs that left the queue", all_due(record_left_jobs), "QUEUE_SECONDS"),
        needs=("QUEUE_CLUSTERS", "QUEUE_SECONDS"),
        limit_s=1800,
    ),
    Step(
        *("import_directory", "Import of the directory", all_due(import_directory), "DIRECTORY_SECONDS"),
        needs=("DIRECTORY_SOURCE",),
        limit_s=1800,
    ),
    Step(
        *("export", "Export of jobs", lambda seconds, now: export_due(seconds, now), "EXPORT_SECONDS", 30, SECONDS),
        needs=("EXPORT_TARGET",),
    ),
    Step("backtest_waits", "Check of estimated waits", all_due(keep_ranges), NIGHTLY, limit_s=1800),
    Step("check_predictions", "Check of predictions", all_due(keep_records), NIGHTLY, limit_s=1800),
    Step("expire", "Deletion of old data", expire_for, NIGHTLY, 60, SECONDS, much=1, limit_s=1800),
)


def steps_in_use() -> list[Step]:
    """Those that this site has the settings for."""
    return [step for step in STEPS if step.is_used]
