//! Builds a book: `bashd-book ROOT DESTINATION`, where ROOT has a `book.toml`.

use mdbook_driver::MDBook;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let (Some(root), Some(destination), None) = (words.next(), words.next(), words.next()) else {
        eprintln!("usage: bashd-book ROOT DESTINATION");
        return ExitCode::from(2);
    };
    let built = MDBook::load(root).and_then(|mut book| {
        book.config.build.build_dir = destination.into();
        book.build()
    });
    match built {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the book can't be built: {error:#}");
            ExitCode::FAILURE
        }
    }
}
