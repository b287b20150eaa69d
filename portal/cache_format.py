"""The format of values in Redis: JSON, because Django's default would execute any code that somebody stored there."""

import json


class JsonFormat:
    """What Django's Redis cache asks of a serializer; numbers stay numbers, so that Redis can count with them.

    >>> JsonFormat().loads(JsonFormat().dumps(7))
    7
    """

    def dumps(self, value: object) -> bytes | int:
        return value if type(value) is int else json.dumps(value).encode()

    def loads(self, data: bytes | int) -> object:
        return json.loads(data) if isinstance(data, bytes) else data
