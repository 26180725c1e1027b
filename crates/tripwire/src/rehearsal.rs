//! Every way back tried up to going it: what it takes to use it is there, and nothing is done.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::heart::{FIRST_ROUTE, PROVIDER, SECOND_ROUTE};
use crate::look::is_cut_off;
use crate::provider::Wish;
use crate::rescue::Rescue;
use crate::settings::{Route, Target};

const REFERENCES: &str = "references";
const TRY_WITHIN: Duration = Duration::from_secs(20);

/// One way back, or the references, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Way {
    pub way: String,
    pub trouble: Option<String>,
}

impl Way {
    fn new(way: &str, tried: Result<(), String>) -> Way {
        Way { way: way.to_owned(), trouble: tried.err() }
    }

    /// Nothing when it works.
    pub fn complaint(&self) -> Option<String> {
        self.trouble.as_ref().map(|why| format!("the {} would not work: {why}", self.way))
    }
}

/// One after the other.
pub fn rehearse(target: &Target) -> Vec<Way> {
    let over = |route: &Route| {
        Rescue::over(target.line(route)).see(None, TRY_WITHIN).map(drop).map_err(|e| e.to_string())
    };
    let mut ways = vec![Way::new(FIRST_ROUTE, over(&target.first))];
    ways.extend(target.second.as_ref().map(|route| Way::new(SECOND_ROUTE, over(route))));
    let provider = target.provider.as_ref();
    ways.extend(provider.map(|provider| Way::new(PROVIDER, provider.ask(Wish::Check, TRY_WITHIN))));
    let references = if is_cut_off(&target.references) { Err("none answers".to_owned()) } else { Ok(()) };
    ways.push(Way::new(REFERENCES, references));
    ways
}
