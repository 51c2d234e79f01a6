//! Returns the version of this build, with the default Cargo features that it lacks.

use std::sync::LazyLock;

/// Default features of this package that this build lacks.
const LACKING: &[&str] = &[
    #[cfg(not(feature = "cedar"))]
    "cedar",
    #[cfg(not(feature = "cel"))]
    "cel",
    #[cfg(not(feature = "lab"))]
    "lab",
    #[cfg(not(feature = "simulate"))]
    "simulate",
    #[cfg(not(feature = "sqlite"))]
    "sqlite",
];

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    match LACKING {
        [] => version.to_owned(),
        lacking => format!("{version}, built without {}", lacking.join(", ")),
    }
});

/// Returns `0.1.0`, or `0.1.0, built without cedar, cel`.
pub(crate) fn version() -> &'static str {
    &VERSION
}
