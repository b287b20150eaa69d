"""`__main__.py` of the collector's one file: an old Python is told so before it meets what it cannot read."""

import sys

if sys.version_info < (3, 9):  # noqa: UP036
    sys.exit("kaiku-collector: needs Python 3.9 or later, this is %d.%d" % sys.version_info[:2])  # noqa: UP031

from collector.__main__ import main

main()
