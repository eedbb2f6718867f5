//! Files of the binary that read lines; it has no library.

#[path = "../../crates/bashd-cli/src/serve/id_scan.rs"]
pub(crate) mod id_scan;
