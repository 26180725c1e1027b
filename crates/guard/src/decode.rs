//! Secrets wrapped in base64 or percent signs: unwrapped once, for a second look.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// What a run of base64 says, if what it says is text.
pub(crate) fn base64_text(run: &[u8]) -> Option<Vec<u8>> {
    let run = run.trim_ascii();
    let head = run.get(..8)?;
    // The first six bytes tell nearly all that is not text, for the price of one small decode.
    let mut first = [0; 6];
    let engine = if is_url_safe(run) { &URL_SAFE } else { &STANDARD };
    if !engine.decode_slice(head, &mut first).is_ok_and(|length| is_text(&first[..length])) {
        return None;
    }
    let whole = run.len() - run.len() % 4;
    let bytes = engine.decode(run).or_else(|_| engine.decode(&run[..whole])).ok()?;
    is_text(&bytes).then_some(bytes)
}

fn is_url_safe(run: &[u8]) -> bool {
    run.iter().any(|b| matches!(b, b'-' | b'_'))
}

fn is_text(bytes: &[u8]) -> bool {
    let readable = bytes.iter().filter(|b| matches!(b, 0x20..=0x7e | b'\n' | b'\r' | b'\t')).count();
    !bytes.is_empty() && readable * 20 >= bytes.len() * 19
}

/// The text with its `%XX` read, or nothing where it has none.
pub(crate) fn percent_text(run: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(run.len());
    let mut changed = false;
    let mut rest = run;
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'%'
            && let [high, low, after @ ..] = tail
            && let (Some(high), Some(low)) = (digit(*high), digit(*low))
        {
            out.push(high << 4 | low);
            rest = after;
            changed = true;
        } else {
            out.push(*first);
            rest = tail;
        }
    }
    changed.then_some(out)
}

fn digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|d| d as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_unwrapped_and_bytes_are_not() {
        assert_eq!(base64_text(b"cGFzc3dvcmQ9aHVudGVyMg==").as_deref(), Some(&b"password=hunter2"[..]));
        assert_eq!(base64_text(b"iVBORw0KGgoAAAANSUhEUgAAAAUA"), None);
        assert_eq!(percent_text(b"password%3Dabc").as_deref(), Some(&b"password=abc"[..]));
        assert_eq!(percent_text(b"100%"), None);
    }
}
