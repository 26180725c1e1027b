//! How well questions about long conversations are answered: by the index of words alone, by vectors alone, and by the product's own search, through import
//! and search as anybody uses them; and what each signal of the ranking adds.

use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Error, Result};
use holdfast_concordance::{Bm25, Concordance, Filter, Query as Words};
use holdfast_embed::Model;
use holdfast_memory_host::{AgentName, Ask, Memories, Only};
use holdfast_recall::Terms;
use holdfast_testkit::locomo::{self, Conversation, Question, Shape};
use holdfast_testkit::shared_data;
use holdfast_vectors::Vector;
use serde_json::Value;

use super::home::{Home, import};
use crate::stats::bootstrap;
use crate::step;

/// As deep as anybody looks; what comes later counts as not found.
const TOP: usize = 20;
const DEPTHS: [usize; 4] = [1, 5, 10, 20];

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) shapes: &'static [Shape],
}

/// Recall at 1, 5, 10 and 20, then the reciprocal rank of the first that is relevant.
pub(crate) type Figures = [f64; 5];

/// Who searches, in the order of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Bm25,
    Vectors,
    Hybrid,
}

impl Method {
    pub(crate) const ALL: [Method; 3] = [Method::Bm25, Method::Vectors, Method::Hybrid];
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Examined {
    pub(crate) conversations: usize,
    pub(crate) turns: usize,
    /// All questions first, then each category.
    pub(crate) categories: Vec<Category>,
    /// What was left out, and what is left.
    pub(crate) ablations: Vec<(&'static str, Figures)>,
    pub(crate) shapes: Vec<(Shape, Figures)>,
}

/// The questions of one category; of all, where there is no number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Category {
    pub(crate) number: Option<u64>,
    pub(crate) questions: usize,
    /// One for each [`Method`].
    pub(crate) figures: [Figures; 3],
    /// How far the hybrid is above BM25 in 95 of 100 draws, by recall at 10 and by reciprocal rank.
    pub(crate) above: [(f64, f64); 2],
}

/// Columns of [`Figures`] that goals are about.
pub(crate) const AT_TEN: usize = 2;
pub(crate) const RECIPROCAL: usize = 4;

/// Nothing where the conversations are not, which is said.
pub(super) fn measure(dir: &Path, model: &Path, plan: Plan) -> Result<Option<Examined>> {
    let Some(path) = shared_data().map(|data| data.join("locomo-dev.json")).filter(|path| path.is_file())
    else {
        step("the conversations are not here, so nothing is asked about them");
        return Ok(None);
    };
    step("asking about long conversations");
    let conversations = locomo::read(&std::fs::read_to_string(path)?).map_err(Error::msg)?;
    let cores = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let model = Arc::new(Model::open(model)?.with_threads(cores));
    let libraries = libraries(&dir.join("labelled"), &conversations, Shape::Labelled, &model)?;
    let mut out = systems(&libraries)?;
    out.conversations = conversations.len();
    out.turns = libraries.iter().map(|library| library.turns.len()).sum();
    for (name, terms) in left_out() {
        let rows = rows(&libraries, |library, asked| library.hybrid(asked, &terms))?;
        out.ablations.push((name, mean(&rows)));
    }
    let without_model = rows(&libraries, |library, asked| library.lexical(asked))?;
    out.ablations.push(("the model, as where there is none", mean(&without_model)));
    drop(libraries);
    for &shape in plan.shapes {
        let folder = dir.join(format!("{shape:?}"));
        let libraries = self::libraries(&folder, &conversations, shape, &model)?;
        let rows = rows(&libraries, |library, asked| library.hybrid(asked, &Terms::default()))?;
        out.shapes.push((shape, mean(&rows)));
    }
    Ok(Some(out))
}

fn left_out() -> Vec<(&'static str, Terms)> {
    let whole = Terms::default();
    vec![
        ("nothing", whole),
        ("words", Terms { words: 0.0, ..whole }),
        ("meaning", Terms { meaning: 0.0, ..whole }),
        ("the meaning of what stands beside it", Terms { surroundings: 0.0, ..whole }),
        ("that it answers such a question", Terms { answer: 0.0, ..whole }),
        ("all of the last three", Terms { meaning: 0.0, surroundings: 0.0, answer: 0.0, ..whole }),
        ("who speaks", Terms { speaker: 0.0, voice: 0.0, ..whole }),
        ("that it tells a time", Terms { when: 0.0, ..whole }),
        ("that it is of that time", Terms { period: 0.0, ..whole }),
        ("that it says little", Terms { slight: 0.0, ..whole }),
    ]
}

fn systems(libraries: &[Library<'_>]) -> Result<Examined> {
    let rows = [
        rows(libraries, |library, asked| library.bm25(asked))?,
        rows(libraries, |library, asked| Ok(library.nearest(asked)))?,
        rows(libraries, |library, asked| library.hybrid(asked, &Terms::default()))?,
    ];
    let categories: Vec<u64> =
        libraries.iter().flat_map(|it| it.asked.iter().map(|asked| asked.question.category)).collect();
    let mut numbers: Vec<Option<u64>> = categories.iter().copied().map(Some).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.insert(0, None);
    let category = |number: Option<u64>| {
        let of = |rows: &Vec<Figures>| -> Vec<Figures> {
            let both = rows.iter().zip(&categories);
            both.filter(|(_, it)| number.is_none_or(|number| number == **it)).map(|(row, _)| *row).collect()
        };
        compared(number, &rows.each_ref().map(of))
    };
    Ok(Examined { categories: numbers.into_iter().map(category).collect(), ..Examined::default() })
}

fn compared(number: Option<u64>, rows: &[Vec<Figures>; 3]) -> Category {
    let column = |method: Method, at: usize| -> Vec<f64> {
        rows[method as usize].iter().map(|figures| figures[at]).collect()
    };
    let above =
        [AT_TEN, RECIPROCAL].map(|at| bootstrap(&column(Method::Hybrid, at), &column(Method::Bm25, at)));
    Category { number, questions: rows[0].len(), figures: rows.each_ref().map(|rows| mean(rows)), above }
}

/// One conversation, remembered by an agent of its own, and known besides to the plain searches.
struct Library<'a> {
    memories: Memories,
    agent: AgentName,
    words: Concordance,
    turns: Vec<RememberedTurn>,
    asked: Vec<Asked<'a>>,
}

struct RememberedTurn {
    id: String,
    vector: Vector,
}

struct Asked<'a> {
    question: &'a Question,
    vector: Vector,
}

fn libraries<'a>(
    dir: &Path,
    conversations: &'a [Conversation],
    shape: Shape,
    model: &Arc<Model>,
) -> Result<Vec<Library<'a>>> {
    conversations.iter().map(|it| Library::new(&dir.join(&it.name), it, shape, model)).collect()
}

impl<'a> Library<'a> {
    fn new(
        dir: &Path,
        conversation: &'a Conversation,
        shape: Shape,
        model: &Arc<Model>,
    ) -> Result<Library<'a>> {
        let (home, agent) = (Home::create(dir)?, conversation.name.parse()?);
        let memories = home.memories(Some(model.clone()))?;
        let lines = conversation.lines(shape);
        import(&memories, &agent, lines.iter().cloned())?;
        memories.embed_all(&agent)?;
        let words = Concordance::open(&dir.join("words"), Bm25::default())?;
        let mut turns = Vec::with_capacity(lines.len());
        for (seq, line) in (0..).zip(&lines) {
            let content = said(line, "content")?;
            words.add(seq, content)?;
            turns.push(RememberedTurn { id: said(line, "id")?.to_owned(), vector: vector(model, content)? });
        }
        let asked = conversation
            .questions
            .iter()
            .map(|question| Ok(Asked { question, vector: vector(model, &question.text)? }));
        Ok(Library { memories, agent, words, turns, asked: asked.collect::<Result<_>>()? })
    }

    fn bm25(&self, asked: &Asked<'_>) -> Result<Vec<String>> {
        let hits = self.words.search(&Words::of(&asked.question.text), TOP, Filter::Every)?;
        Ok(hits.iter().map(|hit| self.turns[hit.id as usize].id.clone()).collect())
    }

    fn nearest(&self, asked: &Asked<'_>) -> Vec<String> {
        let product = |other: &Vector| -> f32 {
            asked.vector.numbers().iter().zip(other.numbers()).map(|(a, b)| a * b).sum()
        };
        let mut all: Vec<(f32, &RememberedTurn)> =
            self.turns.iter().map(|turn| (product(&turn.vector), turn)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all.iter().take(TOP).map(|(_, turn)| turn.id.clone()).collect()
    }

    fn hybrid(&self, asked: &Asked<'_>, terms: &Terms) -> Result<Vec<String>> {
        self.search(asked, Some(&asked.vector), terms)
    }

    /// As where there is no model.
    fn lexical(&self, asked: &Asked<'_>) -> Result<Vec<String>> {
        self.search(asked, None, &Terms::default())
    }

    fn search(&self, asked: &Asked<'_>, vector: Option<&Vector>, terms: &Terms) -> Result<Vec<String>> {
        let query = asked.question.text.as_str();
        let ask = Ask { agent: &self.agent, query, top: TOP, only: &Only::default(), now: None };
        let found = self.memories.search_given(&ask, vector, terms)?;
        Ok(found.hits.into_iter().filter_map(|hit| hit.row.foreign_id).collect())
    }
}

fn said<'a>(line: &'a Value, field: &str) -> Result<&'a str> {
    line[field].as_str().with_context(|| format!("a turn has no {field}"))
}

fn vector(model: &Model, text: &str) -> Result<Vector> {
    let embedded = model.embed(&[text])?;
    let whole = embedded.first().context("no vector came back")?.whole();
    Vector::new(&whole).context("a text of no direction")
}

/// The figures of every question, library by library.
fn rows<'a>(
    libraries: &[Library<'a>],
    order: impl Fn(&Library<'a>, &Asked<'a>) -> Result<Vec<String>>,
) -> Result<Vec<Figures>> {
    let pairs = libraries.iter().flat_map(|library| library.asked.iter().map(move |asked| (library, asked)));
    pairs.map(|(library, asked)| Ok(figures(&order(library, asked)?, asked.question))).collect()
}

fn figures(order: &[String], question: &Question) -> Figures {
    let ranks: Vec<usize> =
        question.wanted.iter().filter_map(|id| order.iter().position(|found| found == id)).collect();
    let within = |depth: usize| {
        ranks.iter().filter(|rank| **rank < depth).count() as f64 / question.wanted.len() as f64
    };
    let [a, b, c, d] = DEPTHS.map(within);
    [a, b, c, d, ranks.iter().min().map_or(0.0, |first| 1.0 / (first + 1) as f64)]
}

fn mean(rows: &[Figures]) -> Figures {
    let mut sum = Figures::default();
    for row in rows {
        sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value / rows.len() as f64);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_counts_what_is_found_in_time_and_the_rank_the_first_of_it() {
        let wanted = ["D1:1", "D1:2"].map(String::from).into();
        let question = Question { text: String::new(), category: 1, wanted };
        let order = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        assert_eq!(figures(&order(&["x", "D1:2"]), &question), [0.0, 0.5, 0.5, 0.5, 0.5]);
        assert_eq!(figures(&order(&["D1:1", "D1:2"]), &question), [0.5, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(figures(&[], &question), [0.0; 5]);
        assert_eq!(mean(&[[1.0; 5], [0.0; 5]]), [0.5; 5]);
    }
}
