//! The fuzz target `lines`: see the function of that name.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bashd_fuzz::lines::try_bytes(bytes));
