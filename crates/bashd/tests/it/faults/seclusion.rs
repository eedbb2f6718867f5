//! What a command can do to its own keeper and its fork server: not look into them, not write in
//! their place, not end them by a signal that they have no use for.

use super::scene::{Answer, PATIENCE, Scene, request};
use bashd::Request;
use bashd_testkit::as_each_user;
use bashd_testkit::unprivileged::is_nobody;

/// Tries everything of `/proc` that would let a command act as its keeper or as the fork server.
const LOOK: &str = "read -r _ _ _ keeper _ < /proc/$$/stat; \
    read -r _ _ _ server _ < /proc/$keeper/stat; \
    for pid in $keeper $server; do \
      for file in fd/0 fd/1 fd/2 mem environ auxv; do \
        (: < /proc/$pid/$file) 2>/dev/null && echo \"open: $file\"; done; \
      ls /proc/$pid/fd >/dev/null 2>&1 && echo 'open: fd'; \
      (echo x > /proc/$pid/mem) 2>/dev/null && echo 'written: mem'; \
      readlink /proc/$pid/cwd /proc/$pid/exe /proc/$pid/root; \
    done; echo done";

#[test]
fn a_keeper_and_its_fork_server_keep_descriptors_and_memory_to_themselves() {
    as_each_user(|| {
        let scene = Scene::new();
        for request in [request(LOOK), Request::new(LOOK).session("one")] {
            let Answer { reply, .. } = scene.run(request);
            assert_eq!(reply.exit_code, Some(0), "{reply:?}");
            // Nothing is closed to root.
            if is_nobody() {
                assert_eq!(reply.output, "done\n", "{reply:?}");
            } else {
                assert!(reply.output.contains("open: fd"), "{reply:?}");
            }
        }
        scene.still_works();
    });
}

/// Sends every signal that can be caught, except those that ask for an end, and says so.
const SIGNALS: &str = "read -r _ _ _ keeper _ < /proc/$$/stat; \
    for signal in {3..64}; do case $signal in 9 | 15 | 19) ;; \
      *) /bin/kill -s $signal $keeper 2>/dev/null || kill -$signal $keeper 2>/dev/null;; esac; \
    done; kill -CONT $keeper; kill -0 $keeper && echo alive; (exit 5)";

#[test]
fn a_keeper_lives_on_whatever_signal_it_gets() {
    as_each_user(|| {
        let scene = Scene::new();
        let own = request(SIGNALS).timeout(PATIENCE);
        let in_session = Request::new(SIGNALS).session("one").timeout(PATIENCE);
        for request in [own, in_session] {
            let Answer { reply, .. } = scene.run(request);
            assert_eq!(
                (reply.exit_code, &*reply.output),
                (Some(5), "alive\n"),
                "{reply:?}"
            );
        }
        scene.still_works();
    });
}
