//! Directories of `PATH`, and files of bashd itself, whose file system does not answer: servers go
//! on for everybody who does not need just those.

use crate::person::top::RULE;
use crate::rpc_under_test::{Client, PATIENCE};
use crate::stalls::{call, client_with};
use crate::web::server::{self, WebUnderTest};
use bashd_testkit::{Binary, Home, loudly};
use rustix::process::geteuid;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long others wait at most. Whoever waits for such a file system does so for ever.
const SOON: Duration = Duration::from_secs(5);

/// The words of a script that mount a FUSE which nobody serves; its device is open for as long as
/// the program lives that comes after it.
fn hung(place: &Path, device: u8, kind: &str) -> String {
    let options = format!("fd={device},rootmode={kind},user_id=0,group_id=0");
    let place = place.display();
    format!("exec {device}<>/dev/fuse && mount -i -t fuse -o {options} hung {place} || exit 99\n")
}

fn hung_directory(place: &Path) -> String {
    fs::create_dir_all(place).unwrap();
    hung(place, 9, "40000")
}

/// Whether a server answers others, some times in a row.
fn answers_others(client: &mut Client, name: &str) {
    for number in 0..8 {
        let begun = Instant::now();
        client.ask(&json!({"id": format!("{name}-{number}"), "type": "schema"}));
        assert!(begun.elapsed() < SOON, "{name}: {:?}", begun.elapsed());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_directory_of_the_servers_own_path_costs_only_calls_that_look_there() {
    let home = Home::new();
    let place = home.workspace().join("hung");
    let mount = hung_directory(&place);
    let script = format!("{mount}PATH={}:$PATH exec \"$@\"", place.display());
    let Some(mut client) = client_with(&home, &script, &[]) else {
        return;
    };
    let arguments = json!({"command": "echo fine", "timeout": 3});
    client.say(&call("looks there", &arguments));
    answers_others(&mut client, "beside");
    // Another `PATH`, another look.
    let own = json!({"PATH": "/usr/local/bin:/usr/bin:/bin"});
    let arguments = json!({"command": "echo fine", "env": own, "timeout": 60});
    let answer = client.ask(&call("looks elsewhere", &arguments));
    assert_eq!(answer["data"]["output"], "fine\n", "{answer}");
    let answer = client.response("looks there");
    let error = answer["data"]["error"].as_str().unwrap_or_default();
    assert!(error.contains("does not answer"), "{answer}");
    client.close();
}

/// What an outpost in a container looks for before it has an engine.
#[test]
fn a_directory_of_an_outposts_path_costs_only_orders_that_look_there() {
    let home = Home::new().keeping_in_state(&["outpost", "places"]);
    let (place, bin) = (home.workspace().join("hung"), home.workspace().join("bin"));
    let mount = hung_directory(&place);
    let docker = format!(
        "#!/bin/sh\ncase $1 in\nexec) shift 3; PATH={}:/usr/local/bin:/usr/bin:/bin exec \"$@\" ;;\n\
         container) echo '{{\"Status\":\"running\"}}' ;;\nesac\n",
        place.display()
    );
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("docker"), docker).unwrap();
    fs::set_permissions(bin.join("docker"), fs::Permissions::from_mode(0o755)).unwrap();
    let places = format!(
        "[places.box]\nkind = \"container\"\nengine = \"docker\"\nname = \"mine\"\n\
         bin = \"{}\"\nidle_seconds = 0.3\n",
        env!("CARGO_BIN_EXE_bashd")
    );
    fs::write(home.config().join("config.toml"), places).unwrap();
    let script = format!("{mount}PATH={}:$PATH exec \"$@\"", bin.display());
    let Some(mut client) = client_with(&home, &script, &[]) else {
        return;
    };
    let arguments = json!({"command": "echo fine", "on": "box", "timeout": 20});
    client.say(&call("looks there", &arguments));
    let own = json!({"PATH": "/usr/local/bin:/usr/bin:/bin"});
    let arguments = json!({"command": "echo fine", "on": "box", "env": own, "timeout": 60});
    let begun = Instant::now();
    let answer = client.ask(&call("looks elsewhere", &arguments));
    assert_eq!(answer["data"]["output"], "fine\n", "{answer}");
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    assert!(
        client.kept("looks there").is_none(),
        "it found something there"
    );
    client.say(&json!({"id": "end", "type": "cancel", "target": "looks there"}));
    client.response("looks there");
    client.close();
}

#[test]
fn questions_and_grants_that_do_not_answer_cost_only_the_call_that_asks() {
    let home = Home::new().keeping_in_state(&["asks", "grants.jsonl"]);
    fs::write(home.config().join("config.toml"), RULE).unwrap();
    let (asks, grants) = (home.state().join("asks"), home.state().join("grants.jsonl"));
    for place in [&asks, &grants] {
        let mount = if place == &asks {
            hung_directory(place)
        } else {
            fs::write(place, "").unwrap();
            hung(place, 8, "100000")
        };
        let script = format!("{mount}exec \"$@\"");
        let Some(mut client) = client_with(&home, &script, &[]) else {
            return;
        };
        let name = place.file_name().unwrap().to_str().unwrap();
        client.say(&call("asks", &json!({"command": "made-up", "timeout": 30})));
        answers_others(&mut client, name);
        let answer = client.response("asks");
        let rule = &answer["data"]["denied"]["rule"];
        assert_eq!(rule, "asks", "{name}: {answer}");
        client.close();
    }
}

#[test]
fn what_says_that_somebody_watches_keeps_no_page_waiting() {
    let home = server::home().keeping_in_state(&["web", "changes", "asks"]);
    let mount = hung_directory(&home.state().join("asks"));
    let script = format!("{mount}exec \"$@\"");
    let rights = if geteuid().is_root() { "-m" } else { "-rm" };
    let words = [rights, "--propagation", "private", "bash", "-c", &script];
    let own = ["bash", env!("CARGO_BIN_EXE_bashd"), "web", "--port", "0"];
    let can_mount = Binary::new("unshare", &home)
        .args(words)
        .args(["bash", "true"]);
    if can_mount.run().code() != Some(0) {
        loudly("stalls: NOT tested, since nothing can be mounted here");
        return;
    }
    let started = Binary::new("unshare", &home).args(words).args(own);
    let mut server = WebUnderTest::of(started.spawn());
    let visitor = server.visitor();
    let mut now = server.now(&visitor, None);
    for _ in 0..8 {
        let begun = Instant::now();
        assert_eq!(server.get(&visitor, "/").status, 200);
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        std::thread::sleep(Duration::from_millis(50));
    }
    // The page itself gets what there is, too.
    assert_eq!(now.next().0, "all");
    drop(now);
    // It also leaves: that is waited for when it goes out of scope.
    drop(server);
}
