//! Small facts about the rules; the bulk of the cases is data, in `tests/cases/guard/`.

use super::*;

#[test]
fn x() {}
