//! Every way to leave: the terminal is as it was. (A panic is shown beside `Taken`, which answers
//! it.)

use super::tmux::Tmux;
use bashd_testkit::Home;
use std::process::Command;

#[test]
fn every_end_gives_the_terminal_back() {
    let home = Home::new().keeping_in_state(&["asks"]);
    for signal in ["HUP", "INT", "TERM", "KILL"] {
        let Some(tmux) = Tmux::console(&home, (80, 24)) else {
            return;
        };
        tmux.command("!sleep 300");
        tmux.until("[running]");
        let killed = Command::new("kill")
            .args(["-s", signal, &tmux.pid()])
            .status();
        assert!(killed.unwrap().success());
        tmux.is_given_back();
    }
}
