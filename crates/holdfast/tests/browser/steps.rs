//! The steps of a journey: which of them failed, and how long each took.

use std::time::Instant;

#[derive(Default)]
pub struct Steps {
    now: Option<(&'static str, Instant)>,
}

impl Steps {
    /// What follows belongs to this step.
    pub fn begin(&mut self, step: &'static str) {
        self.end();
        self.now = Some((step, Instant::now()));
    }

    fn end(&mut self) {
        if let Some((step, since)) = self.now.take() {
            let how = if std::thread::panicking() { "FAILED after" } else { "done in" };
            println!("step: {step}, {how} {} ms", since.elapsed().as_millis());
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.end();
    }
}
