//! libFuzzer's entry to `weir_fuzz::response_head`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::response_head::run(data));
