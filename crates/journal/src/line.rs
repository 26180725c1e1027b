//! One line of the log: its bytes, its checksum, its limits.
//!
//! ```text
//! {"seq":41,"v":1,"at":"…","origin":"…", … ,"body":{…},"crc":"1f0e9a77"}\n
//! └──────────────────── covered by the checksum ─────┘└─ 18 bytes ──────┘
//! ```
//!
//! The checksum is CRC-32C over everything before its own field, in eight lower-case hex digits. It finds
//! torn and rotten lines at once; that nobody *changed* a line is the Merkle tree's to say.

/// Longest line, its newline included.
pub(crate) const LINE_MAX: usize = 64 * 1024;

const SEQ_PREFIX: &[u8] = b"{\"seq\":";
const CRC_FIELD: &[u8] = b",\"crc\":\"";
const CRC_END: &[u8] = b"\"}";
/// Bytes from the comma before `crc` to the closing brace.
const SUFFIX_LEN: usize = CRC_FIELD.len() + 8 + CRC_END.len();

/// Appends `,"crc":"…"}` and a newline to the line that began at `from`.
pub(crate) fn close(out: &mut Vec<u8>, from: usize) {
    let crc = crc32c::crc32c(&out[from..]);
    out.extend_from_slice(CRC_FIELD);
    out.extend_from_slice(&hex8(crc));
    out.extend_from_slice(CRC_END);
    out.push(b'\n');
}

/// Whether a line (without its newline) carries a checksum that fits.
pub(crate) fn is_whole(line: &[u8]) -> bool {
    covered(line).is_some()
}

/// The part of a line that its checksum covers, when the checksum fits.
pub(crate) fn covered(line: &[u8]) -> Option<&[u8]> {
    let (body, suffix) = line.split_at(line.len().checked_sub(SUFFIX_LEN)?);
    let fits = suffix.starts_with(CRC_FIELD)
        && suffix.ends_with(CRC_END)
        && suffix[CRC_FIELD.len()..][..8] == hex8(crc32c::crc32c(body));
    fits.then_some(body)
}

/// The `seq` a line says it has, read without parsing the rest.
pub(crate) fn seq_of(line: &[u8]) -> Option<u64> {
    let digits = line.strip_prefix(SEQ_PREFIX)?;
    let end = digits.iter().position(|b| !b.is_ascii_digit())?;
    // A second spelling of a number would be a second spelling of the entry.
    let canonical = (1..=20).contains(&end) && (digits[0] != b'0' || end == 1) && digits[end] == b',';
    let number = || std::str::from_utf8(&digits[..end]).ok()?.parse().ok();
    canonical.then(number).flatten()
}

/// Writes `{"seq":N`.
pub(crate) fn open(out: &mut Vec<u8>, seq: u64) {
    out.extend_from_slice(SEQ_PREFIX);
    out.extend_from_slice(seq.to_string().as_bytes());
}

fn hex8(n: u32) -> [u8; 8] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = [0; 8];
    for (i, digit) in out.iter_mut().enumerate() {
        *digit = DIGITS[(n >> (28 - 4 * i) & 0xf) as usize];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let mut out = Vec::new();
        open(&mut out, 41);
        out.extend_from_slice(b",\"v\":1,\"body\":{\"a\":\"x\"}");
        close(&mut out, 0);
        out.pop();
        out
    }

    #[test]
    fn a_closed_line_is_whole_and_is_json() {
        let line = sample();
        assert!(is_whole(&line));
        assert_eq!(seq_of(&line), Some(41));
        let json: serde_json::Value = serde_json::from_slice(&line).unwrap();
        assert_eq!(json["crc"].as_str().unwrap().len(), 8);
    }

    // shows: MEM-042
    #[test]
    fn any_flipped_bit_or_missing_byte_is_noticed() {
        let line = sample();
        for i in 0..line.len() {
            for bit in 0..8 {
                let mut bad = line.clone();
                bad[i] ^= 1 << bit;
                assert!(!is_whole(&bad), "byte {i} bit {bit}");
            }
            assert!(!is_whole(&line[..i]));
        }
    }

    #[test]
    fn a_seq_has_one_spelling() {
        for (text, seq) in [
            ("{\"seq\":0,", Some(0)),
            ("{\"seq\":18446744073709551615,", Some(u64::MAX)),
            ("{\"seq\":18446744073709551616,", None),
            ("{\"seq\":007,", None),
            ("{\"seq\":,", None),
            ("{\"seq\":7}", None),
            ("{\"seq\":-7,", None),
            ("{ \"seq\":7,", None),
            ("", None),
        ] {
            assert_eq!(seq_of(text.as_bytes()), seq, "{text}");
        }
    }
}
