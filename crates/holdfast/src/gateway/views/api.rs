//! What the API tells of episodes, in the fields the command line has.

use holdfast_api::{Episode, EpisodeLine, EpisodeStory, EpisodeWindow, Episodes};
use holdfast_lifeline::Steady;
use holdfast_steward::event::Event;
use holdfast_steward_host::story::{self, Summary};

use super::Views;
use crate::problem::{CliError, Result};

impl Views {
    /// What was planned and tried, the newest first.
    pub(crate) fn api_episodes(&self, target: Option<&str>, limit: usize) -> Result<Episodes> {
        self.stories.catch_up(&self.office.journal)?;
        let targets = self.targets();
        if let Some(name) = target.filter(|name| !targets.iter().any(|one| one.target == **name)) {
            let known = targets.into_iter().map(|one| one.target).collect();
            return Err(crate::steward::StewardError::UnknownTarget { name: name.to_owned(), known }.into());
        }
        let wanted = targets.iter().filter(|one| target.is_none_or(|name| name == one.target));
        let (mut all, mut more) = (Vec::new(), 0);
        for one in wanted {
            let (summaries, earlier) = self.stories.of(&one.target);
            more += earlier;
            all.extend(summaries.into_iter().map(|summary| told(&one.target, summary)));
        }
        all.sort_by_key(|one| std::cmp::Reverse(one.opened));
        more += all.len().saturating_sub(limit);
        all.truncate(limit);
        Ok(Episodes { episodes: all, more: more as u64 })
    }

    /// One from beginning to end, by its id or by either end of it.
    pub(crate) fn api_episode(&self, id: &str) -> Result<EpisodeStory> {
        self.stories.catch_up(&self.office.journal)?;
        let unknown = || CliError::NotThere { what: "episode".to_owned() };
        let whole = self.stories.find(id).ok_or_else(unknown)?;
        let episode = self.stories.episode(&whole).ok_or_else(unknown)?;
        let speed =
            self.targets().into_iter().find(|one| one.target == episode.target.as_str()).map(|one| one.speed);
        let began = episode.records.first().map_or(Steady(0), |one| one.record.at);
        let lines = episode.records.iter().filter_map(|one| {
            let line = story::tell(std::slice::from_ref(&one.record), &episode.summary.episode)
                .into_iter()
                .next()?;
            Some(EpisodeLine {
                entry: one.seq,
                at: line.at,
                seconds: one.record.at.since(began).as_secs(),
                what: line.what,
                score: line.score,
            })
        });
        let scored: Vec<_> = episode
            .records
            .iter()
            .filter_map(|one| match &one.record.event {
                Event::Scored { cycle, verifying, .. } => Some((cycle.letter(), verifying.window)),
                _ => None,
            })
            .collect();
        let window = scored.last().map(|(_, window)| EpisodeWindow {
            cells: scored.iter().map(|(letter, _)| *letter).collect(),
            score: window.score(),
            needed: window.needed(),
            cycles: window.cycles(),
        });
        Ok(EpisodeStory {
            lines: lines.collect(),
            episode: told(episode.target.as_str(), episode.summary.clone()),
            speed,
            window,
        })
    }
}

fn told(target: &str, summary: Summary) -> Episode {
    Episode {
        episode: summary.episode.to_string(),
        target: target.to_owned(),
        opened: summary.opened,
        ended: summary.ended,
        why: summary.why,
        change: summary.change,
        phase: summary.phase.to_owned(),
        outcome: summary.outcome.map(|outcome| outcome.as_str().to_owned()),
        reason: summary.reason,
    }
}
