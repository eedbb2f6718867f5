//! Images that lack something: bash, every shell, a root that can be written, pidfd (16, 19 of
//! `docs/places-faults.md`).

use super::containers::{Boxes, theirs, whole};
use super::{SLACK, error_of};
use bashd::place::ContainerSettings;
use bashd::{Call, Engine, Request};
use bashd_testkit::{PodmanUser, loudly, small_root};
use serde_json::json;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[test]
fn fault_16_images_without_bash_read_only_or_of_another_user_work_or_say_why_not() {
    let Some(boxes) = whole(PodmanUser::Rootless) else {
        return;
    };
    let root = tempfile::tempdir().unwrap();
    let without: Vec<&str> = small_root::USUAL
        .iter()
        .copied()
        .filter(|name| *name != "bash")
        .collect();
    small_root::make(root.path(), &without, Some(&boxes.program));
    boxes.rig.import(root.path(), "nobash:1");
    let own = boxes.own(|settings| settings.image = Some("nobash:1".to_owned()));
    let reply = boxes.run(&own, "echo $0; exit 5");
    assert_eq!(reply.exit_code, Some(5), "{reply:?}");
    assert!(reply.output.starts_with("sh\n"), "{reply:?}");
    assert!(
        reply
            .text
            .contains("there is no bash at this place: sh ran the command"),
        "{reply:?}"
    );
    // A profile whose contract is bash gets none but bash.
    let given = Request::new("").profile("anthropic-bash").on("far");
    let reply = boxes.wait(own.run(Call::json(json!({ "command": "true" }).to_string(), given)));
    assert!(reply.exit_code.is_none() && reply.is_error, "{reply:?}");
    assert!(reply.text.contains("bash"), "{reply:?}");
    for user in [None, Some("1000:1000"), Some("4711")] {
        for read_only in [false, true] {
            let engine = boxes.own(|settings| {
                settings.user = user.map(str::to_owned);
                settings.read_only = read_only;
            });
            let reply = boxes.run(
                &engine,
                "id -u; cd / && touch /file 2>/dev/null && echo writable; exit 8",
            );
            assert_eq!(reply.exit_code, Some(8), "{user:?} {read_only}: {reply:?}");
            let id = user.map_or("0", |user| user.split(':').next().unwrap());
            assert!(reply.output.starts_with(&format!("{id}\n")), "{reply:?}");
            let is_writable = user.is_none() && !read_only;
            assert_eq!(reply.output.contains("writable"), is_writable, "{reply:?}");
            boxes.rig.done(&["rm", "--all", "--force", "--time=0"]);
        }
    }
}

#[test]
fn fault_16_a_container_from_scratch_is_told_that_it_has_no_shell() {
    let Some(boxes) = whole(PodmanUser::Rootless) else {
        return;
    };
    let Some(program) = std::env::var_os("BASHD_TEST_STATIC").map(PathBuf::from) else {
        loudly(
            "BASHD_TEST_STATIC names no static bashd-outpost: images from scratch are NOT tested here",
        );
        return;
    };
    let program = {
        let copy = boxes.rig.folder("static").join("bashd-outpost");
        fs::copy(program, &copy).unwrap();
        copy
    };
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("bin")).unwrap();
    let all = fs::read(small_busybox()).unwrap();
    fs::write(root.path().join("bin/sleep"), all).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(root.path().join("bin/sleep"), mode).unwrap();
    boxes.rig.import(root.path(), "scratch:1");
    let mut own = ContainerSettings::default();
    own.image = Some("scratch:1".to_owned());
    boxes.named("scratch:1", &[]);
    for settings in [own, theirs()] {
        let engine = boxes.engine_at(settings, |place| place.program = Some(program.clone()));
        let reply = boxes.run(&engine, "true");
        let error = error_of(&reply);
        assert!(error.contains("no such shell: sh"), "{error}");
    }
    // Busybox alone is enough for the rest, without any library.
    let root = tempfile::tempdir().unwrap();
    let names = [
        "sh", "sleep", "id", "uname", "mkdir", "chmod", "rm", "mv", "head", "gzip", "printf", "seq",
    ];
    small_root::make_busybox(root.path(), &names);
    boxes.rig.import(root.path(), "busybox:1");
    boxes.rig.done(&["rm", "--force", "--time=0", "theirs"]);
    boxes.named("busybox:1", &[]);
    for settings in [
        {
            let mut own = ContainerSettings::default();
            own.image = Some("busybox:1".to_owned());
            own
        },
        theirs(),
    ] {
        let engine = boxes.engine_at(settings, |place| place.program = Some(program.clone()));
        let reply = boxes.run(&engine, "seq 1 3; exit 9");
        assert_eq!(
            (reply.exit_code, reply.output_lines),
            (Some(9), 3),
            "{reply:?}"
        );
    }
    // The one that needs libraries says that it can't run there.
    boxes.rig.done(&["rm", "--force", "--time=0", "theirs"]);
    boxes.named("busybox:1", &[]);
    let engine = boxes.engine_at(theirs(), |_| {});
    let reply = boxes.run(&engine, "true");
    assert!(error_of(&reply).contains("does not run"), "{reply:?}");
}

fn small_busybox() -> PathBuf {
    ["/usr/bin/busybox", "/bin/busybox"]
        .map(PathBuf::from)
        .into_iter()
        .find(|path| path.exists())
        .unwrap()
}

/// A kernel that has no pidfd, as gVisor's.
const WITHOUT_PIDFD: &str = r#"{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{
    "names": ["pidfd_open", "pidfd_send_signal", "pidfd_getfd"],
    "action": "SCMP_ACT_ERRNO", "errnoRet": 38}]}"#;

/// A kernel that has neither that nor child subreapers, as gVisor's of 2022.
const WITHOUT_SUBREAPER: &str = r#"{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
    {"names": ["pidfd_open", "pidfd_send_signal", "pidfd_getfd"],
        "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
    {"names": ["prctl"], "action": "SCMP_ACT_ERRNO", "errnoRet": 22,
        "args": [{"index": 0, "value": 36, "op": "SCMP_CMP_EQ"}]},
    {"names": ["prctl"], "action": "SCMP_ACT_ERRNO", "errnoRet": 22,
        "args": [{"index": 0, "value": 37, "op": "SCMP_CMP_EQ"}]}]}"#;

/// An engine whose container's kernel is as this profile says.
fn with_seccomp(boxes: &Boxes, profile: &str) -> Engine {
    let file = boxes.rig.folder("seccomp").join("profile.json");
    fs::write(&file, profile).unwrap();
    let option = format!("--security-opt=seccomp={}", file.display());
    boxes.own(|settings| settings.options = vec![option])
}

/// That trees are held less well, which every reply says, and yet as they should be.
fn assert_less_held(boxes: &Boxes, engine: &Engine) {
    let reply = boxes.run(engine, "seq 1 3; exit 5");
    assert_eq!(
        (reply.exit_code, &*reply.output),
        (Some(5), "1\n2\n3\n"),
        "{reply:?}"
    );
    assert!(reply.text.contains("held by `subreaper` only"), "{reply:?}");
    let facts = boxes.wait(engine.look_at("far")).unwrap().0;
    assert_eq!(facts.trees, "subreaper");
    assert!(
        (facts.problems.iter()).any(|told| told.contains("held by `subreaper` only")),
        "{facts:?}"
    );
    // TERM arrives before KILL, also at processes that others left; nothing is left of the tree.
    let script = "trap 'echo told >told; exit 1' TERM; (setsid sleep 777 & sleep 778 &); touch begun; sleep 600 & wait";
    let mut request = Request::new(script).on("far");
    request.timeout = Some(Duration::from_secs(1));
    let begun = Instant::now();
    let reply = boxes.wait(engine.run(request));
    assert!(reply.timed_out, "{reply:?}");
    assert!(begun.elapsed() < Duration::from_secs(1) + SLACK);
    assert_eq!(
        fs::read_to_string(boxes.shared.join("told")).unwrap(),
        "told\n"
    );
    let left = boxes.run(
        engine,
        "grep -l 'sleep.77' /proc/[0-9]*/cmdline 2>/dev/null; true",
    );
    assert!(!left.output.contains("/proc"), "{left:?}");
}

#[test]
fn fault_19_without_pidfd_trees_are_held_less_well_which_every_reply_says() {
    let Some(boxes) = whole(PodmanUser::Rootless) else {
        return;
    };
    assert_less_held(&boxes, &with_seccomp(&boxes, WITHOUT_PIDFD));
}

#[test]
fn fault_19_where_trees_can_not_be_held_nothing_is_run_and_the_reason_is_said() {
    let Some(boxes) = whole(PodmanUser::Rootless) else {
        return;
    };
    assert_refused(&boxes, &with_seccomp(&boxes, WITHOUT_SUBREAPER));
}

/// That nothing is run, and why.
fn assert_refused(boxes: &Boxes, engine: &Engine) {
    let reply = boxes.run(engine, "touch ran");
    let error = error_of(&reply);
    assert!(error.contains("can't be held together here"), "{error}");
    assert!(!boxes.shared.join("ran").exists(), "it ran");
    let looked = boxes.wait(engine.look_at("far")).unwrap_err();
    assert!(
        looked.to_string().contains("can't be held together here"),
        "{looked}"
    );
}

/// An engine whose container is gVisor's of that year, and what there is of it.
fn gvisor(boxes: &Boxes, year: &str, platform: &str) -> Option<Engine> {
    let Some(all) = std::env::var_os("BASHD_TEST_GVISOR").map(PathBuf::from) else {
        loudly("BASHD_TEST_GVISOR names no gVisor: a container of it is NOT tested here");
        return None;
    };
    let runsc = boxes.rig.folder("gvisor").join(year);
    let from = all.join(year).join("usr/bin/runsc");
    // No control group can be made here by whom it is not given, and no network is wanted.
    let script = format!(
        "#!/bin/sh\nexec {} --platform={platform} --ignore-cgroups --network=none \"$@\"\n",
        from.display()
    );
    fs::write(&runsc, script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&runsc, mode).unwrap();
    let option = format!("--runtime={}", runsc.display());
    Some(boxes.own(|settings| settings.options = vec![option]))
}

#[test]
fn fault_19_gvisor_runs_commands_at_the_lower_level() {
    let Some(boxes) = whole(PodmanUser::Root) else {
        return;
    };
    let Some(engine) = gvisor(&boxes, "2024", "systrap") else {
        return;
    };
    let kernel = boxes.run(&engine, "cat /proc/version").output;
    assert!(kernel.contains("4.4.0"), "it is no gVisor: {kernel}");
    assert_less_held(&boxes, &engine);
    // A job goes on, its end is known, and so are its bytes.
    let request = Request::new("sleep 0.5; seq 1 2000; exit 6")
        .on("far")
        .background();
    let reply = boxes.wait(engine.run(request));
    let job = reply.job.unwrap_or_else(|| panic!("{:?}", reply.text));
    let asked = json!({ "action": "wait", "job": job }).to_string();
    let waited = boxes.wait(engine.job(Call::json(asked, Request::new(""))));
    assert!(waited.text.contains("exit"), "{waited:?}");
    assert_eq!(waited.exit_code, Some(6), "{waited:?}");
}

#[test]
fn fault_19_a_gvisor_that_can_not_hold_trees_is_refused() {
    let Some(boxes) = whole(PodmanUser::Root) else {
        return;
    };
    if let Some(engine) = gvisor(&boxes, "2022", "ptrace") {
        assert_refused(&boxes, &engine);
    }
}
