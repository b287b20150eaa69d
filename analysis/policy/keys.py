"""The key of a user in the policy export: the same for one person within one period, and different in the next.

A period has a secret of its own, made from the site's. Nobody can compute a key, or join those of two periods, without
the site's secret; and as the key is made of the account's number, not its name, nobody with the secret can compute it
for a name once the account is deleted.
"""

import hashlib
import hmac

KEY_LENGTH = 32
"""128 bits as hexadecimal digits: two users of one site never share a key by chance."""


def user_key(secret: bytes, period: str, user: int) -> str:
    """The key of an account, by its number, in a period such as "2026-10": `KEY_LENGTH` hexadecimal digits.

    >>> october, november = (user_key(b"secret", period, 7) for period in ("2026-10", "2026-11"))
    >>> len(october), october == november, october == user_key(b"secret", "2026-10", 7)
    (32, False, True)
    """
    of_period = hmac.new(secret, f"policy-key/1 {period}".encode(), hashlib.sha256).digest()
    return hmac.new(of_period, str(user).encode(), hashlib.sha256).hexdigest()[:KEY_LENGTH]
