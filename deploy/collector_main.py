"""`__main__.py` of the collector's one file: an old Python prints an error before it reads code that it cannot parse.

A user's own command still runs: measured by a newer Python if one is found, otherwise unmeasured.
"""

import os
import sys

WORKS = "import sys; sys.exit(sys.version_info < (3, 9))"


def _works(path):
    """Whether this is a working Python; importing `subprocess` would noticeably slow down every hook."""
    pid = os.fork()
    if pid:
        return os.waitpid(pid, 0)[1] == 0
    try:
        os.dup2(os.open(os.devnull, os.O_RDWR), 2)
        os.execv(path, [path, "-IS", "-c", WORKS])  # noqa: S606
    finally:
        os._exit(1)


def _go_on_elsewhere(arguments):
    """Become the newest Python on this user's PATH, or the user's command alone."""
    for minor in range(30, 8, -1):
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            path = os.path.join(folder, "python3.%d" % minor)  # noqa: UP031
            if os.access(path, os.X_OK) and _works(path):
                os.execv(path, [path, "-IS", sys.argv[0]] + arguments)  # noqa: RUF005, S606
    sys.stderr.write("kaiku: not measured: " + TOO_OLD + "\n")
    sys.stderr.flush()
    command = arguments[arguments.index("--") + 1 :]
    try:
        os.execvp(command[0], command)  # noqa: S606
    except OSError as error:
        sys.exit("kaiku: %s: %s" % (command[0], error.strerror))  # noqa: UP031


TOO_OLD = "needs Python 3.9 or later, this is %d.%d" % sys.version_info[:2]  # noqa: UP031

if sys.version_info < (3, 9):  # noqa: UP036
    if sys.argv[1:2] == ["run"] and sys.argv[-1:] != ["--"] and "--" in sys.argv:
        _go_on_elsewhere(sys.argv[1:])
    sys.exit("kaiku-collector: " + TOO_OLD)

from collector.__main__ import main  # noqa: E402

main()
