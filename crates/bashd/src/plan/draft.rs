//! A plan, except for what the user's rc file left, which may have to be found out first.

use super::{Plan, Shell, Variables, Vessel};
use crate::rc::RcScript;
use std::path::Path;

/// Everything about a run that can be decided without waiting.
#[derive(Debug)]
pub(crate) struct Draft {
    plan: Plan,
    /// Whether the shell takes over what the user's rc file sets up, where that can be found out.
    pub(super) wants_rc_script: bool,
    /// Whether a shell that was started ahead will do.
    pub(super) started_shell: StartedShellUse,
}

/// Whether a shell that was started ahead will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartedShellUse {
    /// It must be a new one.
    Never,
    /// One that has sourced the plan's rc script will do; without such a script a new one is as
    /// good, since it becomes the one program that it is to run.
    WithRcScript,
    /// It will.
    Always,
}

/// Whose rc is meant, and the shell that would source what it left.
pub(crate) struct RcWish<'a> {
    pub(crate) shell: &'a Shell,
    pub(crate) env: &'a Variables,
    /// What the shell that reads the rc shares with the run.
    pub(crate) like: &'a Plan,
}

impl Draft {
    pub(super) fn new(plan: Plan, wants_rc_script: bool, started_shell: StartedShellUse) -> Self {
        Self {
            plan,
            wants_rc_script,
            started_shell,
        }
    }

    /// The directory in which the command begins, unless its session knows better.
    pub(crate) fn directory(&self) -> &Path {
        &self.plan.cwd.path
    }

    /// The rc script that it wants, if it wants one.
    pub(crate) fn rc_wish(&self) -> Option<RcWish<'_>> {
        let session = self.plan.vessel.session();
        self.wants_rc_script.then_some(RcWish {
            shell: &self.plan.shell,
            env: session.map_or(&self.plan.env, |session| &*session.key.env),
            like: &self.plan,
        })
    }

    /// The one program that it calls, which the shell may become if the rc script lets it.
    pub(crate) fn one_program(&self) -> Option<&str> {
        self.plan.program.as_ref().map(|program| &*program.path)
    }

    /// Whether a shell that sources this rc script becomes that program.
    pub(crate) fn becomes_program(&self, rc_script: &[u8]) -> bool {
        self.plan.becomes_program(rc_script)
    }
}

/// Decides the rest: what the shell sources first, and whether one that was started ahead will do.
pub(crate) fn resolve(draft: Draft, rc: Option<RcScript>) -> Plan {
    let Draft {
        mut plan,
        started_shell,
        ..
    } = draft;
    if let Some(RcScript {
        path,
        becomes_program,
    }) = rc
    {
        if let Some(program) = &mut plan.program {
            program.replaces_shell = becomes_program;
        }
        if let Vessel::Session(session) = &mut plan.vessel {
            session.key.rc_script = Some(path.clone());
        }
        let confinement = plan.restraint.as_mut();
        if let Some(confinement) = confinement.and_then(|held| held.confinement.as_mut()) {
            confinement.to_mut().bring.push(path.clone());
        }
        plan.rc_script = Some(path);
    }
    let by_kind = match started_shell {
        StartedShellUse::Never => false,
        StartedShellUse::WithRcScript => plan.rc_script.is_some(),
        StartedShellUse::Always => true,
    };
    let may_be_started = by_kind && plan.stdin.is_null() && !plan.stdin_open;
    match &mut plan.vessel {
        vessel @ Vessel::OwnShell if may_be_started => *vessel = Vessel::StartedShell,
        Vessel::Session(session) => session.may_be_started = may_be_started,
        Vessel::OwnShell
        | Vessel::StartedShell
        | Vessel::Terminal(_)
        | Vessel::ClientTerminal(..) => {}
    }
    plan
}
