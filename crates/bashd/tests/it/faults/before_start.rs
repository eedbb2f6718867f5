//! What can't be started: directories, environments and shells. Bad requests are in `refusals`.

use super::scene::{Answer, Scene, is_root, request, spare_keeper, wait_until, write_profile_as};
use bashd::{Reply, Request};
use bashd_testkit::{Home, as_each_user};
use rustix::process::Signal;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Runs a call that must fail before anything runs; returns the error.
fn refused(scene: &Scene, call: Request) -> String {
    let reply = scene.block_on(scene.engine.run(call));
    assert!(reply.is_error, "{reply:?}");
    assert_eq!((reply.exit_code, reply.signal), (None, None), "{reply:?}");
    assert!(!reply.timed_out && !reply.cancelled, "{reply:?}");
    scene.nothing_runs();
    let error = reply.error.expect("an error");
    assert!(reply.text.contains(&error), "{error:?} in {:?}", reply.text);
    error
}

#[test]
fn a_bad_working_directory_is_named() {
    as_each_user(|| {
        let scene = Scene::new();
        fs::write(scene.file("file"), "").expect("a file");
        for (cwd, expected) in [
            ("missing", "working directory does not exist: "),
            ("file", "working directory is not a directory: "),
            ("file/below", "working directory is not a directory: "),
        ] {
            let error = refused(&scene, request("echo ran").cwd(cwd));
            assert!(error.starts_with(expected), "{error}");
            assert!(error.ends_with(cwd), "{error}");
        }
        scene.still_works();
    });
}

#[test]
fn a_closed_working_directory_is_named() {
    as_each_user(|| {
        let scene = Scene::new();
        let closed = scene.file("closed");
        fs::create_dir(&closed).expect("a directory");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o600)).expect("a mode");
        if is_root() {
            let Answer { reply, .. } = scene.run(request("echo ran").cwd("closed"));
            assert_eq!(reply.output, "ran\n", "mode bits don't hold root back");
        } else {
            let error = refused(&scene, request("echo ran").cwd("closed"));
            let expected = "working directory is not accessible: ";
            assert!(error.starts_with(expected), "{error}");
        }
    });
}

/// Runs a call in `scene/place`, doing something between plan and start.
fn run_with_pause(scene: &Scene, command: &str, act: impl FnOnce()) -> Reply {
    let place = scene.file("place");
    let spare = spare_keeper();
    spare.stop();
    scene.block_on(async {
        let call = scene.engine.run(request(command).cwd("place"));
        let mut call = std::pin::pin!(call);
        // One turn: the plan is made and its message waits in the stopped keeper's socket.
        tokio::select! {
            biased;
            reply = &mut call => panic!("no keeper could have answered: {reply:?}"),
            () = tokio::task::yield_now() => {}
        }
        assert!(is_held(&place), "the plan holds its directory");
        act();
        spare.signal(Signal::CONT);
        call.await
    })
}

/// Whether a descriptor of this process is that directory.
fn is_held(directory: &std::path::Path) -> bool {
    let descriptors = fs::read_dir("/proc/self/fd").expect("our descriptors");
    let mut targets = descriptors.flatten().map(|fd| fs::read_link(fd.path()));
    targets.any(|target| target.is_ok_and(|target| target == directory))
}

#[test]
fn a_directory_deleted_between_plan_and_start_is_an_empty_one() {
    as_each_user(|| {
        let scene = Scene::new();
        let place = scene.file("place");
        fs::create_dir(&place).expect("a directory");
        let remove = || fs::remove_dir(&place).expect("a directory");
        let reply = run_with_pause(&scene, "echo * ; : > file; echo $?", remove);
        assert_eq!(reply.exit_code, Some(0), "{reply:?}");
        assert!(
            reply
                .output
                .ends_with("*\nbash: line 1: file: No such file or directory\n1\n"),
            "{reply:?}"
        );
        scene.still_works();
    });
}

#[test]
fn a_directory_swapped_between_plan_and_start_is_not_entered() {
    as_each_user(|| {
        let scene = Scene::new();
        let place = scene.file("place");
        fs::create_dir(&place).expect("a directory");
        fs::write(place.join("right"), "").expect("a file");
        let swap = || {
            fs::rename(&place, scene.file("moved")).expect("a rename");
            fs::create_dir(&place).expect("a directory");
            fs::write(place.join("wrong"), "").expect("a file");
        };
        let reply = run_with_pause(&scene, "echo *", swap);
        assert_eq!(reply.output, "right\n", "{reply:?}");
    });
}

#[test]
fn a_directory_deleted_while_the_command_runs_is_the_commands_affair() {
    as_each_user(|| {
        let scene = Scene::new();
        fs::create_dir(scene.file("place")).expect("a directory");
        let command = "rmdir \"$PWD\"; ls; [ -d \"$PWD\" ] || echo gone; exit 3";
        let Answer { reply, .. } = scene.run(request(command).cwd("place"));
        assert_eq!(reply.output, "gone\n", "{reply:?}");
        assert_eq!(reply.exit_code, Some(3));
        let error = refused(&scene, request("echo ran").cwd("place"));
        assert!(error.contains("does not exist"), "{error}");
    });
}

#[test]
fn an_environment_too_large_for_the_kernel_is_told() {
    as_each_user(|| {
        let scene = Scene::new();
        // Linux takes 128 KiB a string, and 6 MiB in all at most.
        let one = request("echo ran").env("BIG", "x".repeat(200 << 10));
        let many = (0..100).fold(request("echo ran"), |request, number| {
            request.env(format!("BIG_{number}"), "x".repeat(100 << 10))
        });
        for call in [one, many] {
            let error = refused(&scene, call);
            assert!(error.contains("Argument list too long"), "{error}");
        }
        let fits = request("echo ${#BIG}").env("BIG", "x".repeat(100 << 10));
        assert_eq!(scene.run(fits).reply.output, "102400\n");
    });
}

#[test]
fn a_configured_shell_that_is_missing_is_named() {
    as_each_user(|| {
        for shell in ["no-such-shell", "/no/such/shell", "/"] {
            let scene = Scene::with(Home::new(), |config| config.shell = Some(shell.to_owned()));
            let error = refused(&scene, request("echo ran"));
            assert_eq!(error, format!("no such shell: {shell}"));
        }
    });
}

#[test]
fn a_profile_whose_shells_are_missing_names_them() {
    as_each_user(|| {
        let scene = Scene::new();
        let profiles = scene.home.config().join("profiles");
        write_profile_as(&profiles, "shellless", |line| {
            let ours = "candidates = [[\"/no/zsh\", \"-c\"], [\"no-bash\", \"-lc\"]]";
            let is_list = line.starts_with("candidates = ");
            Some(if is_list { ours } else { line }.to_owned())
        });
        let error = refused(&scene, request("echo ran").profile("shellless"));
        assert_eq!(error, "no such shell: /no/zsh, no-bash");
        scene.still_works();
    });
}

#[test]
fn a_shell_that_is_no_program_is_told() {
    as_each_user(|| {
        let home = Home::new();
        let shell = home.root().join("shell");
        fs::write(&shell, "\u{7f}neither a script nor a program").expect("a file");
        fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).expect("a mode");
        let path = shell.to_str().expect("a path as text").to_owned();
        let scene = Scene::with(home, |config| config.shell = Some(path.clone()));
        let error = refused(&scene, request("echo ran"));
        assert!(error.contains(&path), "{error}");
        assert!(error.contains("Exec format error"), "{error}");
        fs::remove_file(&shell).expect("a file");
        assert_eq!(
            refused(&scene, request("echo ran")),
            format!("no such shell: {path}")
        );
    });
}

#[test]
fn a_shell_that_is_deleted_between_plan_and_start_is_told() {
    as_each_user(|| {
        let home = Home::new();
        let shell = home.root().join("bash");
        fs::copy("/bin/bash", &shell).expect("a copy of bash");
        let path = shell.to_str().expect("a path as text").to_owned();
        let scene = Scene::with(home, |config| config.shell = Some(path));
        fs::create_dir(scene.file("place")).expect("a directory");
        let remove = || fs::remove_file(&shell).expect("a file");
        let reply = run_with_pause(&scene, "echo ran", remove);
        let error = reply.error.expect("an error");
        assert!(error.contains("No such file or directory"), "{error}");
        wait_until("nothing runs", || scene.commands().is_empty());
    });
}
