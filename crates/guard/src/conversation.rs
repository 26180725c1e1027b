//! Placeholders that can be taken back.
//!
//! What goes to a model must not hold a secret, and what comes back must still work on it. Within one conversation the same
//! secret always becomes the same placeholder, another secret another one, and the holder of the conversation can put
//! them back. A placeholder carries the conversation's own mark, so that text which only looks like one stays as it is.

use std::collections::HashMap;
use std::fmt;

use crate::engine::Guard;
use crate::kind::Action;
use crate::redact::Redacted;
use crate::redact::Redaction;
use crate::redact::whole_characters;
use crate::scene::{Looking, Scene};

/// The secrets of one conversation and what stands for them. Printing it shows none of them.
pub struct Conversation<'g> {
    guard: &'g Guard,
    looking: Looking,
    mark: String,
    placeholders: HashMap<String, String>,
    counts: HashMap<String, usize>,
    secrets: HashMap<String, String>,
}

impl fmt::Debug for Conversation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("secrets", &self.secrets.len()).finish_non_exhaustive()
    }
}

impl Guard {
    /// Begins a conversation. `mark` should be drawn at random; its letters and digits become part of every placeholder.
    pub fn conversation(&self, looking: Looking, mark: u32) -> Conversation<'_> {
        Conversation {
            guard: self,
            looking,
            mark: format!("{mark:x}"),
            placeholders: HashMap::new(),
            counts: HashMap::new(),
            secrets: HashMap::new(),
        }
    }
}

impl Conversation<'_> {
    /// The text with a placeholder for each secret. What blocks a text blocks it here too.
    pub fn conceal(&mut self, text: &str) -> Redacted {
        let findings = self.guard.find(text.as_bytes(), &Scene::text(self.looking));
        if let Some(blocking) = findings.iter().find(|f| f.kind.action == Action::Block) {
            return Redacted::blocked_by(&blocking.kind.id);
        }
        let mut content = String::with_capacity(text.len());
        let mut redactions = Vec::with_capacity(findings.len());
        let mut copied = 0;
        for finding in &findings {
            let span = whole_characters(text.as_bytes(), finding.span.clone());
            let secret = &text[span.clone()];
            if span.start < copied || self.secrets.contains_key(secret) || secret == finding.kind.replacement
            {
                continue;
            }
            let placeholder = self.placeholder(&finding.kind.id, secret);
            content.push_str(&text[copied..span.start]);
            content.push_str(&placeholder);
            copied = span.end;
            let mut redaction = Redaction::of(finding, span);
            redaction.replacement = placeholder;
            redactions.push(redaction);
        }
        content.push_str(&text[copied..]);
        Redacted { content, blocked: false, reason: None, redactions }
    }

    fn placeholder(&mut self, kind: &str, secret: &str) -> String {
        if let Some(known) = self.placeholders.get(secret) {
            return known.clone();
        }
        let count = self.counts.entry(kind.to_owned()).or_insert(0);
        *count += 1;
        let placeholder = format!("[{}_{count}_{}]", kind.to_ascii_uppercase(), self.mark);
        self.placeholders.insert(secret.to_owned(), placeholder.clone());
        self.secrets.insert(placeholder.clone(), secret.to_owned());
        placeholder
    }

    /// The text with the secrets back in the places of their placeholders. What is no placeholder of this conversation stays.
    pub fn reveal(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find('[') {
            let (before, from) = rest.split_at(open);
            out.push_str(before);
            let known = from
                .find(']')
                .and_then(|close| self.secrets.get(&from[..=close]).map(|secret| (close + 1, secret)));
            match known {
                Some((length, secret)) => {
                    out.push_str(secret);
                    rest = &from[length..];
                }
                None => {
                    out.push('[');
                    rest = &from[1..];
                }
            }
        }
        out.push_str(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_secret_has_the_same_placeholder_and_can_be_put_back() {
        let token = crate::example::written_out("ghp_<b62:36>").unwrap();
        let other = crate::example::written_out("ghp_<b62:36>x").unwrap();
        let mut conversation = Guard::builtin().conversation(Looking::SecretsAndPeople, 0xbeef);
        let first = format!("use {token} for ann@example.org, not {}", &other[..40]);
        let concealed = conversation.conceal(&first);
        assert_eq!(
            concealed.content,
            "use [API_KEY_GITHUB_1_beef] for [EMAIL_1_beef], not [API_KEY_GITHUB_2_beef]"
        );
        let second = conversation.conceal(&format!("again: {token}"));
        assert_eq!(second.content, "again: [API_KEY_GITHUB_1_beef]");
        assert_eq!(conversation.reveal(&concealed.content), first);
        assert_eq!(conversation.conceal(&concealed.content).content, concealed.content);
        assert!(!format!("{conversation:?}").contains(&token[..8]));
    }

    // shows: HRD-F71
    #[test]
    fn text_that_only_looks_like_a_placeholder_stays() {
        let mut conversation = Guard::builtin().conversation(Looking::Everything, 7);
        conversation.conceal("ann@example.org");
        for text in ["[EMAIL_1]", "[EMAIL_2_7]", "[REDACTED_EMAIL]", "[EMAIL_1_8] [", "[[x]]"] {
            assert_eq!(conversation.reveal(text), text);
        }
        assert_eq!(conversation.reveal("[[EMAIL_1_7]]"), "[ann@example.org]");
    }
}
