//! libFuzzer's entry to `weir_fuzz::dav_xml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| weir_fuzz::dav_xml::run(data));
