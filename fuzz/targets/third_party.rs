//! libFuzzer's entry to `weir_fuzz::third_party`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::third_party::run(data));
