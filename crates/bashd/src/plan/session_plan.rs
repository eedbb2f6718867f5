//! Whether a call runs in a session's shell, and how.

use super::resolve::{PlanInput, Setting};
use super::{OpenDirectory, SessionKey, SessionPlan, Shell, StdinSource, environment, session};
use crate::guard::safe_mode::RunForm;
use std::ffi::OsStr;

/// The session of a call, or what to say if it should have one and cannot.
pub(super) fn or_notes(
    wish: PlanInput<'_>,
    text: Option<String>,
    shell: &Shell,
    cwd: &OpenDirectory,
) -> (Option<SessionPlan>, Vec<String>) {
    let planned = match (wish.setting.form, text) {
        (RunForm::AsWritten, Some(text)) => plan_session(wish, &text, shell, cwd),
        _ => Ok(None),
    };
    match planned {
        Ok(session) => (session, Vec::new()),
        Err(note) => (None, vec![note]),
    }
}

/// The session of a call that has one; what to say if it cannot have one.
fn plan_session(
    wish: PlanInput<'_>,
    text: &str,
    shell: &Shell,
    cwd: &OpenDirectory,
) -> Result<Option<SessionPlan>, String> {
    let PlanInput {
        profile,
        request,
        setting:
            Setting {
                config,
                surroundings,
                inheritance,
                id,
                owner,
                ..
            },
        is_guarded,
    } = wish;
    let Some(name) = profile.session.name_of(request) else {
        return Ok(None);
    };
    if config.sessions.most == 0 || request.pty {
        return Ok(None);
    }
    if !request.resources.or(config.resources).eq(&config.resources) {
        return Err(
            "a call with its own limits runs in a shell of its own, not in the session".to_owned(),
        );
    }
    let reads_a_file = matches!(request.stdin, StdinSource::Open(_));
    if request.background || request.stdin_open || reads_a_file {
        return match &request.session {
            None => Ok(None),
            Some(_) if reads_a_file => Err(
                "a call that reads an open file runs in a shell of its own, not in the session"
                    .to_owned(),
            ),
            Some(_) => Err("a job runs in a shell of its own, not in the session".to_owned()),
        };
    }
    if !session::is_possible(shell) {
        let shell = shell.program.display();
        return Err(format!(
            "sessions need bash, but the shell is {shell}: the command ran in a shell of its own"
        ));
    }
    let is_kept_out = |name: &OsStr| {
        name == environment::RUN_VARIABLE && profile.environment.run_variable
            || is_guarded && environment::slips_code_past_the_guard(name)
            || session::is_private(name)
    };
    let env = inheritance.by_sessions(wish.origin(), shell, is_kept_out);
    let run = profile.environment.run_variable;
    let run = run.then(|| (environment::RUN_VARIABLE.into(), id.as_str().into()));
    let own = request.env.iter();
    let own = own.filter(|(name, _)| !is_kept_out(name));
    let own: Vec<_> = run.into_iter().chain(own.cloned()).collect();
    let explicit = request.cwd.is_some().then_some(&*cwd.path);
    Ok(Some(SessionPlan {
        is_asked_for: request.session.is_some(),
        runs_where_it_is: request.cwd.is_none(),
        may_be_started: false,
        key: SessionKey {
            owner: session::owner_of_session(name, owner).to_owned(),
            name: name.to_owned(),
            program: shell.program.clone(),
            prefix: config.prefix.clone(),
            rc_script: None,
            env,
        },
        home: surroundings.cwd.clone(),
        text: session::text(text, &own, explicit),
        directory: session::directory_after(explicit),
        overlap: profile.session.overlap_of(request),
    }))
}
