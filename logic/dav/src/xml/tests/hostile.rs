//! Tests of hostile and malformed bodies.

use super::*;

fn verdict(body: &str) -> XmlError {
    Propfind::parse(body.as_bytes(), &LIMITS).unwrap_err()
}

fn wrap(inner: &str) -> String {
    format!("<D:propfind xmlns:D='DAV:'><D:prop>{inner}</D:prop></D:propfind>")
}

#[test]
fn what_webdav_has_no_use_for_is_refused() {
    let root = wrap("");
    for (body, why) in [
        (format!("<!DOCTYPE x [<!ENTITY a 'b'>]>{root}"), XmlError::DocumentType),
        (format!("<!DOCTYPE x SYSTEM 'file:///etc/passwd'>{root}"), XmlError::DocumentType),
        (
            format!("<!DOCTYPE x [<!ENTITY a 'aa'><!ENTITY b '&a;&a;&a;'>]>{}", wrap("&b;")),
            XmlError::DocumentType,
        ),
        (wrap("&b;"), XmlError::Entity),
        (wrap("<a b='&c;'/>"), XmlError::Entity),
        (wrap("&#xfffffffff;"), XmlError::Entity),
        (wrap("&#0;"), XmlError::Entity),
        (wrap("<?xml version='1.0'?>"), XmlError::Malformed),
        (wrap("<?XML x?>"), XmlError::Malformed),
        (wrap("<?a:b x?>"), XmlError::Malformed),
        (wrap("<? x?>"), XmlError::Malformed),
        (wrap("<?a \u{1}?>"), XmlError::Malformed),
        (format!("<?xml version='1.1'?>{root}"), XmlError::Malformed),
        (format!(" <?xml version='1.0'?>{root}"), XmlError::Malformed),
        (format!("{root}<?xml version='1.0'?>"), XmlError::Malformed),
    ] {
        assert_eq!(verdict(&body), why, "{body}");
    }
}

#[test]
fn size_depth_and_numbers_are_bounded() {
    for (body, why) in [
        (wrap(&" ".repeat(5_000)), XmlError::TooLarge),
        (wrap(&"<a>".repeat(100)), XmlError::TooDeep),
        (wrap(&"<a/>".repeat(100)), XmlError::TooMany),
        (
            wrap(&format!("<a {}/>", (0..9).map(|n| format!("a{n}='' ")).collect::<String>())),
            XmlError::TooMany,
        ),
        (
            wrap(&format!("<a {}/>", (0..8).map(|n| format!("xmlns:a{n}='u' ")).collect::<String>())),
            XmlError::TooMany,
        ),
        (wrap(&format!("<{}/>", "a".repeat(65))), XmlError::TooLarge),
        (wrap(&format!("<a xmlns='{}'/>", "a".repeat(65))), XmlError::TooLarge),
    ] {
        assert_eq!(verdict(&body), why, "{body}");
    }
}

#[test]
fn a_shared_declaration_does_not_multiply_without_bound() {
    let limits = XmlLimits { elements_max: 1_000, ..LIMITS };
    let properties = "<Z:a/>".repeat(500);
    let uri = "u".repeat(60);
    let body = format!(
        "<D:propertyupdate xmlns:D='DAV:' xmlns:Z='{uri}'><D:set><D:prop>{properties}</D:prop></D:set></D:propertyupdate>"
    );
    assert!(body.len() < limits.bytes_max);
    assert_eq!(parse_proppatch(body.as_bytes(), &limits), Err(XmlError::TooLarge));
}

#[test]
fn what_is_not_well_formed_is_refused() {
    for body in [
        "<",
        "x",
        "<a",
        "<a>",
        "</a>",
        "<a></b>",
        "<a/><b/>",
        "<a/>x",
        "x<a/>",
        "<a/>&amp;",
        "<a b/>",
        "<a b=c/>",
        "<a b='1' b='2'/>",
        "<a b='<'/>",
        "<1a/>",
        "<a:b:c xmlns:a='u'/>",
        "<:a/>",
        "<a:/>",
        "<a>]]></a>",
        "<a>\u{1}</a>",
        "<a>&#1;</a>",
        "<a b='&#1;'/>",
        "<a>\u{ffff}</a>",
        "<a><![CDATA[x</a>",
        "<a><!-- -- --></a>",
        "<a>&amp</a>",
        "<![CDATA[x]]>",
        "<!-- only -->",
        " ",
        "<a b='1'",
        "<é\u{d7}/>",
        "<a>\0</a>",
    ] {
        assert_eq!(Fragment::parse(body, &LIMITS), Err(XmlError::Malformed), "{body:?}");
    }
}

#[test]
fn namespaces_are_taken_seriously() {
    for body in [
        "<a:b/>",
        "<a b:c=''/>",
        "<a xmlns:b=''/>",
        "<a xmlns:xml='urn:x'/>",
        "<a xmlns:xmlns='urn:x'/>",
        "<a xmlns:b='http://www.w3.org/2000/xmlns/'/>",
        "<a xmlns='http://www.w3.org/XML/1998/namespace'/>",
        "<xmlns:a/>",
        "<a xmlns:b='u' xmlns:c='u' b:x='' c:x=''/>",
        "<a><b xmlns:c='u'/><c:d/></a>",
    ] {
        // The reader finds some of the errors at the start tag and others in the contents.
        let inside = wrap(body);
        assert_eq!(verdict(&inside), XmlError::Namespace, "{inside}");
    }
}

#[test]
fn what_is_said_about_the_owner_of_a_lock_is_bounded() {
    let body = |bytes: usize| {
        format!(
            "<lockinfo xmlns='DAV:'><lockscope><shared/></lockscope><locktype><write/></locktype>\
             <owner>{}</owner></lockinfo>",
            "a".repeat(bytes)
        )
    };
    let parse = |bytes| LockInfo::parse(body(bytes).as_bytes(), &XmlLimits::default());
    assert!(parse(3_000).is_ok());
    assert_eq!(parse(5_000), Err(XmlError::TooLarge));
}
