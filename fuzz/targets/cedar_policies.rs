//! libFuzzer's entry to `weir_fuzz::cedar_policies`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::cedar_policies::run(data));
