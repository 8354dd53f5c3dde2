"""URLs that must not become a target's, and addresses that must not be connected to."""

from __future__ import annotations

from ipaddress import IPv4Address, ip_address
from urllib.parse import urlsplit

import httpx
import pytest
from hourbell.targets.url_guard import AddressError, UrlError, check_address, check_url
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.api.cases import SECURITY

METADATA = [
    "169.254.169.254",
    "169.254.170.2",
    "100.64.0.1",
    "100.100.100.200",
    "192.0.0.192",
    "0.0.0.0",  # noqa: S104
    "0.1.2.3",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "192.0.2.1",
    "::",
    "::a9fe:a9fe",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:a9fe:a9fe::",
    "2002:7f00:1::",
    "2001:0:a9fe:a9fe::1",
    "2001:db8::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "100::1",
]
PRIVATE = [
    "127.0.0.1",
    "127.8.8.8",
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "::1",
    "fd12:3456::1",
]
PUBLIC = ["93.184.216.34", "8.8.8.8", "172.32.0.1", "2606:2800:220:1:248:1893:25c8:1946"]

ODD = [
    "2130706433",
    "017700000001",
    "0x7f000001",
    "0x7f.1",
    "127.1",
    "127.0.1",
    "0177.0.0.1",
    "127.0.0.01",
    "0300.0250.0.1",
    "1.2.3.4.5",
    "256.1.1.1",
    "example.123",
    "0",
    "0x",
    "2852039166",
    "0xa9fea9fe",
    "169.254.43518",
    "0xA9.0xFE.0xA9.0xFE",
    "1.1.1.1.",
]


@pytest.mark.parametrize("address", [*METADATA, *SECURITY["E03"]["hosts"]])
@pytest.mark.parametrize("private_allowed", [False, True])
def test_never_connect(address, private_allowed):
    with pytest.raises(AddressError):
        check_address(address, private_allowed=private_allowed)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_only_where_they_are_allowed(address):
    with pytest.raises(AddressError):
        check_address(address)
    assert check_address(address, private_allowed=True)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_pass(address):
    assert check_address(ip_address(address)) == check_address(address) == ip_address(address)


@pytest.mark.parametrize("text", ["", "localhost", "1.2.3", "1.2.3.4/8", "[::1]", "1.2.3.4 "])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(AddressError):
        check_address(text)


@settings(max_examples=300, deadline=None)
@given(st.ip_addresses())
def test_no_address_passes_that_python_calls_local(address):
    try:
        passed = check_address(address)
    except AddressError:
        return
    assert passed.is_global
    assert not any((passed.is_private, passed.is_loopback, passed.is_link_local, passed.is_multicast))
    assert not passed.is_reserved


@pytest.mark.parametrize(
    "url",
    [
        *SECURITY["E01"]["urls"],
        *SECURITY["E06"]["urls"],
        *SECURITY["E07"]["urls"],
        *(url.encode().decode("unicode_escape") for url in SECURITY["E07"]["urls"]),
        *(f"http://[{host}]/" if ":" in host else f"http://{host}/" for host in SECURITY["E03"]["hosts"]),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_known_tricks_are_refused(url, scheme):
    with pytest.raises(UrlError):
        check_url(url.replace("http://", f"{scheme}://", 1), private_allowed=False)


@pytest.mark.parametrize("url", SECURITY["E01"]["urls"])
def test_an_ipv4_address_inside_an_ipv6_one_is_refused_even_where_private_ones_are_allowed(url):
    with pytest.raises(UrlError):
        check_url(url, private_allowed=True)


@pytest.mark.parametrize("host", ODD)
@pytest.mark.parametrize("private_allowed", [False, True])
def test_odd_notations_of_addresses_are_refused_even_where_private_ones_are_allowed(host, private_allowed):
    with pytest.raises(UrlError):
        check_url(f"https://{host}/", private_allowed=private_allowed)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "https:",
        "https://",
        "https:///x",
        "https://:80/",
        "https://?x",
        "HTTPS://example.com/",
        "ftp://example.com/",
        "https://example.com:0/",
        "https://example.com:65536/",
        "https://example.com:080/",
        "https://example.com:/",
        "https://example.com:80:80/",
        "https://user@example.com/",
        "https://@example.com/",
        "https://example.com/a b",
        "https://example.com/\u00e9",
        "https://ex\u00e4mple.com/",
        "https://\uff11\uff12\uff17.0.0.1/",
        "https://example\u3002com/",
        "https://example.com/#x",
        "https://example.com\\@evil.com/",
        "https://example.com/%zz",
        "https://exa%6dple.com/",
        "https://example..com/",
        "https://-example.com/",
        "https://example-.com/",
        "https://.example.com/",
        "https://example.com./",
        "https://" + "a" * 64 + ".com/",
        "https://" + "a." * 130 + "com/",
        "https://example.com/" + "x" * 2_100,
        "https://[::1/",
        "https://[::1]x/",
        "https://[fe80::1%25eth0]/",
        "https://[::ffff:1.2.3]/",
        "https://[1:2:3]/",
        "https://metadata.google.internal/",
        "https://METADATA.google.internal/",
        "https://example.com/\x7f",
        "https://example.com/\x00",
        "https://example.com/{x}",
    ],
)
@pytest.mark.parametrize("private_allowed", [False, True])
def test_what_is_no_targets_url(url, private_allowed):
    with pytest.raises(UrlError):
        check_url(url, private_allowed=private_allowed)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https://localhost/",
        "https://a.localhost/",
        "https://db.internal/",
        "https://printer.local/",
        "https://intranet/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://10.1.2.3/",
    ],
)
def test_private_ones_only_where_they_are_allowed(url):
    with pytest.raises(UrlError):
        check_url(url, private_allowed=False)
    assert str(check_url(url, private_allowed=True)) == url


@pytest.mark.parametrize(
    ("url", "host", "port", "target", "text"),
    [
        ("https://Example.COM", "example.com", 443, "/", "https://example.com/"),
        ("https://example.com:443/a?b=c", "example.com", 443, "/a?b=c", "https://example.com/a?b=c"),
        ("https://example.com:8443?x=/y", "example.com", 8443, "/?x=/y", "https://example.com:8443/?x=/y"),
        (
            "https://xn--exmple-cua.com/%C3%A9",
            "xn--exmple-cua.com",
            443,
            "/%C3%A9",
            "https://xn--exmple-cua.com/%C3%A9",
        ),
        ("https://[2606:2800:220:1::1]:444/", "2606:2800:220:1::1", 444, "/", "https://[2606:2800:220:1::1]:444/"),
        ("https://93.184.216.34/", "93.184.216.34", 443, "/", "https://93.184.216.34/"),
        ("https://a_b.example.com/x@y:z", "a_b.example.com", 443, "/x@y:z", "https://a_b.example.com/x@y:z"),
    ],
)
def test_what_passes_is_taken_apart(url, host, port, target, text):
    checked = check_url(url, private_allowed=False)

    assert (checked.host, checked.port, checked.request_target, str(checked)) == (host, port, target, text)
    assert str(check_url(text, private_allowed=False)) == text


URL_TEXT = st.text(st.sampled_from("htps:/@\\[].?#%0127.ax-_ \t\n\u00e9\u3002"), max_size=24)


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(["https://", "http://", "https:/", ""]), URL_TEXT)
def test_what_passes_means_the_same_host_to_every_reader(prefix, rest):
    try:
        checked = check_url(prefix + rest, private_allowed=True)
    except UrlError:
        return
    other, client = urlsplit(prefix + rest), httpx.URL(prefix + rest)
    assert (other.hostname, other.scheme) == (checked.host, checked.scheme)
    assert client.host == checked.host
    assert (client.port or checked.port) == (other.port or checked.port) == checked.port
    assert client.raw_path.decode() == checked.request_target
    if checked.address is not None:
        assert isinstance(checked.address, IPv4Address) or ":" in checked.host
