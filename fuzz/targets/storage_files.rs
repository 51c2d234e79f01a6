//! libFuzzer's entry to `weir_fuzz::storage_files`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::storage_files::run(data));
