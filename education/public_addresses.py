"""Which addresses of the network are public: every other address belongs to a private network or a special purpose.

The tables are the IANA special-purpose address registries (RFC 6890), as of 2025-10. They are written out because
`ipaddress.is_global` calls multicast, 6to4, Teredo, NAT64 and old site-local addresses global, and changes with Python.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

WEB_PORTS = frozenset({80, 443})

NOT_PUBLIC_V4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network, RFC 791
        "10.0.0.0/8",  # private, RFC 1918
        "100.64.0.0/10",  # shared by the customers of a provider, RFC 6598
        "127.0.0.0/8",  # loopback, RFC 1122
        "169.254.0.0/16",  # link-local and metadata of clouds, RFC 3927
        "172.16.0.0/12",  # private, RFC 1918
        "192.0.0.0/24",  # protocol assignments, RFC 6890
        "192.0.2.0/24",  # documentation, RFC 5737
        "192.88.99.0/24",  # 6to4 relays, RFC 7526
        "192.168.0.0/16",  # private, RFC 1918
        "198.18.0.0/15",  # benchmarks, RFC 2544
        "198.51.100.0/24",  # documentation, RFC 5737
        "203.0.113.0/24",  # documentation, RFC 5737
        "224.0.0.0/4",  # multicast, RFC 5771
        "240.0.0.0/4",  # reserved, and broadcast, RFC 1112 and 8190
    )
)
GLOBAL_UNICAST = IPv6Network("2000::/3")
"""No address outside it is assigned for public use (RFC 4291)."""

NOT_PUBLIC_V6 = tuple(
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments, with Teredo and ORCHID, RFC 2928
        "2001:db8::/32",  # documentation, RFC 3849
        "2002::/16",  # 6to4: an IPv4 address inside, RFC 3056
        "3fff::/20",  # documentation, RFC 9637
    )
)
NAT64 = IPv6Network("64:ff9b::/96")
"""Its last 32 bits are the IPv4 address that a translator connects to (RFC 6052)."""


def is_public_site(address: str, port: int) -> bool:
    """Whether this is a web port at a public address; `address` as a socket names it.

    >>> is_public_site("9.9.9.9", 443), is_public_site("9.9.9.9", 22), is_public_site("::ffff:127.0.0.1", 80)
    (True, False, False)
    """
    return port in WEB_PORTS and is_public(ip_address(address))


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is public; an IPv6 address that stands for an IPv4 address counts as the latter."""
    if isinstance(address, IPv4Address):
        return not any(address in block for block in NOT_PUBLIC_V4)
    if address.ipv4_mapped is not None:
        return is_public(address.ipv4_mapped)
    if address in NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    is_scoped = address.scope_id is not None
    return address in GLOBAL_UNICAST and not is_scoped and not any(address in block for block in NOT_PUBLIC_V6)
