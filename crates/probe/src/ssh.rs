//! The greeting of an SSH server. Nothing is said to it and nobody logs in.
//!
//! OpenSSH since 9.8 counts one second against an address for each visitor that leaves so, and refuses at fifteen: a look every few seconds
//! never gets there.

use std::io::{BufRead as _, BufReader, Read};

use crate::found::{Trouble, shown};

/// A server may say other lines first (RFC 4253, 4.2). A greeting has 255 bytes at most.
const SAID_MAX: u64 = 4096;

pub(crate) fn greeting(from: impl Read) -> Result<(), Trouble> {
    let mut from = BufReader::with_capacity(512, from).take(SAID_MAX);
    let mut before = String::new();
    loop {
        let mut said = Vec::new();
        from.read_until(b'\n', &mut said)?;
        let is_line = said.last() == Some(&b'\n');
        if is_line && (said.starts_with(b"SSH-2.0-") || said.starts_with(b"SSH-1.99-")) {
            return Ok(());
        }
        if before.is_empty() {
            before = shown(&said);
        }
        if !is_line {
            return Err(Trouble::Theirs(match before.as_str() {
                "" => "it ended the connection without a greeting".to_owned(),
                said => format!("it said \"{said}\" and did not greet as SSH"),
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_greeting_is_told_from_everything_else() {
        for good in ["SSH-2.0-OpenSSH_10.0\r\n", "SSH-2.0-x\n", "hello\r\n\r\nSSH-1.99-old\r\n"] {
            assert_eq!(greeting(good.as_bytes()), Ok(()), "{good:?}");
        }
        let late = "x\n".repeat(5000) + "SSH-2.0-x\n";
        for bad in ["", "SSH-2.0-cut", "SSH-1.5-old\r\n", "HTTP/1.1 400 Bad\r\n\r\n", "ssh-2.0-x\n", &late] {
            assert!(matches!(greeting(bad.as_bytes()), Err(Trouble::Theirs(_))), "{bad:?}");
        }
    }

    #[test]
    fn what_it_said_is_shown_short_and_safe() {
        let said = format!("\u{1b}[2JNot allowed at this time\r\n{}", "y".repeat(9000));
        let Err(Trouble::Theirs(why)) = greeting(said.as_bytes()) else { panic!("it passed") };
        assert!(why.contains("Not allowed at this time"), "{why}");
        assert!(!why.contains('\u{1b}') && why.len() < 300, "{why}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _either = greeting(bytes.as_slice());
        }
    }
}
