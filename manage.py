#!/usr/bin/env python
"""Django's command line for Kaiku."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import InterfaceError, OperationalError, ProgrammingError

from portal.start_errors import start_error

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    try:
        execute_from_command_line(sys.argv)
    except (ImproperlyConfigured, OperationalError, ProgrammingError, InterfaceError) as error:
        line = start_error(error)
        if line is None or "--traceback" in sys.argv:
            raise
        sys.exit(line)
