//! Limits of processes, descriptors and file sizes: told clearly, and the engine works again
//! without them.

use super::scene::{
    Answer, GRACE, Held, SLACK, Scene, fork_server, is_root, request, spare_keeper, wait_until,
};
use bashd::{LeftReason, Reply};
use bashd_testkit::unprivileged::is_second_run;
use bashd_testkit::{SetId, as_each_user, loudly};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use std::fs;
use std::time::Duration;

/// Sets the soft limit of a process of ours; returns what it had.
fn limit(process: &Held, resource: Resource, soft: Option<u64>) -> Rlimit {
    let had = prlimit(
        Some(process.pid()),
        resource,
        unlimited_as(process.pid(), resource, soft),
    );
    had.expect("a limit of our own process")
}

/// A soft limit below the hard one that the process has.
fn unlimited_as(pid: Pid, resource: Resource, soft: Option<u64>) -> Rlimit {
    let text =
        fs::read_to_string(format!("/proc/{}/limits", pid.as_raw_nonzero())).expect("limits");
    let name = match resource {
        Resource::Nproc => "Max processes",
        Resource::Nofile => "Max open files",
        Resource::Fsize => "Max file size",
        other => panic!("{other:?}"),
    };
    let line = text.lines().find(|line| line.starts_with(name));
    let fields: Vec<&str> = line
        .expect(name)
        .trim_start_matches(name)
        .split_whitespace()
        .collect();
    let maximum = fields.get(1).and_then(|field| field.parse().ok());
    Rlimit {
        current: soft,
        maximum,
    }
}

/// Fails unless the reply is right, or says that this was the reason why nothing ran.
fn is_right_or_says(reply: &Reply, expected: &str, reason: &str) -> bool {
    match &reply.error {
        None => {
            assert_eq!(
                (reply.output.as_str(), reply.exit_code),
                (expected, Some(0)),
                "{reply:?}"
            );
            true
        }
        Some(error) => {
            assert!(error.contains(reason), "{error}");
            false
        }
    }
}

#[test]
fn a_shell_that_can_not_be_forked_is_told() {
    as_each_user(|| {
        if is_root() {
            // Process limits do not hold root back; the run without rights tests it.
            return;
        }
        let scene = Scene::new();
        let reason = "Resource temporarily unavailable";
        // The spare can't fork the shell.
        let spare = spare_keeper();
        limit(&spare, Resource::Nproc, Some(0));
        let Answer { reply, took } = scene.run(request("echo ran"));
        let error = reply.error.expect("an error");
        assert!(error.contains(reason), "{error}");
        assert!(took < SLACK, "{took:?}");
        scene.nothing_runs();
        scene.still_works();
        // The server can't fork a keeper.
        spare_keeper();
        let server = fork_server();
        let had = limit(&server, Resource::Nproc, Some(0));
        scene.still_works(); // by the spare
        let Answer { reply, took } = scene.run(request("echo ran"));
        let error = reply.error.expect("an error");
        assert!(error.contains(reason), "{error}");
        assert!(took < SLACK, "{took:?}");
        limit(&server, Resource::Nproc, had.current);
        // The keeper that could not be forked ahead is told at the next call; then all is well.
        let first = scene.run(request("echo again")).reply;
        is_right_or_says(&first, "again\n", reason);
        scene.still_works();
    });
}

#[test]
fn a_command_that_can_not_fork_is_told_by_its_shell() {
    as_each_user(|| {
        if is_root() {
            return; // as above
        }
        let scene = Scene::new();
        let command = "ulimit -u 1; true | true; echo $?";
        // bash tries again for some seconds before it gives up; the deadline is sooner.
        let call = request(command).timeout(Duration::from_secs(2));
        let Answer { reply, .. } = scene.run(call);
        assert!(reply.timed_out, "{reply:?}");
        assert!(reply.output.contains("fork: retry"), "{reply:?}");
        scene.everything_ends();
        scene.still_works();
    });
}

#[test]
fn an_engine_without_descriptors_says_so() {
    as_each_user(|| {
        let scene = Scene::new();
        let had = getrlimit(Resource::Nofile);
        let open = fs::read_dir("/proc/self/fd")
            .expect("our descriptors")
            .count() as u64
            - 1;
        let (mut worked, mut failed) = (0, 0);
        for room in 0..18 {
            let low = Rlimit {
                current: Some(open + room),
                maximum: had.maximum,
            };
            setrlimit(Resource::Nofile, low).expect("a lower limit");
            let Answer { reply, took } = scene.run(request("echo ran"));
            setrlimit(Resource::Nofile, had).expect("the former limit");
            let is_right = is_right_or_says(&reply, "ran\n", "Too many open files");
            *(if is_right { &mut worked } else { &mut failed }) += 1;
            assert!(took < SLACK, "{took:?}");
            scene.everything_ends();
            scene.still_works();
        }
        assert!(worked > 0 && failed > 0, "{worked} worked, {failed} failed");
    });
}

#[test]
fn a_keeper_without_descriptors_says_so_or_does_its_work() {
    as_each_user(|| {
        let scene = Scene::new();
        let (mut worked, mut failed) = (0, 0);
        let limit = Duration::from_millis(100);
        let deaf = "echo ran; trap '' TERM; setsid -f sleep 300; sleep 300 & sleep 300";
        for room in 0..12 {
            leave_room_for_descriptors(&spare_keeper(), room);
            let Answer { reply, took } = scene.run(request("echo ran"));
            if is_right_or_says(&reply, "ran\n", "Too many open files") {
                worked += 1;
            } else {
                failed += 1;
            }
            assert!(took < SLACK, "{took:?}");
            scene.everything_ends();
            if worked == 1 {
                // Where there is just room enough to start, there must be enough to end as well.
                leave_room_for_descriptors(&spare_keeper(), room);
                let Answer { reply, took } = scene.run(request(deaf).timeout(limit));
                assert!(reply.timed_out, "{reply:?}");
                assert!(took < limit + GRACE + SLACK, "{took:?}");
                scene.everything_ends();
            }
            scene.still_works();
        }
        assert!(worked > 0 && failed > 0, "{worked} worked, {failed} failed");
    });
}

/// Lets a keeper open so many descriptors more.
fn leave_room_for_descriptors(process: &Held, room: u64) {
    let list = fs::read_dir(format!("/proc/{}/fd", process.raw()));
    // Only root sees what it has. For others the limit goes from too low to more than enough.
    let most = list.map_or(3 + 2 * room, |open| open.count() as u64 + room);
    limit(process, Resource::Nofile, Some(most));
}

#[test]
fn a_forking_process_without_descriptors_costs_a_clear_reply() {
    as_each_user(|| {
        let scene = Scene::new();
        let server = fork_server();
        spare_keeper();
        let had = limit(&server, Resource::Nofile, Some(4));
        scene.still_works(); // by the spare
        let Answer { reply, took } = scene.run(request("echo ran"));
        is_right_or_says(&reply, "ran\n", "keeper");
        assert!(took < SLACK, "{took:?}");
        if server.lives() {
            limit(&server, Resource::Nofile, had.current);
        }
        scene.still_works();
    });
}

/// An engine whose spare and server may write files up to this size.
fn scene_with_file_limit(bytes: u64) -> Scene {
    let scene = Scene::new();
    limit(&spare_keeper(), Resource::Fsize, Some(bytes));
    limit(&fork_server(), Resource::Fsize, Some(bytes));
    scene
}

#[test]
fn output_above_the_file_size_limit_is_counted_and_told() {
    as_each_user(|| {
        let scene = scene_with_file_limit(1 << 20);
        let total: u64 = 3_000_000;
        let command = format!("head -c {total} /dev/zero | tr '\\0' x; echo end; exit 7");
        for _ in 0..2 {
            let Answer { reply, .. } = scene.run(request(&command));
            assert_eq!(reply.exit_code, Some(7), "{reply:?}");
            assert_eq!(reply.output_bytes, total + 4);
            // On disk up to the limit, the last 64 KiB in memory.
            let lost = total + 4 - (1 << 20) - (64 << 10);
            assert_eq!(reply.dropped_bytes, lost);
            let told = format!(
                "{lost} bytes of output were lost because they could not be stored: File too large"
            );
            assert!(reply.text.contains(&told), "{}", reply.text);
            assert!(reply.output.ends_with("xend\n"), "the tail is there");
            assert!(reply.output.starts_with("xxx"), "the head is there");
        }
    });
}

#[test]
fn a_command_keeps_the_file_size_limit_of_its_caller() {
    as_each_user(|| {
        let scene = scene_with_file_limit(1 << 20);
        // Its own file is the command's affair: SIGXFSZ, as under plain bash.
        let Answer { reply, .. } = scene.run(request("head -c 2000000 /dev/zero > file; echo $?"));
        assert!(reply.output.ends_with("153\n"), "{reply:?}");
        assert_eq!(
            fs::metadata(scene.file("file")).expect("a file").len(),
            1 << 20
        );
    });
}

#[test]
fn a_file_size_limit_that_leaves_no_room_at_all_is_told() {
    as_each_user(|| {
        let scene = scene_with_file_limit(0);
        let Answer { reply, .. } = scene.run(request("echo ran; exit 3"));
        // The spare had its spool already: it lacks only the disk.
        assert!(reply.error.is_none(), "{reply:?}");
        assert_eq!(reply.exit_code, Some(3), "{reply:?}");
        assert_eq!(reply.output_bytes, 4);
        assert!(
            reply.dropped_bytes == 4 || reply.output == "ran\n",
            "{reply:?}"
        );
        let Answer { reply, took } = scene.run(request("echo ran; exit 3"));
        let error = reply.error.expect("an error");
        assert!(error.contains("File too large"), "{error}");
        assert!(took < SLACK, "{took:?}");
    });
}

#[test]
fn an_engine_with_a_file_size_limit_is_not_killed_for_its_own_messages() {
    as_each_user(|| {
        let scene = Scene::new();
        let had = getrlimit(Resource::Fsize);
        let low = Rlimit {
            current: Some(64 << 10),
            maximum: had.maximum,
        };
        setrlimit(Resource::Fsize, low).expect("a lower limit");
        let Answer { reply, .. } = scene.run(request("wc -c").stdin(vec![b'x'; 1 << 20]));
        let large = scene
            .run(request(format!("echo ran # {}", "x".repeat(200_000))))
            .reply;
        setrlimit(Resource::Fsize, had).expect("the former limit");
        for reply in [reply, large] {
            let error = reply.error.expect("an error");
            assert!(error.contains("File too large"), "{error}");
        }
        scene.still_works();
    });
}

#[test]
fn a_set_id_child_that_can_not_be_ended_is_listed() {
    if !is_root() && !is_second_run() {
        return loudly("not root: a set-id child that can't be ended is NOT tested here");
    }
    let _made = is_root().then(|| SetId::copy_of("/usr/bin/setpriv"));
    as_each_user(|| {
        if is_root() {
            return; // Root may end anything; the run without rights tests it.
        }
        let program = SetId::made_for_this_run("setpriv");
        let program = program.display();
        let scene = Scene::new();
        let become_root = format!("{program} --reuid 0 --regid 0 --clear-groups");
        let probe = scene.run(request(format!("{become_root} id -ru"))).reply;
        if probe.output != "0\n" {
            return loudly(
                "set-id programs have no effect here: one that can't be ended is NOT tested",
            );
        }
        let limit = Duration::from_secs(1);
        // Ends by itself in the end: nobody here could do it.
        let command = format!("echo up; {become_root} sleep 8; sleep 300");
        let Answer { reply, took } = scene.run(request(command).timeout(limit));
        assert!(reply.timed_out, "{reply:?}");
        assert_eq!(reply.output, "up\n");
        assert!(
            took < limit + GRACE + Duration::from_millis(20) + SLACK,
            "{took:?}"
        );
        let [left] = reply.left_behind.as_slice() else {
            panic!("not one: {reply:?}")
        };
        assert_eq!(left.reason, LeftReason::NotPermitted, "{left:?}");
        assert_eq!(left.command, "sleep 8");
        assert!(
            reply.text.contains("it belongs to another user"),
            "{}",
            reply.text
        );
        assert!(Held::open(left.pid).lives());
        scene.still_works();
        let left = Held::open(left.pid);
        wait_until("the set-id child has ended by itself", || !left.lives());
    });
}
