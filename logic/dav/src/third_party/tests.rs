//! Tests of third-party copies.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use proptest::prelude::*;

use super::*;
use crate::header::{HeaderError, OwnNames, RemoteUrl, Scheme};
use crate::path::PathLimits;

fn read(headers: &[(&str, &str)]) -> Result<Option<TransferRequest>, TransferError> {
    let own = OwnNames::new(["here.example:443"]).unwrap();
    let headers = headers.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    TransferRequest::read(headers, &own, &PathLimits::default())
}

fn url(text: &str) -> RemoteUrl {
    RemoteUrl::parse(text.as_bytes(), &PathLimits::default()).unwrap()
}

#[test]
fn exactly_one_end_is_elsewhere() {
    let direction = |headers: &[(&str, &str)]| {
        read(headers).map(|request| request.map(|request| (request.direction, request.remote.to_string())))
    };
    let there = "https://there.example/a";
    assert_eq!(direction(&[("Source", there)]), Ok(Some((Direction::Pull, there.to_owned()))));
    assert_eq!(direction(&[("destination", there)]), Ok(Some((Direction::Push, there.to_owned()))));
    assert_eq!(
        direction(&[("Source", "davs://there.example:8443/a?x=1")]),
        Ok(Some((Direction::Pull, "https://there.example:8443/a".to_owned())))
    );
    // Copies within this server.
    assert_eq!(direction(&[("Destination", "https://here.example/b")]), Ok(None));
    assert_eq!(direction(&[("Destination", "/b")]), Ok(None));
    assert_eq!(direction(&[]), Ok(None));
    // A Destination may repeat the request target.
    assert!(direction(&[("Source", there), ("Destination", "/b")]).unwrap().is_some());
    assert_eq!(direction(&[("Source", there), ("Destination", there)]), Err(TransferError::BothElsewhere));
    assert_eq!(direction(&[("Source", there), ("source", there)]), Err(TransferError::Repeated));
    for source in
        ["/a", "a", "", "ftp://there.example/a", "https://u:p@there.example/a", "https://there.example/a#b"]
    {
        assert_eq!(direction(&[("Source", source)]), Err(TransferError::Source), "{source}");
    }
    let user = direction(&[("Destination", "https://u@there.example/a")]);
    assert_eq!(user, Err(TransferError::Header(HeaderError::DestinationPart)));
}

#[test]
fn the_headers_of_a_transfer_are_read() {
    let there = ("Source", "https://there.example/a");
    let plain = read(&[there]).unwrap().unwrap();
    assert!(plain.overwrite && plain.passed.is_empty());
    assert_eq!((plain.verification, plain.streams, plain.sci_tag), (Verification::IfTold, 1, None));
    let full = read(&[
        there,
        ("Overwrite", "F"),
        ("RequireChecksumVerification", "True"),
        ("X-Number-Of-Streams", "4"),
        ("SciTag", "66"),
        ("Credential", "none"),
        ("ClientInfo", "job-id=1"),
        ("TransferHeaderAuthorization", "Bearer t"),
        ("transferheaderX-Trace", "7"),
        ("Authorization", "Bearer mine"),
    ]);
    let full = full.unwrap().unwrap();
    assert!(!full.overwrite);
    assert_eq!((full.verification, full.streams, full.sci_tag), (Verification::Required, 4, Some(66)));
    assert_eq!(
        full.passed,
        [("Authorization".to_owned(), b"Bearer t".to_vec()), ("X-Trace".to_owned(), b"7".to_vec())]
    );
    for (headers, why) in [
        (("Credential", "gridsite"), TransferError::Credential("gridsite".to_owned())),
        (("Credential", " OIDC "), TransferError::Credential("OIDC".to_owned())),
        (("Credential", "a\tb\u{e9}"), TransferError::Credential("a\\tb\\xc3\\xa9".to_owned())),
        (("Overwrite", "true"), TransferError::Header(HeaderError::Overwrite)),
        (("RequireChecksumVerification", "yes"), TransferError::Verification),
        (("X-Number-Of-Streams", "many"), TransferError::Streams),
        (("X-Number-Of-Streams", "-1"), TransferError::Streams),
        (("TransferHeaderContent-Length", "1"), TransferError::PassedHeader),
        (("TransferHeaderHOST", "a"), TransferError::PassedHeader),
        (("TransferHeaderIf-Modified-Since", "a"), TransferError::PassedHeader),
        (("TransferHeaderIf", "a"), TransferError::PassedHeader),
        (("TransferHeaderX-VOMS-ssl_client_ee_s_dn", "a"), TransferError::PassedHeader),
        (("TransferHeaderX_VOMS_fqans", "a"), TransferError::PassedHeader),
        (("TransferHeaderx-remote-user", "a"), TransferError::PassedHeader),
        (("TransferHeaderX-Forwarded-For", "a"), TransferError::PassedHeader),
        (("TransferHeaderForwarded", "a"), TransferError::PassedHeader),
        (("TransferHeader", "a"), TransferError::PassedHeader),
        (("TransferHeaderA", "b\rc"), TransferError::PassedHeader),
    ] {
        assert_eq!(read(&[there, headers]), Err(why), "{headers:?}");
    }
    let number = |text| read(&[there, ("X-Number-Of-Streams", text)]).unwrap().unwrap().streams;
    assert_eq!((number("0"), number("99999999")), (1, u16::MAX));
    let tag = |text| read(&[there, ("SciTag", text)]).unwrap().unwrap().sci_tag;
    assert_eq!(
        (tag("64"), tag("65"), tag("65535"), tag("65536"), tag("x")),
        (None, Some(65), Some(65535), None, None)
    );
}

#[test]
fn what_cannot_be_delegated_is_named_and_not_repeated_at_length() {
    let refused = |value: &str| {
        let headers = [("Source", "https://there.example/a"), ("Credential", value)];
        read(&headers).unwrap_err().to_string()
    };
    assert_eq!(
        refused("gridsite"),
        "Credential: gridsite is not supported, only none is, as nothing can be delegated to this server: \
         pass a token on with TransferHeaderAuthorization"
    );
    assert!(refused(&"x".repeat(10_000)).len() < 250);
}

#[test]
fn a_client_reads_markers_and_one_last_line() {
    let connections: [SocketAddr; 2] =
        ["192.0.2.1:443".parse().unwrap(), "[2001:db8::1]:8443".parse().unwrap()];
    let marker = Marker { unix_s: 1_700_000_000, bytes: 12, connections: &connections };
    assert_eq!(
        marker.text(),
        "Perf Marker\nTimestamp: 1700000000\nStripe Index: 0\nStripe Bytes Transferred: 12\nTotal Stripe Count: 1\n\
         RemoteConnections: tcp:192.0.2.1:443,tcp:[2001:db8::1]:8443\nEnd\n"
    );
    let before = Marker { unix_s: 1, bytes: 0, connections: &[] };
    assert_eq!(
        before.text(),
        "Perf Marker\nTimestamp: 1\nStripe Index: 0\nStripe Bytes Transferred: 0\nTotal Stripe Count: 1\nEnd\n"
    );
    assert_eq!(success_line(), "success: Created\n");
    assert_eq!(failure_line("a\r\nsuccess: Created"), "failure: a  success: Created\n");
    assert!(failure_line(&"x".repeat(10_000)).len() < 600);
}

#[test]
fn redirections_are_resolved_and_origins_compared() {
    let base = url("https://a.example:8443/d/f?t=1");
    for (location, leads_to) in [
        ("https://b.example/x?y", "https b.example 443 /x?y"),
        ("https://b.example/x#z", "https b.example 443 /x"),
        ("//b.example:1/x", "https b.example 1 /x"),
        ("/x?y", "https a.example 8443 /x?y"),
        ("x", "https a.example 8443 /d/x"),
        ("?u=2", "https a.example 8443 /d/f?u=2"),
        ("dav://a.example:8443/", "http a.example 8443 /"),
    ] {
        let to = base.redirected(location.as_bytes(), &PathLimits::default()).unwrap();
        let scheme = if to.scheme == Scheme::Https { "https" } else { "http" };
        assert_eq!(format!("{scheme} {} {} {}", to.host, to.port, to.target), leads_to, "{location}");
    }
    for location in ["", "#a", "file:///etc/passwd", "https://u@b.example/", "/a b", "/a\nb"] {
        assert!(base.redirected(location.as_bytes(), &PathLimits::default()).is_err(), "{location}");
    }
    assert!(base.is_same_origin(&url("https://A.example:8443/other")));
    for other in ["http://a.example:8443/", "https://a.example/", "https://b.example:8443/"] {
        assert!(!base.is_same_origin(&url(other)), "{other}");
    }
    assert_eq!(
        (base.authority().as_str(), base.to_string().as_str()),
        ("a.example:8443", "https://a.example:8443/d/f")
    );
    assert_eq!(url("https://a.example:443/").authority(), "a.example");
    assert_eq!(url("https://a.example./").peer(), url("https://a.example/").peer());
}

#[test]
fn addresses_are_what_they_lead_to() {
    use AddressClass::*;
    for (address, class) in [
        ("93.184.216.34", Public),
        ("127.0.0.1", Loopback),
        ("127.255.255.254", Loopback),
        ("0.0.0.0", Unspecified),
        ("0.1.2.3", Unspecified),
        ("10.0.0.1", Private),
        ("172.15.0.1", Public),
        ("172.16.0.1", Private),
        ("172.31.255.255", Private),
        ("172.32.0.1", Public),
        ("192.168.1.1", Private),
        ("100.64.0.1", Shared),
        ("100.128.0.1", Public),
        ("169.254.169.254", LinkLocal),
        ("192.0.0.8", Reserved),
        ("192.0.2.1", Reserved),
        ("198.18.0.1", Reserved),
        ("198.51.100.1", Reserved),
        ("203.0.113.1", Reserved),
        ("224.0.0.1", Multicast),
        ("240.0.0.1", Reserved),
        ("255.255.255.255", Reserved),
        ("2606:2800:220:1::1", Public),
        ("::1", Loopback),
        ("::", Unspecified),
        ("::ffff:127.0.0.1", Loopback),
        ("::ffff:10.0.0.1", Private),
        ("::ffff:93.184.216.34", Public),
        ("::10.0.0.1", Private),
        ("64:ff9b::a00:1", Private),
        ("64:ff9b::5db8:d822", Public),
        ("64:ff9b:1::1", Reserved),
        ("2002:7f00:1::1", Loopback),
        ("2001::1", Reserved),
        ("2001:db8::1", Reserved),
        ("3fff::1", Reserved),
        ("fc00::1", Private),
        ("fd12:3456::1", Private),
        ("fe80::1", LinkLocal),
        ("fec0::1", Private),
        ("ff02::1", Multicast),
        ("100::1", Reserved),
        ("4000::1", Reserved),
    ] {
        assert_eq!(AddressClass::of(address.parse().unwrap()), class, "{address}");
    }
}

fn rules(allow: &[&str], deny: &[&str], private: &[&str]) -> RemoteRules {
    let hosts = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    RemoteRules {
        http: false,
        allow: hosts(allow),
        deny: hosts(deny),
        private: private.iter().map(|text| text.parse().unwrap()).collect(),
    }
}

#[test]
fn only_what_the_rules_let_through_is_connected_to() {
    let public = "93.184.216.34";
    let vet =
        |rules: &RemoteRules, host: &str, address: &str| rules.vet_address(host, address.parse().unwrap());
    let plain = rules(&[], &[], &[]);
    assert_eq!(vet(&plain, "a.example", public), Ok(()));
    let inside = Vetoed::NotPublic("a.example".to_owned(), AddressClass::Loopback);
    assert_eq!(vet(&plain, "a.example", "127.0.0.1"), Err(inside.clone()));
    assert_eq!(vet(&plain, "a.example", "::ffff:127.0.0.1"), Err(inside));
    let own = rules(&[], &["10.1.0.0/16"], &["10.0.0.0/8"]);
    assert_eq!(vet(&own, "a.example", "10.0.0.1"), Ok(()));
    assert_eq!(vet(&own, "a.example", "::ffff:10.0.0.1"), Ok(()));
    assert!(vet(&own, "a.example", "10.1.0.1").is_err());
    // Denied addresses stay denied in each of their IPv6 forms.
    let denied = rules(&[], &["93.184.216.0/24"], &[]);
    for address in [public, "::ffff:93.184.216.34", "64:ff9b::5db8:d822", "2002:5db8:d822::1"] {
        assert_eq!(
            vet(&denied, "a.example", address),
            Err(Vetoed::Denied("a.example".to_owned())),
            "{address}"
        );
    }
    assert!(denied.vet_url(&url("https://[64:ff9b::5db8:d822]/")).is_err());
    assert_eq!(vet(&denied, "a.example", "64:ff9b::808:808"), Ok(()));
    assert!(vet(&own, "a.example", "192.168.0.1").is_err());
    // An allow rule applies to an address behind NAT64, but not to 6to4 and Teredo. None of them may lead to
    // a private address.
    let allowed = rules(&["93.184.216.0/24"], &[], &["10.0.0.0/8", "2001::/32"]);
    assert_eq!(vet(&allowed, "a.example", "64:ff9b::5db8:d822"), Ok(()));
    assert_eq!(vet(&allowed, "a.example", "::ffff:93.184.216.34"), Ok(()));
    for address in ["64:ff9b::808:808", "2002:5db8:d822::1", "64:ff9b::a00:1", "2002:a00:1::1", "::10.0.0.1"]
    {
        assert!(vet(&allowed, "a.example", address).is_err(), "{address}");
    }
    // A Teredo address holds the client's address with inverted bits: 93.184.216.34 here.
    let teredo = rules(&[], &["93.184.216.0/24"], &["2001::/32"]);
    assert!(vet(&teredo, "a.example", "2001::a247:27dd").is_err());
    assert_eq!(vet(&teredo, "a.example", "2001::f7f7:f7f7"), Ok(()));
    // An allowed name may not lead to an internal address.
    let some = rules(&["*.example.org", "b.example", "93.184.0.0/16"], &["bad.example.org"], &[]);
    for (host, address, allowed) in [
        ("a.example.org", "1.1.1.1", true),
        ("A.b.Example.org.", "1.1.1.1", true),
        ("bad.example.org", "1.1.1.1", false),
        ("example.org", "1.1.1.1", false),
        ("aexample.org", "1.1.1.1", false),
        ("b.example", "1.1.1.1", true),
        ("c.example", "1.1.1.1", false),
        ("c.example", public, true),
        ("a.example.org", "10.0.0.1", false),
    ] {
        assert_eq!(vet(&some, host, address).is_ok(), allowed, "{host} {address}");
    }
}

#[test]
fn a_url_is_refused_before_its_name_is_resolved_where_that_can_be_told() {
    let plain = rules(&[], &["bad.example"], &[]);
    assert_eq!(plain.vet_url(&url("https://a.example/")), Ok(()));
    assert_eq!(plain.vet_url(&url("http://a.example/")), Err(Vetoed::PlainHttp));
    assert_eq!(plain.vet_url(&url("dav://a.example/")), Err(Vetoed::PlainHttp));
    assert!(plain.vet_url(&url("https://bad.example/")).is_err());
    assert!(plain.vet_url(&url("https://[::ffff:a9fe:a9fe]/")).is_err());
    assert!(plain.vet_url(&url("https://127.0.0.1/")).is_err());
    let http = RemoteRules { http: true, ..RemoteRules::default() };
    assert_eq!(http.vet_url(&url("dav://a.example/")), Ok(()));
    assert!(rules(&["b.example"], &[], &[]).vet_url(&url("https://a.example/")).is_err());
    assert!(rules(&["b.example", "10.0.0.0/8"], &[], &[]).vet_url(&url("https://a.example/")).is_ok());
}

#[test]
fn rules_are_written_as_hosts_domains_addresses_and_networks() {
    for text in ["a.example", "*.example.org", "192.0.2.0/24", "2001:db8::/32", "localhost"] {
        assert_eq!(text.parse::<HostRule>().unwrap().to_string(), text);
    }
    assert_eq!("192.0.2.7".parse::<HostRule>().unwrap().to_string(), "192.0.2.7/32");
    assert_eq!("192.0.2.7/24".parse::<HostRule>().unwrap().to_string(), "192.0.2.0/24");
    for text in ["", "*", "a..b", "a b", "*.", "a.*", "192.0.2.0/33", "1.2.3", "https://a", "a:1"] {
        assert_eq!(text.parse::<HostRule>(), Err(BadHostRule), "{text}");
    }
}

proptest! {
    #[test]
    fn nothing_but_public_addresses_gets_through_without_rules(bits in any::<u128>(), is_v4 in any::<bool>()) {
        let address = if is_v4 { IpAddr::V4((bits as u32).into()) } else { IpAddr::V6(bits.into()) };
        let vetted = RemoteRules::default().vet_address("a.example", address);
        prop_assert_eq!(vetted.is_ok(), AddressClass::of(address) == AddressClass::Public);
        // An address that std treats as internal is never public here.
        let is_inside = match address.to_canonical() {
            IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_multicast() || v4.is_unspecified(),
            IpAddr::V6(v6) => v6.is_loopback() || v6.is_unspecified() || v6.is_multicast(),
        };
        prop_assert!(!is_inside || vetted.is_err());
        let network = IpNet::from(address.to_canonical());
        let rules = RemoteRules { private: vec![network], ..RemoteRules::default() };
        prop_assert!(rules.vet_address("a.example", address).is_ok());
    }

    #[test]
    fn any_headers_get_a_verdict(value in "(https?://)?[a-z.:/@#?\\[\\]]{0,20}", other in ".{0,12}") {
        let _ = read(&[("Source", &value), ("X-Number-Of-Streams", &other), ("TransferHeaderX", &other)]);
        let _ = read(&[("Destination", &value), ("Credential", &other)]);
        let _ = url("https://a.example/b").redirected(value.as_bytes(), &PathLimits::default());
        let _ = other.parse::<HostRule>();
    }
}
