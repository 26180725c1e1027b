//! How a command and what it said are written down, so that two runs read alike.

use serde_json::Value;

use super::home::{Ran, filters};
use super::scene::Form;

/// More lines than this say nothing more about how a command ends.
const LINES_SHOWN: usize = 26;

pub(crate) fn told(typed: &str, ran: &Ran, form: Form) -> String {
    let (out, err) = match form {
        Form::People => (ran.out.clone(), ran.err.clone()),
        Form::Json => (short_json(&ran.out), short_json(&ran.err)),
    };
    let beside: String = cut(&err).lines().map(|line| format!("2> {line}\n")).collect();
    format!("{typed}\n{}{beside}[exit {}]\n\n", cut(&out), ran.code)
}

fn cut(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let shown: String = lines.iter().take(LINES_SHOWN).map(|line| format!("{line}\n")).collect();
    if lines.len() > LINES_SHOWN { format!("{shown}…\n") } else { shown }
}

/// JSON on one line each, without figures that vary and with long lists and texts cut short.
fn short_json(text: &str) -> String {
    match values(text) {
        Ok(values) => values.into_iter().map(|value| format!("{}\n", short(value, 0))).collect(),
        Err(_) => text.to_owned(),
    }
}

/// What a command answered with `--json`: a document, or a value a line.
pub(crate) fn values(text: &str) -> Result<Vec<Value>, serde_json::Error> {
    serde_json::Deserializer::from_str(text).into_iter().collect()
}

fn short(value: Value, depth: u32) -> Value {
    match value {
        Value::Object(map) if !map.is_empty() && depth > 2 => "…".into(),
        Value::Object(map) => {
            let field = |(name, value): (String, Value)| match value {
                value if varies(&name) && !value.is_null() => (name, "[N]".into()),
                value => (name, short(value, depth + 1)),
            };
            map.into_iter().map(field).collect::<serde_json::Map<_, _>>().into()
        }
        Value::Array(list) => {
            let more = list.len() > 2;
            let mut list: Vec<Value> = list.into_iter().take(2).map(|value| short(value, depth)).collect();
            list.extend(more.then(|| "…".into()));
            list.into()
        }
        Value::String(text) if text.lines().count() > 1 => {
            format!("{} …", text.lines().next().unwrap_or_default()).into()
        }
        other => other,
    }
}

/// Figures that are others in the next run.
fn varies(name: &str) -> bool {
    ["bytes", "seconds", "pid", "figures", "crc", "digest", "at_most", "score", "share"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Compares with the transcript that is kept.
pub(crate) fn check(name: &str, text: &str, more: &[(&'static str, &'static str)]) {
    let mut filters = filters();
    filters.extend(more);
    filters.extend([
        (r" +[\d.,]+ (bytes|[KMGT]iB)", " [SIZE]"),
        (r" +\[N\] bytes", " [SIZE]"),
        (r"(\[(HOME|BESIDE|PROGRAM)\]\S*) {2,}", "$1  "),
        (r"\b(pid|process) \d+", "$1 [N]"),
        (r"\b\d+\.\d s\b", "[N] s"),
        (r"\b(up|running for) \d+ s\b", "$1 [N] s"),
        (r"\b\d+ s ago\b", "[N] s ago"),
        (r#"(computed with |"instructions":")\w+"#, "$1[CPU]"),
        // A daemon may have written more than one entry before it says so.
        (r"● up: (\S+) \d+ entries", "● up: $1 [N] entries"),
        (r#""entries":\d+,"gateway""#, r#""entries":"[N]","gateway""#),
        (r"/register#[\w-]+", "/register#[LINK]"),
        (r"\blnk_[0-9a-z]{26}\b", "lnk_[ID]"),
        (r"/holdfast-paused-[0-9a-f]{32}-[0-9a-f]{16}", "/holdfast-paused-[ID]"),
        (r"blake3:[0-9a-f]{64}", "blake3:[DIGEST]"),
        (r"-v(\d)-\d{8}T\d{6}\.\d{6}Z", "-v$1-[TIME]"),
        (r"\b[0-9a-f]{16}\b", "[ID]"),
        (r#"(holdfast |"version":")\d+\.\d+\.\d+"#, "$1[VERSION]"),
        (r#"crc\\":\\"[0-9a-f]{8}"#, r#"crc\":\"[CRC]"#),
    ]);
    insta::with_settings!({
        filters => filters,
        snapshot_path => "transcripts",
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}
