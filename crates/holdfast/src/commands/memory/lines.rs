//! Lines of a file or of standard input, bounded: one that is too long or no text is told with its number, and the next one is read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::house::reading;
use crate::problem::Result;

/// The longest line that is read: the longest memory with every character escaped, and what stands beside it.
const LINE_MAX: u64 = 128 * 1024;

/// Wrong lines that are told one by one; a file of another kind is wrong in every line.
pub(super) const TOLD_MAX: usize = 20;

pub(super) struct Lines {
    path: PathBuf,
    input: Box<dyn BufRead>,
    number: u64,
}

/// A line with its number, or why it is none.
pub(super) type Read1 = (u64, std::result::Result<String, String>);

impl Lines {
    /// Opens a file, or standard input for `-`.
    pub(super) fn open(path: &Path) -> Result<Lines> {
        let input: Box<dyn BufRead> = match path == Path::new("-") {
            true => Box::new(BufReader::new(io::stdin())),
            false => Box::new(BufReader::new(File::open(path).map_err(|e| reading(path, e))?)),
        };
        Ok(Lines { path: path.to_owned(), input, number: 0 })
    }

    /// The next line that is not blank.
    pub(super) fn next(&mut self) -> Result<Option<Read1>> {
        loop {
            let Some(line) = self.line().map_err(|e| reading(&self.path, e))? else { return Ok(None) };
            self.number += 1;
            match line {
                Ok(line) if line.trim().is_empty() => {}
                line => return Ok(Some((self.number, line))),
            }
        }
    }

    fn line(&mut self) -> io::Result<Option<std::result::Result<String, String>>> {
        let mut bytes = Vec::new();
        if (&mut self.input).take(LINE_MAX + 1).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        if bytes.len() as u64 > LINE_MAX && bytes.last() != Some(&b'\n') {
            self.skip()?;
            return Ok(Some(Err(format!("it has more than {LINE_MAX} bytes"))));
        }
        let not_text = |e: std::string::FromUtf8Error| {
            format!("it is not UTF-8 from byte {} on", e.utf8_error().valid_up_to() + 1)
        };
        Ok(Some(String::from_utf8(bytes).map_err(not_text)))
    }

    /// Passes over the rest of a line without keeping it.
    fn skip(&mut self) -> io::Result<()> {
        loop {
            let piece = self.input.fill_buf()?;
            if piece.is_empty() {
                return Ok(());
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(piece.len(), |at| at + 1);
            self.input.consume(used);
            if end.is_some() {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<Read1> {
        let mut lines =
            Lines { path: "test".into(), input: Box::new(io::Cursor::new(bytes.to_vec())), number: 0 };
        std::iter::from_fn(|| lines.next().unwrap()).collect()
    }

    #[test]
    fn lines_are_numbered_as_in_the_file_and_what_is_none_does_not_end_it() {
        let long = vec![b'x'; LINE_MAX as usize + 9];
        let text = [b"one\n\n  \n\xff\xfe\n".as_slice(), &long, b"\nlast"].concat();
        let found = read(&text);
        assert_eq!(found[0], (1, Ok("one\n".to_owned())));
        assert_eq!(
            (found[1].0, found[1].1.as_ref().unwrap_err().as_str()),
            (4, "it is not UTF-8 from byte 1 on")
        );
        assert!(found[2].0 == 5 && found[2].1.as_ref().unwrap_err().contains("more than"));
        assert_eq!(found[3], (6, Ok("last".to_owned())));
        assert!(read(b"").is_empty() && read(b"\n\n").is_empty());
    }

    #[test]
    fn a_line_of_the_longest_length_is_read() {
        let mut text = vec![b'x'; LINE_MAX as usize];
        text.extend(b"\nnext\n");
        let found = read(&text);
        assert!(found[0].1.is_ok() && found.len() == 2, "{}", found.len());
    }
}
