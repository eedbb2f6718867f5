//! `bashd completions`: what a shell needs to complete our command line.
//!
//! clap knows the words of the command line itself; names of jobs, profiles, rules, keys and
//! artifacts are asked of `bashd complete`.

use crate::args::Cli;
use crate::exit_status::ExitStatus;
use crate::failure::Failure;
use crate::print::Printer;
use clap::CommandFactory;
use clap_complete::Shell;

const BASH: &str = r#"
_bashd_names() {
    local value
    COMPREPLY=()
    while IFS=$'\t' read -r value _; do
        [[ -n $value ]] && COMPREPLY+=("$value")
    done < <(command bashd complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
        _bashd "$@"
    elif [[ ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -F _bashd_names -o bashdefault -o default bashd
"#;

const ZSH: &str = r#"
_bashd_names() {
    local -a found
    found=(${(f)"$(command bashd complete -- ${(@)words[2,CURRENT]} 2>/dev/null)"})
    if (( $#found )); then
        compadd -- ${found%%$'\t'*}
    else
        _bashd "$@"
    fi
}
"#;

const FISH: &str = "
complete -c bashd -f -a '(command bashd complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
";

/// Prints the completions for a shell.
pub(crate) fn completions(shell: Shell, printer: &Printer) -> Result<ExitStatus, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "bashd", &mut script);
    let script = String::from_utf8_lossy(&script);
    printer.out(&with_names(shell, &script))?;
    Ok(ExitStatus::Success)
}

/// clap's script, which also asks for names.
fn with_names(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => format!("{script}{BASH}"),
        Shell::Fish => format!("{script}{FISH}"),
        Shell::Zsh => {
            // The last lines of clap's script call or register its function.
            let at = script.rfind("\nif [").unwrap_or(script.len());
            let (functions, last) = script.split_at(at);
            let last = last
                .replace("_bashd \"$@\"", "_bashd_names \"$@\"")
                .replace("compdef _bashd bashd", "compdef _bashd_names bashd");
            format!("{functions}{ZSH}{last}")
        }
        _ => script.to_owned(),
    }
}
