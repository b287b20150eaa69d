"""Reading pages of comments from the portal, each within one time limit and one size."""

from __future__ import annotations

import http.client
import signal

from collector.comments.texts import Page, Refused, read_page
from collector.shipper import ShipError, connection_to, read_token, stop_when_too_slow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collector.comments.settings import Settings

PATH = "/api/v1/slurm-comments"
ANSWER_BYTES_MAX = 1 << 20
"""A page of 1,000 comments is a tenth of it."""


class Unreachable(Exception):
    """The portal did not answer, or answered what is not a page; the next run tries again."""


class Comments:
    """The portal's comments of one cluster. Raises ShipError if the settings or the token cannot be used."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.token = read_token(settings.token_file)
        self.connection, self.prefix = connection_to(settings)

    def page(self, since: int) -> Page:
        """The comments after this place. Raises Unreachable, ShipError if the token is not accepted."""
        try:
            status, content = self._get(f"{PATH}?since={since:d}&limit={self.settings.page:.0f}")
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.connection.close()
            raise Unreachable(f"the portal: {type(error).__name__}: {error}") from error
        if status in (401, 403, 404):
            raise ShipError(
                f"the portal answered {status}: the token is not valid for these comments, or SLURM_COMMENTS is off"
            )
        if status != 200:
            raise Unreachable(f"the portal answered {status}")
        if len(content) > ANSWER_BYTES_MAX:
            raise Unreachable("the portal's answer is too large")
        try:
            return read_page(content, self.settings.cluster)
        except Refused as error:
            raise Unreachable(str(error)) from error

    def _get(self, path: str) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        signal.signal(signal.SIGALRM, stop_when_too_slow)
        signal.setitimer(signal.ITIMER_REAL, self.settings.request_max_s)
        try:
            self.connection.request("GET", self.prefix + path, headers=headers)
            response = self.connection.getresponse()
            content = response.read(ANSWER_BYTES_MAX + 1)
            if not response.isclosed():
                self.connection.close()
            return response.status, content
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
