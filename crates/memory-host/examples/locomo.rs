//! How well questions about long conversations are answered, through import and search as anybody uses them: `LoCoMo`, turn by turn.
//!
//!     cargo run --release -p holdfast-memory-host --example locomo -- DATA.json
//!
//! Each conversation is an agent. The same turns are imported in several shapes, as others might write them. Prints recall at 1, 5, 10 and 20 and
//! the mean reciprocal rank, over all questions and by category.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement that cannot go on should stop, and says what it found"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use holdfast_embed::Model;
use holdfast_memory::Gates;
use holdfast_memory_host::{AgentName, Ask, By, Line, Memories, Only, Options, Screened};
use holdfast_screen::GuardScreen;
use holdfast_testkit::house::House;
use holdfast_types::Trust;
use serde_json::{Value, json};

/// How turns are written down.
#[derive(Clone, Copy, Debug)]
enum Shape {
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

const SHAPES: [Shape; 5] = [Shape::Labelled, Shape::Bare, Shape::Tagged, Shape::OneSource, Shape::EachSource];
const TOP: usize = 20;

fn main() {
    let path = std::env::args()
        .nth(1)
        .map_or_else(|| PathBuf::from("../shared/data/locomo-dev.json"), PathBuf::from);
    let data: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let model = std::env::var_os("HOLDFAST_MODEL")
        .map(|folder| Arc::new(Model::open(&PathBuf::from(folder)).unwrap()));
    for shape in SHAPES {
        let mut tally = Tally::default();
        for conversation in &data {
            measure(conversation, shape, model.clone(), &mut tally);
        }
        println!("{shape:?}{}", if model.is_none() { " (words alone)" } else { "" });
        tally.print();
    }
}

fn measure(conversation: &Value, shape: Shape, model: Option<Arc<Model>>, tally: &mut Tally) {
    let house = House::new();
    let memories = Memories::open(Options {
        journal: house.open(),
        folder: house.state().join("memory"),
        clock: Arc::new(house.clock.clone()),
        redactor: Arc::new(Screened(Arc::new(GuardScreen::builtin()))),
        gates: Gates::capture(),
        model,
    })
    .unwrap();
    let agent: AgentName = conversation["sample_id"].as_str().unwrap().parse().unwrap();
    let by = By { actor: "import".parse().unwrap(), owner: "import".parse().unwrap(), trust: Trust::Trusted };
    let lines: Vec<Line> =
        turns(conversation, shape).iter().map(|line| Line::parse(&line.to_string()).unwrap()).collect();
    let imported = memories.import(&agent, lines, &by, false).unwrap();
    assert!(imported.captured > 100, "{imported:?}");
    memories.embed_all(&agent).unwrap();
    for question in conversation["qa"].as_array().unwrap() {
        let wanted = evidence(&question["evidence"]);
        if wanted.is_empty() {
            continue;
        }
        let query = question["question"].as_str().unwrap();
        let began = Instant::now();
        let found = memories
            .search(&Ask { agent: &agent, query, top: TOP, only: &Only::default(), now: None })
            .unwrap();
        tally.took.push(began.elapsed().as_secs_f64() * 1e3);
        let ids: Vec<String> = found.hits.iter().filter_map(|hit| hit.row.foreign_id.clone()).collect();
        tally.note(question["category"].as_u64().unwrap_or(0), &wanted, &ids);
    }
}

fn turns(conversation: &Value, shape: Shape) -> Vec<Value> {
    let talk = conversation["conversation"].as_object().unwrap();
    let mut turns = Vec::new();
    for session in 1.. {
        let name = format!("session_{session}");
        let Some(said) = talk.get(&name).and_then(Value::as_array) else {
            if session > 60 { break } else { continue }
        };
        let at = talk.get(&format!("{name}_date_time")).and_then(Value::as_str).and_then(moment);
        for turn in said {
            let (id, speaker) = (turn["dia_id"].as_str().unwrap(), turn["speaker"].as_str().unwrap());
            let mut text = turn["text"].as_str().unwrap_or_default().to_owned();
            if let Some(caption) = turn["blip_caption"].as_str() {
                text.push_str(&format!(" [shares {caption}]"));
            }
            let labelled = format!("{speaker}: {text}");
            turns.push(match shape {
                Shape::Labelled => json!({"id": id, "content": labelled, "at": at, "source": name}),
                Shape::Bare => json!({"id": id, "content": text, "at": at, "source": name}),
                Shape::Tagged => {
                    json!({"id": id, "content": text, "at": at, "source": name, "tags": [speaker]})
                }
                Shape::OneSource => json!({"id": id, "content": labelled, "source": "locomo"}),
                Shape::EachSource => json!({"id": id, "content": labelled, "at": at, "source": id}),
            });
        }
    }
    turns
}

/// `1:56 pm on 8 May, 2023`.
fn moment(text: &str) -> Option<String> {
    let (time, date) = text.split_once(" on ")?;
    let (clock, half) = time.split_once(' ')?;
    let (hour, minute) = clock.split_once(':')?;
    let hour: u32 = hour.parse::<u32>().ok()? % 12 + if half == "pm" { 12 } else { 0 };
    let [day, month, year] = date.split([' ', ',']).filter(|it| !it.is_empty()).collect::<Vec<_>>()[..]
    else {
        return None;
    };
    let months = [
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
    let month = months.iter().position(|it| *it == month)? + 1;
    Some(format!("{year}-{month:02}-{:02}T{hour:02}:{minute}:00Z", day.parse::<u32>().ok()?))
}

/// Ids of turns, some of which are written in odd ways.
fn evidence(value: &Value) -> BTreeSet<String> {
    let texts = value.as_array().cloned().unwrap_or_default();
    let parts = texts
        .iter()
        .filter_map(Value::as_str)
        .flat_map(|text| text.split([';', ' ', ',']).map(str::to_owned).collect::<Vec<_>>());
    let id = |part: String| {
        let numbers: Vec<u32> =
            part.trim_start_matches('D').split(':').filter_map(|it| it.parse().ok()).collect();
        match numbers[..] {
            [session, turn] => Some(format!("D{session}:{turn}")),
            _ => None,
        }
    };
    parts.filter_map(id).collect()
}

#[derive(Default)]
struct Tally {
    by_category: BTreeMap<u64, Score>,
    took: Vec<f64>,
}

#[derive(Default)]
struct Score {
    questions: f64,
    recall: [f64; 4],
    reciprocal: f64,
}

const CUTS: [usize; 4] = [1, 5, 10, 20];

impl Tally {
    fn note(&mut self, category: u64, wanted: &BTreeSet<String>, ids: &[String]) {
        for category in [0, category] {
            let score = self.by_category.entry(category).or_default();
            score.questions += 1.0;
            for (recall, cut) in score.recall.iter_mut().zip(CUTS) {
                let found = ids.iter().take(cut).filter(|id| wanted.contains(*id)).count();
                *recall += found as f64 / wanted.len() as f64;
            }
            let first = ids.iter().position(|id| wanted.contains(id));
            score.reciprocal += first.map_or(0.0, |at| 1.0 / (at + 1) as f64);
        }
    }

    fn print(mut self) {
        for (category, score) in &self.by_category {
            let name = if *category == 0 { "all".to_owned() } else { format!("category {category}") };
            let of = |sum: f64| sum / score.questions;
            let [one, five, ten, twenty] = score.recall.map(|it| of(it) * 100.0);
            println!(
                "  {name:<12} {:>5} questions  R@1 {one:5.1}  R@5 {five:5.1}  R@10 {ten:5.1}  R@20 {twenty:5.1}  MRR {:.3}",
                score.questions,
                of(score.reciprocal)
            );
        }
        self.took.sort_by(f64::total_cmp);
        println!(
            "  a search in the middle {:.2} ms, the slowest {:.2} ms",
            self.took[self.took.len() / 2],
            self.took[self.took.len() - 1]
        );
    }
}
