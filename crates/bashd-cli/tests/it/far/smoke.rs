//! A far machine is one, a command runs on it, and nothing is left of either.

use super::{any, wait_until};
use bashd::Request;
use bashd_testkit::processes::{self, Process};
use std::net::Ipv4Addr;
use std::process::Command;

#[test]
fn a_command_runs_on_a_machine_of_its_own_of_which_nothing_is_left() {
    let Some(far) = any() else { return };
    let engine = far.engine(|_| {});
    let script = "hostname; id -un; pwd; ls /proc | grep -c '^[0-9]*$'; echo oops >&2; exit 3";
    let reply = far.run(&engine, Request::new(script));
    let lines: Vec<&str> = reply.output.lines().collect();
    assert_eq!(reply.exit_code, Some(3), "{reply:?}");
    assert_eq!(lines.first(), Some(&"far"));
    assert_eq!(lines.get(1), Some(&"u"));
    assert_eq!(lines.get(2), Some(&"/home/u"));
    let there: usize = lines.get(3).unwrap().parse().unwrap();
    assert!(there < processes::all().len(), "it sees our processes");
    assert_eq!(lines.get(4), Some(&"oops"));
    drop(engine);
    wait_until("the end of its carrier", || far.live_carriers().is_empty());
    let (before, address) = (far.machine.processes(), far.machine.address);
    assert!(!before.is_empty());
    drop(far);
    wait_until("the end of all of it", || {
        let left = processes::all();
        let is_left = |one: &Process| {
            let mut same = left.iter().filter(|other| other.state != 'Z');
            same.any(|other| (other.pid, other.started) == (one.pid, one.started))
        };
        !before.iter().any(is_left)
    });
    let routes = Command::new("ip").arg("route").output().unwrap();
    let routes = String::from_utf8_lossy(&routes.stdout).into_owned();
    let own = Ipv4Addr::from(u32::from(address) - 1).to_string();
    assert!(!routes.contains(&format!("src {own} ")), "{routes}");
}
