//! How well questions about long conversations are answered, by the commands as anybody uses them: `LoCoMo`, turn by turn.

use std::collections::{BTreeMap, BTreeSet};

use holdfast_testkit::shared_data_or_say;
use serde_json::{Value, json};

use crate::place::{Daemon, Place, model};

const RECALL_MIN: f64 = 0.78;
const RECIPROCAL_MIN: f64 = 0.54;

// shows: MEM-095
#[test]
fn questions_about_conversations_are_answered_as_well_as_was_measured() {
    let Some(data) = shared_data_or_say("questions about conversations") else { return };
    let data: Vec<Value> =
        serde_json::from_slice(&std::fs::read(data.join("locomo-dev.json")).unwrap()).unwrap();
    let place = Place::new(Daemon::Runs, Some(model()));
    let lines: String = data.iter().flat_map(turns).map(|line| format!("{line}\n")).collect();
    let imported = place.json(&["import", &place.file("turns.jsonl", &lines)]);
    assert_eq!(imported["captured"], lines.lines().count(), "{imported}");
    let questions: Vec<(Value, BTreeSet<String>)> = data.iter().flat_map(questions).collect();
    let asked: String = questions.iter().map(|(question, _)| format!("{question}\n")).collect();
    let answers = place.batch(&asked, &["--top", "10"]);
    assert_eq!(answers.len(), questions.len());
    let (mut recall, mut reciprocal) = (0.0, 0.0);
    for ((question, wanted), answer) in questions.iter().zip(&answers) {
        assert_eq!(question["id"], answer["id"]);
        let hits = answer["hits"].as_array().unwrap().iter();
        let ids: Vec<&str> = hits.filter_map(|hit| hit["source_id"].as_str()).collect();
        recall += ids.iter().filter(|id| wanted.contains(**id)).count() as f64 / wanted.len() as f64;
        let first = ids.iter().position(|id| wanted.contains(*id));
        reciprocal += first.map_or(0.0, |at| 1.0 / (at + 1) as f64);
    }
    let (recall, reciprocal) = (recall / questions.len() as f64, reciprocal / questions.len() as f64);
    assert!(recall >= RECALL_MIN && reciprocal >= RECIPROCAL_MIN, "R@10 {recall:.3}, MRR {reciprocal:.3}");
    place.closed();
}

/// Each turn as a line, each conversation as an agent.
fn turns(conversation: &Value) -> Vec<Value> {
    let talk: BTreeMap<u32, (&str, &Value)> = conversation["conversation"]
        .as_object()
        .unwrap()
        .iter()
        .filter_map(|(name, said)| {
            Some((name.strip_prefix("session_")?.parse().ok()?, (name.as_str(), said)))
        })
        .collect();
    let agent = &conversation["sample_id"];
    let mut lines = Vec::new();
    for (name, said) in talk.values() {
        let when = conversation["conversation"][format!("{name}_date_time")].as_str();
        for turn in said.as_array().into_iter().flatten() {
            let mut text = format!(
                "{}: {}",
                turn["speaker"].as_str().unwrap(),
                turn["text"].as_str().unwrap_or_default()
            );
            if let Some(caption) = turn["blip_caption"].as_str() {
                text.push_str(&format!(" [shares {caption}]"));
            }
            lines.push(
                json!({"id": turn["dia_id"], "content": text, "at": when.and_then(moment), "kind": "turn",
                "source": name, "tags": [], "agent": agent}),
            );
        }
    }
    lines
}

/// Questions that say where their answer is, and the ids of those turns.
fn questions(conversation: &Value) -> Vec<(Value, BTreeSet<String>)> {
    let agent = conversation["sample_id"].as_str().unwrap();
    let asked = conversation["qa"].as_array().unwrap().iter().enumerate();
    let question = |(n, qa): (usize, &Value)| {
        let wanted = evidence(&qa["evidence"]);
        let line = json!({"id": format!("{agent}-{n}"), "query": qa["question"], "agent": agent});
        (!wanted.is_empty()).then_some((line, wanted))
    };
    asked.filter_map(question).collect()
}

/// Ids of turns, some of which are written in odd ways.
fn evidence(value: &Value) -> BTreeSet<String> {
    let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    let id = |part: &str| {
        let numbers: Vec<u32> =
            part.trim_start_matches('D').split(':').filter_map(|it| it.parse().ok()).collect();
        match numbers[..] {
            [session, turn] => Some(format!("D{session}:{turn}")),
            _ => None,
        }
    };
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
    let words: Vec<&str> = date.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let [day, month, year] = words[..] else { return None };
    let month = MONTHS.iter().position(|it| *it == month)? + 1;
    Some(format!("{year}-{month:02}-{:02}T{hour:02}:{minute}:00Z", day.parse::<u32>().ok()?))
}
