"""What nothing uses: `python -m tests.dead_code` names it and fails, as `make lint` does.

Vulture reads the code; what a template names, and what a string of the code is as a whole or as the end of a dotted
path, counts as used beside it. What only tests use is dead: a test of it proves nothing.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from vulture import Vulture

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    "analysis",
    "bench",
    "cases",
    "cli",
    "collector",
    "demo",
    "education",
    "jobs",
    "metrics",
    "portal",
    "reports",
    "wire",
)
SCRIPTS = ("deploy/cli_main.py", "deploy/collector_main.py", "manage.py")

ALLOWED = {
    "Django calls these by their names": """
        *Config add_arguments admin_view as_postgresql as_sqlite clean_* concurrently constraints default_auto_field
        delete_model expression from_db_value get_changelist get_prep_value get_queryset get_readonly_fields
        get_search_results has_*_permission help help_texts history_view log_* lookup_allowed ordering output_field
        abstract process_* save_model SchemaEditorClass urlpatterns verbose_name verbose_name_plural handler404
        handler500 template_name widget connection_class requires_system_checks""",
    "Options of a list of the administration": """
        actions enable_nav_sidebar extra_context index_title list_display_links list_per_page list_select_related
        search_fields show_full_result_count site_header site_title""",
    "The API's framework calls these by their names": """
        allow_request authenticate_header authentication_classes default_detail format_suffix max_page_size page_size
        parser_classes permission_classes select_renderer throttle_classes""",
    "The library of the sign-in calls these by their names": """
        OIDC_RP_CLIENT_ID OIDC_RP_CLIENT_SECRET UserModel get_or_create_user get_settings get_token store_tokens
        verify_token""",
    "The standard library, Celery and the Prometheus client call or read these by their names": """
        collect do_GET do_PATCH do_POST do_restore enabled makefile protocol_version readable readinto requires
        safe_say""",
    "Settings that Django, its libraries and Celery read": """
        ANONYMOUS_* API_* AUTH_* CACHES CELERY_* CONTENT_SECURITY_POLICY CSRF_* DATA_* DEBUG DEFAULT_* DOWNLOADS_*
        CHANGES_PER_MINUTE EMAIL_* INSTALLED_APPS LANGUAGE_CODE LOGIN_URL LOGOUT_* MIDDLEWARE OWN_RUN_* REST_FRAMEWORK
        ROOT_URLCONF SECURE_* STATICFILES_DIRS STATIC_URL STORAGES TEMPLATES TIME_ZONE USE_TZ WHITENOISE_*
        WSGI_APPLICATION X_FRAME_OPTIONS""",
    "Read by a name that is put together, such as `gfx_clock` and `_sum`": "*_clock_sum *_clock_count",
    "Values that stored rows may hold, and names of a choice": "ACCOUNT_CHANGED LIGHT POLICY",
    "A column that only conditions of queries name": "polled_at",
    "Of `kaiku`, for the commands that print a report or take one of some words": "harmless_lines one_of",
    "Of the list of flags, for the programs that read it": "raised_on",
    "Of the answers about logged runs, for the programs that read them": "status_by",
    "Of the summary of a project, for the programs that read it": "median_gpu_util",
    "Of the answers that `kaiku` reads": """
        cores_used earlier_runs from_runs gpus_used knee_gpus last_ended_at no_suggestion run_url saves_gpu_hours
        speedup success_rate takes_percent total_text""",
    "Of learning documents, for the programs that read them": """
        actual_execution cost_accuracy cpu_utilization execution_duration execution_duration_s is_inside job_metadata
        method_version module_power_avg_w module_power_peak_w overall_accuracy_score pressure_cpu_fraction
        pressure_io_fraction quantities runtime_accuracy scaling_* submit_time waiting_fraction""",
    "How a program reads the texts of an exported table back": "unmarked",
    "A number of a report that its files and stored rows have": "effective_gpus_fraction",
    "Of the file with a month's anonymised rows, for whoever reads it": "people_min projects_min",
    "Of a site's profile, for whoever reads the file": "gpu_name",
    "Why a case of the noisy library expects something else than it did at first, for whoever reads it": "corrected",
}


def named_in_templates() -> Iterator[str]:
    """Every name that a template could mean."""
    for path in (ROOT / "templates").rglob("*"):
        if path.is_file():
            yield from re.findall(r"\w+", path.read_text())


def named_in_strings() -> Iterator[str]:
    """Names that stand alone in a string or end a dotted path: of columns, of classes in settings, of tasks."""
    for path in files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from re.findall(r"(?:^|[.:]|__)-?([A-Za-z]\w*)$", node.value)


def files() -> list[Path]:
    """The code that is searched: migrations stay as they were written."""
    found = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [path for path in [*found, *(ROOT / script for script in SCRIPTS)] if "migrations" not in path.parts]


def dead_code() -> list[str]:
    """What nothing uses, a line each."""
    allowed = " ".join(ALLOWED.values()).split()
    search = Vulture(ignore_names=allowed, ignore_decorators=["@*.task", "@*.connect", "@register.*", "@action*"])
    search.scavenge([str(path) for path in files()])
    search.used_names.update(named_in_templates())
    search.used_names.update(named_in_strings())
    return [f"{item.get_report()}" for item in search.get_unused_code(min_confidence=60)]


if __name__ == "__main__":
    found = dead_code()
    print("\n".join(found) or "Nothing is unused.")
    sys.exit(bool(found))
