//! Classes of IP addresses, as a protection against requests into internal networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The class of an address by the special-purpose address registries (RFC 6890 and its successors).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressClass {
    /// An address of the public Internet.
    Public,
    /// An address of this machine (127.0.0.0/8, ::1).
    Loopback,
    /// The unspecified address, which most systems treat as this machine (0.0.0.0/8, ::).
    Unspecified,
    /// An address of a private network (RFC 1918, RFC 4193, fec0::/10).
    Private,
    /// An address behind carrier-grade NAT (100.64.0.0/10).
    Shared,
    /// An address of the local link, or of a cloud's metadata service (169.254.0.0/16, fe80::/10).
    LinkLocal,
    /// A multicast group (224.0.0.0/4, ff00::/8).
    Multicast,
    /// A reserved address: documentation, benchmarks, translation or future use.
    Reserved,
}

impl AddressClass {
    /// Classifies an address. An IPv6 address with an embedded IPv4 address (mapped, compatible, NAT64, 6to4)
    /// has the class of that one.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => of_v4(address),
            IpAddr::V6(address) => of_v6(address),
        }
    }

    /// Returns the name for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Unspecified => "unspecified",
            Self::Private => "private",
            Self::Shared => "shared",
            Self::LinkLocal => "link-local",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved",
        }
    }
}

impl fmt::Display for AddressClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn of_v4(address: Ipv4Addr) -> AddressClass {
    match address.octets() {
        [0, ..] => AddressClass::Unspecified,
        [127, ..] => AddressClass::Loopback,
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => AddressClass::Private,
        [100, 64..=127, ..] => AddressClass::Shared,
        [169, 254, ..] => AddressClass::LinkLocal,
        [224..=239, ..] => AddressClass::Multicast,
        [240..=255, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _] => AddressClass::Reserved,
        _ => AddressClass::Public,
    }
}

/// Returns the IPv4 address embedded in an IPv6 address that leads to it: mapped, compatible, NAT64 or 6to4.
pub(super) fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    match (a, b, c, d, e, f) {
        // ::/96 and ::ffff:0:0/96
        (0, 0, 0, 0, 0, 0 | 0xffff) => Some(joined(g, h)),
        // 6to4 (RFC 3056)
        (0x2002, ..) => Some(joined(b, c)),
        _ => translated(address),
    }
}

/// Returns the IPv4 address that a network's NAT64 translates the address to (well-known prefix, RFC 6052).
pub(super) fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, g, h] => Some(joined(g, h)),
        _ => None,
    }
}

/// Returns the IPv4 address of a Teredo client, which the IPv6 address holds with inverted bits (RFC 4380
/// section 4).
pub(super) fn teredo_client(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0x2001, 0, _, _, _, _, g, h] => Some(joined(!g, !h)),
        _ => None,
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    let ([w, x], [y, z]) = (high.to_be_bytes(), low.to_be_bytes());
    Ipv4Addr::new(w, x, y, z)
}

fn of_v6(address: Ipv6Addr) -> AddressClass {
    let [a, b, ..] = address.segments();
    if address.is_loopback() {
        return AddressClass::Loopback;
    }
    if let Some(inner) = embedded(address) {
        return of_v4(inner);
    }
    match (a, b) {
        (0xfc00..=0xfdff | 0xfec0..=0xfeff, _) => AddressClass::Private,
        (0xfe80..=0xfebf, _) => AddressClass::LinkLocal,
        (0xff00.., _) => AddressClass::Multicast,
        // Protocol assignments (Teredo among them) and documentation.
        (0x2001, 0..=0x1ff | 0xdb8) | (0x3fff, 0..=0xfff) => AddressClass::Reserved,
        // 2000::/3 is the range of global unicast assignments.
        (0x2000..=0x3fff, _) => AddressClass::Public,
        _ => AddressClass::Reserved,
    }
}
