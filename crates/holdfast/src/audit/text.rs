//! `holdfast audit text`: the text of a blob.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use clap::Args;
use holdfast_types::Exit;
use serde_json::json;

use crate::console::Console;
use crate::house::{ArchiveArgs, House};
use crate::look::printable_lines;
use crate::problem::Result;

/// Print the text that was sealed with an entry
#[derive(Debug, Args)]
#[command(after_long_help = "\
JSON fields: seq; only where it is UTF-8: text; only where it is not: base64. To a terminal control characters are spelled \
out; to a file or pipe the bytes go out as they are.")]
pub(crate) struct TextArgs {
    /// The entry
    seq: u64,

    #[command(flatten)]
    archive: ArchiveArgs,
}

pub(crate) fn run(args: &TextArgs, house: &House, console: &mut Console) -> Result<Exit> {
    let text = house.text(args.seq, &args.archive)?;
    if console.is_json() {
        let value = match String::from_utf8(text) {
            Ok(text) => json!({"seq": args.seq, "text": text}),
            Err(e) => json!({"seq": args.seq, "base64": BASE64.encode(e.into_bytes())}),
        };
        console.json(&value)?;
    } else if console.out_is_terminal() {
        console.line(&printable_lines(&String::from_utf8_lossy(&text)))?;
    } else {
        console.write(&text)?;
    }
    Ok(Exit::Ok)
}
