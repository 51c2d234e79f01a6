//! Tests of the request bodies.

use super::*;
use crate::lock::Scope;

fn propfind(body: &str) -> Result<Propfind, XmlError> {
    Propfind::parse(body.as_bytes(), &LIMITS)
}

#[test]
fn propfind_asks_in_three_ways() {
    let all = |include| Ok(Propfind::AllProp { include });
    for (body, asked) in [
        ("", all(vec![])),
        ("<propfind xmlns='DAV:'><allprop/></propfind>", all(vec![])),
        (
            "<D:propfind xmlns:D='DAV:'><D:allprop/><D:include><D:supported-report-set/><x xmlns='urn:x'/></D:include>\
             </D:propfind>",
            all(vec![name(DAV, "supported-report-set"), name("urn:x", "x")]),
        ),
        (
            "<?xml version='1.0'?>\n<D:propfind xmlns:D='DAV:'> <D:propname/> </D:propfind>\n",
            Ok(Propfind::PropName),
        ),
        (
            "<!-- a --><D:propfind xmlns:D='DAV:'><D:prop><D:getetag/><R:bigbox xmlns:R='urn:r'><x/></R:bigbox>\
             <none/><D:getetag/></D:prop></D:propfind>",
            Ok(Propfind::Prop(vec![name(DAV, "getetag"), name("urn:r", "bigbox"), name("", "none")])),
        ),
        ("<D:propfind xmlns:D='DAV:'><D:prop/></D:propfind>", Ok(Propfind::Prop(vec![]))),
        (
            "<D:propfind xmlns:D='DAV:'><new xmlns='urn:x'><D:propname/></new><D:allprop/></D:propfind>",
            all(vec![]),
        ),
    ] {
        assert_eq!(propfind(body), asked, "{body}");
    }
}

#[test]
fn processing_instructions_are_ignored_wherever_they_stand() {
    let asked = propfind("<D:propfind xmlns:D='DAV:'><D:prop><D:getetag/></D:prop></D:propfind>");
    for body in [
        "<?xml version='1.0'?><?xml-stylesheet href='a'?><D:propfind xmlns:D='DAV:'><D:prop><D:getetag/></D:prop></D:propfind>",
        "<?pi?><D:propfind xmlns:D='DAV:'><?php x?><D:prop><D:getetag/><?y <z> & ?></D:prop></D:propfind><?end x?>",
    ] {
        assert_eq!(propfind(body), asked, "{body}");
    }
    let kept = proppatch(
        "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><a>x<?pi y?>z</a></D:prop></D:set></D:propertyupdate>",
    );
    assert_eq!(shown(&kept.unwrap()), "set {}a = <a>xz</a>\n");
}

#[test]
fn a_propfind_that_asks_for_nothing_or_for_two_things_makes_no_sense() {
    for body in [
        "<D:propfind xmlns:D='DAV:'/>",
        "<D:propfind xmlns:D='DAV:'><D:allprop/><D:propname/></D:propfind>",
        "<D:propfind xmlns:D='DAV:'><D:prop/><D:prop/></D:propfind>",
        "<D:propfind xmlns:D='DAV:'><D:propname/><D:include/></D:propfind>",
        "<D:propfind xmlns:D='DAV:'><allprop/></D:propfind>",
    ] {
        assert_eq!(propfind(body), Err(XmlError::Content), "{body}");
    }
    for body in ["<propfind><allprop/></propfind>", "<D:prop xmlns:D='DAV:'/>", "<propfind xmlns='dav:'/>"] {
        assert_eq!(propfind(body), Err(XmlError::WrongRoot), "{body}");
    }
}

#[test]
fn utf16_with_a_byte_order_mark_is_read() {
    let body = "<?xml version='1.0' encoding='UTF-16'?><propfind xmlns='DAV:'><propname/></propfind>";
    let little: Vec<u8> =
        [0xfeff].into_iter().chain(body.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = [0xfeff].into_iter().chain(body.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    for bytes in [&little, &big] {
        assert_eq!(Propfind::parse(bytes, &LIMITS), Ok(Propfind::PropName));
    }
    assert_eq!(Propfind::parse(&little[..little.len() - 1], &LIMITS), Err(XmlError::Encoding));
    assert_eq!(propfind(body), Err(XmlError::Encoding));
    assert_eq!(propfind(&format!("\u{feff}{}", body.replace("16", "8"))), Ok(Propfind::PropName));
    assert_eq!(propfind(&body.replace("UTF-16", "ISO-8859-1")), Err(XmlError::Encoding));
    assert_eq!(Propfind::parse(b"<a>\xff</a>", &LIMITS), Err(XmlError::Encoding));
}

fn proppatch(body: &str) -> Result<Vec<PropertyUpdate>, XmlError> {
    parse_proppatch(body.as_bytes(), &LIMITS)
}

fn shown(updates: &[PropertyUpdate]) -> String {
    let show = |update: &PropertyUpdate| match update {
        PropertyUpdate::Set(value) => format!("set {} = {value}\n", value.name()),
        PropertyUpdate::Remove(name) => format!("remove {name}\n"),
    };
    updates.iter().map(show).collect()
}

#[test]
fn proppatch_keeps_order_namespaces_and_languages() {
    let body = "<?xml version=\"1.0\" encoding=\"utf-8\" ?>
<D:propertyupdate xmlns:D=\"DAV:\" xmlns:Z=\"urn:z\" xmlns:unused=\"urn:unused\" xml:lang=\"de\">
  <D:remove><D:prop><Z:first>ignored</Z:first><D:displayname/></D:prop></D:remove>
  <D:set xml:lang=\"fr\">
    <D:prop>
      <Z:Authors kind=\"a&quot;b&#10;c\"><Z:Author>Jim &amp; Roy</Z:Author><!-- gone --><x xmlns=\"\"/></Z:Authors>
      <plain xmlns=\"urn:p\" xml:lang=\"en\"><![CDATA[<raw> & ]]>text</plain>
      <Z:typed xmlns:i=\"urn:i\" i:type=\"unused:qname\"/>
    </D:prop>
    <D:prop><nowhere/></D:prop>
  </D:set>
  <unknown xmlns=\"urn:u\"/>
  <D:remove><D:prop><Z:Authors/></D:prop></D:remove>
</D:propertyupdate>";
    insta::assert_snapshot!(shown(&proppatch(body).unwrap()));
}

#[test]
fn a_proppatch_without_instructions_makes_no_sense() {
    for body in [
        "<D:propertyupdate xmlns:D='DAV:'/>",
        "<D:propertyupdate xmlns:D='DAV:'><D:set/></D:propertyupdate>",
        "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop/></D:set></D:propertyupdate>",
    ] {
        assert_eq!(proppatch(body), Err(XmlError::Content), "{body}");
    }
    assert_eq!(proppatch("<D:propfind xmlns:D='DAV:'/>"), Err(XmlError::WrongRoot));
    assert_eq!(proppatch(""), Err(XmlError::Malformed));
}

#[test]
fn a_lock_is_asked_for_with_scope_type_and_perhaps_owner() {
    let body = "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>\
                <D:owner><D:href>http://example.org/~ejw/contact.html</D:href></D:owner></D:lockinfo>";
    let read = LockInfo::parse(body.as_bytes(), &LIMITS).unwrap();
    assert_eq!(read.scope, Scope::Exclusive);
    assert_eq!(
        read.owner.unwrap().as_str(),
        "<D:owner xmlns:D=\"DAV:\"><D:href>http://example.org/~ejw/contact.html</D:href></D:owner>"
    );
    let shared = body
        .replace("exclusive", "shared")
        .replace("<D:owner>", "<D:other>")
        .replace("</D:owner>", "</D:other>");
    let shared = LockInfo::parse(shared.as_bytes(), &LIMITS).unwrap();
    assert_eq!((shared.scope, shared.owner), (Scope::Shared, None));
    for (from, to) in [
        ("exclusive", "neither"),
        ("<D:write/>", ""),
        ("<D:write/>", "<D:read/>"),
        ("<D:lockscope><D:exclusive/></D:lockscope>", ""),
        ("<D:locktype><D:write/></D:locktype>", ""),
        ("<D:owner>", "<D:owner/><D:owner>"),
    ] {
        assert_eq!(
            LockInfo::parse(body.replace(from, to).as_bytes(), &LIMITS),
            Err(XmlError::Content),
            "{from}"
        );
    }
}
