//! libFuzzer's entry to `weir_fuzz::access_scope`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::access_scope::run(data));
