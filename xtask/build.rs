//! Hands the target triple on to the program. Cargo sets `TARGET` for build scripts only.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=XTASK_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}
