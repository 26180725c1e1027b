//! Every page as it is, to be read when it changes: typical, empty, and with text nobody honest writes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod samples;

use samples::{Sample, all};

/// What is worth reading: a tag a line, without long paths and without the digests of assets.
fn readable(html: &str) -> String {
    html.replace("><", ">\n<")
}

/// What is different on each page. What is around it is the same on all and shown once.
fn main_part(html: &str) -> &str {
    let from = html.find("<main").unwrap();
    let to = html.find("</main>").unwrap();
    &html[from..to]
}

fn with_filters(check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"holdfast-[0-9a-f]{8}\.", "holdfast-DIGEST.");
    settings.add_filter(r#" d="[^"]{160,}""#, " d=\"…\"");
    settings.add_filter(r#"data-reads="[^"]{160,}""#, "data-reads=\"…\"");
    settings.add_filter(r"x{40,}", "xx…xx");
    settings.bind(check);
}

fn shown(wanted: impl Fn(&Sample) -> bool) {
    let mut count = 0;
    for sample in all().into_iter().filter(wanted) {
        with_filters(|| insta::assert_snapshot!(sample.name, readable(main_part(&sample.html))));
        count += 1;
    }
    assert!(count > 5, "only {count} pages");
}

#[test]
fn pages_with_text_nobody_honest_writes() {
    shown(|sample| sample.name.ends_with("-worst"));
}

#[test]
fn pages_with_nothing_on_them() {
    shown(|sample| sample.name.contains("empty") || sample.name.contains("nobody"));
}

#[test]
fn pages_as_they_usually_are() {
    shown(|sample| !["-worst", "empty", "nobody"].iter().any(|it| sample.name.contains(it)));
}

#[test]
fn what_is_around_every_page() {
    let overview = all().into_iter().find(|sample| sample.name == "overview").unwrap();
    let whole = overview.html.replace(main_part(&overview.html), "<main>…");
    with_filters(|| insta::assert_snapshot!("frame", readable(&whole)));
}
