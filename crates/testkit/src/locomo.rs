//! `LoCoMo`: long conversations and questions about them, turn by turn, in several shapes an import may have. Reading it is pure; the data is not in
//! the tree ([`crate::shared_data`]).

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// How turns are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `Caroline: text`, the session as source, its time.
    Labelled,
    /// The same without a name in front.
    Bare,
    /// The name as a tag.
    Tagged,
    /// One source for the whole conversation and no time.
    OneSource,
    /// A source of its own for every turn, as an importer might who makes one of the turn's id.
    EachSource,
}

impl Shape {
    pub const ALL: [Shape; 5] =
        [Shape::Labelled, Shape::Bare, Shape::Tagged, Shape::OneSource, Shape::EachSource];

    pub fn as_str(self) -> &'static str {
        match self {
            Shape::Labelled => "a name in front, the session as source, its time",
            Shape::Bare => "no name, the session as source, its time",
            Shape::Tagged => "the name as a tag, the session as source, its time",
            Shape::OneSource => "a name in front, one source, no time",
            Shape::EachSource => "a name in front, a source for each turn, its session's time",
        }
    }
}

/// One conversation.
#[derive(Clone, Debug)]
pub struct Conversation {
    pub name: String,
    turns: Vec<Turn>,
    pub questions: Vec<Question>,
}

#[derive(Clone, Debug)]
struct Turn {
    id: String,
    speaker: String,
    text: String,
    session: String,
    at: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    pub text: String,
    pub category: u64,
    /// Ids of the turns that answer it: at least one.
    pub wanted: BTreeSet<String>,
}

/// The conversations of the data set, or what is wrong with it.
pub fn read(text: &str) -> Result<Vec<Conversation>, String> {
    let all: Vec<Value> =
        serde_json::from_str(text).map_err(|e| format!("reading the conversations: {e}"))?;
    all.iter().map(conversation).collect()
}

impl Conversation {
    /// The turns as lines to import, in their order. They name nobody whose memory they are.
    pub fn lines(&self, shape: Shape) -> Vec<Value> {
        self.turns.iter().map(|turn| turn.line(shape)).collect()
    }
}

impl Turn {
    fn line(&self, shape: Shape) -> Value {
        let Turn { id, speaker, text, session, at } = self;
        let labelled = format!("{speaker}: {text}");
        match shape {
            Shape::Labelled => json!({"id": id, "content": labelled, "at": at, "source": session}),
            Shape::Bare => json!({"id": id, "content": text, "at": at, "source": session}),
            Shape::Tagged => {
                json!({"id": id, "content": text, "at": at, "source": session, "tags": [speaker]})
            }
            Shape::OneSource => json!({"id": id, "content": labelled, "source": "locomo"}),
            Shape::EachSource => json!({"id": id, "content": labelled, "at": at, "source": id}),
        }
    }
}

fn conversation(value: &Value) -> Result<Conversation, String> {
    let name = text(&value["sample_id"]).ok_or("a conversation without a name")?;
    let talk = value["conversation"].as_object().ok_or("a conversation in which nothing is said")?;
    let numbers = talk.keys().filter_map(|key| key.strip_prefix("session_")?.parse::<u32>().ok());
    let mut turns = Vec::new();
    for number in numbers.collect::<BTreeSet<u32>>() {
        let session = format!("session_{number}");
        let at = talk.get(&session_time(number)).and_then(Value::as_str).and_then(moment);
        let said = talk[&session].as_array().ok_or_else(|| format!("{session} is no list"))?;
        for turn in said {
            turns.push(turn_of(turn, &session, at.clone())?);
        }
    }
    let asked = value["qa"].as_array().ok_or("a conversation nobody asks about")?;
    let questions = asked.iter().filter_map(question).collect();
    Ok(Conversation { name, turns, questions })
}

fn session_time(number: u32) -> String {
    format!("session_{number}_date_time")
}

/// What a picture shows is said with it.
fn turn_of(turn: &Value, session: &str, at: Option<String>) -> Result<Turn, String> {
    let mut said = text(&turn["text"]).unwrap_or_default();
    if let Some(caption) = turn["blip_caption"].as_str() {
        said.push_str(&format!(" [shares {caption}]"));
    }
    Ok(Turn {
        id: text(&turn["dia_id"]).ok_or("a turn without an id")?,
        speaker: text(&turn["speaker"]).ok_or("a turn nobody says")?,
        text: said,
        session: session.to_owned(),
        at,
    })
}

/// None when no turn answers it.
fn question(value: &Value) -> Option<Question> {
    let wanted = evidence(&value["evidence"]);
    let question = Question {
        text: text(&value["question"])?,
        category: value["category"].as_u64().unwrap_or(0),
        wanted,
    };
    (!question.wanted.is_empty()).then_some(question)
}

/// Ids of turns, some of which are written carelessly: `D8:6; D9:17`, `D:11:26`, `D30:05`.
fn evidence(value: &Value) -> BTreeSet<String> {
    let id = |part: &str| {
        let numbers: Vec<u32> =
            part.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
        match numbers[..] {
            [session, turn] => Some(format!("D{session}:{turn}")),
            _ => None,
        }
    };
    let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.flat_map(|text| text.split([';', ' ', ','])).filter_map(id).collect()
}

/// `1:56 pm on 8 May, 2023`.
fn moment(text: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let (time, date) = text.split_once(" on ")?;
    let (clock, half) = time.split_once(' ')?;
    let (hour, minute) = clock.split_once(':')?;
    let hour = hour.parse::<u32>().ok()? % 12 + if half == "pm" { 12 } else { 0 };
    let parts: Vec<&str> = date.split([' ', ',']).filter(|part| !part.is_empty()).collect();
    let [day, month, year] = parts[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Some(format!("{year}-{month:02}-{:02}T{hour:02}:{minute}:00Z", day.parse::<u32>().ok()?))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_and_questions_are_read_as_they_are_written() {
        let data = json!([{
            "sample_id": "conv-1",
            "conversation": {
                "speaker_a": "Ana",
                "session_2": [{"dia_id": "D2:1", "speaker": "Ana", "text": "Later."}],
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [{"dia_id": "D1:1", "speaker": "Bo", "text": "Look!", "blip_caption": "a dog"}]
            },
            "qa": [
                {"question": "What?", "evidence": ["D1:1; D02:01", "D:1:1"], "category": 3},
                {"question": "Never asked for", "evidence": [], "category": 5}
            ]
        }]);
        let read = read(&data.to_string()).unwrap();
        let expected =
            Question { text: "What?".into(), category: 3, wanted: ["D1:1", "D2:1"].map(String::from).into() };
        assert_eq!(read[0].questions, [expected]);
        assert_eq!(
            read[0].lines(Shape::Labelled),
            [
                json!({"id": "D1:1", "content": "Bo: Look! [shares a dog]", "at": "2023-05-08T13:56:00Z", "source": "session_1"}),
                json!({"id": "D2:1", "content": "Ana: Later.", "at": null, "source": "session_2"}),
            ]
        );
        assert_eq!(read[0].lines(Shape::Tagged)[1]["tags"], json!(["Ana"]));
    }

    #[test]
    fn hours_are_told_from_noon_and_midnight() {
        for (text, expected) in [
            ("12:05 am on 1 June, 2023", Some("2023-06-01T00:05:00Z")),
            ("12:05 pm on 1 June, 2023", Some("2023-06-01T12:05:00Z")),
            ("yesterday", None),
        ] {
            assert_eq!(moment(text).as_deref(), expected, "{text}");
        }
    }
}
