//! Committed pages that are made from the code.

use std::path::Path;

#[test]
fn the_reference_page_of_the_config_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/config.md");
    let page = weir_config::reference();
    if std::env::var_os("WEIR_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "stale: WEIR_UPDATE_DOCS=1 cargo test -p weir --test documents");
}
