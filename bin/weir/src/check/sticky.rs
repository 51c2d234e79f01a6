//! Secrets of sticky cookies: are they there, are they long enough.

use weir_config::plan::{StickyBy, StickyKeyPlace};
use weir_config::{Diagnostic, Loaded};
use weir_proxy::sticky::Secret;

/// What is wrong with the secrets of pools.
pub(super) fn check(loaded: &Loaded) -> Vec<Diagnostic> {
    let wrong = loaded.plan.pools.iter().filter_map(|pool| {
        let cause = Secret::read(pool).err()?;
        let key = match &pool.sticky.as_ref()?.by {
            StickyBy::Cookie(cookie) if matches!(cookie.key, Some(StickyKeyPlace::Env(_))) => "key-env",
            _ => "key-file",
        };
        let message = format!("pool {}: {cause}", pool.name);
        Some(loaded.error_at(&["pool", pool.name.as_str(), "sticky", key], message))
    });
    wrong.collect()
}
