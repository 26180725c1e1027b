//! The `Amends:` lines of a decision page: the rows it replaces.

/// The lists on the page's `Amends:` lines with their line numbers. Only the head of the page counts, so that the
/// text below may speak of such lines.
pub(crate) fn amends(text: &str) -> Vec<(usize, &str)> {
    let head = text.lines().enumerate().take_while(|(_, line)| !line.starts_with("## "));
    head.filter_map(|(index, line)| Some((index + 1, line.strip_prefix("Amends:")?.trim()))).collect()
}

/// The name a page has in `status.toml`: its file name without the extension.
pub(crate) fn name(path: &str) -> &str {
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
    file.strip_suffix(".md").unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(usize, &str)]) {
        assert_eq!(amends(text), expected, "{text}");
    }

    #[test]
    fn only_the_head_of_a_page_amends() {
        check(
            "# 0001: A\n\nStatus: accepted\nAmends: MEM-001, MEM-002\nAmends: HRD-001\n\n## Problem\n",
            &[(4, "MEM-001, MEM-002"), (5, "HRD-001")],
        );
        check("# 0001: A\n\nStatus: accepted\n\n## Choice\nAmends: MEM-001\n", &[]);
    }

    #[test]
    fn a_page_is_named_by_its_file() {
        assert_eq!(name("docs/decisions/0013-journal-bytes.md"), "0013-journal-bytes");
    }
}
