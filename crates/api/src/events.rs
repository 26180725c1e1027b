//! Events as they go over the wire: entries of the log, each with its place, so that whoever comes back says where to go on.

use crate::call::EventsAsk;
use crate::error::ApiError;
use crate::rule::SEQ;

/// Said by whoever comes back: the last event it has seen.
pub const LAST_EVENT_ID: &str = "last-event-id";

/// How long a browser waits before it comes back, in milliseconds: soon, and not all of them at once after a restart that takes as long.
pub const RETRY_MS: u32 = 2_000;

impl EventsAsk {
    /// Goes on where whoever comes back left off. The header is newer than the address, which a browser repeats as it was.
    pub fn resumed(self, last_event_id: Option<&str>) -> Result<EventsAsk, ApiError> {
        let Some(text) = last_event_id.filter(|text| !text.is_empty()) else { return Ok(self) };
        let seen = SEQ.read(LAST_EVENT_ID, text)?;
        Ok(EventsAsk { after: seen.as_u64(), ..self })
    }

    /// Whether a kind is one that was asked for: by whole words, so that `steward.trial` is no beginning of `steward.trials.counted`.
    pub fn takes(&self, kind: &str) -> bool {
        let begins = |beginning: &String| {
            kind.strip_prefix(beginning.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.kind.as_ref().is_none_or(begins)
    }
}

/// The beginning of a stream.
pub fn greeting() -> String {
    format!("retry: {RETRY_MS}\n\n")
}

/// One entry: its place, its kind, and the line of the log. A line of the log has no line feed; were there one, it would not end the event.
pub fn entry(seq: u64, kind: &str, line: &str) -> String {
    let data: String = line.split(['\n', '\r']).map(|line| format!("data: {line}\n")).collect();
    format!("id: {seq}\nevent: {kind}\n{data}\n")
}

/// Entries before this one are not here any more: whoever comes back has missed some, and has to look at everything anew.
pub fn missed(from: u64) -> String {
    format!("event: missed\ndata: {{\"from\":{from}}}\n\n")
}

/// Nothing happened, and the line is open.
pub const fn heartbeat() -> &'static str {
    ":\n\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(after: Option<u64>, kind: Option<&str>) -> EventsAsk {
        EventsAsk { after, kind: kind.map(str::to_owned) }
    }

    #[test]
    fn whoever_comes_back_goes_on_where_they_left_off() {
        for (header, after) in
            [(None, Some(3)), (Some(""), Some(3)), (Some("7"), Some(7)), (Some("0"), Some(0))]
        {
            assert_eq!(ask(Some(3), None).resumed(header).unwrap().after, after, "{header:?}");
        }
        for header in ["x", "-1", "07", "18446744073709551616", "9007199254740992", "1 2"] {
            let error = ask(None, None).resumed(Some(header)).unwrap_err();
            assert_eq!((error.status(), error.field()), (400, Some(LAST_EVENT_ID)), "{header}");
        }
    }

    #[test]
    fn kinds_are_told_apart_by_whole_words() {
        for (kind, taken) in [
            (None, true),
            (Some("steward"), true),
            (Some("steward.trial"), true),
            (Some("steward.trial.kept"), true),
            (Some("steward.tri"), false),
            (Some("stew"), false),
            (Some("memory"), false),
        ] {
            assert_eq!(ask(None, kind).takes("steward.trial.kept"), taken, "{kind:?}");
        }
    }

    #[test]
    fn an_event_ends_where_it_says() {
        insta::assert_snapshot!(
            format!("{}{}{}{}", greeting(), entry(41, "a.b.c", r#"{"seq":41}"#), missed(7), heartbeat()),
            @r#"
        retry: 2000

        id: 41
        event: a.b.c
        data: {"seq":41}

        event: missed
        data: {"from":7}

        :
        "#
        );
        let forged = entry(1, "a.b.c", "x\n\nid: 9\ndata: y");
        assert_eq!(forged.matches("\n\n").count(), 1, "{forged}");
        assert!(forged.lines().filter(|line| line.starts_with("id:")).count() == 1);
    }
}
