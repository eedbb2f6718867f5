//! The fuzz target `messages`: see the function of that name.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bashd_fuzz::messages::try_bytes(bytes));
