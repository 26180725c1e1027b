//! Writes a corpus for a person to look at: `plant SEED FILES DIR`. The truth goes to standard output, a line for each
//! secret, decoy and aside, with tabs between: what it is, file, first line, last line, kind, group, secret.
//!
//! The directory is filled with what looks like leaked secrets. Throw it away afterwards.

use std::io::Write as _;
use std::path::Path;

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [seed, files, dir] = args.as_slice() else {
        return Err(std::io::Error::other("usage: plant SEED FILES DIR"));
    };
    let number = |text: &str| text.parse::<u64>().map_err(std::io::Error::other);
    let corpus = holdfast_planter::corpus(number(seed)?, number(files)? as usize);
    corpus.write_to(Path::new(dir))?;
    let mut out = std::io::stdout().lock();
    for p in &corpus.planted {
        let secret = p.secret.escape_debug();
        writeln!(
            out,
            "secret\t{}\t{}\t{}\t{}\t{}\t{secret}",
            p.file,
            p.first_line,
            p.last_line,
            p.kind,
            p.group.name()
        )?;
    }
    for d in &corpus.decoys {
        writeln!(out, "decoy\t{}\t{}\t{}\t{}\t\t", d.file, d.line, d.line, d.kind)?;
    }
    for a in &corpus.asides {
        writeln!(out, "aside\t{}\t{}\t{}\t\t\t", a.file, a.line, a.line)?;
    }
    Ok(())
}
