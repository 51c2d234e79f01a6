//! Tests of the response bodies. Line breaks between the elements make the snapshots readable.

use super::*;
use crate::etag::EntityTag;
use crate::header::LockToken;
use crate::lock::{Lock, Scope};
use crate::outcome::Outcome;
use crate::path::DavPath;

const NOW: u64 = 1_700_000_000;

fn legible(xml: &str) -> String {
    xml.replace("><", ">\n<")
}

fn path(names: &[&[u8]]) -> DavPath {
    names.iter().fold(DavPath::root(), |path, name| path.join(name).unwrap())
}

fn fragment(xml: &str) -> Fragment {
    Fragment::parse(xml, &LIMITS).unwrap()
}

fn lock() -> Lock {
    Lock {
        token: LockToken::from_random(1),
        root: path(&[b"a b"]),
        collection: true,
        scope: Scope::Exclusive,
        infinite: true,
        owner: Some(fragment("<D:owner xmlns:D=\"DAV:\">Ann &amp; Bob</D:owner>")),
        principal: "never shown".into(),
        expires_s: NOW + 300,
    }
}

#[test]
fn a_listing_has_properties_in_groups_of_their_status() {
    let mut out = String::new();
    let mut multistatus = Multistatus::begin(&mut out);
    let etag = EntityTag::strong("5f-<&>").unwrap();
    let lock = lock();

    let mut file = Response::new(&path(&[b"a b", b"<&>\xff.txt"]), false);
    file.found(&Property::CreationDate(784_111_777));
    file.found(&Property::DisplayName(b"<&>\xff\x01.txt"));
    file.found(&Property::ContentLength(u64::MAX));
    file.found(&Property::ContentType("text/plain; charset=utf-8"));
    file.add(&Property::Name(&name("urn:none", "absent")), Outcome::NotFound, None);
    file.found(&Property::Etag(&etag));
    file.found(&Property::LastModified(784_111_777));
    file.found(&Property::ResourceType { collection: false });
    file.found(&Property::SupportedLock { locks: true });
    file.found(&Property::LockDiscovery { locks: &[&lock], now_s: NOW });
    file.found(&Property::Checksum("062c0215"));
    file.found(&Property::Dead(&fragment("<Z:a xmlns:Z=\"urn:z\">1</Z:a>")));
    file.add(&Property::Name(&name("", "nowhere")), Outcome::NotFound, None);
    file.add(&Property::Name(&name(DAV, "getcontentlanguage")), Outcome::NotFound, None);
    multistatus.response(&mut out, &file);

    let mut root = Response::new(&DavPath::root(), true);
    root.found(&Property::ResourceType { collection: true });
    root.found(&Property::SupportedLock { locks: false });
    root.found(&Property::LockDiscovery { locks: &[], now_s: NOW });
    root.found(&Property::QuotaAvailable(10));
    root.found(&Property::QuotaUsed(20));
    multistatus.response(&mut out, &root);

    multistatus.response(&mut out, &Response::new(&path(&[b"empty"]), true));
    multistatus.end(&mut out);
    insta::assert_snapshot!(legible(&out));
}

#[test]
fn a_property_in_the_namespace_of_xml_itself_has_the_prefix_of_xml() {
    // Namespaces in XML 1.0 section 3: no other prefix may be bound to this namespace.
    const XML: &str = "http://www.w3.org/XML/1998/namespace";
    let body = "<D:propfind xmlns:D='DAV:'><D:prop><xml:space/></D:prop></D:propfind>";
    let asked = Propfind::parse(body.as_bytes(), &LIMITS).unwrap();
    assert_eq!(asked, Propfind::Prop(vec![name(XML, "space")]));
    let mut out = String::new();
    let mut multistatus = Multistatus::begin(&mut out);
    let mut response = Response::new(&path(&[b"a"]), false);
    response.add(&Property::Name(&name(XML, "space")), Outcome::NotFound, None);
    response.found(&Property::Dead(&fragment("<xml:lang>en</xml:lang>")));
    multistatus.response(&mut out, &response);
    multistatus.end(&mut out);
    assert!(out.contains("<D:prop><xml:space/></D:prop>"), "{out}");
    assert!(out.contains("<xml:lang>en</xml:lang>"), "{out}");
    Fragment::parse(&out[out.find("<D:multistatus").unwrap()..], &LIMITS).unwrap();
}

#[test]
fn a_proppatch_that_failed_says_for_each_property_why() {
    let mut out = String::new();
    let mut multistatus = Multistatus::begin(&mut out);
    let mut response = Response::new(&path(&[b"a"]), false);
    let protected = Some(Condition::CannotModifyProtectedProperty);
    response.add(&Property::Name(&LiveProperty::Etag.name()), Outcome::ProtectedProperty, protected);
    response.add(&Property::Name(&name("urn:z", "a")), Outcome::FailedDependency, None);
    response.add(&Property::Name(&name("urn:z", "b")), Outcome::FailedDependency, None);
    multistatus.response(&mut out, &response);
    multistatus.end(&mut out);
    insta::assert_snapshot!(legible(&out));
}

#[test]
fn a_delete_that_failed_says_where() {
    let mut out = String::new();
    let mut multistatus = Multistatus::begin(&mut out);
    let locked = Condition::LockTokenSubmitted(vec!["/a/b/".to_owned()]);
    multistatus.status(&mut out, &path(&[b"a", b"b"]), true, Outcome::Locked, Some(&locked));
    multistatus.status(&mut out, &path(&[b"a"]), true, Outcome::FailedDependency, None);
    multistatus.end(&mut out);
    insta::assert_snapshot!(legible(&out));
}

#[test]
fn a_lock_is_answered_with_what_it_is() {
    let mut out = String::new();
    write_lock_answer(&mut out, &lock(), NOW + 1);
    let shared = Lock { scope: Scope::Shared, infinite: false, collection: false, owner: None, ..lock() };
    write_lock_answer(&mut out, &shared, NOW + 900);
    insta::assert_snapshot!(legible(&out));
}

#[test]
fn errors_are_documents_of_their_own() {
    let conditions = [
        Condition::LockTokenSubmitted(vec!["/a".to_owned(), "/b/".to_owned()]),
        Condition::NoConflictingLock(vec!["/a".to_owned()]),
        Condition::LockTokenMatchesRequestUri,
        Condition::PropfindFiniteDepth,
        Condition::CannotModifyProtectedProperty,
        Condition::QuotaNotExceeded,
        Condition::SufficientDiskSpace,
    ];
    insta::assert_snapshot!(conditions.map(|condition| legible(&condition.document())).concat());
}

#[test]
fn everything_that_is_written_is_well_formed() {
    let mut out = String::new();
    let mut multistatus = Multistatus::begin(&mut out);
    for byte in 1..=u8::MAX {
        let Ok(path) = DavPath::root().join(&[byte]) else { continue };
        let mut response = Response::new(&path, byte % 2 == 0);
        response.found(&Property::DisplayName(&[byte]));
        response.found(&Property::ContentType(&char::from(byte).to_string()));
        response.add(&Property::Name(&name(&format!("urn:{byte}&\"<"), "a")), Outcome::NotFound, None);
        multistatus.response(&mut out, &response);
    }
    multistatus.end(&mut out);
    assert!(Fragment::parse(&out, &XmlLimits::default()).is_ok());
}

#[test]
fn live_properties_are_known_by_their_names() {
    for property in LiveProperty::ALL {
        assert_eq!(LiveProperty::from_name(&property.name()), Some(*property));
    }
    assert_eq!(LiveProperty::from_name(&name("urn:x", "getetag")), None);
    let settable: Vec<_> = LiveProperty::ALL.iter().filter(|property| !property.is_protected()).collect();
    assert_eq!(settable, [&LiveProperty::DisplayName]);
}
