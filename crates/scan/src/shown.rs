//! Names of files as text. A name is any bytes but NUL and `/`; what is no text is spelled out as `\xff`.

/// The name as it stands in reports, exceptions and baselines.
pub(crate) fn shown(name: &[u8]) -> String {
    let mut out = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_spelled_out() {
        assert_eq!(shown("a/ü\n\".txt".as_bytes()), "a/ü\n\".txt");
        assert_eq!(shown(b"a\xff/b"), "a\\xff/b");
    }
}
