"""The version of Kaiku that runs here; `pyproject.toml` and the About page read it from this line."""

VERSION = "1.0.0"
