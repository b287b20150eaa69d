"""What several calls have in common."""

from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import AllowAny
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from portal.api.rate_limits import Downloads


class OpenView(APIView):
    """A call that nobody signs in for."""

    authentication_classes: tuple[type[BaseAuthentication], ...] = ()
    permission_classes = (AllowAny,)


class Download(APIView):
    """A call whose answer is a file, within the limit of downloads."""

    def get_throttles(self) -> list[BaseThrottle]:
        return [*super().get_throttles(), Downloads()]
