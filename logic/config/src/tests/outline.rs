use super::{load_text, with};

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
    // Not written: what is there of the way to it.
    assert_eq!(place(&["listener", "b", "tls", "certificates", "0"]), Some((8, 1, 13)));
    assert_eq!(place(&["admin", "bind", "0"]), None);
}
