//! How well questions about long conversations are answered, by the commands as anybody uses them: `LoCoMo`, turn by turn.

use holdfast_testkit::locomo::{self, Conversation, Question, Shape};
use holdfast_testkit::shared_data_or_say;
use serde_json::{Value, json};

use crate::place::{Daemon, Place, model};

const RECALL_MIN: f64 = 0.78;
const RECIPROCAL_MIN: f64 = 0.54;

// shows: MEM-095
#[test]
fn questions_about_conversations_are_answered_as_well_as_was_measured() {
    let Some(data) = shared_data_or_say("questions about conversations") else { return };
    let data = locomo::read(&std::fs::read_to_string(data.join("locomo-dev.json")).unwrap()).unwrap();
    let place = Place::new(Daemon::Runs, Some(model()));
    let lines: String = data.iter().flat_map(turns).map(|line| format!("{line}\n")).collect();
    let imported = place.json(&["import", &place.file("turns.jsonl", &lines)]);
    assert_eq!(imported["captured"], lines.lines().count(), "{imported}");
    let questions: Vec<(Value, &Question)> = data.iter().flat_map(questions).collect();
    let asked: String = questions.iter().map(|(line, _)| format!("{line}\n")).collect();
    let answers = place.batch(&asked, &["--top", "10"]);
    assert_eq!(answers.len(), questions.len());
    let (mut recall, mut reciprocal) = (0.0, 0.0);
    for ((line, Question { wanted, .. }), answer) in questions.iter().zip(&answers) {
        assert_eq!(line["id"], answer["id"]);
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
fn turns(conversation: &Conversation) -> Vec<Value> {
    let mut lines = conversation.lines(Shape::Labelled);
    for line in &mut lines {
        line["agent"] = json!(conversation.name);
        line["kind"] = json!("turn");
    }
    lines
}

/// Questions as lines of a batch.
fn questions(conversation: &Conversation) -> Vec<(Value, &Question)> {
    let name = &conversation.name;
    let asked = conversation.questions.iter().enumerate();
    let line = |n: usize, text: &str| json!({"id": format!("{name}-{n}"), "query": text, "agent": name});
    asked.map(|(n, question)| (line(n, &question.text), question)).collect()
}
