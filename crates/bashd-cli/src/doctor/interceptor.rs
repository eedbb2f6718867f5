//! Whether the interceptor's configured rules can be read.

use super::check::Check;
use crate::settings::Settings;
use bashd::guard::interceptor::Interceptor;

pub(super) fn rules(settings: &Settings) -> Check {
    let name = "interceptor rules";
    let interceptor = Interceptor::new(&settings.config.interceptor_rules);
    let count = interceptor.len();
    match interceptor.bad_rules() {
        [] if settings.config.interceptor_rules.is_empty() => Check::good(
            name,
            format!("{count} defaults"),
            "they count where the interceptor is on and the caller has their tools",
        ),
        [] => Check::good(
            name,
            format!("{count} configured"),
            "they count where the interceptor is on and the caller has their tools",
        ),
        bad => {
            let problems = bad
                .iter()
                .map(|rule| format!("{:?}: {}", rule.pattern, rule.problem));
            let problems: Vec<String> = problems.collect();
            Check::weaker(
                name,
                problems.join("; "),
                "these are skipped: mend bashInterceptor.patterns in the configuration",
            )
        }
    }
}
