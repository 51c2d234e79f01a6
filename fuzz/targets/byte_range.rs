//! libFuzzer's entry to `weir_fuzz::byte_range`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::byte_range::run(data));
