//! The flags that decide before a command runs, as part of a request.

use crate::args::{Judging, SafeModeName};
use bashd::Request;
use bashd::guard::safe_mode::SafeMode;

impl Judging {
    /// Puts the given flags into a request; the rest stays as configured.
    pub(crate) fn apply_to(&self, request: &mut Request) {
        request.safe_mode = self.safe_mode.map(|mode| match mode {
            SafeModeName::Off => SafeMode::Off,
            SafeModeName::Compat => SafeMode::Compat,
            SafeModeName::Strict => SafeMode::Strict,
        });
        request.confine = self.confine.map(Into::into);
        request.interceptor = self.interceptor.then_some(true);
        request.tools.clone_from(&self.tools);
    }
}
