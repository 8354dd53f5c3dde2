"""Which URLs a target may have, and which addresses a call may connect to.

The text is checked before anything parses it, with one grammar that leaves two readers nothing to disagree about: no
user information, no backslash, no white space, no control or non-ASCII character, no fragment, no percent sign in the
host, no host that is a number in disguise. What passes is taken apart once, and the worker connects to exactly that.

A name says nothing about where it leads. So the worker resolves it once, asks ``check_address`` about *every* address,
and connects to an address that was checked (with the original Host and SNI): a second DNS answer cannot matter.

Private targets (the laptop, or a company's own network by setting) may use ``http`` and private and loopback addresses.
Link-local addresses, where clouds keep their instance credentials, and the transition ranges that smuggle an IPv4
address past an IPv6 check stay refused in every case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from hourbell.domain.errors import HourbellError

MAX_URL_LENGTH = 2_048

Address = IPv4Address | IPv6Address

# RFC 3986, without what the rules above leave out.
_PCHAR = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})"
_URL = re.compile(
    rf"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[1-9][0-9]{{0,4}}))?"
    rf"(?P<path>/{_PCHAR}*+)?(?P<query>\?(?:{_PCHAR}|\?)*+)?"
)
_LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_FORBIDDEN = re.compile(r"[^\x21-\x7e]")

# On top of ``is_global``, which calls some of these global (IANA special-purpose address registries).
_NEVER = tuple(
    ip_network(net)
    for net in (
        "0.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT, and Alibaba's metadata
        "169.254.0.0/16",  # link-local: instance and task metadata
        "192.0.0.0/24",  # IETF protocol assignments; Oracle's metadata
        "198.18.0.0/15",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/96",  # unspecified and IPv4-compatible; ::1 is private instead
        "::ffff:0:0/96",  # IPv4-mapped
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",
        "2001::/32",  # Teredo
        "2002::/16",  # 6to4
        "fd00:ec2::/32",  # AWS metadata over IPv6
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    )
)
_PRIVATE = tuple(
    ip_network(net) for net in ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")  # RFC 4291: the rest is reserved, or one of the above
_LOOPBACK_IPV6 = IPv6Address("::1")
_PRIVATE_NAMES = ("localhost", "local", "internal", "home.arpa")
_METADATA_NAMES = frozenset({"metadata.google.internal", "metadata", "instance-data"})


class UrlError(HourbellError):
    """The URL cannot be a target's."""


class AddressError(UrlError):
    """The address is one that targets may not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetUrl:
    """A checked URL. ``host``: lower case, without brackets; ``request_target``: path and query as sent."""

    scheme: str
    host: str
    port: int
    request_target: str
    address: Address | None

    @property
    def authority(self) -> str:
        """The Host header: the port only where it is not the scheme's own."""
        host = f"[{self.host}]" if isinstance(self.address, IPv6Address) else self.host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.request_target}"


_DEFAULT_PORTS = {"https": 443, "http": 80}


def check_url(text: str, *, private_allowed: bool) -> TargetUrl:
    """Take a URL apart.

    Raises:
        UrlError: with a reason that can be shown to whoever wrote it.
    """
    match = _match(text)
    if match["scheme"] == "http" and not private_allowed:
        raise UrlError("must be https")
    port = int(match["port"] or _DEFAULT_PORTS[match["scheme"]])
    if port > 65_535:
        raise UrlError("has a port above 65535")
    host, address = _host(match["host"])
    if address is not None:
        check_address(address, private_allowed=private_allowed)
    else:
        _check_name(host, private_allowed=private_allowed)
    target = (match["path"] or "/") + (match["query"] or "")
    return TargetUrl(scheme=match["scheme"], host=host, port=port, request_target=target, address=address)


def check_address(address: Address | str, *, private_allowed: bool = False) -> Address:
    """Pass an address that a call may connect to.

    Raises:
        AddressError: private, loopback, link-local, metadata, multicast, reserved or a transition form; or no address.
    """
    if isinstance(address, str):
        try:
            address = ip_address(address)
        except ValueError:
            raise AddressError("is not an address") from None
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        raise AddressError("has a zone id")
    if address != _LOOPBACK_IPV6 and any(address in net for net in _NEVER):
        raise AddressError("leads to an address that targets may not have")
    if any(address in net for net in _PRIVATE):
        if private_allowed:
            return address
        raise AddressError("leads to a private address")
    if not address.is_global or (isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST):
        raise AddressError("leads to an address that targets may not have")
    return address


def _match(text: str) -> re.Match[str]:
    if len(text) > MAX_URL_LENGTH:
        raise UrlError(f"is longer than {MAX_URL_LENGTH} characters")
    if _FORBIDDEN.search(text):
        raise UrlError("may hold printable ASCII only: no blanks, no control characters; names in their xn-- form")
    if "\\" in text:
        raise UrlError("may not hold a backslash")
    if "#" in text:
        raise UrlError("may not have a fragment")
    if not text.startswith(("https://", "http://")):
        raise UrlError("must start with https://")
    if "@" in re.split(r"[/?]", text.split("://", 1)[1], maxsplit=1)[0]:
        raise UrlError("may not hold user information")
    match = _URL.fullmatch(text)
    if match is None:
        raise UrlError("is not a URL of the form https://host[:port]/path?query")
    return match


def _host(text: str) -> tuple[str, Address | None]:
    if text.startswith("["):
        try:
            address = IPv6Address(text[1:-1])
        except ValueError:
            raise UrlError("has a broken IPv6 address") from None
        return str(address), address
    host = text.lower()
    if _NUMBER.fullmatch(host.rsplit(".", 1)[-1]):
        # As browsers read it, a host that ends in a number is an IPv4 address, in one of many spellings.
        # ``ip_address`` takes one only: four decimal numbers without leading zeros.
        try:
            return host, IPv4Address(host)
        except ValueError:
            raise AddressError("has an IPv4 address that is not spelled as four decimal numbers") from None
    return host, None


def _check_name(host: str, *, private_allowed: bool) -> None:
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise UrlError("has a host name that is none")
    if host in _METADATA_NAMES:
        raise AddressError("leads to an address that targets may not have")
    is_private = len(labels) == 1 or any(host == name or host.endswith("." + name) for name in _PRIVATE_NAMES)
    if is_private and not private_allowed:
        raise AddressError("has a host name that is not public")
