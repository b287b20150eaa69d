"""What `make cli` sets for a site: this file is replaced in `dist/kaiku.pyz` when KAIKU_URL is set."""

PORTAL_URL = ""
