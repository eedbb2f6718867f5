//! Whether the interceptor's configured rules can be read.

use super::check::DoctorCheck;
use crate::for_people;
use crate::settings::ConfigInForce;
use bashd::guard::interceptor::Interceptor;

pub(super) fn rules(settings: &ConfigInForce) -> DoctorCheck {
    let name = "interceptor rules";
    let interceptor = Interceptor::new(&settings.config.interceptor_rules);
    let rules = |kind: &str| for_people::count(interceptor.len(), kind);
    match interceptor.bad_rules() {
        [] if settings.config.interceptor_rules.is_empty() => DoctorCheck::good(
            name,
            rules("default rule"),
            "a rule applies when the interceptor is on and the caller has its tool",
        ),
        [] => DoctorCheck::good(
            name,
            rules("configured rule"),
            "a rule applies when the interceptor is on and the caller has its tool",
        ),
        bad => {
            let problems = bad
                .iter()
                .map(|rule| format!("{:?}: {}", rule.pattern, rule.problem));
            let problems: Vec<String> = problems.collect();
            DoctorCheck::limited(
                name,
                problems.join("; "),
                "these rules are skipped: fix bash_interceptor.patterns in the configuration",
            )
        }
    }
}
