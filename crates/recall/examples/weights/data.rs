//! The sets that are measured: LoCoMo's conversations, turn by turn, in every shape an import may have, and agents' notes.

use std::error::Error;
use std::fs;
use std::path::Path;

use holdfast_types::Timestamp;
use serde_json::Value;

/// What an import may look like. The ranking must do well on all of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Text begins with "Name: ".
    pub(crate) labelled: bool,
    /// The vectors were made with that label.
    pub(crate) labelled_vectors: bool,
    pub(crate) captions: bool,
    pub(crate) at: At,
    pub(crate) source: Source,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    Session,
    Turn,
    Unknown,
    /// Every entry hours from the next, so that none are tied.
    Apart,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    Session,
    One,
    Each,
    Speaker,
}

pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) entries: Vec<Entry>,
    pub(crate) questions: Vec<Question>,
    /// One row for each question: the cosine to each entry.
    pub(crate) closeness: Vec<Vec<f64>>,
}

pub(crate) struct Entry {
    pub(crate) content: String,
    pub(crate) at: Option<Timestamp>,
    pub(crate) source: u64,
    /// The source's name, when it is worth naming.
    pub(crate) label: String,
}

pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) relevant: Vec<u64>,
}

pub(crate) fn conversations(data: &Path, vectors: &Path, shape: Shape) -> Result<Vec<Set>, Box<dyn Error>> {
    let file: Value = serde_json::from_slice(&fs::read(data.join("locomo-dev.json"))?)?;
    file.as_array().ok_or("no list")?.iter().map(|sample| conversation(sample, vectors, shape)).collect()
}

/// Notes of agents: standalone facts whose neighbours have nothing to do with them.
pub(crate) fn notes(vectors: &Path) -> Result<Set, Box<dyn Error>> {
    let mut set =
        Set { name: "notes".into(), entries: Vec::new(), questions: Vec::new(), closeness: Vec::new() };
    for line in include_str!("notes.jsonl").lines() {
        let row: Value = serde_json::from_str(line)?;
        let seq = set.entries.len() as u64;
        let at = Timestamp::from_micros(row["at"].as_i64().ok_or("at")? * 1_000_000)?;
        set.entries.push(Entry {
            content: text(&row["content"]),
            at: Some(at),
            source: 0,
            label: String::new(),
        });
        if let Some(question) = row["question"].as_str() {
            set.questions.push(Question { text: question.into(), relevant: vec![seq] });
        }
    }
    set.closeness = closeness(vectors, "synth", "text")?;
    Ok(set)
}

fn conversation(sample: &Value, vectors: &Path, shape: Shape) -> Result<Set, Box<dyn Error>> {
    let name = text(&sample["sample_id"]);
    let mut ids = Vec::new();
    let mut entries = Vec::new();
    for session in 1.. {
        let Some(turns) = sample["conversation"][format!("session_{session}")].as_array() else { break };
        let began = moment(&text(&sample["conversation"][format!("session_{session}_date_time")]))?;
        for turn in turns {
            ids.push(numbers(&text(&turn["dia_id"])));
            entries.push(entry(turn, session, began, entries.len() as u64, shape)?);
        }
    }
    let questions = sample["qa"].as_array().ok_or("no questions")?;
    let questions =
        questions.iter().map(|qa| question(qa, &ids)).filter(|q| !q.relevant.is_empty()).collect();
    let closeness = closeness(vectors, &name, if shape.labelled_vectors { "sp" } else { "text" })?;
    Ok(Set { name, entries, questions, closeness })
}

fn entry(turn: &Value, session: u64, began: i64, place: u64, shape: Shape) -> Result<Entry, Box<dyn Error>> {
    let speaker = text(&turn["speaker"]);
    let mut content =
        if shape.labelled { format!("{speaker}: {}", text(&turn["text"])) } else { text(&turn["text"]) };
    if let Some(caption) = turn["blip_caption"].as_str().filter(|_| shape.captions) {
        content = format!("{content} [{caption}]");
    }
    let seconds = match shape.at {
        At::Session => Some(began),
        At::Turn => Some(began + 30 * place as i64),
        At::Unknown => None,
        At::Apart => Some(began + 4 * 3600 * place as i64),
    };
    let at = seconds.map(|s| Timestamp::from_micros(s * 1_000_000)).transpose()?;
    let (source, label) = match shape.source {
        Source::Session => (session, format!("session_{session}")),
        Source::One => (0, "locomo".into()),
        Source::Each => (place, text(&turn["dia_id"])),
        Source::Speaker => (speaker.len() as u64 + 256 * u64::from(speaker.as_bytes()[0]), speaker),
    };
    Ok(Entry { content, at, source, label })
}

/// Evidence is written carelessly: "D8:6; D9:17", "D:11:26", "D30:05".
fn question(qa: &Value, ids: &[Vec<u64>]) -> Question {
    let listed = qa["evidence"].as_array().into_iter().flatten();
    let found = listed.flat_map(|e| text(e).split([';', ',', ' ']).map(numbers).collect::<Vec<_>>());
    let mut relevant: Vec<u64> =
        found.filter_map(|id| ids.iter().position(|known| *known == id)).map(|place| place as u64).collect();
    relevant.sort_unstable();
    relevant.dedup();
    Question { text: text(&qa["question"]), relevant }
}

fn numbers(id: &str) -> Vec<u64> {
    id.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

/// "1:56 pm on 8 May, 2023" in seconds since 1970.
fn moment(written: &str) -> Result<i64, Box<dyn Error>> {
    let civil = jiff::fmt::strtime::parse("%I:%M %p on %d %B, %Y", written)?.to_datetime()?;
    Ok(civil.to_zoned(jiff::tz::TimeZone::UTC)?.timestamp().as_second())
}

/// Vectors of 384 little-endian floats, entries and questions each in a file.
fn closeness(folder: &Path, name: &str, kind: &str) -> Result<Vec<Vec<f64>>, Box<dyn Error>> {
    let read = |part: &str| -> Result<Vec<Vec<f32>>, Box<dyn Error>> {
        let bytes = fs::read(folder.join(format!("{name}.{part}.f32")))?;
        let floats: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        Ok(floats.chunks(384).map(<[f32]>::to_vec).collect())
    };
    let (entries, questions) = (read(kind)?, read("q")?);
    let dot = |a: &[f32], b: &[f32]| f64::from(a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>());
    Ok(questions.iter().map(|q| entries.iter().map(|e| dot(q, e)).collect()).collect())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
