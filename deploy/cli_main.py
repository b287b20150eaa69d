"""`__main__.py` of `kaiku`: an old Python prints an error before it reads code that it cannot parse."""

import sys

if sys.version_info < (3, 9):  # noqa: UP036
    this = "%d.%d" % sys.version_info[:2]  # noqa: UP031
    sys.stderr.write("kaiku: needs Python 3.9 or later, this is " + this + ": put a newer python3 first on the PATH\n")
    sys.exit(4)  # 1 would be "not found"

from cli.__main__ import main

main()
