"""Settings, from the environment only; `.env.example` lists every variable with its unit and default.

Without DATABASE_URL everything is embedded: SQLite and mail in `var/`, one local worker process.
"""

import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from csp import constants as csp
from django.core.exceptions import ImproperlyConfigured

from jobs.directory import EXACT, SUBJECT_CASES
from portal.environment import (
    allowed_hosts,
    choice,
    cluster_names,
    data_directory,
    database,
    flag,
    fraction,
    mail_address,
    number,
    origins,
    own_address,
    redis_url,
    secret_key,
    site_url,
    text,
    time_zone,
    words,
)
from portal.export_target import format_from_environment, target_from_environment
from portal.sign_in.provider import form_targets, provider_from_environment
from portal.version import VERSION as VERSION

BASE_DIR = Path(__file__).resolve().parent.parent
DATABASE_URL = text("DATABASE_URL")
REDIS_URL = redis_url()
IS_EMBEDDED = not DATABASE_URL
VAR_DIR = data_directory(BASE_DIR / "var", IS_EMBEDDED)

DEBUG = False
SECRET_KEY = secret_key(VAR_DIR / "secret_key", IS_EMBEDDED)
# The key for fingerprints of work. After a change new runs no longer match older runs of their work until `manage.py
# rekey_works` has processed all of them; the same is true for SECRET_KEY if this is not set.
WORK_KEY_SECRET = text("WORK_KEY_SECRET") or f"work-key:{SECRET_KEY}"
# The key for the keys of users in the policy export, and whether the export names users; see docs/policy.md.
POLICY_KEY_SECRET = text("POLICY_KEY_SECRET") or f"policy-key:{SECRET_KEY}"
POLICY_NAMES = flag("POLICY_NAMES")
# The key for the addresses and signatures of webhooks. After a change all of them must be created again.
WEBHOOK_KEY_SECRET = text("WEBHOOK_KEY_SECRET") or f"webhook-key:{SECRET_KEY}"
# Whether people may have webhooks for early words, and whether these may lead to this machine (for tests and the demo).
WEBHOOKS = flag("WEBHOOKS", True)
WEBHOOK_LOOPBACK = flag("WEBHOOK_LOOPBACK")
ALLOWED_HOSTS = allowed_hosts(IS_EMBEDDED)
CSRF_TRUSTED_ORIGINS = words("CSRF_TRUSTED_ORIGINS", "")
IS_HTTPS = flag("HTTPS", not IS_EMBEDDED)

INSTALLED_APPS = [
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "csp",
    "django_htmx",
    "jobs",
    "metrics",
    "analysis",
    "education",
    "reports",
    "portal",
]
MIDDLEWARE = [
    "portal.middleware.request_id.RequestId",
    "django.middleware.security.SecurityMiddleware",
    "portal.static_files.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "portal.middleware.nul.NoNul",
    "portal.middleware.public_page.PublicPage",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "portal.middleware.reader_preferences.Reader",
    "portal.middleware.outages.ErrorPages",
]
ROOT_URLCONF = "portal.urls"
WSGI_APPLICATION = "portal.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "portal.sample_accounts.sample_accounts",
            ],
        },
    }
]

# A second writer waits for the first instead of failing; WAL lets readers go on meanwhile (sqlite.org/wal.html).
SQLITE_OPTIONS = {
    "timeout": 20,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
}
# Both ends notice within half a minute that the other is lost; otherwise the rows that a lost host was using stay
# locked for hours, and its connections wait for ever.
KEEPALIVE_IDLE_S, KEEPALIVE_INTERVAL_S, KEEPALIVE_COUNT = 10, 5, 3
POSTGRESQL_OPTIONS = {
    "connect_timeout": 10,
    "keepalives_idle": KEEPALIVE_IDLE_S,
    "keepalives_interval": KEEPALIVE_INTERVAL_S,
    "keepalives_count": KEEPALIVE_COUNT,
    "tcp_user_timeout": 30_000,
    "options": f"-c tcp_keepalives_idle={KEEPALIVE_IDLE_S} -c tcp_keepalives_interval={KEEPALIVE_INTERVAL_S}"
    f" -c tcp_keepalives_count={KEEPALIVE_COUNT}",
}
DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": VAR_DIR / "kaiku.sqlite3",
        "OPTIONS": SQLITE_OPTIONS,
    }
    if IS_EMBEDDED
    else database(DATABASE_URL)
}
if not IS_EMBEDDED:
    DATABASES["default"]["OPTIONS"] = POSTGRESQL_OPTIONS | DATABASES["default"].get("OPTIONS", {})
# Counts calls over all processes; its loss does no harm.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {"serializer": "portal.cache_format.JsonFormat", "socket_timeout": 2, "socket_connect_timeout": 2},
    }
    if REDIS_URL
    else {
        "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
        "LOCATION": VAR_DIR / "cache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "jobs.User"
# With a provider there is no other sign-in: no backend accepts passwords, and existing sessions by password end.
OIDC_PROVIDER = provider_from_environment()
# Whether identities are compared as they are or in lower case, wherever they come from.
OIDC_SUBJECT_CASE = choice("OIDC_SUBJECT_CASE", EXACT, SUBJECT_CASES)
AUTHENTICATION_BACKENDS = [
    "portal.sign_in.backend.ProviderBackend" if OIDC_PROVIDER else "django.contrib.auth.backends.ModelBackend"
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "dashboard"
LOGOUT_REDIRECT_URL = "sign-in"

# The source of memberships and identities: `slurm`, Waldur's address, or a path; see `manage.py import_projects`.
DIRECTORY_SOURCE = text("DIRECTORY_SOURCE")
DIRECTORY_CLUSTER = text("DIRECTORY_CLUSTER", "lumi")
DIRECTORY_SECONDS = number("DIRECTORY_SECONDS", 900)
WALDUR_TOKEN, WALDUR_OFFERING = text("WALDUR_TOKEN"), text("WALDUR_OFFERING")

# Clusters whose queue is read, by squeue, and how often, 0 for by the command alone; see docs/operations.md.
QUEUE_CLUSTERS = cluster_names("QUEUE_CLUSTERS")
QUEUE_SECONDS = number("QUEUE_SECONDS", 120, lowest=0)

# The site's GPUs, partitions and prices, a TOML file; empty is LUMI. `manage.py check_site` compares it with Slurm.
SITE_PROFILE = text("SITE_PROFILE")

# Where workers write each judged run, as what, and how often; see docs/export-target.md.
EXPORT_TARGET, EXPORT_FORMAT = target_from_environment(), format_from_environment()
EXPORT_SECONDS = number("EXPORT_SECONDS", 300, highest=3600)

LANGUAGE_CODE = "en-gb"
TIME_ZONE = time_zone("UTC")
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "portal.static_files.HashedAddresses"},
}
# Served from their own folders, without a collecting step.
WHITENOISE_USE_FINDERS = True

# Nothing from other sites, no inline script or style; forms may also lead to the provider.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [csp.NONE],
        "script-src": [csp.SELF],
        "style-src": [csp.SELF],
        "img-src": [csp.SELF, "data:"],
        "font-src": [csp.SELF],
        "connect-src": [csp.SELF],
        "form-action": [csp.SELF, *form_targets(OIDC_PROVIDER)],
        "base-uri": [csp.NONE],
        "frame-ancestors": [csp.NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
# Other portals of the site that may show the card of latest jobs in a frame; see docs/embedding.md.
EMBED_FRAME_ANCESTORS = origins("EMBED_FRAME_ANCESTORS")
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = IS_HTTPS
SESSION_COOKIE_AGE = number("SESSION_HOURS", 12) * 3600
SECURE_HSTS_SECONDS = 31_536_000 if IS_HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = IS_HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
IS_BEHIND_PROXY = flag("BEHIND_PROXY")
if IS_BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

METRICS_TOKEN = text("METRICS_TOKEN")

# The portal's address for people: mail cannot take it from a request, and a request may state any host.
BIND = text("BIND") or "127.0.0.1:8000"
SITE_URL = site_url(f"https://{ALLOWED_HOSTS[0]}" if IS_HTTPS else own_address(BIND))
SMTP_HOST = text("SMTP_HOST")
EMAIL_BACKEND = "reports.mail.emails.SmtpBackend" if SMTP_HOST else "reports.mail.services.files.FileBackend"
EMAIL_FILE_PATH = VAR_DIR / "outbox"
EMAIL_HOST, EMAIL_PORT = SMTP_HOST, number("SMTP_PORT", 25)
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = text("SMTP_USER"), text("SMTP_PASSWORD")
SMTP_SECURITY = choice("SMTP_SECURITY", "none", ("none", "starttls", "tls"))
EMAIL_USE_TLS, EMAIL_USE_SSL = SMTP_SECURITY == "starttls", SMTP_SECURITY == "tls"
EMAIL_TIMEOUT = number("SMTP_TIMEOUT_SECONDS", 30, highest=60)  # several of them stay below the lease of a message
DEFAULT_FROM_EMAIL = mail_address("MAIL_FROM", f"Kaiku <kaiku@{urlsplit(SITE_URL).hostname}>")
MAIL_REPLY_TO = mail_address("MAIL_REPLY_TO", "")

# Whether people may create tokens that send the collector's measurements of their own runs.
OWN_RUNS = flag("OWN_RUNS")
# Whether people may have comments about their jobs written into Slurm; see docs/slurm-comments.md.
SLURM_COMMENTS = flag("SLURM_COMMENTS")
# Whether the portal gives hints to show at `sbatch`; see docs/hints.md.
SBATCH_HINTS = flag("SBATCH_HINTS", True)
# How long a run that a script logs counts as running without a word from it, unless Slurm reports that its job runs.
RUN_SILENT_MINUTES = number("RUN_SILENT_MINUTES", 60, highest=7 * 24 * 60)
# How long a node of a running job may send nothing, once it has sent something, before it counts as silent: by default
# twice as long as collectors wait between two summaries.
INTERIM_SILENT_SECONDS = number("INTERIM_SILENT_SECONDS", 7200)
# Threads of one server process that render pages.
PAGE_THREADS = number("PAGE_THREADS", 8)
# How long a statement of the ingest may take before its senders are asked to retry.
INGEST_PATIENCE_S = number("INGEST_PATIENCE_MS", 1500, lowest=100, highest=60_000) / 1000
INGEST_BODY_BYTES_MAX = number("INGEST_BODY_MIB_MAX", 8) * 2**20
# Retention of each kind of data in days, 0 for ever; see portal/expiry.py.
RAW_DAYS = number("RAW_DAYS", 7, lowest=0, highest=3650)
SERIES_DAYS = number("SERIES_DAYS", 400, lowest=0, highest=3650)
PDF_DAYS = number("PDF_DAYS", 30, lowest=0, highest=3650)
MAIL_DAYS = number("MAIL_DAYS", 90, lowest=0, highest=3650)
RUN_DAYS = number("RUN_DAYS", 1100, lowest=0, highest=3650)
LOG_DAYS = number("LOG_DAYS", 400, lowest=0, highest=3650)
# Days that the token of a program is valid (portal/sign_in/device.py), and that a sign-in that is over is kept.
DEVICE_TOKEN_DAYS = number("DEVICE_TOKEN_DAYS", 90, highest=365)
DEVICE_SIGN_IN_DAYS = 1
# Days that the jobs of a queue are kept that is no longer read.
QUEUE_DAYS = 1
# Days that the recent use of a node is kept whose final summary does not arrive: longer than a job of LUMI may run.
RUNNING_DAYS = 4
# Days that deliveries of webhooks are kept: longer than a job of LUMI may run, so that no word is posted twice.
WEBHOOK_DAYS = 30
# Raw windows: whether jobs have a page that plots them, and when no more are accepted; see portal/ingest/shedding.py.
RAW_ON_PAGE = flag("RAW_ON_PAGE")
RAW_WINDOWS_PER_MINUTE = number("RAW_WINDOWS_PER_MINUTE", 600, lowest=0)
RAW_MIB_MAX = number("RAW_MIB_MAX", 2048, lowest=0)
RAW_BACKLOG_MAX = number("RAW_BACKLOG_MAX", 500, lowest=0)
DATA_UPLOAD_MAX_MEMORY_SIZE = 1 * 2**20

# When a flag is raised and cleared, and how long before support sees it; see analysis/escalation/rules.py.
FLAG_WINDOW_DAYS = number("FLAG_WINDOW_DAYS", 14, highest=90)
FLAG_JOBS_MIN = number("FLAG_JOBS_MIN", 5)
FLAG_UNUSED_GPU_HOURS_MIN = number("FLAG_UNUSED_GPU_HOURS_MIN", 50)
FLAG_RAISE_FRACTION = fraction("FLAG_RAISE_FRACTION", "1/2")
FLAG_CLEAR_FRACTION = fraction("FLAG_CLEAR_FRACTION", "1/3")
if FLAG_CLEAR_FRACTION > FLAG_RAISE_FRACTION:
    raise ImproperlyConfigured("FLAG_CLEAR_FRACTION must not be above FLAG_RAISE_FRACTION")
FLAG_GRACE_DAYS = number("FLAG_GRACE_DAYS", 7, lowest=0, highest=90)
FLAG_SECONDS = number("FLAG_SECONDS", 3600)
# Whether staff get a summary of the support queue every week.
SUPPORT_SUMMARY = flag("SUPPORT_SUMMARY", True)

# Whether /public/ shows a few closed figures of the site to everybody, without sign-in.
PUBLIC_PAGE = flag("PUBLIC_PAGE")

# Limits within a minute for one person, or for an address without a person; see portal/rate_limits.py.
DEVICE_SIGN_INS_PER_MINUTE = number("DEVICE_SIGN_INS_PER_MINUTE", 60)
API_CALLS_PER_MINUTE = number("API_CALLS_PER_MINUTE", 120)
ANONYMOUS_API_CALLS_PER_MINUTE = number("ANONYMOUS_API_CALLS_PER_MINUTE", 60)
DOWNLOADS_PER_MINUTE = number("DOWNLOADS_PER_MINUTE", 20)
OWN_RUN_CALLS_PER_MINUTE = number("OWN_RUN_CALLS_PER_MINUTE", 3000)
RUN_CALLS_PER_MINUTE = number("RUN_CALLS_PER_MINUTE", 6000)
CHANGES_PER_MINUTE = number("CHANGES_PER_MINUTE", 30)

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "portal.api.authentication.PersonalTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_THROTTLE_CLASSES": ["portal.api.rate_limits.Calls"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "portal.api.problems.OwnFormat",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "EXCEPTION_HANDLER": "portal.api.problems.problem_response",
    "DEFAULT_PAGINATION_CLASS": "portal.api.asked.JobPages",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}

CELERY_BROKER_URL = REDIS_URL or "memory://"
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 2,
    "socket_keepalive": True,
    "socket_keepalive_options": {
        socket.TCP_KEEPIDLE: KEEPALIVE_IDLE_S,
        socket.TCP_KEEPINTVL: KEEPALIVE_INTERVAL_S,
        socket.TCP_KEEPCNT: KEEPALIVE_COUNT,
    },
}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # wait for Redis, even if it is down for a day
CELERY_BEAT_SCHEDULER = "portal.beat_lease:OneBeat"
CELERY_TIMEZONE = "UTC"
STEP_SECONDS = number("STEP_SECONDS", 10)
SETTLE_SECONDS = number("SETTLE_SECONDS", 300)
RETRY_SECONDS = number("RETRY_SECONDS", 60)
DELIVER_SECONDS = number("DELIVER_SECONDS", 60)
WATCH_SECONDS = number("WATCH_SECONDS", 60)

# The content of log lines: portal/logs.py.
LOG_FORMAT = choice("LOG_FORMAT", "plain", ("plain", "json"))
LOG_LEVEL = choice("LOG_LEVEL", "info", ("debug", "info", "warning", "error")).upper()
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"()": "portal.logs.PlainLine"}, "json": {"()": "portal.logs.JsonLine"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    # DEBUG messages of libraries may contain personal data, so DEBUG applies to the portal's own loggers only.
    "root": {"handlers": ["console"], "level": "INFO" if LOG_LEVEL == "DEBUG" else LOG_LEVEL},
    "loggers": {
        **{name: {"level": LOG_LEVEL} for name in ("jobs", "metrics", "analysis", "education", "reports", "portal")},
        # Django's own handlers would log paths and queries unchanged.
        **{name: {"handlers": [], "propagate": True} for name in ("django", "django.server")},
        # A client that disconnects is not worth a line.
        "_granian.asgi.io": {"level": "WARNING"},
        # Libraries that log every step of every figure and page.
        **{name: {"level": "ERROR"} for name in ("weasyprint", "fontTools", "matplotlib")},
    },
}
