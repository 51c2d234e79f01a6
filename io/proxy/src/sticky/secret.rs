//! Reads the secret of sticky cookies.

use weir_config::plan::{PoolPlan, SecretPlace, StickyBy};
use weir_net::Secret;

/// Reads the secret of a pool's cookies; `None` = it needs none. Blocks on the disk.
pub fn read_secret(pool: &PoolPlan) -> Result<Option<Secret>, String> {
    let Some(StickyBy::Cookie(cookie)) = pool.sticky.as_ref().map(|sticky| &sticky.by) else {
        return Ok(None);
    };
    let read = cookie.key.as_ref().map(|place| {
        let key = match place {
            SecretPlace::File(_) => "key-file",
            SecretPlace::Env(_) => "key-env",
        };
        Secret::read(place).map_err(|cause| format!("sticky.{key}: {cause}"))
    });
    read.transpose()
}
