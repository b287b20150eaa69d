"""The Django app of Slurm's records and people; it loads the site's profile at the start."""

from pathlib import Path

from django.apps import AppConfig
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from jobs.hardware import use_site
from jobs.site_profile import SiteProfileError, bundled_site, read_site


class JobsConfig(AppConfig):
    name = "jobs"
    verbose_name = "People and projects"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        path: str = settings.SITE_PROFILE
        try:
            use_site(read_site(Path(path)) if path else bundled_site())
        except SiteProfileError as error:
            raise ImproperlyConfigured(f"SITE_PROFILE: {error}") from error
