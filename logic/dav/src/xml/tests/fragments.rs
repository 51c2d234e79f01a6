//! Tests of XML fragments.

use proptest::prelude::*;

use super::*;

fn set(property: &str, around: &str) -> Result<Fragment, XmlError> {
    let body = format!(
        "<D:propertyupdate xmlns:D='DAV:' {around}><D:set><D:prop>{property}</D:prop></D:set></D:propertyupdate>"
    );
    match parse_proppatch(body.as_bytes(), &XmlLimits::default())?.as_slice() {
        [PropertyUpdate::Set(fragment)] => Ok(fragment.clone()),
        _ => Err(XmlError::Content),
    }
}

#[test]
fn a_fragment_declares_what_it_uses_and_no_more() {
    for (property, around, kept) in [
        ("<a/>", "", "<a/>"),
        ("<a/>", "xmlns='urn:x'", "<a xmlns=\"urn:x\"/>"),
        ("<a xmlns=''/>", "xmlns='urn:x'", "<a xmlns=\"\"/>"),
        (
            "<Z:a><b/></Z:a>",
            "xmlns='urn:x' xmlns:Z='urn:z'",
            "<Z:a xmlns=\"urn:x\" xmlns:Z=\"urn:z\"><b/></Z:a>",
        ),
        ("<Z:a xmlns:Z='urn:own'/>", "xmlns:Z='urn:z'", "<Z:a xmlns:Z=\"urn:own\"/>"),
        ("<a Z:b='c'/>", "xmlns:Z='urn:z' xmlns:Y='urn:y'", "<a xmlns:Z=\"urn:z\" Z:b=\"c\"/>"),
        ("<a>Y:name</a>", "xmlns:Y='urn:y'", "<a xmlns:Y=\"urn:y\">Y:name</a>"),
        ("<a/>", "xml:lang='de'", "<a xml:lang=\"de\"/>"),
        ("<a xml:lang=''/>", "xml:lang='de'", "<a xml:lang=\"\"/>"),
        ("<a> x <b> y </b>\r\nz&#13;</a>", "", "<a> x <b> y </b>\nz&#13;</a>"),
        ("<a b='1&#9;2&#10;3\t&#13;'/>", "", "<a b=\"1&#9;2&#10;3 &#13;\"/>"),
        ("<a>&lt;&gt;&amp;&apos;&quot;\u{1f600}</a>", "", "<a>&lt;&gt;&amp;'\"\u{1f600}</a>"),
        ("<a><![CDATA[]]>]]&gt;</a>", "", "<a>]]&gt;</a>"),
    ] {
        assert_eq!(set(property, around).as_ref().map(Fragment::as_str), Ok(kept), "{property} in {around}");
    }
}

#[test]
fn what_was_kept_is_checked_when_it_comes_back() {
    for broken in ["", "<a>", "<a/><b/>", "<Z:a/>", "text", "<a>&b;</a>", "<!DOCTYPE a><a/>"] {
        assert!(serde_json::from_value::<Fragment>(broken.into()).is_err(), "{broken}");
    }
}

/// Generates an element with children as text; the surrounding text declares the prefixes p and q.
fn element() -> impl Strategy<Value = String> {
    let tag = || {
        let name = "(p:|q:)?[a-c]";
        let attributes = prop_oneof![
            4 => Just(""),
            1 => Just(" x='&lt;&#9;\"'"),
            1 => Just(" p:x=\"'&amp;\""),
            1 => Just(" xmlns='urn:default'"),
            1 => Just(" xmlns=''"),
            1 => Just(" xmlns:p='urn:other'"),
            1 => Just(" xml:lang='fr'"),
        ];
        (name, attributes)
    };
    let leaf = prop_oneof![
        tag().prop_map(|(name, attributes)| format!("<{name}{attributes}/>")),
        Just("t &amp; &lt;q:&gt; &#x41;\r\n".to_owned()),
        Just("<![CDATA[<&>]]>".to_owned()),
        Just("<!-- c -->".to_owned()),
    ];
    let inner = leaf.prop_recursive(4, 20, 4, move |inner| {
        (tag(), prop::collection::vec(inner, 0..4)).prop_map(|((name, attributes), children)| {
            format!("<{name}{attributes}>{}</{name}>", children.concat())
        })
    });
    (tag(), prop::collection::vec(inner, 0..4)).prop_map(|((name, attributes), children)| {
        format!("<{name}{attributes}>{}</{name}>", children.concat())
    })
}

proptest! {
    #[test]
    fn a_fragment_reads_back_as_it_was_kept(
        element in element(),
        around in prop::sample::select(vec!["", "xmlns='urn:d'", "xml:lang='de'", "xmlns:p='urn:p2' xmlns='urn:q'"]),
    ) {
        let around = if around.contains("xmlns:p") { around.to_owned() } else { format!("{around} xmlns:p='urn:p'") };
        let kept = set(&element, &format!("{around} xmlns:q='urn:q2'")).unwrap();
        let again = Fragment::parse(kept.as_str(), &XmlLimits::default()).unwrap();
        prop_assert_eq!(&again, &kept);
        // The fragment means the same in any place without a default namespace.
        let elsewhere = set(kept.as_str(), "xmlns:p='urn:x' xmlns:q='urn:y' xmlns:D2='urn:z'").unwrap();
        prop_assert_eq!(&elsewhere, &kept);
        let json = serde_json::to_string(&kept).unwrap();
        prop_assert_eq!(serde_json::from_str::<Fragment>(&json).unwrap(), kept);
    }

    #[test]
    fn any_text_gets_a_verdict(text in "[<>/a:!?&;#x\\[\\]'\" =-]{0,30}") {
        for body in [text.clone(), format!("<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop>{text}")] {
            let _ = Propfind::parse(body.as_bytes(), &LIMITS);
            let _ = parse_proppatch(body.as_bytes(), &LIMITS);
            let _ = LockInfo::parse(body.as_bytes(), &LIMITS);
        }
        if let Ok(kept) = set(&text, "xmlns:a='u'") {
            prop_assert_eq!(Fragment::parse(kept.as_str(), &XmlLimits::default()), Ok(kept));
        }
    }
}
