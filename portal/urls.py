"""Every address of the portal."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path, re_path
from django.views.generic import RedirectView

from portal import health
from portal.api import ingest, jobs
from portal.views.job import job, job_figure
from portal.views.mail_settings import mail_settings
from portal.views.my_jobs import my_jobs
from portal.views.opt_out import opt_out_page
from portal.views.outbox import outbox_page

CLUSTER = r"(?P<cluster>[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63})"
JOB = CLUSTER + r"/(?P<job_id>[0-9]{1,16})"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="my-jobs")),
    path("sign-in/", LoginView.as_view(template_name="portal/sign_in.html"), name="sign-in"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("jobs/", my_jobs, name="my-jobs"),
    re_path(rf"^jobs/{JOB}/$", job, name="job"),
    re_path(rf"^jobs/{JOB}/figures/(?P<name>[a-z_]{{1,32}})\.svg$", job_figure, name="figure"),
    path("settings/", mail_settings, name="settings"),
    path("support/outbox/", outbox_page, name="outbox"),
    re_path(r"^mail/stop/(?P<token>[A-Za-z0-9:_-]{1,200})/$", opt_out_page, name="opt-out"),
    path("api/v1/ingest/node-summaries", ingest.NodeSummaries.as_view(), name="api-node-summaries"),
    path("api/v1/ingest/job-records", ingest.JobRecords.as_view(), name="api-job-records"),
    path("api/v1/jobs/", jobs.Jobs.as_view(), name="api-jobs"),
    re_path(rf"^api/v1/jobs/{JOB}/$", jobs.JobDetail.as_view(), name="api-job"),
    re_path(rf"^api/v1/jobs/{JOB}/gpus/$", jobs.JobGpus.as_view(), name="api-gpus"),
    re_path(rf"^api/v1/jobs/{JOB}/report\.(?P<name>[a-z]{{1,8}})$", jobs.JobReportFile.as_view(), name="api-report"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
