//! How quick the index is and how much it finds, on vectors of a file, for measuring beside others on the same file.
//!
//! ```text
//! speed make KIND COUNT NAME          writes NAME.base and NAME.queries (KIND: topics, even)
//! speed build NAME FOLDER THREADS     puts NAME.base into an index, rebuilds it, says how long that took
//! speed ask NAME FOLDER WIDTH...      asks NAME.queries one after another, with walks of each width; 0 is an exact search
//! speed open FOLDER                   how long opening takes, and what the process holds before and after
//! ```
//!
//! NAME.truth has the ten nearest of each query, as 32-bit numbers, made by whoever judges: the recall is against it. `made.rs` makes the
//! vectors, `run.rs` measures; neither knows the command line.

mod made;
mod run;

use std::num::NonZeroUsize;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["make", kind, count, name] => {
            let kind = made::Kind::of(kind).ok_or("a kind is topics or even")?;
            run::make(kind, count.parse()?, Path::new(name))?;
        }
        ["build", name, folder, threads] => {
            let threads: NonZeroUsize = threads.parse()?;
            say(&run::build(Path::new(name), Path::new(folder), threads)?);
        }
        ["ask", name, folder, ref widths @ ..] => {
            for width in widths {
                say(&run::ask(Path::new(name), Path::new(folder), width.parse()?)?);
            }
        }
        ["open", folder] => say(&run::open(Path::new(folder))?),
        _ => {
            return Err(
                "make KIND COUNT NAME | build NAME FOLDER THREADS | ask NAME FOLDER WIDTH... | open FOLDER"
                    .into(),
            );
        }
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "what a measurement is for")]
fn say(line: &str) {
    println!("{line}");
}
