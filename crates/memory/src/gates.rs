//! The quality gates: what is worth storing. They are configuration, asked in order, each by itself.
//!
//! Begin with [`Gates::capture`] and [`Gates::judge`]. A gate reads the redacted text and the confidence the source allows, and says
//! why it would refuse, in words of its own: a [`Refusal`] names the gate and a [`Reason`], and holds nothing of the text, so that it can
//! be logged.
//!
//! In reading order: `wording.rs` (what does not last, what nobody is sure of), `language.rs`, `instruction.rs`, then `noise.rs` with
//! `shape.rs` (lines by their shape), `sentence.rs` and `acts.rs` (sentences by what is done with them).
//!
//! Every gate takes time linear in the text, and any text has a verdict.

mod acts;
mod instruction;
mod language;
mod noise;
mod phrase;
mod sentence;
mod shape;
mod wording;

use serde::{Deserialize, Serialize};

use crate::entry::{Confidence, Mark};
use crate::words::words;
use acts::Act;
use language::Language;
use noise::Noise;
use shape::Printed;

/// A gate with its setting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Shorter than this many characters, placeholders not counted.
    Length { chars_min: usize },
    /// Less sure than this.
    Confidence { min: f64 },
    /// In a language whose phrases are not listed, and less sure than this. What passes is marked.
    Language { min: f64 },
    /// About this moment.
    Temporal,
    /// Hedged, and less sure than this.
    Speculation { below: f64 },
    /// Reads as a prompt or command to the agent.
    Instruction,
    /// Asserts nothing that lasts.
    Noise,
}

impl Gate {
    pub fn name(self) -> GateName {
        match self {
            Gate::Length { .. } => GateName::Length,
            Gate::Confidence { .. } => GateName::Confidence,
            Gate::Language { .. } => GateName::Language,
            Gate::Temporal => GateName::Temporal,
            Gate::Speculation { .. } => GateName::Speculation,
            Gate::Instruction => GateName::Instruction,
            Gate::Noise => GateName::Noise,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateName {
    Length,
    Confidence,
    Language,
    Temporal,
    Speculation,
    Instruction,
    Noise,
}

impl GateName {
    pub fn as_str(self) -> &'static str {
        match self {
            GateName::Length => "length",
            GateName::Confidence => "confidence",
            GateName::Language => "language",
            GateName::Temporal => "temporal",
            GateName::Speculation => "speculation",
            GateName::Instruction => "instruction",
            GateName::Noise => "noise",
        }
    }
}

/// What a gate that objects does. (The third action of the design, to redact and go on, is the guard's, which comes before.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Reject,
    Warn,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub gate: Gate,
    pub action: Action,
}

/// Why a gate objects. One sentence each, none of it from the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    TooShort,
    TooUnsure,
    UnlistedLanguage,
    OfTheMoment,
    Hedged,
    SetsRulesAside,
    GivesARole,
    AsksForSecrets,
    KeepsFromTheUser,
    PromptMarkup,
    OrdersTheReader,
    NoWords,
    SecretsOnly,
    Log,
    StackTrace,
    Listing,
    Code,
    ToolOutput,
    Transcript,
    Fragment,
    Greeting,
    Question,
    Apology,
    Progress,
    Completion,
    RestatedPrompt,
    BootEcho,
    Heartbeat,
    Transient,
    AboutMemory,
    Profile,
    Chatter,
}

impl Reason {
    pub fn sentence(self) -> &'static str {
        match self {
            Reason::TooShort => "too short to say anything",
            Reason::TooUnsure => "its confidence is below the limit",
            Reason::UnlistedLanguage => {
                "its language has no phrase list, and its confidence is below what that asks for"
            }
            Reason::OfTheMoment => "it speaks of this moment",
            Reason::Hedged => "it is hedged, and its confidence is below what that asks for",
            Reason::SetsRulesAside => "it tells the reader to set rules aside",
            Reason::GivesARole => "it gives the reader a role",
            Reason::AsksForSecrets => "it asks the reader for secrets",
            Reason::KeepsFromTheUser => "it tells the reader to keep something from the user",
            Reason::PromptMarkup => "it carries the marks of a prompt or pipes a download into a shell",
            Reason::OrdersTheReader => "it orders the reader about",
            Reason::NoWords => "it has no words",
            Reason::SecretsOnly => "nothing is left beside what was redacted",
            Reason::Log => "it is log lines",
            Reason::StackTrace => "it is a stack trace without a conclusion",
            Reason::Listing => "it is a list of files",
            Reason::Code => "it is code",
            Reason::ToolOutput => "it is a tool's output",
            Reason::Transcript => "it is a dialogue that states nothing",
            Reason::Fragment => "it has no statement that stands by itself",
            Reason::Greeting => "it is a greeting",
            Reason::Question => "it is a question",
            Reason::Apology => "it is an apology",
            Reason::Progress => "it says what the speaker does next",
            Reason::Completion => "it says that something was just done",
            Reason::RestatedPrompt => "it repeats what was asked for",
            Reason::BootEcho => "it repeats what the speaker was told at its start",
            Reason::Heartbeat => "it says that nothing happened",
            Reason::Transient => "it describes a state that passes",
            Reason::AboutMemory => "it talks about memory itself",
            Reason::Profile => "it says in general what the user is like",
            Reason::Chatter => "it is small talk",
        }
    }
}

/// A gate's objection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    pub gate: GateName,
    pub reason: Reason,
}

/// What all gates together say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The first gate that refused. What comes after it was not asked.
    pub refused: Option<Refusal>,
    /// Gates that objected and only warn.
    pub warnings: Vec<Refusal>,
    /// Which gates were asked, in order.
    pub asked: Vec<GateName>,
    /// What to know about the text if it is stored.
    pub marks: Vec<Mark>,
}

/// The gates in the order they are asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gates {
    rules: Vec<Rule>,
}

impl Gates {
    pub fn new(rules: Vec<Rule>) -> Gates {
        Gates { rules }
    }

    /// One gate alone, refusing.
    pub fn only(gate: Gate) -> Gates {
        Gates::new(vec![Rule { gate, action: Action::Reject }])
    }

    /// What is asked at capture. The cheap ones come first; the one for security comes before those for quality, so that
    /// an attack is counted as one.
    pub fn capture() -> Gates {
        Gates::refusing([
            Gate::Length { chars_min: 10 },
            Gate::Confidence { min: 0.5 },
            Gate::Instruction,
            Gate::Temporal,
            Gate::Speculation { below: 0.8 },
            Gate::Language { min: 0.8 },
            Gate::Noise,
        ])
    }

    /// What is asked again before something is kept for good: the same, and stricter where a figure is compared.
    pub fn consolidation() -> Gates {
        Gates::refusing([
            Gate::Length { chars_min: 15 },
            Gate::Confidence { min: 0.6 },
            Gate::Instruction,
            Gate::Temporal,
            Gate::Speculation { below: 0.9 },
            Gate::Language { min: 0.8 },
            Gate::Noise,
        ])
    }

    fn refusing(gates: impl IntoIterator<Item = Gate>) -> Gates {
        Gates::new(gates.into_iter().map(|gate| Rule { gate, action: Action::Reject }).collect())
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// `text` is redacted, and `confidence` is what its source allows.
    pub fn judge(&self, text: &str, confidence: Confidence) -> Judgement {
        let mut judgement = Judgement::default();
        let words = words(text);
        if language::language(text, &words) == Language::Unlisted {
            judgement.marks.push(Mark::UnlistedLanguage);
        }
        for rule in &self.rules {
            let gate = rule.gate.name();
            judgement.asked.push(gate);
            let Some(reason) = objection(rule.gate, text, &words, confidence) else { continue };
            if gate == GateName::Instruction {
                judgement.marks.push(Mark::InstructionLike);
            }
            match rule.action {
                Action::Warn => judgement.warnings.push(Refusal { gate, reason }),
                Action::Reject => {
                    judgement.refused = Some(Refusal { gate, reason });
                    return judgement;
                }
            }
        }
        judgement
    }

    /// What every gate says, none stopping the others: for kinds whose words are kept because of who said them.
    pub fn opinions(&self, text: &str, confidence: Confidence) -> Judgement {
        let warning = self.rules.iter().map(|rule| Rule { action: Action::Warn, ..*rule }).collect();
        Gates::new(warning).judge(text, confidence)
    }
}

fn objection(gate: Gate, text: &str, words: &[String], confidence: Confidence) -> Option<Reason> {
    let sure = confidence.get();
    match gate {
        Gate::Length { chars_min } => (visible_chars(text) < chars_min).then_some(Reason::TooShort),
        Gate::Confidence { min } => (sure < min).then_some(Reason::TooUnsure),
        Gate::Language { min } => {
            let unlisted = || language::language(text, words) == Language::Unlisted;
            (sure < min && unlisted()).then_some(Reason::UnlistedLanguage)
        }
        Gate::Temporal => wording::is_temporal(words).then_some(Reason::OfTheMoment),
        Gate::Speculation { below } => {
            (sure < below && wording::is_speculative(words)).then_some(Reason::Hedged)
        }
        Gate::Instruction => instruction::sign_of(text).map(Reason::from),
        Gate::Noise => noise::noise_of(text).map(Reason::from),
    }
}

fn visible_chars(text: &str) -> usize {
    without_placeholders(text).trim().chars().filter(|&c| !holdfast_types::drives_a_terminal(c)).count()
}

/// The text without what the redactor put in: `[REDACTED_TOKEN]`, `[EMAIL_1]`.
fn without_placeholders(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let end = placeholder_len(rest);
        if end == 0 {
            out.push('[');
            rest = &rest[1..];
        } else {
            rest = &rest[end..];
        }
    }
    out.push_str(rest);
    out
}

/// The redactor's placeholders are short, upper case, and have an underscore.
const PLACEHOLDER_MAX: usize = 64;

fn placeholder_len(text: &str) -> usize {
    let bytes = &text.as_bytes()[..text.len().min(PLACEHOLDER_MAX)];
    let Some(close) = bytes.iter().position(|&b| b == b']') else { return 0 };
    let inner = &bytes[1..close];
    let shaped = inner.iter().all(|&b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if shaped && inner.contains(&b'_') { close + 1 } else { 0 }
}

impl From<instruction::Sign> for Reason {
    fn from(sign: instruction::Sign) -> Reason {
        match sign {
            instruction::Sign::SetsRulesAside => Reason::SetsRulesAside,
            instruction::Sign::GivesARole => Reason::GivesARole,
            instruction::Sign::AsksForSecrets => Reason::AsksForSecrets,
            instruction::Sign::KeepsFromTheUser => Reason::KeepsFromTheUser,
            instruction::Sign::PromptMarkup => Reason::PromptMarkup,
            instruction::Sign::OrdersTheReader => Reason::OrdersTheReader,
        }
    }
}

impl From<Noise> for Reason {
    fn from(noise: Noise) -> Reason {
        match noise {
            Noise::Wordless => Reason::NoWords,
            Noise::SecretsOnly => Reason::SecretsOnly,
            Noise::Printed(Printed::Log) => Reason::Log,
            Noise::Printed(Printed::Trace) => Reason::StackTrace,
            Noise::Printed(Printed::Listing) => Reason::Listing,
            Noise::Printed(Printed::Code) => Reason::Code,
            Noise::Printed(Printed::Output) => Reason::ToolOutput,
            Noise::Transcript => Reason::Transcript,
            Noise::Fragment => Reason::Fragment,
            Noise::Act(act) => Reason::from(act),
        }
    }
}

impl From<Act> for Reason {
    fn from(act: Act) -> Reason {
        match act {
            Act::Greeting => Reason::Greeting,
            Act::Question => Reason::Question,
            Act::Apology => Reason::Apology,
            Act::Progress => Reason::Progress,
            Act::Done => Reason::Completion,
            Act::Restated => Reason::RestatedPrompt,
            Act::Boot => Reason::BootEcho,
            Act::Heartbeat => Reason::Heartbeat,
            Act::Transient => Reason::Transient,
            Act::AboutMemory => Reason::AboutMemory,
            Act::Profile => Reason::Profile,
            Act::Chatter => Reason::Chatter,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(gate: Gate, text: &str, confidence: f64) -> Option<Reason> {
        let judgement = Gates::only(gate).judge(text, Confidence::new(confidence).unwrap());
        judgement.refused.map(|refusal| refusal.reason)
    }

    // shows: MEM-030, MEM-F27, MEM-038
    #[test]
    fn the_temporal_gate_takes_whole_words_only() {
        for (text, expected) in [
            ("The deploy works today.", true),
            ("It passed this time.", true),
            ("Just now the disk filled up.", true),
            ("RIGHT NOW the queue is long.", true),
            ("this timeout is thirty seconds", false),
            ("The copyright nowadays expires later.", false),
            ("Die Bahn fährt heute nicht.", true),
            ("Le service est fermé aujourd’hui.", true),
            ("El servicio cierra hoy.", true),
        ] {
            assert_eq!(refused(Gate::Temporal, text, 1.0), expected.then_some(Reason::OfTheMoment), "{text}");
        }
    }

    // shows: MEM-031
    #[test]
    fn what_is_hedged_needs_a_confidence_of_eighty_percent() {
        for phrase in ["might be", "probably", "I think", "maybe", "vielleicht", "peut-être", "quizás"] {
            let text = format!("The port {phrase} 8080.");
            let gate = Gate::Speculation { below: 0.8 };
            assert_eq!(refused(gate, &text, 0.79), Some(Reason::Hedged), "{text}");
            assert_eq!(refused(gate, &text, 0.80), None, "{text}");
        }
    }

    // shows: MEM-034
    #[test]
    fn confidence_below_one_half_is_refused() {
        let gate = Gate::Confidence { min: 0.5 };
        assert_eq!(refused(gate, "x", 0.49), Some(Reason::TooUnsure));
        assert_eq!(refused(gate, "x", 0.50), None);
    }

    // shows: MEM-035
    #[test]
    fn placeholders_do_not_count_towards_the_length() {
        let gate = Gate::Length { chars_min: 10 };
        for short in [
            "ok yes",
            "[REDACTED_API_KEY]",
            "key [REDACTED_API_KEY]",
            "\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}\u{200b}ok",
            "123456789",
        ] {
            assert_eq!(refused(gate, short, 1.0), Some(Reason::TooShort), "{short}");
        }
        for long in ["1234567890", "[a list of two]", "[REDACTED_TOKEN] is rotated weekly"] {
            assert_eq!(refused(gate, long, 1.0), None, "{long}");
        }
    }

    // shows: MEM-F58
    #[test]
    fn an_unlisted_language_needs_more_confidence_and_is_marked() {
        let text = "Palvelin käyttää porttia kahdeksan ja varmuuskopiot ajetaan öisin";
        let judged = |confidence| Gates::capture().judge(text, Confidence::new(confidence).unwrap());
        let refusal = Refusal { gate: GateName::Language, reason: Reason::UnlistedLanguage };
        assert_eq!(judged(0.79).refused, Some(refusal));
        assert_eq!(judged(0.80).refused, None);
        assert_eq!(judged(0.80).marks, [Mark::UnlistedLanguage]);
    }

    // shows: MEM-024, MEM-025, MEM-F26
    #[test]
    fn gates_are_asked_in_order_and_a_warning_goes_on() {
        let text = "Maybe the port is 8080 today.";
        let half = Confidence::new(0.6).unwrap();
        let stopped = Gates::capture().judge(text, half);
        assert_eq!(stopped.refused.unwrap().gate, GateName::Temporal);
        let up_to = [GateName::Length, GateName::Confidence, GateName::Instruction, GateName::Temporal];
        assert_eq!(stopped.asked, up_to);

        let warned = Gates::capture().opinions(text, half);
        assert_eq!(warned.refused, None);
        let warned_by: Vec<GateName> = warned.warnings.iter().map(|w| w.gate).collect();
        assert_eq!(warned_by, [GateName::Temporal, GateName::Speculation]);
        assert_eq!(warned.asked.len(), Gates::capture().rules().len());
    }

    #[test]
    fn gates_are_configuration() {
        let text = serde_json::to_string(&Gates::capture()).unwrap();
        assert_eq!(serde_json::from_str::<Gates>(&text).unwrap(), Gates::capture());
    }

    #[test]
    fn the_worst_texts_of_full_size_have_a_verdict() {
        let sure = Confidence::new(1.0).unwrap();
        for piece in [
            "[", "i ", "ignore ", "a: b\n", "ok, ", ". ", "'", "`", "and ", "<", "\u{202e}", "Ω ", "[A_",
            "```\n", "ing ", "- ",
        ] {
            let text: String = piece.repeat(crate::text::CONTENT_MAX / piece.len());
            assert_eq!(Gates::capture().opinions(&text, sure).asked.len(), 7, "{piece:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_verdict(text in ".{0,400}", sure in 0.0f64..=1.0) {
            let judgement = Gates::capture().opinions(&text, Confidence::new(sure).unwrap());
            prop_assert_eq!(judgement.asked.len(), 7);
        }

        #[test]
        fn any_lines_of_marks_have_a_verdict(text in "[\\[\\]{}<>:;,.!?¿#$%| \n\tA-Za-z0-9ßé’'\"`/_=-]{0,300}") {
            Gates::capture().opinions(&text, Confidence::new(1.0).unwrap());
        }
    }
}
