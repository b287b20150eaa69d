"""Settings of the suite: the product's own, with what only a test needs changed."""

import atexit
import os
import shutil
import tempfile

import tests.leaving  # noqa: F401  (first, so that it acts last)

# Each process of a suite that is spread over several has its own; it would else inherit the first one's.
if "KAIKU_VAR_DIR" not in os.environ or "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["KAIKU_VAR_DIR"] = tempfile.mkdtemp(prefix="kaiku-tests-")
    atexit.register(shutil.rmtree, os.environ["KAIKU_VAR_DIR"], ignore_errors=True)
os.environ.setdefault("SECRET_KEY", "only for tests")
os.environ.setdefault("HTTPS", "0")
os.environ.setdefault("ALLOWED_HOSTS", "testserver,localhost,127.0.0.1")

from portal.settings import *  # noqa: F403  (the environment above must come first; a settings module is a namespace)

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
MIDDLEWARE = [
    "tests.static_files.StaticFilesFoundOnce" if name == "portal.static_files.StaticFiles" else name
    for name in MIDDLEWARE  # noqa: F405
]
