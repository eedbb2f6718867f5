//! The fuzz target `request`: see the function of that name.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bashd_fuzz::request::try_bytes(bytes));
