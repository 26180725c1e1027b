//! Asks the places in their order.

use crate::environment::Variables;
use crate::error::{Error, Failure, Result};
use crate::name::SecretName;
use crate::secret::Secret;
use crate::source::{Place, Source};

/// The configured places, strongest first.
#[derive(Debug)]
pub struct Credentials {
    sources: Vec<Source>,
    variables: Variables,
}

/// A secret and where it was.
#[derive(Debug)]
pub struct Found {
    pub secret: Secret,
    pub place: Place,
}

/// What a place says of a name, without the value.
#[derive(Debug)]
pub enum State {
    Here,
    NotHere,
    Failed(Failure),
}

impl Credentials {
    /// Places that see the variables of this process.
    pub fn new(sources: Vec<Source>) -> Credentials {
        Credentials::with_variables(sources, Variables::of_this_process())
    }

    /// Places that see other variables.
    pub fn with_variables(sources: Vec<Source>, variables: Variables) -> Credentials {
        Credentials { sources, variables }
    }

    /// The secret from the first place that has it. A place that fails ends the search with an error: asking
    /// the next one could hand out a value somebody planted in a weaker place.
    pub fn find(&self, name: &SecretName) -> Result<Found> {
        for source in &self.sources {
            match source.ask(name, &self.variables) {
                Ok(Some(secret)) => return Ok(Found { secret, place: source.place() }),
                Ok(None) => {}
                Err(failure) => {
                    return Err(Error::Failed { place: source.place(), name: name.clone(), failure });
                }
            }
        }
        Err(Error::Missing { name: name.clone(), looked: self.sources.iter().map(Source::place).collect() })
    }

    /// What every place says of the name; goes on past places that fail. Commands are run.
    pub fn look(&self, name: &SecretName) -> Vec<(Place, State)> {
        let state = |source: &Source| match source.ask(name, &self.variables) {
            Ok(Some(_)) => State::Here,
            Ok(None) => State::NotHere,
            Err(failure) => State::Failed(failure),
        };
        self.sources.iter().map(|source| (source.place(), state(source))).collect()
    }
}
