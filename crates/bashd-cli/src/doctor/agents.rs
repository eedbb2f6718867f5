//! Which agents are set up.

use super::check::DoctorCheck;
use crate::init;
use crate::settings::ConfigInForce;

pub(super) fn set_up(settings: &ConfigInForce) -> DoctorCheck {
    let name = "agents";
    let Some((set_up, not)) = init::set_up_and_not(&settings.config.state_dir) else {
        let meaning = "`bashd init` sets agents up";
        return DoctorCheck::good(name, "none can be found without a home", meaning);
    };
    let listed = |titles: &[&str]| match titles {
        [] => "none".to_owned(),
        titles => titles.join(", "),
    };
    DoctorCheck::good(
        name,
        format!(
            "set up by `bashd init`: {}; found, but not set up: {}",
            listed(&set_up),
            listed(&not)
        ),
        "an agent that is set up starts bashd's server by itself",
    )
}
