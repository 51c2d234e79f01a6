//! Tests the positions of diagnostics from checks outside of the crate.

use super::{load_text, with};
use crate::{Outside, Source, examine};

#[test]
fn checks_from_outside_point_at_the_value_they_mean() {
    let loaded = load_text(&with("[listener.b]\nbind = [':81', ':82']\npool = 'web'\n")).unwrap();
    let place = |path: &[&str]| {
        let error = loaded.error_at(path, "taken");
        let place = error.places.first()?;
        Some((place.line, place.column, place.column_end))
    };
    assert_eq!(place(&["listener", "web", "bind", "0"]), Some((2, 8, 13)));
    assert_eq!(place(&["listener", "b", "bind", "1"]), Some((9, 16, 21)));
    // Not in the text: the position is that of the innermost parent.
    assert_eq!(place(&["listener", "b", "tls", "certificates", "0"]), Some((8, 1, 13)));
    assert_eq!(place(&["admin", "bind", "0"]), None);
}

#[test]
fn among_errors_only_a_value_that_has_none_is_pointed_at() {
    let text = with(
        "[listener.b]\nbind = [':81', 'nowhere']\npool = 'web'\nbcklog = 3\ntls = { certificates = 5 }\n",
    );
    let outside = Outside { env: &|_| None, file: &|_| Err("files are not read here".to_owned()) };
    let flawed = examine(&[Source::new("weir.toml", text)], outside).unwrap_err();
    assert!(flawed.diagnostics.len() >= 3, "{:?}", flawed.diagnostics);
    let rest = flawed.rest.unwrap();
    let line = |path: &[&str]| rest.error_at(path, "taken").places.first().map(|place| place.line);
    assert_eq!(line(&["listener", "b", "bind", "0"]), Some(9));
    assert_eq!(line(&["listener", "b", "pool"]), Some(10));
    // These values have errors themselves.
    assert_eq!(line(&["listener", "b", "bind", "1"]), None);
    assert_eq!(line(&["listener", "b", "tls", "certificates", "0"]), None);
    // These may lack something that could not be read.
    assert_eq!(line(&["listener", "b", "bind"]), None);
    assert_eq!(line(&["listener", "b", "tls"]), None);
    assert_eq!(line(&["listener", "b"]), None);
    // This is not in the text.
    assert_eq!(line(&["weir", "control"]), None);
    let listener = rest.plan.listeners.iter().find(|listener| listener.name.as_str() == "b").unwrap();
    assert_eq!(listener.bind.len(), 1);
}
