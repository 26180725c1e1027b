//! What is said anywhere in the process, to look for what must not be said.

use std::sync::{Arc, Mutex};

use tracing::field::Field;
use tracing::span;

pub struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    /// On every thread: what is left to a task in the background is heard as well. Once per process.
    pub fn everywhere() -> Heard {
        let said = Arc::<Mutex<Vec<String>>>::default();
        tracing::subscriber::set_global_default(Listener(said.clone())).unwrap();
        Heard(said)
    }

    pub fn all(&self) -> String {
        self.0.lock().unwrap().join("\n")
    }
}

/// Keeps what anybody says, at any level.
struct Listener(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Listener {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        self.0.lock().unwrap().push(format!("{span:?}"));
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        self.0.lock().unwrap().push(format!("{values:?}"));
    }
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let (mut said, target) = (String::new(), event.metadata().target());
        event.record(&mut |field: &Field, value: &dyn std::fmt::Debug| {
            said += &format!("{target} {field}={value:?} ");
        });
        self.0.lock().unwrap().push(said);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}
