//! Checks that the secrets of sticky cookies and redirects exist and are long enough.

use weir_config::plan::{SecretPlace, StickyBy};
use weir_config::{Diagnostic, Loaded};
use weir_proxy::redirect;
use weir_proxy::sticky::{Secret, read_secret};

/// Reports unusable secrets of pools and storage areas.
pub(super) fn check(loaded: &Loaded) -> Vec<Diagnostic> {
    let mut wrong = of_cookies(loaded);
    wrong.extend(of_redirects(loaded));
    wrong
}

fn of_redirects(loaded: &Loaded) -> Vec<Diagnostic> {
    let pools = loaded.plan.pools.iter().filter_map(|pool| {
        let place = &pool.redirect.as_ref()?.key;
        let cause = Secret::read(place).err()?;
        let path = ["pool", pool.name.as_str(), "redirect", redirect::key(place)];
        Some(loaded.error_at(&path, format!("pool {}: redirect.{}: {cause}", pool.name, path[3])))
    });
    let areas = loaded.plan.storage_areas.iter().filter_map(|area| {
        let place = area.redirect_key.as_ref()?;
        let cause = Secret::read(place).err()?;
        let key = format!("redirect-{}", redirect::key(place));
        let message = format!("storage area {}: {key}: {cause}", area.name);
        Some(loaded.error_at(&["storage-area", area.name.as_str(), &key], message))
    });
    pools.chain(areas).collect()
}

fn of_cookies(loaded: &Loaded) -> Vec<Diagnostic> {
    let wrong = loaded.plan.pools.iter().filter_map(|pool| {
        let cause = read_secret(pool).err()?;
        let key = match &pool.sticky.as_ref()?.by {
            StickyBy::Cookie(cookie) if matches!(cookie.key, Some(SecretPlace::Env(_))) => "key-env",
            _ => "key-file",
        };
        let message = format!("pool {}: {cause}", pool.name);
        Some(loaded.error_at(&["pool", pool.name.as_str(), "sticky", key], message))
    });
    wrong.collect()
}
