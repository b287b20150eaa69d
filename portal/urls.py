"""Every address of the portal."""

from django.urls import path, re_path

from jobs.records import SCHEMA as JOB_RECORD
from portal import health
from portal.admin import administration
from portal.api import (
    check,
    education,
    experiments,
    hints,
    ingest,
    insights,
    jobs,
    last_jobs,
    openapi,
    performance,
    policy,
    runs,
    slurm_comments,
    webhooks,
    works,
)
from portal.api import device as device_api
from portal.api import projects as project_api
from portal.api import running as running_api
from portal.mlflow import addresses
from portal.mlflow import views as mlflow
from portal.pages.about.views import about
from portal.pages.compare.views import compare
from portal.pages.dashboard.sample_report import sample_figure, sample_report
from portal.pages.dashboard.views import dashboard
from portal.pages.device.views import device
from portal.pages.embed import views as embed
from portal.pages.experiments.compare import compare_runs
from portal.pages.experiments.download import experiment_table
from portal.pages.experiments.views import experiment, remove_experiment, rename_experiment, share_experiment
from portal.pages.experiments.views import experiments as experiments_page
from portal.pages.feed.views import reports_feed
from portal.pages.flags.views import answer_request, flags
from portal.pages.history.views import history
from portal.pages.job.changes import end_share, job_feedback, job_note, share
from portal.pages.job.figures import job_figure
from portal.pages.job.views import job
from portal.pages.jobs.saved import remove_saved_filter, save_present_filter
from portal.pages.jobs.views import jobs_csv, my_jobs
from portal.pages.learn.views import learn, lesson
from portal.pages.lessons.editor import edit_lesson, lesson_history, preview_lesson, restore_lesson
from portal.pages.lessons.views import check_links, lesson_links, lessons, start_lesson, start_program
from portal.pages.opt_out.views import opt_out_page
from portal.pages.policy.views import policy as policy_page
from portal.pages.projects.grant import grant_page
from portal.pages.projects.views import project, projects
from portal.pages.public.views import public
from portal.pages.queue.views import queue_page
from portal.pages.raw_window.views import raw_window_page
from portal.pages.run.views import kept_text, remove_run, run
from portal.pages.running.views import running
from portal.pages.settings import webhooks as own_webhooks
from portal.pages.settings.views import api_tokens, appearance, early_settings, mail_settings, revoke
from portal.pages.settings.views import slurm_comments as slurm_comments_page
from portal.pages.site.views import site
from portal.pages.support.case import case, change_case, note_case, offer_in_case, queue, request_in_case
from portal.pages.support.letter import help_letter, restore_letter
from portal.pages.support.views import (
    advice_quality,
    directory_state,
    feedback_page,
    outbox_page,
    shared_jobs_page,
    support,
)
from portal.pages.system.views import system
from portal.pages.work.views import work
from portal.sign_in.oidc_sign_in import finish_sign_in, start_sign_in
from portal.sign_in.sign_out import back_channel_sign_out, sign_out
from portal.sign_in.views import no_account, sign_in
from wire.payloads import NODE_SUMMARY, RAW_SAMPLES

JOB = addresses.CLUSTER + r"/(?P<job_id>[0-9]{1,16})"
EXPERIMENT, RUN = r"(?P<pk>[0-9]{1,16})", r"(?P<run_id>[0-9a-f]{32})"

handler404 = "portal.middleware.outages.not_found"
handler500 = "portal.middleware.outages.server_error"

urlpatterns = [
    path("", dashboard, name="dashboard"),
    path("sample-report/", sample_report, name="sample-report"),
    re_path(r"^sample-report/(?P<name>[a-z_]{1,32})\.svg$", sample_figure, name="sample-figure"),
    path("sign-in/", sign_in, name="sign-in"),
    path("sign-in/start/", start_sign_in, name="sign-in-start"),
    path("sign-in/callback/", finish_sign_in, name="sign-in-callback"),
    path("sign-in/back-channel/", back_channel_sign_out, name="back-channel-sign-out"),
    path("sign-in/no-account/", no_account, name="no-account"),
    path("sign-out/", sign_out, name="sign-out"),
    path("jobs/", my_jobs, name="my-jobs"),
    path("jobs.csv", jobs_csv, name="jobs-csv"),
    path("saved-filters/", save_present_filter, name="save-filter"),
    path("saved-filters/<int:pk>/remove/", remove_saved_filter, name="remove-filter"),
    path("compare/", compare, name="compare"),
    re_path(r"^work/(?P<key>[0-9a-f]{32})/$", work, name="work"),
    path("experiments/", experiments_page, name="experiments"),
    re_path(rf"^experiments/{EXPERIMENT}/$", experiment, name="experiment"),
    re_path(rf"^experiments/{EXPERIMENT}/runs\.(?P<name>csv|json)$", experiment_table, name="experiment-table"),
    re_path(rf"^experiments/{EXPERIMENT}/rename/$", rename_experiment, name="rename-experiment"),
    re_path(rf"^experiments/{EXPERIMENT}/share/$", share_experiment, name="share-experiment"),
    re_path(rf"^experiments/{EXPERIMENT}/delete/$", remove_experiment, name="delete-experiment"),
    re_path(rf"^experiments/{EXPERIMENT}/compare/$", compare_runs, name="compare-runs"),
    re_path(rf"^runs/{RUN}/$", run, name="run"),
    re_path(rf"^runs/{RUN}/files/(?P<pk>[0-9]{{1,16}})/$", kept_text, name="kept-text"),
    re_path(rf"^runs/{RUN}/delete/$", remove_run, name="delete-run"),
    path("embed/last-jobs", embed.last_jobs, name="embed-last-jobs"),
    path("embed/last-jobs.json", last_jobs.LastJobs.as_view(), name="api-last-jobs"),
    path("feeds/reports.atom", reports_feed, name="reports-feed"),
    re_path(r"^feeds/(?P<secret>[A-Za-z0-9_-]{1,100})/reports\.atom$", reports_feed, name="own-reports-feed"),
    path("flags/", flags, name="flags"),
    path("flags/requests/<int:pk>/", answer_request, name="answer-request"),
    path("history/", history, name="history"),
    path("queue/", queue_page, name="queue"),
    path("running/", running, name="running"),
    path("projects/", projects, name="projects"),
    path("projects/<str:name>/", project, name="project"),
    path("projects/<str:name>/grant-report/", grant_page, name="grant-report"),
    path("about/", about, name="about"),
    re_path(rf"^jobs/{JOB}/$", job, name="job"),
    re_path(rf"^jobs/{JOB}/figures/(?P<name>[a-z_]{{1,32}})\.svg$", job_figure, name="figure"),
    re_path(rf"^jobs/{JOB}/raw/$", raw_window_page, name="raw-window"),
    re_path(rf"^jobs/{JOB}/feedback/$", job_feedback, name="job-feedback"),
    re_path(rf"^jobs/{JOB}/note/$", job_note, name="job-note"),
    re_path(rf"^jobs/{JOB}/share/$", share, name="share-job"),
    re_path(rf"^jobs/{JOB}/share/end/$", end_share, name="end-share"),
    path("learn/", learn, name="learn"),
    path("learn/<slug:code>/", lesson, name="lesson"),
    path("lessons/", lessons, name="lessons"),
    path("lessons/new/", start_lesson, name="start-lesson"),
    path("lessons/new-program/", start_program, name="start-program"),
    path("lessons/<slug:code>/<slug:language>/", edit_lesson, name="edit-lesson"),
    path("lessons/<slug:code>/<slug:language>/preview/", preview_lesson, name="preview-lesson"),
    path("lessons/<slug:code>/<slug:language>/history/", lesson_history, name="lesson-history"),
    path("lessons/<slug:code>/<slug:language>/restore/", restore_lesson, name="restore-lesson"),
    path("api/v1/education/", education.Education.as_view(), name="api-education"),
    path("api/v1/education/links/", education.EducationLinks.as_view(), name="api-education-links"),
    path("settings/", mail_settings, name="settings"),
    path("settings/appearance/", appearance, name="appearance"),
    path("settings/slurm/", slurm_comments_page, name="slurm-comments"),
    path("settings/running/", early_settings, name="early-settings"),
    path("settings/webhooks/", own_webhooks.webhooks, name="webhooks"),
    path("settings/webhooks/<int:pk>/test/", own_webhooks.test, name="test-webhook"),
    path("settings/webhooks/<int:pk>/secret/", own_webhooks.renew, name="renew-webhook"),
    path("settings/webhooks/<int:pk>/on/", own_webhooks.on, name="switch-on-webhook"),
    path("settings/webhooks/<int:pk>/remove/", own_webhooks.remove, name="remove-webhook"),
    path("settings/tokens/", api_tokens, name="api-tokens"),
    path("settings/tokens/<int:pk>/revoke/", revoke, name="revoke-api-token"),
    path("device/", device, name="device"),
    path("system/", system, name="system"),
    path("site/", site, name="site"),
    path("public/", public, name="public"),
    path("policy/", policy_page, name="policy"),
    path("support/", support, name="support"),
    path("support/queue/", queue, name="support-queue"),
    path("support/queue/<int:pk>/", case, name="support-case"),
    path("support/queue/<int:pk>/change/", change_case, name="change-case"),
    path("support/queue/<int:pk>/note/", note_case, name="note-case"),
    path("support/queue/<int:pk>/offer/", offer_in_case, name="offer-in-case"),
    path("support/queue/<int:pk>/request/", request_in_case, name="request-in-case"),
    path("support/letter/", help_letter, name="help-letter"),
    path("support/letter/restore/", restore_letter, name="restore-letter"),
    path("support/directory/", directory_state, name="directory-state"),
    path("support/links/", lesson_links, name="lesson-links"),
    path("support/links/check/", check_links, name="check-links"),
    path("support/shared/", shared_jobs_page, name="shared-jobs"),
    path("support/feedback/", feedback_page, name="feedback-sums"),
    path("support/advice/", advice_quality, name="advice-quality"),
    path("support/outbox/", outbox_page, name="outbox"),
    re_path(r"^mail/stop/(?P<token>[A-Za-z0-9:_-]{1,200})/$", opt_out_page, name="opt-out"),
    path("api/v1/ingest/node-summaries", ingest.receive, {"schema": NODE_SUMMARY}, name="api-node-summaries"),
    path("api/v1/ingest/job-records", ingest.receive, {"schema": JOB_RECORD}, name="api-job-records"),
    path("api/v1/ingest/raw-samples", ingest.receive, {"schema": RAW_SAMPLES}, name="api-ingest-raw-samples"),
    path("api/v1/jobs/", jobs.Jobs.as_view(), name="api-jobs"),
    path("api/v1/jobs/latest/", jobs.LatestJob.as_view(), name="api-latest-job"),
    re_path(rf"^api/v1/jobs/{JOB}/$", jobs.JobDetail.as_view(), name="api-job"),
    re_path(rf"^api/v1/jobs/{JOB}/gpus/$", jobs.JobGpus.as_view(), name="api-gpus"),
    re_path(rf"^api/v1/jobs/{JOB}/report\.(?P<name>[a-z]{{1,8}})$", jobs.JobReportFile.as_view(), name="api-report"),
    re_path(
        rf"^api/v1/jobs/{JOB}/performance\.(?P<name>[a-z]{{1,8}})$",
        performance.JobPerformance.as_view(),
        name="api-job-performance",
    ),
    re_path(
        r"^api/v1/performance\.(?P<name>[a-z]{1,8})$", performance.OwnPerformance.as_view(), name="api-performance"
    ),
    path("api/schema/kaiku-learning-1.json", performance.LearningSchema.as_view(), name="learning-schema"),
    path("api/schema/kaiku-performance-1.json", performance.Dictionary.as_view(), name="performance-dictionary"),
    re_path(rf"^api/v1/jobs/{JOB}/raw-samples\.csv$", jobs.JobRawSamples.as_view(), name="api-raw-samples"),
    path("api/v1/check", check.Check.as_view(), name="api-check"),
    path("api/v1/platforms/", check.Platforms.as_view(), name="api-platforms"),
    path("api/v1/insights/", insights.Insights.as_view(), name="api-insights"),
    path("api/v1/running/", running_api.Running.as_view(), name="api-running"),
    re_path(rf"^api/v1/running/{JOB}/$", running_api.RunningDetail.as_view(), name="api-running-job"),
    path("api/v1/hints/", hints.Hints.as_view(), name="api-hints"),
    path("api/v1/works/", works.Works.as_view(), name="api-works"),
    re_path(r"^api/v1/works/(?P<key>[0-9a-f]{32})/$", works.WorkDetail.as_view(), name="api-work"),
    path("api/v1/experiments/", experiments.Experiments.as_view(), name="api-experiments"),
    re_path(rf"^api/v1/experiments/{EXPERIMENT}/?$", experiments.ExperimentDetail.as_view(), name="api-experiment"),
    re_path(
        rf"^api/v1/experiments/{EXPERIMENT}/runs/?$", experiments.ExperimentRuns.as_view(), name="api-experiment-runs"
    ),
    re_path(
        rf"^api/v1/experiments/{EXPERIMENT}/runs\.csv$",
        experiments.ExperimentRunsCsv.as_view(),
        name="api-experiment-runs-csv",
    ),
    re_path(rf"^api/v1/runs/{RUN}/?$", runs.RunDetail.as_view(), name="api-run"),
    re_path(rf"^api/v1/runs/{RUN}/metrics/?$", runs.RunMetrics.as_view(), name="api-run-metrics"),
    re_path(rf"^api/v1/runs/{RUN}/metrics\.csv$", runs.RunMetricsCsv.as_view(), name="api-run-metrics-csv"),
    re_path(rf"^api/v1/runs/{RUN}/artifacts/?$", runs.RunArtifacts.as_view(), name="api-run-artifacts"),
    path("api/v1/projects/<str:project>/summary/", project_api.ProjectSummary.as_view(), name="api-project"),
    re_path(
        r"^api/v1/projects/(?P<project>[^/]+)/grant-report\.(?P<name>[a-z]{1,8})$",
        project_api.ProjectGrantReport.as_view(),
        name="api-grant-report",
    ),
    re_path(r"^api/v1/policy/efficiency\.(?P<name>json|csv)$", policy.PolicyEfficiency.as_view(), name="api-policy"),
    re_path(
        r"^api/v1/policy/(?P<name>efficiency|flags)\.schema\.json$",
        policy.PolicySchema.as_view(),
        name="api-policy-schema",
    ),
    path("api/v1/slurm-comments", slurm_comments.SlurmComments.as_view(), name="api-slurm-comments"),
    path("api/v1/flags", policy.Flags.as_view(), name="api-flags"),
    re_path("^webhooks/slurm/?$", webhooks.SlurmEvents.as_view(), name="slurm-events"),
    path("api/v1/device/authorization", device_api.DeviceAuthorization.as_view(), name="api-device-authorization"),
    path("api/v1/device/token", device_api.DeviceToken.as_view(), name="api-device-token"),
    path("api/v1/device/revoke", device_api.RevokeToken.as_view(), name="api-device-revoke"),
    path("api/v1/whoami/", device_api.WhoAmI.as_view(), name="api-whoami"),
    path("api/schema/", openapi.schema, name="api-schema"),
    path("api/docs/", openapi.docs, name="api-docs"),
    re_path(addresses.LINK, mlflow.link, name="mlflow"),
    re_path(addresses.CALLS, mlflow.tracking, name="mlflow-tracking"),
    re_path(addresses.FILES, mlflow.artifacts, name="mlflow-artifacts"),
    re_path(addresses.OTHERS, mlflow.unknown, name="mlflow-unknown"),
    path("admin/", administration.urls),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
]
