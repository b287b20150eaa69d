"""`__main__.py` of `kaiku`: an old Python prints an error before it reads code that it cannot parse."""

import sys

if sys.version_info < (3, 9):  # noqa: UP036
    sys.exit("kaiku: needs Python 3.9 or later, this is %d.%d" % sys.version_info[:2])  # noqa: UP031

from collector.cli.__main__ import main

main()
