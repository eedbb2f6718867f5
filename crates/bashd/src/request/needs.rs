//! What a call needs beyond its confinement, and why.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Paths, and hosts, that one call may ask for: a person reads them all.
pub(crate) const MOST_NEEDS: usize = 64;

/// What a call needs beyond its confinement: a person may grant it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NeededAccess {
    /// Paths that it writes.
    pub write: Vec<String>,
    /// Hosts that it connects to, as `confinement.network` has them.
    pub network: Vec<String>,
    /// Why, for the person who is asked.
    pub reason: String,
}

impl NeededAccess {
    /// From its JSON form; an error says what is wrong with it. A reason must be there.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        let needs: Self =
            serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        for (name, asked) in [("write", &needs.write), ("network", &needs.network)] {
            if asked.len() > MOST_NEEDS {
                return Err(format!("`{name}` may have at most {MOST_NEEDS} entries"));
            }
        }
        if needs.reason.trim().is_empty() {
            return Err("a reason is missing, for the person who is asked".to_owned());
        }
        Ok(needs)
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.write.is_empty() && self.network.is_empty()
    }
}
