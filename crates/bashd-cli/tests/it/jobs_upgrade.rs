//! Jobs and an upgrade of bashd: the program that started them is gone, another one looks after
//! them.

use crate::jobs::{PATIENCE, home};
use crate::{bashd, shown};
use bashd_testkit::{Binary, Home};
use serde_json::{Value, json};

fn job(home: &Home, arguments: &[&str]) -> Value {
    let shown = bashd(home, arguments).limit(PATIENCE).run();
    assert_eq!(shown.code(), Some(0), "{}", shown.err());
    serde_json::from_str(&shown.out()).unwrap()
}

#[test]
fn an_upgrade_of_the_binary_loses_no_job() {
    let home = home();
    let old = home.workspace().join("bashd-old");
    std::fs::copy(env!("CARGO_BIN_EXE_bashd"), &old).unwrap();
    let gate = home.workspace().join("gate");
    let ends = format!(
        "echo begun; until [ -e {} ]; do sleep 0.05; done; echo over; exit 4",
        gate.display()
    );
    let ids: Vec<String> = [ends.as_str(), "echo begun; sleep 300"]
        .iter()
        .map(|command| {
            let started = Binary::new(old.to_str().unwrap(), &home)
                .args(["run", "--background", "--json", command])
                .limit(PATIENCE)
                .run();
            let reply: Value = serde_json::from_str(&started.out()).unwrap();
            reply["job"].as_str().unwrap().to_owned()
        })
        .collect();
    std::fs::remove_file(&old).unwrap();
    // As another version may have written it: without what came later, with what is not known here.
    for id in &ids {
        let path = home.state().join("runs").join(id).join("spec.json");
        let mut spec: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let fields = spec.as_object_mut().unwrap();
        fields.remove("limits");
        fields.remove("terminal");
        fields.insert("not_known_here".into(), json!({"a": [1]}));
        std::fs::write(&path, spec.to_string()).unwrap();
    }
    let (ends, stays) = (ids[0].as_str(), ids[1].as_str());
    let met = job(&home, &["jobs", "wait", ends, "--regex", "begun", "--json"]);
    assert_eq!(met["state"], "running", "{met}");
    std::fs::write(gate, "").unwrap();
    let followed = bashd(&home, &["jobs", "follow", ends])
        .limit(PATIENCE)
        .run();
    assert_eq!(followed.out(), "begun\nover\n");
    let ended = job(&home, &["jobs", "wait", ends, "--json"]);
    assert_eq!(
        (&ended["state"], &ended["exit_code"]),
        (&json!("exited"), &json!(4))
    );
    // Back to the old version: what the new one has made is not guessed at.
    let path = home.state().join("runs").join(ends).join("spec.json");
    let spec = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, spec.replace("\"version\":1", "\"version\":2")).unwrap();
    let listed = shown(&home, &["jobs", "--all"]);
    assert!(!listed.out().contains(ends), "{}", listed.out());
    let remark = "only a newer bashd can read 1 job";
    assert!(listed.err().contains(remark), "{}", listed.err());
    let asked = shown(&home, &["jobs", "show", ends]);
    let refusal = format!("job {ends} was created by a newer bashd");
    assert!(asked.err().contains(&refusal), "{}", asked.err());
    let killed = job(&home, &["jobs", "kill", stays, stays, "--json"]);
    assert_eq!(killed["state"], "killed", "{killed}");
    assert_eq!(shown(&home, &["jobs", "output", stays]).out(), "begun\n");
}
