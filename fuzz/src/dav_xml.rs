//! Fuzzes the XML bodies of WebDAV: they are parsed within the limits. An accepted property value is
//! well-formed, survives storage unchanged, and stays well-formed in a response.

use weir_dav::path::DavPath;
use weir_dav::xml::{
    Fragment, LockInfo, Multistatus, Property, PropertyUpdate, Propfind, Response, XmlLimits, parse_proppatch,
};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(body: &[u8]) {
    let limits = XmlLimits {
        bytes_max: 8_192,
        depth_max: 16,
        elements_max: 200,
        attributes_max: 16,
        name_bytes_max: 256,
    };
    if let Ok(Propfind::Prop(names) | Propfind::AllProp { include: names }) = Propfind::parse(body, &limits) {
        assert!(names.len() <= limits.elements_max);
        answer(|response| names.iter().for_each(|name| response.found(&Property::Name(name))));
    }
    let mut values = Vec::new();
    if let Ok(LockInfo { owner: Some(owner), .. }) = LockInfo::parse(body, &limits) {
        values.push(owner);
    }
    let mut kept_bytes = 0;
    for update in parse_proppatch(body, &limits).unwrap_or_default() {
        if let PropertyUpdate::Set(value) = update {
            kept_bytes += value.as_str().len();
            values.push(value);
        }
    }
    assert!(kept_bytes <= limits.bytes_max);
    for value in &values {
        assert_eq!(&String::from(value.clone()), value.as_str());
        assert_eq!(Fragment::try_from(value.as_str().to_owned()).as_ref(), Ok(value));
    }
    answer(|response| values.iter().for_each(|value| response.found(&Property::Dead(value))));
}

/// Checks that a response with these properties is a well-formed document.
fn answer(fill: impl FnOnce(&mut Response)) {
    let mut response = Response::new(&DavPath::root(), true);
    fill(&mut response);
    let mut out = String::new();
    let mut multistatus = Multistatus::begin(&mut out);
    multistatus.response(&mut out, &response);
    multistatus.end(&mut out);
    assert!(Fragment::try_from(out).is_ok());
}
