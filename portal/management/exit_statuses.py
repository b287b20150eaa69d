"""The exit statuses of commands beside those that Django has."""

USAGE_ERROR = 2
"""Of a wrong option, as `argparse` has it."""
