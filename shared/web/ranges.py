"""Which IP addresses belong to the public internet: all but those in IANA's special-purpose registries.

`ipaddress.is_global` is not used, because its result differs between releases of Python (3.11.7 calls 192.0.0.192, the
metadata service of a cloud, global).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

#: https://www.iana.org/assignments/iana-ipv4-special-registry, multicast, and the metadata server of one cloud, whose
#: address is in a public range.
_SPECIAL_4 = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
            *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
            *("224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"),
        ),
    )
)
#: The range that is assigned for global unicast; the rest of the space is special, reserved or unassigned.
_UNICAST_6 = IPv6Network("2000::/3")
#: https://www.iana.org/assignments/iana-ipv6-special-registry, as far as it lies within 2000::/3. 2001::/23 holds
#: Teredo, ORCHID and benchmarking, 2002::/16 is 6to4: both can carry an inner IPv4 address.
_SPECIAL_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")))
#: Gateways translate these addresses to the IPv4 address in the last 32 bits.
_NAT64 = IPv6Network("64:ff9b::/96")

Address = IPv4Address | IPv6Address


def parse_address(text: str) -> Address:
    """Parses an address; IPv4-mapped and NAT64 IPv6 addresses become the IPv4 address they lead to.

    Raises:
        ValueError: the text is not an IP address, or has a zone (`fe80::1%eth0`).
    """
    address = ip_address(text)
    if isinstance(address, IPv4Address):
        return address
    if address.scope_id:
        raise ValueError(f"{text}: addresses with a zone are not supported")
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def is_public(address: Address) -> bool:
    """Whether the address, as returned by `parse_address`, belongs to the public internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _SPECIAL_4)
    return address in _UNICAST_6 and not any(address in network for network in _SPECIAL_6)
